//! Describes a table in words.

use paceline_cc::Span;
use paceline_schemes::remy::{Action, ActionBasis, DOMAIN_END, Domain, Memory, RuleTable, Signal};

use crate::PACKET;

/// Ends wider than every real value.
const FAR: f64 = 16_384.0;

/// Describes what an action does to window and pacing.
pub fn action(action: &Action) -> String {
    if action.basis == ActionBasis::Rate {
        return action_on_rate(action);
    }
    let Action { multiple, increment, intersend_ms, .. } = *action;
    let packets = |count: f64| if count == 1.0 { "packet" } else { "packets" };
    let added = f64::from(increment);
    let window = if multiple == 1.0 {
        match increment {
            0 => "keeps the window".to_string(),
            1.. => format!("adds {increment} {} to the window", packets(added)),
            _ => format!("takes {} {} off the window", -increment, packets(-added)),
        }
    } else if multiple == 0.0 {
        format!("sets the window to {} {}", increment.max(0), packets(added))
    } else if multiple < 1.0 && increment > 0 {
        // The window to which repeated use of the rule converges.
        let rest = added / (1.0 - multiple);
        format!("moves the window by {:.1} % towards {rest:.0} packets", 100.0 * (1.0 - multiple))
    } else {
        format!("multiplies the window by {multiple} and adds {increment}")
    };
    let pace = if intersend_ms > 0.0 {
        let mbps = f64::from(PACKET) * 8.0 / 1e3 / intersend_ms;
        format!("at most a packet every {intersend_ms:.4} ms ({mbps:.1} Mbit/s)")
    } else {
        "without pacing".to_string()
    };
    format!("{window}, {pace}")
}

/// Describes an action on the delivery rate.
fn action_on_rate(action: &Action) -> String {
    let Action { multiple, increment, intersend_ms: gain, queue_ms, .. } = *action;
    let time = match (multiple == 0.0, queue_ms) {
        (true, queue) => format!("{queue} ms"),
        (false, 0.0) => format!("{multiple} min RTT"),
        (false, queue) if queue < 0.0 => format!("({multiple} min RTT - {} ms)", -queue),
        (false, queue) => format!("({multiple} min RTT + {queue} ms)"),
    };
    let added = match increment {
        0 => String::new(),
        1 => " plus 1 packet".to_string(),
        -1 => " less 1 packet".to_string(),
        2.. => format!(" plus {increment} packets"),
        _ => format!(" less {} packets", increment.unsigned_abs()),
    };
    let pace = match gain > 0.0 {
        true => format!("paced at {gain} times the delivery rate"),
        false => "without pacing".to_string(),
    };
    format!("sets the window to the delivery rate times {time}{added}, {pace}")
}

/// Describes the memories in a box, by those ends that differ from the whole domain's.
pub fn domain(domain: &Domain) -> String {
    let mut parts = Vec::new();
    for signal in Signal::ALL.into_iter().filter(|signal| domain.active[signal.index()]) {
        let (lower, upper) = (domain.lower[signal.index()], domain.upper[signal.index()]);
        let name = signal.name();
        match (lower > 0.0, upper < FAR.min(DOMAIN_END)) {
            (false, false) => {}
            (true, false) => parts.push(format!("{name} from {lower:.6}")),
            (false, true) => parts.push(format!("{name} below {upper:.6}")),
            (true, true) => parts.push(format!("{name} {lower:.6} to {upper:.6}")),
        }
    }
    if parts.is_empty() { "everything".to_string() } else { parts.join(", ") }
}

/// Describes a table's timer; empty without one.
pub fn timer(table: &RuleTable) -> String {
    if table.timer() == Span::ZERO {
        return String::new();
    }
    format!(
        "Rules are on a timer: while packets are outstanding, they are looked up after each {} without an \
         acknowledgement, with the time since the last one as ack_gap, and replace what the last \
         acknowledgement did.",
        table.timer()
    )
}

/// Describes the rule with which a connection begins.
pub fn beginning(table: &RuleTable) -> String {
    let Some(rule) = table.rule_for(&Memory::default()) else {
        return "There is no rule for the beginning of a connection.".to_string();
    };
    let action = &table.rules()[rule].action;
    if action.basis == ActionBasis::Rate {
        let window = action.apply_to_rate(0.0, 0.0).0;
        return format!(
            "A connection begins with a window of {window} packets (rule {rule}). Windows and pacing \
             follow the measured delivery rate and the minimum RTT."
        );
    }
    let window = action.apply(0);
    let gap = format!("{:.4}", action.intersend_ms);
    format!(
        "A connection begins with a window of {window} packets, sent {gap} ms apart (rule {rule})."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_in_words() {
        let words = |m, b, r| action(&Action::new(m, b, r));
        assert!(words(0.9, 10, 1.0).starts_with("moves the window by 10.0 % towards 100 packets"));
        assert!(words(1.0, 1, 2.0).ends_with("at most a packet every 2.0000 ms (5.0 Mbit/s)"));
        assert!(words(1.0, 1, 0.0).starts_with("adds 1 packet to the window, without pacing"));
        assert!(words(1.0, -2, 0.0).starts_with("takes 2 packets off"));
        assert!(words(1.0, 0, 0.0).starts_with("keeps the window"));
        assert!(words(0.0, 7, 0.0).starts_with("sets the window to 7 packets"));
        assert!(words(1.5, 7, 0.0).starts_with("multiplies the window by 1.5 and adds 7"));
    }

    #[test]
    fn actions_on_the_rate_in_words() {
        let words = |m, b, r, t| action(&Action::of_rate(m, b, r, t));
        assert_eq!(
            words(1.2, 4, 1.5, 20.0),
            "sets the window to the delivery rate times (1.2 min RTT + 20 ms) plus 4 packets, \
             paced at 1.5 times the delivery rate"
        );
        assert!(words(1.0, 0, 0.0, -5.0).contains("times (1 min RTT - 5 ms), without pacing"));
        assert!(words(0.0, 1, 1.0, 5.0).contains("times 5 ms plus 1 packet,"));
        assert!(words(2.0, -3, 1.0, 0.0).contains("times 2 min RTT less 3 packets,"));
    }

    #[test]
    fn boxes_in_words() {
        assert_eq!(domain(&Domain::WHOLE), "everything");
        let part = Domain::WHOLE.between(Signal::RttRatio, 1.0, 1.5);
        assert_eq!(domain(&part), "rtt_ratio 1.000000 to 1.500000");
        let above = Domain::WHOLE.between(Signal::RecEwma, 2.0, 16_384.0);
        assert_eq!(domain(&above), "rec_ewma from 2.000000");
    }
}
