//! Training gives the same table on any number of threads, and after any stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use paceline_cc::{Rate, Span};
use paceline_remy::evaluate::{Evaluator, EvaluatorError, Trial, evaluate};
use paceline_remy::spec::{Specification, Specimen};
use paceline_remy::train::{
    Entry, EvaluatorWork, Folder, Plan, TrainError, Trainer, TrainingEvaluator,
};
use paceline_remy::tune::{Tuner, TuningPlan};
use paceline_schemes::remy::RuleTable;
use paceline_sim::Names;

/// Small networks, so that tests are quick: 4 of 3 s.
const SPECIFICATION: &str = r#"
duration = "3s"

[networks]
link = { from = "2Mbps", to = "4Mbps", steps = 2 }
rtt = { from = "40ms", to = "80ms", steps = 2 }
senders = 2
on = "1s"
off = "500ms"
"#;

fn plan(text: &str, seed: u64) -> Plan<'_> {
    Plan::new(text, None, seed)
}

fn trainer(text: &str, seed: u64) -> Trainer<TrainingEvaluator> {
    let work = Arc::new(EvaluatorWork::default());
    let evaluator = TrainingEvaluator { work: Arc::clone(&work) };
    Trainer::new(&plan(text, seed), evaluator, work).expect("a specification")
}

/// Returns the table and the notes of the steps after some generations.
fn trained(text: &str, seed: u64, generations: u32) -> (RuleTable, Vec<String>) {
    let mut trainer = trainer(text, seed);
    let mut notes = Vec::new();
    while !trainer.is_done(generations) {
        notes.push(trainer.step(&|| false).expect("a step").note);
    }
    (RuleTable::clone(trainer.table()), notes)
}

fn on_threads(threads: usize, text: &str, generations: u32) -> (RuleTable, Vec<String>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| trained(text, 3, generations))
}

#[test]
fn equal_seeds_give_equal_tables_on_any_number_of_threads() {
    let several = format!("{SPECIFICATION}[training]\nrules_at_once = 2\n");
    for text in [SPECIFICATION, &several] {
        let one = on_threads(1, text, 3);
        assert!(one.0.rules().len() > 1, "{:?}", one.1);
        assert_eq!(one, on_threads(3, text, 3));
    }
    assert_ne!(trained(SPECIFICATION, 3, 2), trained(SPECIFICATION, 4, 2));
}

#[test]
fn the_thesis_procedure_divides_at_all_medians() {
    let text = format!(
        "{SPECIFICATION}[training]\nprocedure = \"thesis\"\ngenerations_per_split = 1\n\
         signals = [\"send_ewma\", \"rec_ewma\", \"rtt_ratio\"]\nvary = [\"b\", \"r\"]\n"
    );
    let mut trainer = trainer(&text, 1);
    let mut entries: Vec<Entry> = Vec::new();
    while entries.last().is_none_or(|entry| entry.what != "split") {
        entries.push(trainer.step(&|| false).expect("a step"));
    }
    assert_eq!(trainer.table().rules().len(), 8);
    assert_eq!(trainer.table().gap(), None);
    let improvements = entries.iter().filter(|entry| entry.what == "improve");
    let gains: Vec<f64> = improvements.map(|entry| entry.gain).collect();
    // Each step gained except the last, in which no candidate did.
    assert!(gains.len() > 1 && gains[..gains.len() - 1].iter().all(|&gain| gain > 0.0));
    assert_eq!(gains.last(), Some(&0.0));
}

#[test]
fn what_gives_a_racing_candidate_up_decides_nothing_else() {
    // Without racing all candidates run to the end: the winner of a step gains as much there.
    let first = |racing: bool| {
        let text = format!("{SPECIFICATION}[training]\nracing = {racing}\n");
        let mut trainer = trainer(&text, 1);
        loop {
            let entry = trainer.step(&|| false).expect("a step");
            if entry.what == "improve" {
                return (entry.gain, entry.score, entry.note);
            }
        }
    };
    let (raced, all) = (first(true), first(false));
    assert!(raced.0 <= all.0 && raced.0 > 0.0, "{raced:?} {all:?}");
}

