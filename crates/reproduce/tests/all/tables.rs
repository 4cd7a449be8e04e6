//! Claims about tables of rules: with the published ones, which are not part of the repository, and
//! without.

use std::path::PathBuf;

use paceline_remy::Dna;
use paceline_remy::studies::{Study, trainings};
use paceline_remy::train::{Folder, Plan, Trainer, TrainingEvaluator};
use paceline_reproduce::{
    BoundResult, Claim, ClaimResult, Expectation, Progress, Reproduction, Setting, Store, Tables,
    Verdict, claims, markdown, page, reproduce,
};
use paceline_schemes::remy::{Action, RuleTree};

struct SilentProgress;

impl Progress for SilentProgress {
    fn begin(&self, _: f64, _: f64) {}
    fn done(&self, _: &str, _: f64) {}
}

fn measured(ids: &[&str], tables: Tables) -> (Vec<Claim>, Reproduction) {
    let mut chosen = claims().expect("the built-in claims");
    chosen.retain(|claim| ids.contains(&claim.id.as_str()));
    assert_eq!(chosen.len(), ids.len());
    let setting = Setting { quick: true, tables, ..Setting::default() };
    let done =
        reproduce(&chosen, &setting, 1, &Store::disabled(), &SilentProgress).expect("planned");
    assert!(done.failures.is_empty(), "{:?}", done.failures);
    (chosen, done)
}

#[test]
fn every_measure_of_a_claim_whose_tables_are_at_hand_is_measured() {
    let Some(tables) = paceline_testing::reference("remycc") else { return };
    let ids = ["R05", "R10", "R13", "R14", "R15", "R16", "R18"];
    let (chosen, done) = measured(&ids, Tables::new(Some(tables), None));
    for (claim, judged) in chosen.iter().zip(&done.claims) {
        assert!(judged.missing.is_empty(), "{}: {:?}", claim.id, judged.missing);
        assert_ne!(judged.verdict, Verdict::NotMeasured);
        let found = done.experiments.iter().find(|(one, _)| one.name == claim.experiment);
        let findings = &found.expect("an experiment").1;
        let wanted = claim.checks.iter().flat_map(|check| check.now.iter());
        for measure in wanted.flat_map(Expectation::measures) {
            assert!(findings.get(measure).is_finite(), "{}: {measure}", claim.id);
        }
    }
    // Facts about the files themselves.
    let r10 = done.claims.iter().find(|judged| judged.id == "R10").expect("measured");
    assert!(r10.verdict.holds(), "{:?}", r10.checks);
}

#[test]
fn a_claim_without_its_tables_is_not_measured_and_says_what_it_wants() {
    let (_, done) = measured(&["R09", "R10"], Tables::default());
    for judged in &done.claims {
        let missing = judged.verdict == Verdict::NotMeasured;
        assert_eq!(missing, judged.id != "R09", "{}", judged.id);
        assert_eq!(missing, judged.remedy().contains("--tables"), "{}", judged.id);
    }
    assert!(done.claims[1].remedy().contains("RemyCC-2013-delta0.1.dna"));
}

#[test]
fn built_in_tables_stand_in_for_published_ones_and_the_verdict_says_so() {
    let (_, done) = measured(&["R05", "R17"], Tables::default());
    let [stood_in, trained] = done.claims.as_slice() else { panic!("two claims") };
    let words = stood_in.verdict.words();
    assert!(words.starts_with("not measured with what the paper had"), "{words}");
    assert!(stood_in.reason.contains("`general-delta1` for RemyCC-2013-delta1.dna"));
    // Tables that lack a signal were never published: the claims mean the built-in ones.
    assert!(trained.stand_ins.is_empty() && trained.missing.is_empty());
    assert!(trained.verdict.words().contains("shortened runs"), "{:?}", trained.verdict);
}

