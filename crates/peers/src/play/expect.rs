//! Segments that a script expects from the sender, and their times.

use paceline_cc::{Ecn, Span};

use super::Player;
use crate::script::Segment;
use crate::tcp::Departure;

/// Formats a segment for remarks.
pub(super) fn written(departure: &Departure) -> String {
    let (first, end) = departure.range;
    format!("{first}:{end} at {:.1} ms", departure.time.as_millis_f64())
}

impl Player<'_> {
    /// Compares the next segment with one that the script expects between two times. Returns false
    /// if the script ends here.
    pub(super) fn expect(&mut self, line: usize, segment: &Segment, from: Span, to: Span) -> bool {
        if segment.is_of_state() {
            return false;
        }
        if segment.range.0 == segment.range.1 {
            // An acknowledgement: this sender receives no data.
            return true;
        }
        // Tolerance as in packetdrill: 4 ms, or an eighth of the time since the previous event.
        let tolerance = self.script.tolerance.max((from - self.last) / 8);
        let latest = to + tolerance;
        let (first, end) = segment.range;
        let mut problems = Vec::new();
        self.tcp.await_departure(latest);
        let begins = self.tcp.departed().iter().position(|left| left.range.0 == first);
        let Some(begins) = begins else {
            let next = self.tcp.departed().front().map_or("nothing".to_string(), written);
            self.tcp.advance(to);
            self.last = self.last.max(from);
            let expected = format!("{first}:{end} at {:.1} ms", from.as_millis_f64());
            self.played.differ(line, format!("expected {expected}, and {next} left"));
            return true;
        };
        for early in self.tcp.departed().drain(..begins) {
            problems.push(format!("{} left first", written(&early)));
        }
        let (mut reached, mut left) = (first, Vec::new());
        while reached < end {
            self.tcp.await_departure(latest);
            let is_next = |next: &&Departure| next.range.0 == reached && next.range.1 <= end;
            let Some(next) = self.tcp.departed().front().filter(is_next).copied() else { break };
            self.tcp.departed().pop_front();
            reached = next.range.1;
            left.push(next);
        }
        if reached < end {
            problems.push(format!("it ends at {reached}"));
        }
        let is_in_time = |left: &&Departure| left.time + tolerance >= from && left.time <= latest;
        if !self.script.paced
            && let Some(wrong) = left.iter().find(|left| !is_in_time(left))
        {
            problems.push(format!("it left at {:.1} ms", wrong.time.as_millis_f64()));
        }
        if let Some(wrong) = left.iter().find(|left| !has_ecn(&segment.ecn, left.ecn)) {
            problems.push(format!("its ECN field is {:?}", wrong.ecn));
        }
        self.last = self.last.max(left.last().map_or(from, |left| left.time));
        if problems.is_empty() {
            self.played.held += 1;
        } else {
            let millis = from.as_millis_f64();
            let text = format!("expected {first}:{end} at {millis:.1} ms: {}", problems.join("; "));
            self.played.differ(line, text);
        }
        true
    }
}

/// True if a script that writes `wanted` accepts this ECN field.
fn has_ecn(wanted: &str, ecn: Ecn) -> bool {
    match wanted {
        "ect0" => ecn == Ecn::Ect0,
        "ect1" => ecn == Ecn::Ect1,
        "ce" => ecn == Ecn::Ce,
        "noecn" => ecn == Ecn::NotEct,
        _ => true,
    }
}
