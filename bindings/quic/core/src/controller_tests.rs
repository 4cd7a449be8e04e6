//! Calls of controllers that follow from stacks' reports.

use std::sync::{Arc, Mutex};

use paceline_cc::{Congestion, Controller, Feedback, Plan, Span, Stream, Time};

use crate::controller::{LossReport, QuicController};
use crate::pacing::Pacing;

/// Records the congestion in its feedback.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<Congestion>>>);

impl Controller for Recorder {
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.0.lock().expect("not poisoned").extend(feedback.congestion);
    }

    fn plan(&self) -> Plan {
        Plan::window(12_000)
    }
}

fn at(millis: u64) -> Time {
    Time::from_millis(millis)
}

fn lost(sent: u64) -> LossReport {
    LossReport { bytes: 1200, newest_sent: at(sent), persistent: false }
}

#[test]
fn a_window_has_one_congestion_event() {
    let recorder = Recorder::default();
    let mut controller = QuicController::new(Box::new(recorder.clone()), 1200, Pacing::Stack);
    controller.on_sent(at(0), 4800);
    controller.on_sent(at(50), 1200);
    controller.on_lost(at(100), lost(0));
    // Packets sent before the reaction belong to its event, as losses and as marks.
    controller.on_lost(at(110), lost(50));
    controller.on_marked(at(110), at(50), 1);
    controller.on_sent(at(120), 1200);
    controller.on_marked(at(200), at(120), 1);
    assert_eq!(*recorder.0.lock().expect("not poisoned"), [Congestion::Loss, Congestion::Ecn]);
}

#[test]
fn only_a_reaction_to_losses_is_taken_back() {
    let recorder = Recorder::default();
    let mut controller = QuicController::new(Box::new(recorder.clone()), 1200, Pacing::Stack);
    controller.on_sent(at(0), 4800);
    controller.on_marked(at(100), at(0), 1);
    // The mark's event covers this loss. Undoing the loss does not undo the mark.
    controller.on_lost(at(101), lost(0));
    controller.on_spurious(at(102));
    controller.on_sent(at(200), 1200);
    controller.on_lost(at(300), lost(200));
    controller.on_spurious(at(301));
    // The reaction was undone.
    controller.on_spurious(at(302));
    let seen = recorder.0.lock().expect("not poisoned").clone();
    assert_eq!(seen, [Congestion::Ecn, Congestion::Loss, Congestion::Undo]);
}

/// Counts its calls of `on_idle`.
#[derive(Clone, Default)]
struct IdleCounter(Arc<Mutex<u32>>);

impl Controller for IdleCounter {
    fn on_feedback(&mut self, _feedback: &Feedback<'_>) {}

    fn on_idle(&mut self, _now: Time, _idle: Span, _rto: Span) {
        *self.0.lock().expect("not poisoned") += 1;
    }

    fn plan(&self) -> Plan {
        Plan::window(12_000)
    }
}

/// A pacer that waits while nothing is in flight does not make the application idle (s2n
/// `handle_restart_from_idle`).
#[test]
fn only_a_pause_of_the_application_is_idle() {
    let idle = IdleCounter::default();
    let mut controller = QuicController::new(Box::new(idle.clone()), 1200, Pacing::Stack);
    for (k, app_limited) in [(0, false), (1, false), (2, true), (3, false)] {
        controller.on_sent(at(200 * k), 1200);
        controller.on_acked(at(200 * k + 100), at(200 * k), 1200);
        controller.on_acks_end(at(200 * k + 100), 0, app_limited);
        let told = *idle.0.lock().expect("not poisoned");
        assert_eq!(told, u32::from(k == 3), "packet {k}");
    }
}

/// Lost bytes, lost packets and the numbers of packets with a fate, of a feedback.
type LossFeedback = (u64, u32, Vec<u64>);

/// Records feedback about losses.
#[derive(Clone, Default)]
struct LossRecorder(Arc<Mutex<Vec<LossFeedback>>>);

impl Controller for LossRecorder {
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        if feedback.lost > 0 {
            let fates = feedback.fates.iter().map(|fate| fate.number).collect();
            self.0.lock().expect("not poisoned").push((
                feedback.lost,
                feedback.lost_packets,
                fates,
            ));
        }
    }