#[test]
fn tables_of_studies_stand_in_for_published_ones_and_the_verdict_says_so() {
    let base = std::env::temp_dir().join(format!("paceline-studies-{}", std::process::id()));
    let studies = Study::shipped().expect("valid");
    // Trainings that have only begun have a table of one rule.
    for training in
        trainings(&studies, 1, None).iter().filter(|one| one.study.name == "tcp-awareness")
    {
        let folder = Folder::open(&training.folder(&base)).expect("a folder");
        let plan = Plan::new(&training.table.specification, None, training.seed);
        let evaluator = TrainingEvaluator::default();
        let work = evaluator.work.clone();
        Trainer::open(&plan, evaluator, work, folder).expect("begun");
    }
    let (_, done) = measured(&["R13", "R15"], Tables::new(None, Some(base.clone())));
    // Any tables do as published ones.
    let naive = "fig7-newreno-compatibility__ratsonlybaselineV5-delta0.1.dna.2";
    let published = folder_of(&[
        (naive, 20),
        ("fig7-newreno-compatibility__tcpcompatibleV5-delta0.1.dna.3", 10),
    ]);
    let tables = Tables::new(Some(published.clone()), Some(base.clone()));
    let (_, beside) = measured(&["R13"], tables);
    std::fs::remove_dir_all(&published).expect("removed");
    std::fs::remove_dir_all(&base).expect("removed");
    let name = "tcp-awareness/naive/seed-1".to_string();
    assert_eq!(beside.claims[0].trained_tables[0], (naive.to_string(), name));
    assert_eq!(trained_figures(&beside.claims[0]), figures(&done.claims[0]));
    // The folder has no table for the second claim: a built-in one of the study is taken.
    for (judged, table) in done.claims.iter().zip(["tcp-awareness/naive/seed-1", "multiplexing/2"])
    {
        let words = judged.verdict.words();
        assert!(words.starts_with("not measured with what the paper had"), "{words}");
        assert!(judged.reason.contains(&format!("`{table}` for fig")), "{}", judged.reason);
    }
}

/// Writes tables of one rule under the names of published ones into a new folder: the rule has this window.
fn folder_of(tables: &[(&str, i32)]) -> PathBuf {
    let name = format!("paceline-published-{}-{}", tables[0].0, std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    for (file, window) in tables {
        let rule = Action::new(0.0, *window, 1.0);
        let dna = Dna::of(&RuleTree::single(rule)).write().expect("published signals");
        std::fs::write(folder.join(file), dna).expect("written");
    }
    folder
}

fn figures(judged: &ClaimResult) -> Vec<&BoundResult> {
    judged.checks.iter().map(|check| check.shown()).collect()
}

fn trained_figures(judged: &ClaimResult) -> Vec<&BoundResult> {
    judged.checks.iter().filter_map(|check| check.trained.as_ref()).collect()
}

#[test]
fn tables_trained_here_stand_beside_published_ones_and_count_in_no_verdict() {
    let folder = folder_of(&[
        ("RemyCC-2013-delta0.1.dna", 20),
        ("RemyCC-2013-delta1.dna", 20),
        ("RemyCC-2013-delta10.dna", 20),
    ]);
    // A folder of studies without a table: built-in ones stand in for those.
    let none = folder.join("studies");
    std::fs::create_dir_all(&none).expect("created");
    let both = Tables::new(Some(folder.clone()), Some(none));
    let (chosen, done) = measured(&["R05", "R07"], both);
    let (_, published) = measured(&["R05", "R07"], Tables::new(Some(folder.clone()), None));
    std::fs::remove_dir_all(&folder).expect("removed");
    assert!(published.claims.iter().all(|claim| claim.trained_tables.is_empty()));
    let (_, stood_in) = measured(&["R05", "R07"], Tables::default());
    for (with, without) in done.claims.iter().zip(&stood_in.claims) {
        // What stands in without the folder stands beside with it, and nothing else does.
        assert_eq!(with.trained_tables, without.stand_ins);
        assert_eq!(trained_figures(with), figures(without));
        assert!(with.stand_ins.is_empty() && without.trained_tables.is_empty());
        let words = with.verdict.words();
        assert!(words.contains("shortened runs"), "{words}");
        let held = figures(with).iter().filter(|result| result.holds).count();
        assert_eq!(held, with.checks_held().0, "{}", with.id);
    }
    // Three equal tables have no order: the figures of both kinds differ.
    assert_ne!(trained_figures(&done.claims[1]), figures(&done.claims[1]));
    let sentence = "`general-delta0.1` for RemyCC-2013-delta0.1.dna";
    assert!(markdown(&done, &chosen, "c").contains("| trained here |"));
    for text in [markdown(&done, &chosen, "c"), page(&done, &chosen, &[])] {
        assert!(text.contains("trained here") && text.contains(sentence));
    }
    assert!(!markdown(&stood_in, &chosen, "c").contains("| trained here |"));
}
