//! The facts on which the two accounts must agree.

use paceline_cc::Feedback;
use paceline_cc::NO_SEGMENT;
use paceline_flow::Account;

use super::plain::{ExpectedFeedback, Fate, Packet, Plain};

/// Compares the states of the two accounts.
pub(super) fn compare(account: &Account, plain: &Plain, probe_wanted: bool) {
    assert_eq!(account.in_flight(), plain.in_flight());
    assert_eq!(account.cumulative(), plain.cumulative);
    assert_eq!(account.next_segment(), plain.next_segment);
    assert_eq!(account.stats(), plain.stats);
    let rtt = account.rtt();
    assert_eq!((rtt.smoothed(), rtt.min()), (plain.rtt.smoothed, plain.rtt.min));
    assert_eq!(rtt.rto(), plain.rtt.rto());
    let deadlines = plain.deadlines(probe_wanted);
    assert_eq!(Some(account.deadline()), deadlines.into_iter().min());
    let extra = plain.extra();
    if account.next_repair().is_none() && (extra == 0 || plain.repairs.len() > extra) {
        // Only repairs whose packets have arrived after all may be missing.
        for number in &plain.repairs {
            let packet = &plain.packets[*number as usize];
            let come = packet.fate == Fate::Forgotten || packet.segment < plain.cumulative;
            assert!(come, "lost packet {number} has no queued repair");
        }
    }
    let in_flight = |packet: &Packet| packet.fate == Fate::InFlight && packet.segment != NO_SEGMENT;
    let some_in_flight = plain.packets.iter().any(in_flight);
    assert!(plain.config.reliable || !account.is_drained() || !some_in_flight);
}

/// Compares the feedback of an event with that of the plain account.
pub(super) fn judge(feedback: &Feedback<'_>, said: &ExpectedFeedback, plain: &Plain) {
    let told = |lost: bool| {
        let fates = feedback.fates.iter().filter(|fate| fate.lost == lost);
        let mut list: Vec<u64> = fates.map(|fate| fate.number).collect();
        list.sort_unstable();
        list
    };
    let mut acked = said.acked.clone();
    acked.sort_unstable();
    assert_eq!((told(false), told(true)), (acked, said.lost.clone()));
    let packet = |number: &u64| &plain.packets[*number as usize];
    let bytes = |list: &[u64]| -> u64 { list.iter().map(|n| u64::from(packet(n).size)).sum() };
    assert_eq!((feedback.acked, feedback.lost), (bytes(&said.acked), bytes(&said.lost)));
    let counts = (feedback.acked_packets as usize, feedback.lost_packets as usize);
    assert_eq!(counts, (said.acked.len(), said.lost.len()));
    for fate in feedback.fates {
        let packet = packet(&fate.number);
        assert_eq!((fate.sent, fate.size), (packet.sent, packet.size));
        assert_eq!(fate.tag, fate.number ^ 0xfeed);
    }
    assert_eq!((feedback.rtt, feedback.marked_packets), (said.rtt, said.marked));
    assert_eq!((feedback.round, feedback.round_start), (plain.round, said.round_start));
    assert_eq!(feedback.delivered, plain.delivered);
    if let Some(sample) = feedback.sample {
        assert_eq!(sample.delivered, plain.delivered - sample.prior_delivered);
        assert_eq!(Some(sample.prior_delivered), said.prior_delivered);
    }
}
