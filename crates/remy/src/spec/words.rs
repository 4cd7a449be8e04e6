//! Describes the networks of a specification in words.

use std::fmt;

use super::{OnUnit, Range, Specification};

/// Writes the networks in a few words, with the ends of ranges: `10 to 30 Mbit/s, RTT 60 to 140 ms,
/// 1 to 4 senders, on 5 s, off 5 s`.
impl fmt::Display for Specification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.traces.models.is_empty() {
            write!(f, "traces like {}", self.traces.models.join(", "))?;
        } else if !self.traces.listed.is_empty() {
            let names: Vec<&str> = self.traces.listed.iter().map(|trace| trace.name()).collect();
            write!(f, "{}", names.join(", "))?;
        } else {
            write!(f, "{} Mbit/s", words(&self.link_mbps))?;
        }
        if let Some(second) = &self.second_mbps {
            write!(f, " and {} Mbit/s", words(second))?;
        }
        let unit = match self.on_unit {
            OnUnit::Seconds => "s",
            OnUnit::Bytes => "bytes",
            OnUnit::Icsi => "bytes more than ICSI's flows",
        };
        let (rtt, senders) = (words(&self.rtt_ms), words(&self.senders));
        let plural = if senders == "1" { "" } else { "s" };
        let (on, off) = (words(&self.on_s), words(&self.off_s));
        write!(f, ", RTT {rtt} ms, {senders} sender{plural}, on {on} {unit}, off {off} s")?;
        for (range, name, unit) in [
            (&self.loss, "loss", ""),
            (&self.jitter_ms, "jitter", " ms"),
            (&self.ack_slot_ms, "acknowledgements every", " ms"),
        ] {
            if range.to > 0.0 {
                write!(f, ", {name} {}{unit}", words(range))?;
            }
        }
        if let Some(others) = &self.others {
            let names: Vec<String> = others.schemes.iter().map(ToString::to_string).collect();
            let place = if others.are_beside { "beside" } else { "of them" };
            write!(f, ", {} {place} with {}", words(&others.senders), names.join(", "))?;
        }
        Ok(())
    }
}

/// Describes a range: its one value, its list, or its ends.
fn words(range: &Range) -> String {
    let number = |value: f64| {
        let text = format!("{value:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    };
    if !range.listed.is_empty() {
        return range.listed.iter().map(|&value| number(value)).collect::<Vec<_>>().join(", ");
    }
    match range.from == range.to {
        true => number(range.from),
        false => format!("{} to {}", number(range.from), number(range.to)),
    }
}
