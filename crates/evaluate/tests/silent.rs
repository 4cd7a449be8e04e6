//! Answers about a scheme that sends nothing, and about one that stops.

use std::sync::Arc;

use paceline_cc::{Controller, Feedback, Halves, Plan, Time};
use paceline_evaluate::{Request, Row, Verdict, documents, evaluate};

use paceline_sim::Names;
use paceline_sim::schemes::{SchemeEntry, registry};
use paceline_tasks::{Progress, Store};

struct Quiet;

impl Progress for Quiet {
    fn begin(&self, _total: f64, _done: f64) {}
    fn done(&self, _task: &str, _cost: f64) {}
}

/// A window of some packets until a time, and none from then on.
struct Until {
    packets: u64,
    stop: Time,
    mss: u32,
    has_stopped: bool,
}

impl Controller for Until {
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.has_stopped |= feedback.now >= self.stop;
    }

    fn on_timer(&mut self, _: Time) {
        self.has_stopped = true;
    }

    fn plan(&self) -> Plan {
        if self.has_stopped {
            Plan::window(0).exact()
        } else {
            Plan::window(self.packets * u64::from(self.mss)).timer(self.stop)
        }
    }
}

/// Answers criteria about `nothing`, which sends nothing, `stops`, which stops after 15 s, `stops-late`, which stops
/// after 65 s, and `few`, which keeps four packets in flight.
fn rows(cases: &str, only: &[&str], evaluated: &[&str]) -> Vec<Row> {
    let mut schemes = registry::builtin().clone();
    for (name, packets, stop) in
        [("nothing", 20, 0), ("stops", 20, 15), ("stops-late", 20, 65), ("few", 4, 1000)]
    {
        let stop = Time::from_secs(stop);
        let halves = Halves::sender(move |setup| Until {
            packets,
            stop,
            mss: setup.mss,
            has_stopped: stop == Time::ZERO,
        });
        schemes.add(SchemeEntry::new(name, move |_| Ok(halves.clone()))).expect("a free name");
    }
    let request = Request {
        schemes: evaluated.iter().map(ToString::to_string).collect(),
        documents: documents(cases).expect("known"),
        only: only.iter().map(ToString::to_string).collect(),
        quick: true,
        runs: Some(1),
        seed: 1,
    };
    let names = Arc::new(Names::from(schemes));
    let done = evaluate(&request, &names, &Store::disabled(), &Quiet).expect("an evaluation");
    assert_eq!(done.failures, []);
    done.rows
}

#[test]
fn a_flow_that_stops_is_not_good_by_what_arrived_before() {
    let rows = rows("rfc9743,rfc8867,rfc8869", &[], &["nothing", "stops"]);
    let by_arrivals = |row: &&Row| {
        row.figure.is_some_and(|figure| {
            ["95th percentile of the frames' delay", "Jain's index"].contains(&figure)
        }) || row.id == "short.own"
    };
    let judged: Vec<&Row> = rows.iter().filter(by_arrivals).collect();
    assert_eq!(judged.len(), 2 * 20);
    for row in judged {
        assert_ne!(row.verdict, Some(Verdict::Good), "{}: {}: {}", row.id, row.scheme, row.answer);
    }
}

#[test]
fn flows_that_stop_together_are_not_fair() {
    let fair = ["8867.5.4.fair", "8867.5.5.fair"];
    let rows = rows("rfc8867", &fair, &["stops-late"]);
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row.verdict, Some(Verdict::NotAnswerable), "{}: {}", row.id, row.answer);
    }
}

#[test]
fn a_start_without_a_queue_has_none_to_drain() {
    let drain = rows("bbr-draft", &["bbr-draft.3.time"], &["nothing", "few"]);
    let figures: Vec<_> = drain.iter().map(|row| (row.median, row.verdict)).collect();
    assert_eq!(figures, [(None, Some(Verdict::NotAnswerable)), (Some(0.0), Some(Verdict::Good))]);
}

/// Criteria about other flows, and those that ask to send little.
const GOOD_FOR_NOTHING: [&str; 19] = [
    "collapse.loss",
    "collapse.feedback",
    "cubic.harm",
    "cubic.delay",
    "cubic.loss",
    "cubic-deep.harm",
    "reno.harm",
    "bbr.harm",
    "bbr3.harm",
    "call.rate",
    "call.delay",
    "call.loss",
    "short-cubic.time",
    "cubic-short.rate",
    "fq_codel.harm",
    "l4s.cubic",
    "l4s.prague",
    "onset.share",
    "8867.5.6.tcp",
];

#[test]
fn a_flow_that_sends_nothing_is_good_to_others_only() {
    let rows = rows("rfc9743,rfc8867,rfc8869,bbr-draft", &[], &["nothing"]);
    let is_good = |row: &&Row| row.scheme == "nothing" && row.verdict == Some(Verdict::Good);
    let good: Vec<&str> = rows.iter().filter(is_good).map(|row| row.id).collect();
    assert_eq!(good, GOOD_FOR_NOTHING);
}
