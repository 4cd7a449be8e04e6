use paceline_cc::{Congestion, Controller, Fate, Outgoing, Rate, Setup, Span, Stream, Time};

use super::*;
use crate::testing::{Acks, MSS};

/// Returns the rate's ratio to the capacity on a link without a buffer, one RTT long, that loses
/// packets beyond the capacity.
fn share_of(rule: Rule, capacity: Rate) -> f64 {
    let params = VivaceParams { rule, utility: Utility::Loss };
    let mut sender = VivaceSender::new(&params, &Setup::new(3, 0).with(|setup| setup.mss = MSS));
    let rtt = Span::from_millis(50);
    let mut acks = Acks::new(rtt);
    let mut under_way = std::collections::VecDeque::new();
    let mut next = Time::ZERO;
    let (mut free, mut rates, mut count) = (Time::ZERO, 0.0, 0.0);
    for number in 0..60_000u64 {
        while under_way.front().is_some_and(|fate: &Fate| fate.sent + rtt <= next) {
            let Some(fate) = under_way.pop_front() else { break };
            acks.now = fate.sent + rtt;
            let feedback = acks.ack(u64::from(!fate.lost));
            let fates = [fate];
            sender.on_feedback(&feedback.with(|feedback| feedback.fates = &fates));
        }
        let tag = sender.on_send(next, &mut Outgoing::new(number, MSS, 0));
        let lost = free > next + Span::from_millis(3);
        if !lost {
            free = free.max(next) + capacity.time_for(MSS.into());
        }
        let fate = Fate::new(number, MSS, next, tag, lost);
        under_way.push_back(fate.with(|fate| fate.received = next));
        let rate = sender.plan().pacing.expect("paced");
        next += rate.time_for(MSS.into());
        if number > 30_000 {
            (rates, count) = (rates + rate.as_mbps(), count + 1.0);
        }
    }
    rates / count / capacity.as_mbps()
}

#[test]
fn every_rule_finds_the_rate_of_a_link() {
    for rule in [Rule::Kernel, Rule::Nsdi2018, Rule::Paper] {
        let share = share_of(rule, Rate::from_mbps(20.0));
        assert!((0.85..1.15).contains(&share), "{rule:?}: {share}");
    }
}

#[test]
fn timeouts_halve_the_programs_rate_and_take_the_modules_window_to_one_packet() {
    for (rule, factor) in [(Rule::Kernel, 1.0), (Rule::Nsdi2018, 0.5), (Rule::Paper, 0.5)] {
        let params = VivaceParams { rule, utility: Utility::Loss };
        let mut sender =
            VivaceSender::new(&params, &Setup::new(1, 0).with(|setup| setup.mss = MSS));
        let mut acks = Acks::new(Span::from_millis(100));
        let mut now = Time::from_secs(1);
        let rate = |sender: &VivaceSender| sender.plan().pacing.map_or(0.0, |rate| rate.as_mbps());
        // No losses: the rate rises.
        for number in 0..2_000 {
            let tag = sender.on_send(now, &mut Outgoing::new(number, MSS, 0));
            let fate = Fate::new(number, MSS, now, tag, false).with(|fate| fate.received = now);
            now += Span::from_millis(1);
            acks.now = now;
            let fates = [fate];
            sender.on_feedback(&acks.ack(1).with(|feedback| feedback.fates = &fates));
        }
        let before = rate(&sender);
        assert!(before > 5.0, "{rule:?}: {before}");
        sender.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
        let ratio = rate(&sender) / before;
        // Probing may begin at once, 5 % above or below.
        assert!((0.94 * factor..=1.06 * factor).contains(&ratio), "{rule:?}: {ratio}");
        // Without acknowledgements, the module's sender does not send a window for each expiry of
        // the timer.
        let before = sender.plan().cwnd;
        sender.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
        assert_eq!(sender.plan().cwnd, if rule == Rule::Kernel { u64::from(MSS) } else { before });
        sender.on_feedback(&acks.ack(1));
        assert!(sender.plan().cwnd >= 4 * u64::from(MSS), "{rule:?}");
    }
}

/// Random events for the rules and utilities that are not the default.
#[test]
fn fuzz_keeps_rates_sane() {
    for rule in [Rule::Kernel, Rule::Nsdi2018, Rule::Paper] {
        for (seed, utility) in
            [Utility::Latency, Utility::Loss].into_iter().cycle().take(10).enumerate()
        {
            let mut random = Stream::new(seed as u64, "vivace fuzz");
            let params = VivaceParams { rule, utility };
            let mut sender =
                VivaceSender::new(&params, &Setup::new(1, 0).with(|setup| setup.mss = MSS));
            let mut acks = Acks::new(Span::from_millis(100));
            let mut sent = std::collections::VecDeque::new();
            for number in 0..5_000 {
                let feedback = acks.any(&mut random);
                for _ in 0..random.below(4) {
                    let tag = sender.on_send(acks.now, &mut Outgoing::new(number, MSS, 0));
                    sent.push_back((tag, acks.now));
                }
                let count = random.below(4).min(sent.len() as u64) as usize;
                let fates: Vec<Fate> = sent
                    .drain(..count)
                    .map(|(tag, sent)| {
                        let lost = random.chance(0.1);
                        // Some tags are foreign, or repeated.
                        let tag = if random.chance(0.01) { random.next_u64() } else { tag };
                        let received = if random.chance(0.5) { Time::NEVER } else { Time::ZERO };
                        Fate::new(number, MSS, sent, tag, lost)
                            .with(|fate| fate.received = received)
                    })
                    .collect();
                sender.on_feedback(&feedback.with(|feedback| feedback.fates = &fates));
                let plan = sender.plan();
                let rate = plan.pacing.map_or(0.0, |rate| rate.as_mbps());
                assert!((0.001..1e6 + 1.0).contains(&rate), "{rule:?} {seed} {number}: {rate}");
                assert!(plan.cwnd >= u64::from(MSS) && plan.cwnd < 1 << 50, "{plan:?}");
                sender.inspect(&mut |name, value| assert!(!value.is_nan(), "{rule:?}: {name}"));
            }
        }
    }
}
