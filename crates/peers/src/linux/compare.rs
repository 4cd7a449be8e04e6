//! Compares a sender with a recording of Linux.

use std::collections::BTreeMap;

use paceline_cc::Span;

use super::{Recording, inputs};
use crate::play::{Remark, Schemes, play_inputs};
use crate::script::{Script, What};
use crate::tcp::Info;

/// Largest difference between the departure times of a segment here and at Linux that counts as
/// equal.
const SAME_TIME: Span = Span::from_millis(5);

/// Counts of agreements between a sender and Linux.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// States after inputs that were compared.
    pub states: usize,
    /// Of these, states whose window is within one packet of Linux'.
    pub windows: usize,
    /// Of these, states with Linux' congestion state.
    pub ca_states: usize,
    /// Transmissions of single segments by either sender.
    pub sends: usize,
    /// Of these, transmissions by both within 5 ms.
    pub same_sends: usize,
    /// Of the others, transmissions by a timer of both, where Linux is later by at most an eighth
    /// of the time since the last input, as a kernel's timers may be.
    pub late_timers: usize,
    /// The first differences.
    pub differences: Vec<Remark>,
}

impl Comparison {
    /// Returns the shares of windows and of transmissions that agree.
    pub fn shares(&self) -> (f64, f64) {
        let share = |part: usize, all: usize| if all == 0 { 1.0 } else { part as f64 / all as f64 };
        (share(self.windows, self.states), share(self.same_sends, self.sends))
    }
}

/// Gives a sender the inputs of `script` at the times at which Linux got them, and compares.
/// Describes at most `most` differences.
///
/// # Errors
///
/// The script cannot be played to its end.
pub fn compare(
    script: &Script,
    recording: &Recording,
    schemes: &Schemes,
    most: usize,
) -> Result<Comparison, Remark> {
    let inputs = inputs(script, recording);
    let (mut states, mut sends) = (BTreeMap::new(), Vec::new());
    let played = play_inputs(script, schemes, &inputs, &mut |line, tcp| {
        states.insert(line, tcp.info());
        sends.extend(tcp.departed().drain(..).map(|left| (left.time, left.range.0, left.range.1)));
    });
    if let Some(stopped) = played.stopped {
        return Err(stopped);
    }
    let mut comparison = Comparison::default();
    compare_states(&mut comparison, recording, &states, most);
    let mss = mss(script);
    let ours = singly(&sends, mss);
    compare_sends(&mut comparison, &singly(&recording.sends, mss), &ours, &inputs.times, most);
    Ok(comparison)
}

fn compare_states(
    comparison: &mut Comparison,
    recording: &Recording,
    ours: &BTreeMap<usize, Info>,
    most: usize,
) {
    for state in &recording.states {
        let Some(ours) = ours.get(&state.line) else { continue };
        comparison.states += 1;
        comparison.ca_states += usize::from(ours.ca_state == state.info.ca_state);
        if ours.cwnd.abs_diff(state.info.cwnd) <= 1 {
            comparison.windows += 1;
        } else if comparison.differences.len() < most {
            let text = format!("{ours:?}, and Linux {:?}", state.info);
            comparison.differences.push(Remark { line: state.line, text });
        }
    }
}

/// Times of transmissions of segments of one MSS, by the first sequence number and the number of
/// earlier transmissions of the segment.
type Singly = BTreeMap<(u64, usize), Span>;

fn singly(sends: &[(Span, u64, u64)], mss: u64) -> Singly {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    let mut single = Singly::new();
    for (time, first, end) in sends {
        for first in (*first..*end).step_by(mss.max(1) as usize) {
            let count = counts.entry(first).or_default();
            single.insert((first, *count), *time);
            *count += 1;
        }
    }
    single
}

fn compare_sends(
    comparison: &mut Comparison,
    linux: &Singly,
    ours: &Singly,
    inputs: &[Span],
    most: usize,
) {
    let is_late_timer = |linux: Span, ours: Span| {
        let last_input = inputs.iter().rev().find(|input| **input <= ours).copied();
        let waited = linux - last_input.unwrap_or_default().min(linux);
        linux > ours && linux - ours <= waited / 8
    };
    let ms = |time: Option<&Span>| {
        time.map_or("not".to_string(), |time| format!("{:.1}", time.as_millis_f64()))
    };
    let mut described = 0;
    let only_ours = ours.keys().filter(|key| !linux.contains_key(key));
    for key in linux.keys().chain(only_ours) {
        comparison.sends += 1;
        let (theirs, our) = (linux.get(key), ours.get(key));
        let is_same = matches!((theirs, our), (Some(theirs), Some(our))
            if (*theirs).max(*our) - (*theirs).min(*our) <= SAME_TIME);
        if is_same {
            comparison.same_sends += 1;
            continue;
        }
        if let (Some(theirs), Some(our)) = (theirs, our) {
            comparison.late_timers += usize::from(is_late_timer(*theirs, *our));
        }
        if described < most {
            described += 1;
            let (first, repeats) = key;
            let text =
                format!("{first}, repeat {repeats}: {} ms, and Linux {} ms", ms(our), ms(theirs));
            comparison.differences.push(Remark { line: 0, text });
        }
    }
}

/// Returns the MSS that the other end of a script announces.
fn mss(script: &Script) -> u64 {
    let named = script.events.iter().find_map(|event| match &event.what {
        What::In(segment) => segment.options.mss,
        _ => None,
    });
    named.unwrap_or(536)
}
