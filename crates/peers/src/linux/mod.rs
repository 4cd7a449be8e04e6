//! Recordings of Linux' segments and state under the inputs of a script.
//!
//! `NAME.pkt` has the inputs. `NAME.linux` has three kinds of lines. `S time_ms first end` is a
//! segment that was sent; times count from the SYN, and segmentation offload makes segments of
//! several MSS. `@ line cwnd ssthresh ca_state unacked sacked lost retrans rto ms` is the state
//! after the input in that line of the script. `T ms` is the kernel's tick count at the SYN as a
//! time, modulo 16,384 ms.

mod clock;
mod compare;

use paceline_cc::Span;

pub use clock::inputs;
pub use compare::{Comparison, compare};

use crate::tcp::Info;

/// A recording of Linux.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Segments sent: time since the SYN, first sequence number, last sequence number plus one.
    pub sends: Vec<(Span, u64, u64)>,
    /// States after the inputs.
    pub states: Vec<RecordedState>,
    /// Time that the kernel's tick count had reached at the SYN, modulo 4096 ticks; `None` if
    /// unknown.
    pub uptime: Option<Span>,
}

/// Linux' state after an input.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct RecordedState {
    /// Line of the input in the script.
    pub line: usize,
    /// Values from `tcp_info`.
    pub info: Info,
    /// Retransmission timeout.
    pub rto: Span,
}

/// Parses a recording.
///
/// # Errors
///
/// A line is invalid; the error names it.
pub fn read(text: &str) -> Result<Recording, String> {
    let mut recording = Recording::default();
    for (index, line) in text.lines().enumerate() {
        let problem = || format!("line {}: `{line}` is not understood", index + 1);
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |word: usize| words.get(word)?.parse::<u64>().ok();
        match words.first().copied() {
            Some("S") => {
                let millis = words.get(1).and_then(|word| word.parse::<f64>().ok());
                let send = millis.zip(number(2)).zip(number(3));
                let ((millis, first), end) = send.ok_or_else(problem)?;
                recording.sends.push((Span::from_secs_f64(millis / 1e3), first, end));
            }
            Some("T") => {
                let millis = words.get(1).and_then(|word| word.parse::<f64>().ok());
                recording.uptime = Some(Span::from_secs_f64(millis.ok_or_else(problem)? / 1e3));
            }
            Some("@") => recording.states.push(state(&number).ok_or_else(problem)?),
            _ if line.starts_with('#') || line.trim().is_empty() => {}
            _ => return Err(problem()),
        }
    }
    Ok(recording)
}

fn state(number: &dyn Fn(usize) -> Option<u64>) -> Option<RecordedState> {
    let info = Info {
        cwnd: number(2)?,
        ssthresh: number(3)?,
        ca_state: number(4)?,
        unacked: number(5)?,
        sacked: number(6)?,
        lost: number(7)?,
        retrans: number(8)?,
    };
    Some(RecordedState { line: number(1)? as usize, info, rto: Span::from_millis(number(10)?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_and_states_are_read() {
        let text = "# a comment\nS 21.3 1 1001\n@ 11 10 2147483647 3 1 0 0 0 rto 224\n";
        let recording = read(text).expect("a recording");
        assert_eq!(recording.sends, [(Span::from_micros(21_300), 1, 1001)]);
        let state = recording.states[0];
        assert_eq!((state.line, state.rto), (11, Span::from_millis(224)));
        assert_eq!((state.info.cwnd, state.info.ca_state, state.info.unacked), (10, 3, 1));
        assert!(read("S 21.3 1").is_err() && read("what").is_err() && read("@ 1 2").is_err());
    }
}