/// A change of a rule affects only networks on which the rule is used.
#[test]
fn evaluating_only_what_a_rule_touches_changes_nothing() {
    let train = |incremental: bool| {
        let options = format!("racing = false\nincremental = {incremental}\nvary = [\"r\"]");
        trained(&format!("{SPECIFICATION}[training]\n{options}\n"), 5, 3)
    };
    assert_eq!(train(true), train(false));
}

/// The validation and test sets depend only on the specification.
#[test]
fn validation_changes_nothing_and_is_the_same_for_all_seeds() {
    let silent = format!("{SPECIFICATION}[training]\nvalidate = false\n");
    assert_eq!(trained(SPECIFICATION, 3, 2), trained(&silent, 3, 2));
    let (one, other) = (trainer(SPECIFICATION, 1), trainer(SPECIFICATION, 2));
    let (first, again) = (one.validate().expect("runs"), other.validate().expect("runs"));
    assert_eq!(first, again);
    assert_ne!(first, one.judge().expect("runs"));
    let mut trainer = trainer(SPECIFICATION, 3);
    let mut shown = Vec::new();
    while !trainer.is_done(2) {
        shown.extend(trainer.step(&|| false).expect("a step").validation);
    }
    // The first is the first rule's; one follows after each check, and the last is the final
    // table's.
    assert_eq!((shown[0], shown.len()), (first, 3));
    assert_eq!(shown.last().copied(), Some(trainer.validate().expect("runs")));
    assert!(shown[2] > shown[0], "{shown:?}");
}

#[test]
fn a_table_carries_the_resolution_that_it_was_trained_with() {
    let resolution = |text: &str| {
        let file = trainer(text, 1).readable().to_toml();
        paceline_remy::parse(file.as_bytes(), "toml").expect("a table").table.resolution()
    };
    assert_eq!(resolution(SPECIFICATION), RuleTable::EXACT);
    let jitter = SPECIFICATION.replace("senders = 2", "senders = 2\njitter = \"1ms\"");
    assert_eq!(resolution(&jitter), Span::from_millis(1));
}

/// A table whose rules are on a timer is trained as such, also after a stop.
#[test]
fn rules_on_a_timer_are_trained_and_go_on_with_it() {
    let text = "duration = \"5s\"\n[networks]\ntraces = { model = \"lte-*\", draws = 4 }\n\
                rtt = \"40ms\"\nsenders = 1\non = \"5s\"\noff = \"100ms\"\n\
                [training]\nactions = \"rate\"\ntimer = \"20ms\"\n";
    let folder = paceline_testing::Folder::new("timer");
    let open = || {
        let work = Arc::new(EvaluatorWork::default());
        let evaluator = TrainingEvaluator { work: Arc::clone(&work) };
        let opened = Folder::open(folder.root()).expect("a folder");
        Trainer::open(&plan(text, 1), evaluator, work, opened).expect("a training").0
    };
    let mut whole = trainer(text, 1);
    while !whole.is_done(2) {
        whole.step(&|| false).expect("a step");
    }
    while !open().is_done(2) {
        open().step(&|| false).expect("a step");
    }
    let file = paceline_remy::load(folder.root().join("table.toml")).expect("a table").table;
    assert_eq!(&file, whole.table().as_ref());
    assert_eq!(file.timer(), Span::from_millis(20));
    // The rules are looked up without acknowledgements: other figures than without the timer.
    let timeless = Arc::new(file.clone().with_timer(Span::ZERO));
    let specification = Specification::parse(text).expect("a specification");
    let uses = |table: &Arc<RuleTable>| -> u64 {
        let score = evaluate(table, &specification, 77).expect("runs");
        score.uses.iter().map(|one| one.count).sum()
    };
    assert_ne!(uses(&Arc::new(file)), uses(&timeless));
}

