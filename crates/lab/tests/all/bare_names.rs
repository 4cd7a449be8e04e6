//! Every scheme by its bare name over ordinary links, as a new user measures it. It uses at least
//! [`WELL_USED`] of the link, or the registry has a note, which is printed beside the figure.

use paceline_cc::{Rate, Span};
use paceline_path::BufferSize;
use paceline_requests::compare::{Comparison, WELL_USED};
use paceline_schemes::SCHEMES;
use paceline_sim::run;
use paceline_sim::scenario::{Capacity, check_scheme};
use rayon::prelude::*;

const MBPS: [f64; 3] = [6.0, 24.0, 96.0];
const RTT_MS: [u64; 4] = [20, 50, 100, 200];

/// Least utilization at which a scheme needs no note in any cell. It is above [`WELL_USED`], so
/// that a figure close to the bound does not need its note in one version and not in the next.
const NEEDLESS: f64 = 0.85;

/// Beginning of the note of runs whose flows flood the link, in place of the registry's.
const FLOODED: &str = "the link dropped a third or more";

/// Returns the utilization of a link of `mbps` by one flow in 30 s over an RTT of `rtt_ms`, and the
/// note beside the figure.
fn used(scheme: &str, mbps: f64, rtt_ms: u64) -> (f64, Option<String>) {
    let link = Capacity::Constant(Rate::from_mbps(mbps));
    let comparison = Comparison {
        rtt: Span::from_millis(rtt_ms),
        duration: Span::from_secs(30),
        ..Comparison::new("link", link, check_scheme(scheme).expect(scheme))
    };
    let row = comparison.row(&run(&comparison.scenario()).expect("runs"));
    (row.utilization, row.note)
}

#[test]
fn bare_names_use_the_link_or_tell_why_not() {
    let cells: Vec<(f64, u64)> =
        MBPS.iter().flat_map(|&mbps| RTT_MS.map(|rtt_ms| (mbps, rtt_ms))).collect();
    let wrong = SCHEMES.par_iter().filter_map(|scheme| {
        let found: Vec<_> =
            cells.par_iter().map(|&(mbps, rtt_ms)| used(scheme.name, mbps, rtt_ms)).collect();
        for (figure, note) in &found {
            if note.as_deref().is_some_and(|note| note.starts_with(FLOODED)) {
                continue;
            }
            let expected = scheme.note.filter(|_| *figure < WELL_USED).map(|note| note.text);
            assert_eq!(note.as_deref(), expected, "{} at {figure}", scheme.name);
        }
        let lowest = found.iter().map(|(figure, _)| *figure).fold(1.0, f64::min);
        let figures: Vec<String> =
            found.iter().map(|(figure, _)| format!("{:.1}", 100.0 * figure)).collect();
        let problem = match scheme.note {
            None if lowest < WELL_USED => "uses less than it should, and has no note",
            Some(_) if lowest >= NEEDLESS => "has a note and needs none",
            _ => return None,
        };
        Some(format!("{} {problem}: {}\n", scheme.name, figures.join(" ")))
    });
    let wrong: String = wrong.collect();
    assert!(wrong.is_empty(), "in per cent over {MBPS:?} Mbit/s times {RTT_MS:?} ms:\n{wrong}");
}

/// The variant of Copa's program fills a constant link; the paper's rule for the velocity fills a
/// third of it.
#[test]
fn copa_is_its_authors_program() {
    let copa = |variant: &str| used(&format!("copa[variant={variant}]"), 24.0, 100).0;
    assert_eq!(copa("authors"), used("copa", 24.0, 100).0);
    assert!(copa("authors") > 0.9 && copa("mvfst") > 0.9, "{} {}", copa("authors"), copa("mvfst"));
    assert!(copa("paper") < 0.5, "{}", copa("paper"));
}

/// A target that is not longer than the RTT is never met; a target in RTTs fits each path.
#[test]
fn c2tcps_target_follows_the_path() {
    for rtt_ms in [50, 100, 150] {
        let (figure, _) = used("c2tcp", 12.0, rtt_ms);
        assert!(figure > 0.9, "{figure} at {rtt_ms} ms");
    }
    let (figure, _) = used("c2tcp[variant=ifip2018]", 12.0, 100);
    assert!(figure < 0.1, "{figure}");
}

/// A scheme with parameters or a queue that the user chose has no note.
#[test]
fn parameters_and_queues_have_no_note() {
    for scheme in ["gcc[min_rate=60kbps]", "gcc+codel"] {
        let (figure, note) = used(scheme, 24.0, 100);
        assert!(figure < WELL_USED && note.is_none(), "{scheme}: {figure}");
    }
}

/// A note whose reason is the length of the path does not stand beside figures with another reason.
#[test]
fn notes_about_long_paths_are_for_long_paths() {
    let link = |mbps: f64| Capacity::Constant(Rate::from_mbps(mbps));
    let has_note = |scheme: &str, mbps: f64, rtt_ms: u64, buffer: &str, seconds: u64| {
        let comparison = Comparison {
            rtt: Span::from_millis(rtt_ms),
            buffer: BufferSize::parse(buffer).expect(buffer),
            duration: Span::from_secs(seconds),
            ..Comparison::new("link", link(mbps), check_scheme(scheme).expect(scheme))
        };
        let row = comparison.row(&run(&comparison.scenario()).expect("runs"));
        assert!(row.utilization < WELL_USED, "{scheme} at {mbps}: {}", row.utilization);
        row.note.is_some_and(|note| !note.starts_with(FLOODED))
    };
    assert!(has_note("cubic", 100.0, 200, "250", 30));
    for (mbps, buffer, seconds) in
        [(10.0, "250", 1), (100.0, "250", 2), (2.0, "2", 30), (100.0, "5", 30)]
    {
        let noted = has_note("cubic", mbps, 200, buffer, seconds);
        assert!(!noted, "{mbps} Mbit/s, {buffer}, {seconds} s");
    }
    assert!(has_note("copa", 24.0, 100, "250", 1));
    assert!(!has_note("copa", 24.0, 10, "1", 1));
}

/// Schemes that flood a slow link, and those that mean to keep its queue short and do not, have a note.
#[test]
fn floods_and_long_queues_have_notes() {
    let note = |scheme: &str, mbps: f64| {
        let link = Capacity::Constant(Rate::from_mbps(mbps));
        let comparison = Comparison::new("link", link, check_scheme(scheme).expect(scheme));
        let row = comparison.row(&run(&comparison.scenario()).expect("runs"));
        row.note.unwrap_or_default()
    };
    assert!(note("vivace", 0.2).starts_with(FLOODED));
    assert!(note("vivace[variant=paper]", 0.2).starts_with(FLOODED));
    assert!(note("vcp", 0.2).contains("vcp[scale=smallest]"));
    assert!(note("copa", 0.2).contains("copa[mode=default]"));
    for scheme in ["vcp[scale=smallest]", "copa[mode=default]", "cubic", "newreno"] {
        assert_eq!(note(scheme, 0.2), "", "{scheme}");
    }
    assert_eq!(note("copa", 1.0), "");
}
