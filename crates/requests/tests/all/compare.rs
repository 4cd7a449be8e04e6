//! Requests for comparisons, and the order of their runs and rows.

use paceline_cc::{ArgumentError, Span};
use paceline_requests::compare::{
    CompareLimits, CompareRequest, CompareRow, CompareRuns, MOST_RUNS, OMNISCIENT,
};
use paceline_requests::summary::{ratios, summary};
use paceline_requests::written;
use paceline_sim::Names;
use paceline_sim::runs::Runs;

/// Returns newreno and cubic over constant links of these rates, for a second.
fn request(links: &[&str]) -> CompareRequest {
    let links = links.iter().map(|text| written::capacity(text).expect("a rate")).collect();
    let schemes = written::compared("newreno,cubic", &Names::default()).expect("schemes").0;
    CompareRequest {
        duration: Span::from_secs(1),
        runs: Runs::new(2),
        ..CompareRequest::new(links, schemes)
    }
}

fn problem(change: impl FnOnce(&mut CompareRequest)) -> ArgumentError {
    let mut request = request(&["4Mbps"]);
    change(&mut request);
    let limits =
        CompareLimits { all_runs: 50, all_time: Span::from_secs(300), ..CompareLimits::default() };
    request.plan(&limits).expect_err("refused")
}

fn make_all(runs: &mut CompareRuns) {
    for job in runs.jobs() {
        let row = runs.make(job, &Names::default(), &|| true).expect("runs").expect("to the end");
        runs.record(job, row);
    }
}

#[test]
fn errors_name_the_argument_and_the_remedy() {
    for (error, argument, words) in [
        (problem(|r| r.links.clear()), "traces", "at least one"),
        (problem(|r| r.schemes.clear()), "schemes", "at least one"),
        (problem(|r| r.duration = Span::ZERO), "duration", "above zero"),
        (problem(|r| r.warmup = r.duration), "warmup", "1s leaves nothing of the duration of 1s"),
        (problem(|r| r.buffers.clear()), "buffer", "at least one"),
        (problem(|r| r.rtts = vec![Span::ZERO; 2]), "rtt", "0s stands in the list twice"),
        (problem(|r| r.flows = 0), "flows", "expected 1 to 10000, not 0"),
        (problem(|r| r.flows = 10_001), "flows", "expected 1 to 10000, not 10001"),
        (problem(|r| r.runs = Runs::new(0)), "runs", "expected 1 to 1000, not 0"),
        (problem(|r| r.runs = Runs::new(26)), "runs", "these are 52 runs; 50 are the most here"),
        (problem(|r| r.duration = Span::from_secs(100)), "duration", "longer than 300s together"),
        (problem(|r| r.bin = Some(Span::from_nanos(1000))), "bin", "1000000 are the most"),
    ] {
        assert_eq!(error.argument, argument, "{error}");
        assert!(error.problem.contains(words), "{error}");
    }
    // The limit of bins applies to the largest possible number of runs.
    let mut request = request(&["4Mbps"]);
    request.bin = Some(Span::from_micros(100));
    assert!(request.plan(&CompareLimits::default()).is_ok());
    request.most_runs = Some(MOST_RUNS);
    assert_eq!(request.plan(&CompareLimits::default()).expect_err("bins").argument, "bin");
}

#[test]
fn names_of_arguments_are_those_of_options() {
    let error = ArgumentError::new("delay_trace", "no such file");
    assert_eq!(
        (error.option(), error.to_string()),
        ("--delay-trace".into(), "delay_trace: no such file".into())
    );
}

#[test]
fn every_scheme_runs_once_before_one_runs_twice() {
    let request = CompareRequest { omniscient: true, ..request(&["4Mbps", "8Mbps"]) };
    let mut runs = request.plan(&CompareLimits::default()).expect("a plan");
    let names: Vec<String> = runs.jobs().iter().map(|job| runs.numbered_name(*job)).collect();
    let schemes = ["newreno on 4Mbps", "cubic on 4Mbps", "omniscient on 4Mbps", "newreno on 8Mbps"];
    assert_eq!(names.len(), 12);
    for (name, scheme) in names.iter().zip(schemes) {
        assert_eq!(*name, format!("{scheme}, run 1"));
    }
    assert_eq!(names[6], "newreno on 4Mbps, run 2");

    make_all(&mut runs);
    let place = |row: &CompareRow| format!("{} {} {}", row.trace, row.scheme, row.run);
    let rows = runs.rows();
    let places: Vec<String> = rows.iter().map(place).collect();
    let expected = ["4Mbps", "8Mbps"].iter().flat_map(|trace| {
        ["newreno", "cubic", OMNISCIENT]
            .iter()
            .flat_map(move |scheme| [1, 2].map(|run| format!("{trace} {scheme} {run}")))
    });
    assert_eq!(places, expected.collect::<Vec<_>>());
    assert_eq!(runs.runs_made(), 2);
}