/// With an objective on the worst networks, training improves these, and its notes say so.
#[test]
fn tables_can_be_trained_for_the_worst_networks() {
    let text = format!("{SPECIFICATION}[objective]\nworst = 0.5\n");
    let mut trainer = trainer(&text, 2);
    let first = Arc::clone(trainer.table());
    while !trainer.is_done(2) {
        let entry = trainer.step(&|| false).expect("a step");
        assert!(entry.gain.is_finite() && entry.score.is_finite(), "{entry:?}");
    }
    let specification = Specification::parse(&text).expect("a specification");
    let after = evaluate(trainer.table(), &specification, 77).expect("runs");
    let before = evaluate(&first, &specification, 77).expect("runs");
    assert!(after.total > before.total, "{before:?} {after:?}");
    // Four networks: the mean of the worst two, times four.
    let mut worst = after.specimens.clone();
    worst.sort_by(f64::total_cmp);
    assert!((after.total - 2.0 * (worst[0] + worst[1])).abs() < 1e-9, "{after:?}");
}

/// The share of one network: a candidate that makes the worst network better gains, although
/// another one is then the worst.
#[test]
fn candidates_gain_on_the_worst_network_of_a_few() {
    for (seed, racing) in [(1, true), (2, true), (2, false)] {
        let text =
            format!("{SPECIFICATION}[objective]\nworst = 0.25\n[training]\nracing = {racing}\n");
        let mut trainer = trainer(&text, seed);
        let mut gains = Vec::new();
        while !trainer.is_done(1) {
            let entry = trainer.step(&|| false).expect("a step");
            gains.extend((entry.what == "improve").then_some(entry.gain));
        }
        assert!(gains.iter().any(|&gain| gain > 0.0), "seed {seed}: {gains:?}");
    }
}

/// Two kinds of senders, each with its own table.
const TWO: &str = r#"
duration = "3s"

[networks]
link = { from = "2Mbps", to = "4Mbps", steps = 2 }
rtt = "40ms"
senders = 2
others = { trained = true, senders = { from = 0, to = 2, steps = 3 } }
on = "1s"
off = "500ms"

[objective]
delta = 0.1
others_delta = 10.0
"#;

#[test]
fn two_tables_are_trained_in_turn_each_for_its_own_delta() {
    let mut both = trainer(TWO, 1);
    let mut notes = Vec::new();
    while !both.is_done(2) {
        notes.push(both.step(&|| false).expect("a step").note);
    }
    assert!(notes.iter().any(|note| note.starts_with("the others' table: rule")), "{notes:?}");
    assert!(notes.iter().any(|note| note.starts_with("rule")), "{notes:?}");
    let others = both.others_table().expect("two tables");
    assert_ne!(both.table(), others);
    assert_eq!(both.uses().expect("runs").len(), both.table().rules().len());
    // Senders with a high weight on delay send less: alone on a link they have a shorter queue.
    let network = paceline_remy::Network::new(Rate::from_mbps(3.0), Span::from_millis(40));
    let delay = |table: &Arc<RuleTable>| {
        let scheme = paceline_remy::evaluate::scheme(table, false, None);
        let all =
            paceline_remy::score::run(&network, &scheme, Span::from_secs(60), 1).expect("runs");
        all.iter().map(|sender| sender.delay_ms).sum::<f64>()
    };
    let others = Arc::clone(both.others_table().expect("two tables"));
    let delays = (delay(both.table()), delay(&others));
    assert!(delays.1 <= delays.0, "{delays:?}");
}

#[test]
fn a_training_of_two_tables_goes_on_where_it_stopped() {
    let folder = paceline_testing::Folder::new("two");
    let open = || {
        let work = Arc::new(EvaluatorWork::default());
        let evaluator = TrainingEvaluator { work: Arc::clone(&work) };
        let opened = Folder::open(folder.root()).expect("a folder");
        Trainer::open(&plan(TWO, 1), evaluator, work, opened).expect("a training").0
    };
    let mut whole = trainer(TWO, 1);
    while !whole.is_done(1) {
        whole.step(&|| false).expect("a step");
    }
    loop {
        let mut part = open();
        if part.is_done(1) {
            break;
        }
        (0..3).for_each(|_| {
            if !part.is_done(1) {
                part.step(&|| false).expect("a step");
            }
        });
    }
    let load = |name: &str| paceline_remy::load(folder.root().join(name)).expect("a table").table;
    assert_eq!(&load("table.toml"), whole.table().as_ref());
    assert_eq!(Some(&load("others.toml")), whole.others_table().map(Arc::as_ref));
}

