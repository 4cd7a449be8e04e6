//! Tuning gives the same numbers on any number of threads, and after any stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use paceline_remy::spec::Specification;
use paceline_remy::train::{EvaluatorWork, Folder, TrainError};
use paceline_remy::tune::{Tuner, TuningEntry, TuningPlan};
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

const VARY: &str = "delta";

fn tuned<T>(
    text: &str,
    scheme: &str,
    vary: &[String],
    then: impl FnOnce(&TuningPlan<'_>) -> Result<T, TrainError>,
) -> Result<T, TrainError> {
    let names = Names::default();
    then(&TuningPlan { text, folder: None, scheme, vary, seed: 3, names: &names })
}

fn work() -> Arc<EvaluatorWork> {
    Arc::new(EvaluatorWork::default())
}

/// Tunes a scheme for some generations. Returns it, and the steps without their cost.
fn on_threads(threads: usize, scheme: &str, vary: &[String]) -> (String, Vec<(String, f64)>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let tuned = tuned(SPECIFICATION, scheme, vary, |plan| {
        pool.install(|| {
            let mut tuner = Tuner::new(plan, work())?;
            let mut steps = Vec::new();
            while tuner.state().generation < 2 {
                let TuningEntry { note, score, .. } = tuner.step(&|| false)?;
                steps.push((note, score));
            }
            Ok((tuner.scheme().to_string(), steps))
        })
    });
    tuned.expect("tunes")
}

#[test]
fn equal_seeds_give_equal_numbers_on_any_number_of_threads() {
    let one = on_threads(1, "cubic+codel", &[]);
    assert!(one.0 != "cubic+codel", "{one:?}");
    assert_eq!(one, on_threads(3, "cubic+codel", &[]));
}

#[test]
fn only_the_named_numbers_change_and_the_result_is_better_elsewhere() {
    let vary = [VARY.to_string()];
    let (start, end, scheme) = tuned(SPECIFICATION, "copa[delta=0.02]", &vary, |plan| {
        let mut tuner = Tuner::new(plan, work())?;
        while !tuner.is_settled() && tuner.state().generation < 8 {
            assert_eq!(tuner.step(&|| false)?.number, VARY);
        }
        let (start, end) = tuner.judge()?;
        Ok((start, end, tuner.scheme().to_string()))
    })
    .expect("tunes");
    assert!(scheme.starts_with("copa[delta=") && !scheme.contains(','), "{scheme}");
    assert!(end > start, "{scheme}: {start} {end}");
}

#[test]
fn a_tuning_goes_on_where_it_stopped() {
    let whole = on_threads(2, "cubic+codel", &[]).0;
    let folder = paceline_testing::Folder::new("tune");
    let stopped = tuned(SPECIFICATION, "cubic+codel", &[], |plan| {
        let open =
            || Ok::<_, TrainError>(Tuner::open(plan, work(), Folder::open(folder.root())?)?.0);
        let mut stops = 0;
        loop {
            let mut tuner = open()?;
            if tuner.state().generation >= 2 {
                return Ok((tuner.scheme().to_string(), stops));
            }
            // Stops within a step after some candidates.
            let left = AtomicU32::new(9);
            let stop = || {
                left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                    .is_err()
            };
            match tuner.step(&stop) {
                Err(TrainError::Stopped) => stops += 1,
                result => drop(result?),
            }
        }
    });
    let (scheme, stops) = stopped.expect("tunes");
    assert_eq!(scheme, whole);
    assert!(stops > 3, "{stops}");
    let text = std::fs::read_to_string(folder.root().join("scheme.txt")).expect("a scheme");
    assert_eq!(text, format!("{whole}\n"));
    // Another scheme is another tuning.
    let other = tuned(SPECIFICATION, "copa", &[], |plan| {
        Tuner::open(plan, work(), Folder::open(folder.root())?).map(|_| ())
    });
    let error = other.expect_err("another scheme").to_string();
    assert!(error.contains("a training with another scheme has begun here"), "{error}");
}

#[test]
fn what_cannot_be_tuned_is_named() {
    let error = |text: &str, scheme: &str, vary: &[&str]| {
        let vary: Vec<String> = vary.iter().map(ToString::to_string).collect();
        let tuner = tuned(text, scheme, &vary, |plan| Tuner::new(plan, work()).map(|_| ()));
        tuner.expect_err(scheme).to_string()
    };
    assert!(error(SPECIFICATION, "cubicle", &[]).contains("unknown scheme `cubicle`"));
    assert!(
        error(SPECIFICATION, "copa", &["beta"])
            .contains("copa has no number `beta`; it has: delta")
    );
    let two = SPECIFICATION
        .replace("senders = 2", "senders = 2\nothers = { trained = true, senders = 1 }")
        + "[objective]\nothers_delta = 10.0\n";
    assert!(Specification::parse(&two).is_ok());
    assert!(error(&two, "copa", &[]).contains("networks.others.trained: tuning has one kind"));
}

#[test]
fn a_tuning_goes_on_only_with_the_same_recording() {
    let folder = paceline_testing::Folder::new("tune-recordings");
    let write =
        |text: &str| std::fs::write(folder.root().join("ride.down"), text).expect("written");
    let link = "link = { from = \"2Mbps\", to = \"4Mbps\", steps = 2 }";
    let text = SPECIFICATION.replace(link, "traces = \"ride.down\"");
    let open = || {
        tuned(&text, "copa", &[], |plan| {
            let plan = TuningPlan { folder: Some(folder.root()), ..*plan };
            Tuner::open(&plan, work(), Folder::open(&folder.root().join("tuning"))?).map(|_| ())
        })
    };
    write("1\n5\n10\n");
    open().expect("begins");
    open().expect("goes on");
    write("1\n5\n20\n");
    let error = open().expect_err("another recording").to_string();
    assert!(error.contains("a training with another content of ride.down has begun"), "{error}");
}
