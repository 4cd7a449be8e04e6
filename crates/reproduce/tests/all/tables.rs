//! Claims about tables of rules: with the published ones, which are not part of the repository, and
//! without.

use std::path::PathBuf;

use paceline_remy::studies::{Study, trainings};
use paceline_remy::train::{Folder, Plan, Trainer, TrainingEvaluator};
use paceline_reproduce::{
    Claim, Expectation, Progress, Reproduction, Setting, Store, Verdict, claims, reproduce,
};

struct SilentProgress;

impl Progress for SilentProgress {
    fn begin(&self, _: f64, _: f64) {}
    fn done(&self, _: &str, _: f64) {}
}

fn measured(ids: &[&str], tables: Option<PathBuf>) -> (Vec<Claim>, Reproduction) {
    let mut chosen = claims().expect("the built-in claims");
    chosen.retain(|claim| ids.contains(&claim.id.as_str()));
    assert_eq!(chosen.len(), ids.len());
    let setting = Setting { quick: true, traces: None, tables, seed: 1, live: None, causes: true };
    let done =
        reproduce(&chosen, &setting, 1, &Store::disabled(), &SilentProgress).expect("planned");
    assert!(done.failures.is_empty(), "{:?}", done.failures);
    (chosen, done)
}

#[test]
fn every_measure_of_a_claim_whose_tables_are_at_hand_is_measured() {
    let Some(tables) = paceline_testing::reference("remycc") else { return };
    let ids = ["R05", "R10", "R13", "R14", "R15", "R16", "R18"];
    let (chosen, done) = measured(&ids, Some(tables));
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
    let (_, done) = measured(&["R09", "R10"], None);
    for judged in &done.claims {
        let missing = judged.verdict == Verdict::NotMeasured;
        assert_eq!(missing, judged.id != "R09", "{}", judged.id);
        assert_eq!(missing, judged.remedy().contains("--tables"), "{}", judged.id);
    }
    assert!(done.claims[1].remedy().contains("RemyCC-2013-delta0.1.dna"));
}

#[test]
fn built_in_tables_stand_in_for_published_ones_and_the_verdict_says_so() {
    let (_, done) = measured(&["R05", "R17"], None);
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
    let (_, done) = measured(&["R13", "R15"], Some(base.clone()));
    std::fs::remove_dir_all(&base).expect("removed");
    let [stood_in, missing] = done.claims.as_slice() else { panic!("two claims") };
    let words = stood_in.verdict.words();
    assert!(words.starts_with("not measured with what the paper had"), "{words}");
    assert!(
        stood_in.reason.contains("`tcp-awareness/naive/seed-1` for fig7-"),
        "{}",
        stood_in.reason
    );
    assert_eq!(missing.verdict, Verdict::NotMeasured);
}