#[test]
fn tables_can_be_trained_for_completion_times() {
    let text = "duration = \"10s\"\n[networks]\nlink = \"4Mbps\"\nrtt = \"40ms\"\nsenders = 2\n\
                on_bytes = \"50kB\"\noff = \"500ms\"\nbuffer = \"50\"\ndraws = 3\n\
                [objective]\nmetric = \"completion_time\"\n";
    let mut trainer = trainer(text, 1);
    let first = Arc::clone(trainer.table());
    while !trainer.is_done(2) {
        trainer.step(&|| false).expect("a step");
    }
    // Also on networks on which it was not trained.
    let specification = Specification::parse(text).expect("a specification");
    let score = |table: &Arc<RuleTable>| evaluate(table, &specification, 77).expect("runs").total;
    let (before, after) = (score(&first), score(trainer.table()));
    assert!(after > before + 0.5 && after < 0.0, "{before} {after}");
}

fn open(folder: &paceline_testing::Folder) -> (Trainer<TrainingEvaluator>, Vec<Entry>) {
    let work = Arc::new(EvaluatorWork::default());
    let evaluator = TrainingEvaluator { work: Arc::clone(&work) };
    let folder = Folder::open(folder.root()).expect("a folder");
    Trainer::open(&plan(SPECIFICATION, 3), evaluator, work, folder).expect("opens")
}

#[test]
fn a_training_that_is_stopped_within_steps_goes_on_as_if_it_had_not_been() {
    let (table, notes) = trained(SPECIFICATION, 3, 3);
    let folder = paceline_testing::Folder::new("stopped");
    let mut stops = 0;
    loop {
        let (mut trainer, log) = open(&folder);
        assert_eq!(log.len() as u64, trainer.state().step);
        if trainer.is_done(3) {
            assert_eq!(trainer.table().as_ref(), &table);
            assert_eq!(log.into_iter().map(|entry| entry.note).collect::<Vec<_>>(), notes);
            break;
        }
        // Each time a few more runs are allowed before the stop.
        let left = AtomicU32::new(40 + stops % 7);
        let stop = || left.fetch_sub(1, Ordering::Relaxed) == 0;
        while !trainer.is_done(3) {
            match trainer.step(&stop) {
                Ok(_) => {}
                Err(TrainError::Stopped) => break,
                Err(error) => panic!("{error}"),
            }
        }
        stops += 1;
        assert!(stops < 1000, "what was known of a step is not lost");
    }
    assert!(stops > 5, "{stops}");
    let loaded = paceline_remy::load(folder.root().join("table.toml")).expect("a table");
    assert_eq!(loaded.table, table);
}

/// A kill of the process leaves what the folder has between two steps.
#[test]
fn short_steps_are_saved_once_a_second_and_a_kill_loses_no_decision() {
    let (table, notes) = trained(SPECIFICATION, 3, 3);
    let [folder, killed] = ["seldom", "killed"].map(paceline_testing::Folder::new);
    let (mut trainer, _) = open(&folder);
    let begun = Instant::now();
    let saved_state = || std::fs::read(folder.root().join("state.json")).expect("a state");
    let (mut last, mut changes, mut copied) = (saved_state(), 0, false);
    while !trainer.is_done(3) {
        trainer.step(&|| false).expect("a step");
        let state = saved_state();
        if state == last && !copied {
            for entry in folder.root().read_dir().expect("files") {
                let file = entry.expect("a file").path();
                let copy = killed.root().join(file.file_name().expect("a name"));
                std::fs::copy(&file, copy).expect("copied");
            }
            copied = true;
        }
        changes += u64::from(state != last);
        last = state;
    }
    // Besides those of each second, the state before the first second and those of three generations.
    assert!(changes <= begun.elapsed().as_secs() + 4, "{changes} of {}", trainer.state().step);
    let end = trainer.state().step;
    drop(trainer);
    assert_eq!(open(&folder).0.state().step, end);
    assert!(copied, "steps that take milliseconds");
    let (mut trainer, mut log) = open(&killed);
    assert_eq!(log.len() as u64, trainer.state().step);
    while !trainer.is_done(3) {
        log.push(trainer.step(&|| false).expect("a step"));
    }
    assert_eq!(trainer.table().as_ref(), &table);
    assert_eq!(log.into_iter().map(|entry| entry.note).collect::<Vec<_>>(), notes);
}