    fn plan(&self) -> Plan {
        Plan::window(120_000)
    }
}

/// A window of ten packets is lost. A probe that leaves after a PTO of 45 ms, more than two RTTs of
/// 20 ms, is acknowledged, and only then does the stack report the losses.
#[test]
fn a_lost_window_has_its_packets_after_a_probe() {
    let recorder = LossRecorder::default();
    let mut controller = QuicController::new(Box::new(recorder.clone()), 1200, Pacing::Stack);
    controller.on_sent(at(0), 1200);
    controller.on_acked(at(20), at(0), 1200);
    controller.on_acks_end(at(20), 0, false);
    controller.on_sent(at(21), 12_000);
    controller.on_sent(at(66), 1200);
    controller.on_acked(at(86), at(66), 1200);
    controller.on_acks_end(at(86), 12_000, false);
    controller
        .on_lost(at(86), LossReport { bytes: 12_000, newest_sent: at(21), persistent: false });
    let seen = recorder.0.lock().expect("not poisoned").clone();
    assert_eq!(seen, [(12_000, 10, (1..=10).collect())]);
}

/// Packets with acknowledgements only are forgotten one acknowledgement later.
#[test]
fn packets_without_data_take_no_blame_for_losses() {
    let recorder = LossRecorder::default();
    let mut controller = QuicController::new(Box::new(recorder.clone()), 1200, Pacing::Stack);
    for k in 0..20 {
        controller.on_sent(at(10 * k), 40);
    }
    for sent in [200, 300] {
        controller.on_sent(at(sent), 1200);
        controller.on_acked(at(sent + 20), at(sent), 1200);
        controller.on_acks_end(at(sent + 20), 0, false);
    }
    controller.on_sent(at(400), 1200);
    controller
        .on_lost(at(450), LossReport { bytes: 1200, newest_sent: at(400), persistent: false });
    let seen = recorder.0.lock().expect("not poisoned").clone();
    assert_eq!(seen, [(1200, 1, vec![22])]);
}

/// Adds up the acknowledged bytes in its feedback.
#[derive(Clone, Default)]
struct AckedBytes(Arc<Mutex<u64>>);

impl Controller for AckedBytes {
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        *self.0.lock().expect("not poisoned") += feedback.acked;
    }

    fn plan(&self) -> Plan {
        Plan::window(120_000)
    }
}

/// A stack reports other sizes than those of the packets that it sent.
#[test]
fn as_many_bytes_are_acknowledged_as_the_stack_reports() {
    let sum = AckedBytes::default();
    let mut controller = QuicController::new(Box::new(sum.clone()), 1200, Pacing::Stack);
    let mut random = Stream::new(1, "sizes");
    let mut reported = 0;
    for k in 0..1000 {
        for _ in 0..4 {
            controller.on_sent(at(10 * k), 1 + random.next_u64() % 1200);
        }
        let bytes = 1 + random.next_u64() % 4000;
        reported += bytes;
        controller.on_acked_together(at(10 * k + 5), at(10 * k), bytes);
        controller.on_acks_end(at(10 * k + 5), 0, false);
    }
    assert_eq!(*sum.0.lock().expect("not poisoned"), reported);
}

/// Records the bytes in flight in its feedback.
#[derive(Clone, Default)]
struct InFlight(Arc<Mutex<Vec<u64>>>);

impl Controller for InFlight {
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.0.lock().expect("not poisoned").push(feedback.in_flight);
    }

    fn plan(&self) -> Plan {
        Plan::window(120_000)
    }
}

#[test]
fn discarded_packets_are_not_in_flight() {
    let recorder = InFlight::default();
    let mut controller = QuicController::new(Box::new(recorder.clone()), 1200, Pacing::Stack);
    controller.on_sent(at(0), 3600);
    controller.on_discarded(1200);
    controller.on_marked(at(1), at(0), 1);
    assert_eq!(*recorder.0.lock().expect("not poisoned"), [2400]);
}