#[test]
fn further_runs_are_those_of_all_schemes_of_a_link() {
    let request = request(&["4Mbps", "8Mbps"]);
    let mut runs = request.plan(&CompareLimits::default()).expect("a plan");
    make_all(&mut runs);
    // Two runs have no interval, so no figure is precise enough.
    let (jobs, still_wide) = runs.further_jobs(0.02);
    assert_eq!((jobs.len(), still_wide.len()), (4 * 10, 0));
    assert_eq!(runs.numbered_name(jobs[0]), "newreno on 4Mbps, run 3");
}

#[test]
fn a_scheme_from_which_nothing_arrives_needs_no_further_runs() {
    let request = CompareRequest { runs: Runs::new(6), ..request(&["4Mbps"]) };
    let further = |is_silent: bool| {
        let mut runs = request.plan(&CompareLimits::default()).expect("a plan");
        let jobs = runs.jobs();
        let made = runs.make(jobs[0], &Names::default(), &|| true);
        let cubic = made.expect("runs").expect("to the end");
        for (at, job) in jobs.into_iter().enumerate() {
            let mut row = cubic.clone();
            // The second scheme of the two.
            if at % 2 == 1 {
                row.queue_delay_ms.p95 = if is_silent { f64::NAN } else { at as f64 };
            }
            runs.record(job, row);
        }
        runs.further_jobs(0.02).0.len()
    };
    assert_eq!(further(true), 0);
    assert_eq!(further(false), 2 * 10);
}

#[test]
fn lists_of_rtts_and_buffers_are_settings_of_each_link() {
    let mut request = CompareRequest {
        omniscient: true,
        rtts: [20, 50].map(Span::from_millis).to_vec(),
        buffers: ["0.5bdp", "250"].map(|text| written::buffer(text).expect("a buffer")).to_vec(),
        ..request(&["4Mbps", "8Mbps"])
    };
    let mut runs = request.plan(&CompareLimits::default()).expect("a plan");
    assert_eq!(runs.jobs().len(), 2 * 2 * 2 * 3 * 2);
    assert_eq!(
        runs.numbered_name(runs.jobs()[3]),
        "newreno on 4Mbps, RTT 20ms, buffer 250p, run 1"
    );
    make_all(&mut runs);
    let rows = runs.rows();
    let settings: Vec<String> = rows.chunks(6).map(|of_setting| of_setting[0].link()).collect();
    assert_eq!(settings.len(), 8);
    assert_eq!(settings[0], "4Mbps, RTT 20ms, buffer 0.5bdp");
    assert_eq!(settings[7], "8Mbps, RTT 50ms, buffer 250p");
    for of_setting in rows.chunks(6) {
        assert!(of_setting.iter().all(|row| row.is_on_link_of(&of_setting[0])));
    }
    let summary = summary(&rows);
    assert_eq!(summary.len(), 8 * 3);
    assert!(summary.iter().all(|row| row.runs == 2));
    assert_eq!(ratios(&rows).len(), 8 * 2);

    // A setting has the figures that it has alone, and names itself only beside others.
    request.rtts.truncate(1);
    request.buffers.truncate(1);
    let mut alone = request.plan(&CompareLimits::default()).expect("a plan");
    make_all(&mut alone);
    let alone = alone.rows();
    assert_eq!((&alone[0].rtt, &alone[0].buffer, alone[0].link()), (&None, &None, "4Mbps".into()));
    let digests =
        |rows: &[CompareRow]| rows.iter().map(|row| row.digest.clone()).collect::<Vec<_>>();
    assert_eq!(digests(&alone[..6]), digests(&rows[..6]));
}

#[test]
fn a_run_that_is_stopped_has_no_row() {
    let request = request(&["4Mbps"]);
    let runs = request.plan(&CompareLimits::default()).expect("a plan");
    let row = runs.make(runs.jobs()[0], &Names::default(), &|| false).expect("no error");
    assert!(row.is_none());
}
