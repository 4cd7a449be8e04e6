//! str0m (120401c): figures from running its trendline, detector and groups of packets on series of
//! delays.

use std::cell::RefCell;

use paceline_peers::vector::{Outcome, Vectors, near, same, that};

use crate::bench::{Gcc, after_overuse, congruential, run_course, slope_changes};

/// Delays of packets, and str0m's results.
#[derive(Copy, Clone)]
struct Course {
    name: &'static str,
    /// Time since the previous packet, and delay in addition to 50 ms, in us, of a packet by its
    /// number; the second argument draws random numbers.
    packets: fn(i64, &mut dyn FnMut() -> i64) -> (i64, i64),
    seed: u32,
    /// Packet number, slope and threshold.
    slopes: &'static [(i64, f64, f64)],
    /// Numbers of the packets at which over-use and under-use begin.
    over: &'static [i64],
    under: &'static [i64],
}

const COURSES: [Course; 6] = [
    Course {
        name: "a constant delay",
        packets: |_, _| (10_000, 0),
        seed: 1,
        slopes: &[(99, 0.0, 6.0), (399, 0.0, 6.0)],
        over: &[],
        under: &[],
    },
    Course {
        name: "from 1 s on 2 ms more each 10 ms",
        packets: |index, _| (10_000, (index - 100).max(0) * 2000),
        seed: 2,
        slopes: &[
            (99, 0.0, 6.0),
            (149, 0.163616687, 36.870703873),
            (199, 0.166650948, 39.969869063),
            (399, 0.166666667, 40.0),
        ],
        over: &[111],
        under: &[],
    },
    Course {
        name: "0.3 ms more each 7 ms, later less",
        packets: |index, _| {
            (7000, if index < 150 { index * 300 } else { (300 - index).max(0) * 300 })
        },
        seed: 3,
        slopes: &[
            (99, 0.041092015, 9.669593883),
            (149, 0.041095870, 9.854606254),
            (199, -0.043137324, 8.483533092),
            (249, -0.044767673, 10.566723471),
            (349, -0.000784280, 6.0),
        ],
        over: &[41],
        under: &[176],
    },
    Course {
        name: "jitter of up to 12 ms",
        packets: |_, random| (2000 + random() % 9000, random() % 12_000),
        seed: 4,
        slopes: &[(149, 0.004940484, 6.0), (249, -0.005864371, 6.0), (349, 0.012670011, 6.0)],
        over: &[],
        under: &[],
    },
    Course {
        name: "a queue of 60 ms that comes and goes",
        packets: |index, _| (10_000, (60 - (index - 140).abs()).max(0) * 1000),
        seed: 5,
        slopes: &[
            (99, 0.051749894, 7.911603498),
            (149, 0.075406681, 19.444053624),
            (199, -0.109694436, 24.115113945),
            (249, -0.001823417, 6.0),
        ],
        over: &[94],
        under: &[161],
    },
    Course {
        name: "queues of 20 ms that come and fall away",
        packets: |index, _| (6000, (index / 50 % 2) * (index % 50) * 400),
        seed: 6,
        slopes: &[
            (99, 0.061356258, 12.252998216),
            (149, -0.006536289, 6.0),
            (199, 0.061324676, 12.217147507),
            (399, 0.061324675, 12.217146056),
        ],
        over: &[68, 168, 268, 368],
        under: &[111, 211, 311],
    },
];

impl Course {
    fn run(&self, see: &mut dyn FnMut(i64, &Gcc) -> Outcome) -> Outcome {
        let mut random = congruential(self.seed);
        run_course(&mut |index| (self.packets)(index, &mut random), see)
    }

    fn has_slopes(&self) -> Outcome {
        self.run(&mut |index, gcc| {
            let Some((_, slope, threshold)) = self.slopes.iter().find(|row| row.0 == index) else {
                return Ok(());
            };
            // `estimate` is the slope times 4 times the number of groups; the number is capped at
            // 60.
            near(&format!("slope at {index}"), gcc.get("estimate") / 240.0, *slope, 2e-6)?;
            // The peer counts whole milliseconds between groups.
            near(
                &format!("threshold at {index}"),
                gcc.get("threshold"),
                *threshold,
                0.02 * threshold,
            )
        })
    }

