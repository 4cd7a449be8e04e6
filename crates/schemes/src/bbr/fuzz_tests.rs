use paceline_cc::{Controller, Outgoing, Rate, Setup, Span, Stream};

use super::{BbrParams, BbrSender};
use crate::testing::{Acks, add_sample};

const MSS: u64 = crate::testing::MSS as u64;
const RTT: Span = Span::from_millis(100);

#[test]
fn survives_anything() {
    for seed in 0..40 {
        let mut random = Stream::new(seed, "bbr");
        let mut bbr = BbrSender::new(&BbrParams::default(), &Setup::default());
        let mut acks = Acks::new(RTT);
        for number in 0..5_000 {
            let mut feedback = acks.any(&mut random);
            add_sample(&mut feedback, &mut random);
            feedback.mss = feedback.mss.max(1);
            bbr.on_feedback(&feedback);
            let size = 1 + random.below(1500) as u32;
            let in_flight = random.below(1_000_000);
            let mut packet = Outgoing::new(number, size, in_flight);
            bbr.on_send(acks.now, &mut packet);
            if random.chance(0.01) {
                let idle = Span::from_millis(random.below(9000));
                bbr.on_idle(acks.now, idle, Span::from_millis(random.below(900)));
            }
            let plan = bbr.plan();
            assert!(plan.cwnd >= MSS && plan.burst >= 1500, "{seed} {}", plan.cwnd);
            assert!(plan.pacing.is_some_and(|rate| rate > Rate::ZERO));
        }
    }
}
