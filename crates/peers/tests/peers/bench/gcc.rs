//! GCC's sender, with the departure and the arrival time of each packet in microseconds.

use paceline_cc::{Controller, Fate, Feedback, Span, Time};
use paceline_peers::vector::Outcome;

use super::{controller, ms, state};

/// Time at which both clocks begin: 1000 s.
const BEGIN: i64 = 1_000_000_000;

/// Value of the inner state `state`.
pub(crate) const INCREASE: f64 = 1.0;
pub(crate) const DECREASE: f64 = 2.0;

pub(crate) struct Gcc {
    controller: Box<dyn Controller>,
    next: u64,
    pub(crate) rtt: Span,
}

impl Gcc {
    /// The sender under `scheme`, which decides at each acknowledgement and does not probe.
    pub(crate) fn new(scheme: &str) -> Gcc {
        let scheme = scheme.strip_suffix(']').expect("a scheme with parameters");
        let scheme = format!("{scheme},min_feedback=0s,max_feedback=0s,probes=false]");
        Gcc { controller: controller(&scheme, 1200), next: 0, rtt: ms(100) }
    }

    /// Reports a packet that left at `sent` and arrived at `received`; the report has no delay.
    pub(crate) fn arrives(&mut self, sent: i64, received: i64, size: u32) {
        let at = |micros: i64| Time::ZERO + Span::from_micros((BEGIN + micros) as u64);
        let mut fate = Fate::new(self.next, size, at(sent), 0, false);
        fate.received = at(received);
        self.next += 1;
        self.hear(at(received), &[fate]);
    }

    /// Reports packets without arrival times, of which `lost` in a hundred were lost.
    pub(crate) fn hear_of_losses(&mut self, now: Time, lost: u64) {
        let fate = |number| Fate::new(number, 1200, Time::from_millis(1), 0, number < lost);
        let fates: Vec<Fate> = (0..100).map(fate).collect();
        self.hear(now, &fates);
    }

    pub(crate) fn hear(&mut self, now: Time, fates: &[Fate]) {
        let mut feedback = Feedback::new(now, 1200);
        (feedback.srtt, feedback.min_rtt) = (self.rtt, self.rtt);
        feedback.rtt = Some(self.rtt);
        feedback.fates = fates;
        self.controller.on_feedback(&feedback);
    }

    /// Sends packets of `size` bytes that arrive as evenly as they leave.
    pub(crate) fn steady(&mut self, packets: std::ops::Range<i64>, gap: i64, size: u32) {
        for index in packets {
            self.arrives(index * gap, 50_000 + index * gap, size);
        }
    }

    /// Returns a value of the inner state; `delay_based` and `loss_based` are rates in Mbit/s.
    pub(crate) fn get(&self, name: &str) -> f64 {
        state(&*self.controller, name)
    }

    pub(crate) fn state(&self) -> f64 {
        self.get("state")
    }

    /// -1 for under-use, 1 for over-use, 0 for neither.
    pub(crate) fn usage(&self) -> f64 {
        self.get("usage")
    }
}

/// Returns the random numbers with which other programs' recordings were made.
pub(crate) fn congruential(seed: u32) -> impl FnMut() -> i64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        i64::from(state >> 8)
    }
}

/// Sends packets every 10 ms until GCC detects over-use at a growing queue; then the queue
/// disappears. Returns the rate just before it grows again, its growth in the second after that in
/// bit/s, and the rate sent before.
pub(crate) fn after_overuse(size: u32, rtt: u64, initial: &str) -> Result<(f64, f64, f64), String> {
    let mut gcc = Gcc::new(&format!("gcc[filter=trendline,initial_rate={initial},min_rate=5kbps]"));
    gcc.rtt = ms(rtt);
    let (mut delay, mut over, mut begin) = (0, None, 0.0);
    for index in 0..1000 {
        match over {
            None if index >= 300 => delay += 2500,
            None => {}
            Some(_) => delay = (delay - 5000).max(0),
        }
        gcc.arrives(index * 10_000, index * 10_000 + 50_000 + delay, size);
        if gcc.state() == DECREASE && over.is_none() {
            over = Some(index);
        }
        let rate = gcc.get("delay_based") * 1e6;
        match over.map(|over| index - over) {
            Some(150) if gcc.state() == INCREASE => begin = rate,
            Some(150) => return Err("the rate does not increase again".to_string()),
            Some(250) => return Ok((begin, rate - begin, f64::from(size) * 800.0)),
            _ => {}
        }
    }
    Err("no over-use".to_string())
}

/// Runs packets `(sent, received)`; returns each change of the slope that is not 0.
pub(crate) fn slope_changes(packets: &[(i64, i64)]) -> Vec<f64> {
    let mut gcc = Gcc::new("gcc[filter=kalman,deltas=1]");
    let (mut changes, mut before) = (Vec::new(), 0.0);
    for (sent, received) in packets {
        gcc.arrives(*sent, *received, 1200);
        let slope = gcc.get("estimate");
        if slope != before {
            changes.push(slope - before);
        }
        before = slope;
    }
    changes
}

/// Calls `see` after each of 400 packets. `course` gives the time since the previous packet and the
/// delay in addition to 50 ms.
pub(crate) fn run_course(
    course: &mut dyn FnMut(i64) -> (i64, i64),
    see: &mut dyn FnMut(i64, &Gcc) -> Outcome,
) -> Outcome {
    let mut gcc = Gcc::new("gcc[filter=trendline]");
    let (mut sent, mut last) = (0, 0);
    for index in 0..400 {
        let (gap, delay) = course(index);
        sent += gap;
        last = last.max(sent + 50_000 + delay);
        gcc.arrives(sent, last, 1200);
        see(index, &gcc)?;
    }
    Ok(())
}
