//! Tests of probabilities, of their spreading, and of the whole loop.

use paceline_cc::{Ecn, Spec};

use super::*;
use crate::queue::build;
use crate::queue::testing::{open_loop, stream};

/// Returns a queue with this average.
fn at(average: f64, params: RedParams) -> Red {
    let mut red = Red::new(RedParams { w: 1.0, ..params }, Limit::NONE, stream());
    red.average.arrival(Time::ZERO, 1);
    let mut red_at = Red { average: Average::new(1e-9, Span::ZERO), ..red };
    while red_at.average.value() < average {
        red_at.average.arrival(Time::ZERO, (average * 1e9 + 0.5) as u64);
    }
    red_at
}

#[test]
fn probabilities_are_the_fact_sheets() {
    let near = |average: f64, p: f64| {
        let red = at(average, RedParams::default());
        assert!((red.probability().expect("not certain") - p).abs() < 1e-6, "{average}");
    };
    near(4.9, 0.0);
    near(10.0, 0.01);
    near(22.5, 0.51);
    near(29.999_999, 1.0);
    assert_eq!(at(30.0, RedParams::default()).probability(), None);
    let abrupt = RedParams { gentle: false, ..RedParams::default() };
    assert_eq!(at(15.0, abrupt).probability(), None);
}

#[test]
fn drops_keep_their_distance() {
    assert_eq!(spread(0.01, 0, false), 0.01);
    assert_eq!(spread(0.01, 50, false), 0.02);
    assert_eq!(spread(0.01, 100, false), 1.0);
    assert_eq!(spread(0.01, 99, true), 0.0);
    assert_eq!(spread(0.01, 100, true), 0.01);
    assert_eq!(spread(0.01, 200, true), 1.0);
    for (wait, from, to) in [(false, 1, 101), (true, 100, 202)] {
        let mut red = at(10.0, RedParams { wait, ..RedParams::default() });
        let (mut gaps, mut gap) = (Vec::new(), 0);
        for _ in 0..50_000 {
            gap += 1;
            if red.decide() == Decision::Unforced {
                gaps.push(gap);
                gap = 0;
            }
        }
        assert!(gaps.iter().skip(1).all(|gap| (from..=to).contains(gap)), "{gaps:?}");
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        let even = f64::from(from as u32 + to as u32) / 2.0;
        assert!((mean - even).abs() < 0.1 * even, "{mean} {even}");
    }
}

#[test]
fn the_excess_is_dropped_at_the_average_that_drops_it() {
    for (text, wait) in [("red", true), ("red[wait=false]", false)] {
        let mut red =
            build(&Spec::parse(text).expect("legal"), Limit::NONE, stream()).expect("known");
        let outcome = open_loop(&mut *red, 800, 1000, 60_000, |packet| *packet);
        assert!((outcome.loss() - 0.2).abs() < 0.01, "{text} {outcome:?}");
        // For small p, the drop rate is 2p / 3 with `wait` and 2p without it. The probability that
        // drops a fifth lies between 0.1 and 0.4: 16 to 21 packets.
        assert!((15.5..21.5).contains(&outcome.delay_ms), "{wait} {outcome:?}");
    }
}

#[test]
fn forced_drops_spare_none_unless_soft() {
    let marked = |text: &str| {
        let mut red = build(&Spec::parse(text).expect("legal"), Limit::packets(100), stream())
            .expect("known");
        let capable = |packet: &Packet| Packet { ecn: Ecn::Ect0, ..*packet };
        let outcome = open_loop(&mut *red, 800, 1000, 60_000, capable);
        (outcome.marking(), outcome.loss())
    };
    // Marks do not reduce an open loop's load: drops hold the queue at twice max, or the limit
    // does. `wait` spares every other packet even at a probability near one.
    let (marking, loss) = marked("red[ecn=true]");
    assert!((0.45..0.55).contains(&marking) && (loss - 0.2).abs() < 0.02, "{marking} {loss}");
    let (marking, loss) = marked("red[ecn=true,wait=false]");
    assert!(marking > 0.9 && (loss - 0.2).abs() < 0.02, "{marking} {loss}");
    let (marking, loss) = marked("red[ecn=true,hard_drop=false]");
    assert!(marking > 0.99 && (loss - 0.2).abs() < 0.02, "{marking} {loss}");
}

#[test]
fn wrong_thresholds_are_told() {
    for text in ["red[min=20]", "red[min=5kB]", "red[max=50ms]", "red[w=0]", "red[max_p=2]"] {
        assert!(
            build(&Spec::parse(text).expect("legal"), Limit::NONE, stream()).is_err(),
            "{text}"
        );
    }
    assert!(
        build(&Spec::parse("red[min=5kB,max=15kB]").expect("legal"), Limit::NONE, stream()).is_ok()
    );
}