#[test]
fn a_log_whose_last_line_has_no_end_stays() {
    let folder = paceline_testing::Folder::new("log");
    let (mut trainer, _) = open(&folder);
    for _ in 0..2 {
        trainer.step(&|| false).expect("a step");
    }
    drop(trainer);
    let path = folder.root().join("log.jsonl");
    let whole = std::fs::read_to_string(&path).expect("a log");
    std::fs::write(&path, whole.trim_end()).expect("written");
    assert_eq!(open(&folder).1.len(), 2);
    assert_eq!(std::fs::read_to_string(&path).expect("a log"), whole);
}

#[test]
fn what_gains_beyond_doubt_need_not_be_confirmed() {
    let runs = |confirm: &str| {
        let counting = CountingEvaluator::default();
        // The same network repeatedly, on which the first rule always sends far too much.
        let text = format!(
            "duration = \"3s\"\n[networks]\nlink = \"2Mbps\"\nrtt = \"40ms\"\nsenders = 2\non = \"100s\"\n\
             off = \"1ms\"\ndraws = 16\n[training]\nconfirm = {confirm}\n"
        );
        let work = Arc::new(EvaluatorWork::default());
        let mut trainer = Trainer::new(&plan(&text, 1), &counting, work).expect("a specification");
        (0..2).for_each(|_| drop(trainer.step(&|| false).expect("a step")));
        (trainer.table().rules()[0].action, counting.0.load(Ordering::Relaxed))
    };
    let (always, doubtful, never) = (runs("true"), runs("\"doubtful\""), runs("false"));
    assert_eq!((always.0, never.0), (doubtful.0, doubtful.0));
    // The first gains are certain, later ones may not be.
    assert!(never.1 <= doubtful.1 && doubtful.1 < always.1, "{never:?} {doubtful:?} {always:?}");
}

/// Counts runs.
#[derive(Default)]
struct CountingEvaluator(AtomicU32);

impl Evaluator for &CountingEvaluator {
    fn trials(
        &self,
        table: &Arc<RuleTable>,
        specimens: &[Specimen],
        uses: bool,
    ) -> Result<Vec<Trial>, EvaluatorError> {
        self.0.fetch_add(specimens.len() as u32, Ordering::Relaxed);
        TrainingEvaluator::default().trials(table, specimens, uses)
    }
}

#[test]
fn whoever_evaluates_may_be_anybody_and_racing_saves_runs() {
    let runs = |racing: bool| {
        let counting = CountingEvaluator::default();
        let text = format!("{SPECIFICATION}[training]\nracing = {racing}\n");
        let work = Arc::new(EvaluatorWork::default());
        let mut trainer = Trainer::new(&plan(&text, 1), &counting, work).expect("a specification");
        (0..4).for_each(|_| drop(trainer.step(&|| false).expect("a step")));
        counting.0.load(Ordering::Relaxed)
    };
    assert!(runs(true) < runs(false));
}

#[test]
fn broken_files_are_named_with_a_remedy() {
    let folder = paceline_testing::Folder::new("broken");
    let (mut trainer, _) = open(&folder);
    trainer.step(&|| false).expect("a step");
    let second = Folder::open(folder.root()).expect_err("a training runs there");
    assert!(second.to_string().contains("a training runs in this folder"), "{second}");
    drop(trainer);
    let state = folder.root().join("state.json");
    let good = std::fs::read_to_string(&state).expect("a state");
    let again = |text: &str| {
        std::fs::write(&state, text).expect("written");
        let work = Arc::new(EvaluatorWork::default());
        let evaluator = TrainingEvaluator { work: Arc::clone(&work) };
        let opened = Folder::open(folder.root()).expect("a folder");
        Trainer::open(&plan(SPECIFICATION, 3), evaluator, work, opened).map(|_| ())
    };
    for broken in [
        "",
        "{",
        &good[..good.len() / 2],
        &good.replace("training 1", "training 9"),
        &good.replace("\"generations\":[", "\"generations\":[7,"),
        &good.replace("\"rules\":[0]", "\"rules\":[99]"),
        &good.replace("\"rule\":{", "\"rule\":{\"x\":1,"),
    ] {
        assert_ne!(broken, good);
        let error = again(broken).expect_err("broken").to_string();
        assert!(error.contains("state.json") && error.contains("remove this"), "{error}");
    }
    assert!(again(&good.replace("\"seed\":3", "\"seed\":4")).is_err());
    // Broken lines of log and memo belong to unfinished steps, or can be lost without harm.
    std::fs::write(folder.root().join("step.jsonl"), "{\"step\":2,\"candi").expect("written");
    std::fs::write(folder.root().join("log.jsonl"), "{\n").expect("written");
    again(&good).expect("goes on");
    let (trainer, log) = open(&folder);
    assert_eq!((trainer.state().step, log.len()), (1, 0));
}

