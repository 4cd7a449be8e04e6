//! Estimates the times at which packetdrill gave a script's inputs to Linux.
//!
//! A script gives the time that packetdrill waits after the previous event. Each event costs
//! packetdrill some tens of microseconds more, so the inputs of a long script come later and later.
//! Linux' segments in answer to an input show when it came.

use paceline_cc::Span;

use super::Recording;
use crate::play::Inputs;
use crate::script::{Script, What, When};

/// Time that an event costs packetdrill in addition to the wait.
const PER_EVENT: Span = Span::from_micros(60);
/// Largest distance between the expected time of an input and a segment that counts as its answer.
/// The allowed distance grows with each event without an answer.
const CLOSE: Span = Span::from_micros(350);
const CLOSE_PER_EVENT: Span = Span::from_micros(30);
/// Largest delay of packetdrill's clock; a wait causes at most a fifth of its own length.
const LATE: Span = Span::from_millis(2);
/// Largest gap between segments that answer one input.
const TOGETHER: Span = Span::from_micros(150);

/// Returns the time of each event of `script`, and the kernel's tick count at the SYN.
pub fn inputs(script: &Script, recording: &Recording) -> Inputs {
    Inputs { times: input_times(script, recording), uptime: recording.uptime }
}

/// Returns the time of each event of `script` since the SYN.
fn input_times(script: &Script, recording: &Recording) -> Vec<Span> {
    let mut answers = answers(recording).into_iter().peekable();
    let (mut now, mut unanswered) = (Span::ZERO, 0);
    let mut times = Vec::new();
    for event in &script.events {
        let before = now;
        let (from, is_input) = match (event.when, &event.what) {
            (When::At(time), _) => (time.max(now), false),
            (When::After(by, _), What::In(_) | What::Call(..)) => (now + by, true),
            (When::After(by, _), _) => (now + by, false),
            (When::Any, _) => (now, false),
        };
        now = from;
        if is_input {
            now += PER_EVENT;
            unanswered += 1;
            let close = (CLOSE + CLOSE_PER_EVENT * unanswered).max(lateness(from - before));
            while answers.next_if(|answer| *answer + close < now).is_some() {}
            if let Some(answer) = answers.next_if(|answer| *answer <= now + close) {
                (now, unanswered) = (answer, 0);
            }
        }
        times.push(now);
    }
    times
}

/// Returns the largest delay of packetdrill after a wait.
fn lateness(wait: Span) -> Span {
    (wait / 5).min(LATE)
}

/// Returns the times at which segments were sent; segments that were sent together count once.
fn answers(recording: &Recording) -> Vec<Span> {
    let mut times: Vec<Span> = recording.sends.iter().map(|send| send.0).collect();
    times.sort_unstable();
    let mut last = None;
    times.retain(|time| {
        let is_new = last.is_none_or(|last| *time > last + TOGETHER);
        last = Some(*time);
        is_new
    });
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script;

    #[test]
    fn inputs_come_when_linux_answers_them() {
        let script = script::read(
            "0 < S 0:0(0) win 1000 <mss 1000>\n+0 > S. 0:0(0) ack 1\n+.1 < . 1:1(0) ack 1 win 1000\n\
             +.1 write(4, ..., 1000) = 1000\n+.1 < . 1:1(0) ack 1001 win 1000\n+.1 write(4, ..., 2000) = 2000\n",
        )
        .expect("a script");
        let millis = Span::from_millis;
        // The first write is answered 0.2 ms late, and a timer sends a segment at 340 ms.
        let sends = [(200, 200, 1), (340, 0, 1), (400, 400, 1001), (400, 430, 2001)];
        let sends = sends.map(|(ms, micros, first)| {
            (millis(ms) + Span::from_micros(micros), first, first + 1000)
        });
        let recording = Recording { sends: sends.to_vec(), ..Recording::default() };
        let times = input_times(&script, &recording);
        assert_eq!(times[3], millis(200) + Span::from_micros(200));
        // No segment answers the acknowledgement: its time is the wait plus [`PER_EVENT`].
        assert_eq!(times[4], millis(300) + Span::from_micros(200) + PER_EVENT);
        assert_eq!(times[5], millis(400) + Span::from_micros(400));
    }
}