    fn has_uses(&self) -> Outcome {
        let seen = RefCell::new((Vec::new(), Vec::new()));
        let mut before = 0.0;
        self.run(&mut |index, gcc| {
            let (over, under) = &mut *seen.borrow_mut();
            let usage = gcc.usage();
            if usage > 0.0 && before <= 0.0 {
                over.push(index);
            }
            if usage < 0.0 && before >= 0.0 {
                under.push(index);
            }
            before = usage;
            Ok(())
        })?;
        let (over, under) = seen.into_inner();
        same("over-use begins", over, self.over.to_vec())?;
        let is_seen = |begin: &i64| under.iter().any(|index| index.abs_diff(*begin) <= 1);
        that(&format!("under-use at {:?}: {under:?}", self.under), self.under.iter().all(is_seen))
    }
}

pub(super) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("str0m");
    for course in COURSES {
        let test = format!("bwe/delay/trendline.rs: {}: slope and threshold", course.name);
        vectors.holds("gcc", test, move || course.has_slopes());
        let test =
            format!("bwe/delay/trendline.rs: {}: when over-used and under-used", course.name);
        vectors.holds("gcc", test, move || course.has_uses());
    }
    vectors.holds(
        "gcc",
        "rate_control.rs test_immediate_overuse: 85 % of what is received",
        || {
            // The queue grows, so less arrives than is sent. After the reduction the rate grows for
            // 1.5 s.
            let (rate, _, sent) = after_overuse(1200, 100, "1Mbps")?;
            that(&format!("{rate} of {sent}"), (0.70..0.90).contains(&(rate / sent)))
        },
    );
    groups(&mut vectors);
    vectors
}

/// Compares the first change of the slope, caused by a group that arrives `late` ms later than it
/// was sent, relative to the previous group.
fn first_change(late: f64, packets: &[(i64, i64)]) -> Outcome {
    let changes = slope_changes(packets);
    // The Kalman filter's first gain.
    near("slope", changes.first().copied().unwrap_or(0.0), late * 0.101 / 1.101, 1e-5)
}

fn groups(vectors: &mut Vectors) {
    let far = [(20_000, 30_000), (40_000, 60_000)];
    let with_far = move |packets: &[(i64, i64)]| [packets, &far].concat();
    vectors.holds(
        "gcc",
        "arrival_group.rs: what is sent within 5 ms belongs, 5.7 ms does not",
        move || {
            let packets = [(0, 150), (50, 225), (1005, 1140), (4995, 5001), (5700, 6000)];
            first_change(0.999 - 0.705, &with_far(&packets))
        },
    );
    vectors.holds("gcc", "arrival_group.rs: 5.152 ms belongs, as it arrived hurried", move || {
        let packets = [(0, 150), (50, 225), (5152, 5224), (5700, 6000)];
        first_change(0.776 - 0.548, &with_far(&packets))
    });
    vectors.holds("gcc", "arrival_group.rs out_order_arrival_ignored", move || {
        let packets = [(1000, 1150), (1050, 1225), (5995, 6001), (900, 6000), (6700, 7000)];
        first_change(0.999 - 0.705, &with_far(&packets))
    });
    vectors.holds(
        "gcc",
        "arrival_group.rs MAX_BURST_DURATION: delayed packets make a group each 100 ms",
        || {
            // Packets leave every 10 ms; from the tenth on they arrive 4 ms apart, beginning at 2
            // s.
            let received = |index: i64| match index {
                ..10 => 50_000 + index * 10_000,
                _ => 2_000_000 + 4000 * (index - 10),
            };
            let packets: Vec<_> = (0..200).map(|index| (index * 10_000, received(index))).collect();
            let (before, after) = (slope_changes(&packets[..13]), slope_changes(&packets));
            let changes = after.len() - before.len();
            that(&format!("{changes} changes of seven"), changes >= 6)
        },
    );
    vectors.holds(
        "gcc",
        "arrival_group.rs group_reorder: (0, 0), (60, 5), (40, 10), (70, 20)",
        || {
            let packets = [(0, 0), (60_000, 5000), (40_000, 10_000), (70_000, 20_000)];
            let slope: f64 = slope_changes(&packets).iter().sum();
            near("slope", slope, 25.0 * 0.101 / 1.101, 0.5)
        },
    );
}