#[test]
fn trainings_and_tunings_need_folders_of_their_own() {
    let [of_tuning, of_training] = ["tuned", "trained"].map(paceline_testing::Folder::new);
    let tune = |folder: &paceline_testing::Folder| {
        let names = Names::default();
        let (text, scheme) = (SPECIFICATION, "copa");
        let plan = TuningPlan { text, folder: None, scheme, vary: &[], seed: 3, names: &names };
        let folder = Folder::open(folder.root()).expect("a folder");
        Tuner::open(&plan, Arc::new(EvaluatorWork::default()), folder).map(|_| ())
    };
    let train = |folder: &paceline_testing::Folder| {
        let work = Arc::new(EvaluatorWork::default());
        let evaluator = TrainingEvaluator { work: Arc::clone(&work) };
        let folder = Folder::open(folder.root()).expect("a folder");
        Trainer::open(&plan(SPECIFICATION, 3), evaluator, work, folder).map(|_| ())
    };
    tune(&of_tuning).expect("begins");
    train(&of_training).expect("begins");
    let error = train(&of_tuning).expect_err("a tuning's folder").to_string();
    assert!(error.contains("a tuning (`remy tune`) has begun here; train into another"), "{error}");
    let error = tune(&of_training).expect_err("a training's folder").to_string();
    assert!(error.contains("a training (`remy train`) has begun here; tune into"), "{error}");
    // A broken state has a table beside it only if the table was written.
    for (folder, has_table) in [(&of_tuning, false), (&of_training, true)] {
        std::fs::write(folder.root().join("state.json"), "{").expect("written");
        let error = train(folder).expect_err("broken").to_string();
        assert_eq!(error.contains("table.toml has the last table"), has_table, "{error}");
    }
}

#[test]
fn a_training_goes_on_only_with_the_same_recording() {
    let folder = paceline_testing::Folder::new("recordings");
    let write =
        |text: &str| std::fs::write(folder.root().join("ride.down"), text).expect("written");
    let link = "link = { from = \"2Mbps\", to = \"4Mbps\", steps = 2 }";
    let text = SPECIFICATION.replace(link, "traces = \"ride.down\"");
    let open = || {
        let work = Arc::new(EvaluatorWork::default());
        let evaluator = TrainingEvaluator { work: Arc::clone(&work) };
        let plan = Plan::new(&text, Some(folder.root()), 3);
        let training = Folder::open(&folder.root().join("training")).expect("a folder");
        Trainer::open(&plan, evaluator, work, training).map(|_| ())
    };
    write("1\n5\n10\n");
    open().expect("begins");
    open().expect("goes on");
    write("1\n5\n20\n");
    let error = open().expect_err("another recording").to_string();
    assert!(error.contains("a training with another content of ride.down has begun"), "{error}");
    // A state without digests is one of an earlier version.
    let state = folder.root().join("training/state.json");
    let written = std::fs::read_to_string(&state).expect("a state");
    let begin = written.find("\"files\":").expect("digests");
    let end = begin + written[begin..].find("},").expect("their end") + 2;
    std::fs::write(&state, format!("{}{}", &written[..begin], &written[end..])).expect("written");
    open().expect("goes on");
    // From here on it has the digests.
    write("1\n5\n30\n");
    assert!(open().is_err());
}
