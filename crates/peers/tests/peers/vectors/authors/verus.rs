//! Verus' authors' program (4b1bbf0): figures from running its fits of delay profiles (ALGLIB); and
//! its receiver thread.

use paceline_cc::{Controller, Fate, Feedback, Outgoing};
use paceline_peers::vector::{Outcome, Vectors, near};

use crate::bench::{at, controller, ms, state};

/// A sender whose packets the vectors acknowledge, in order.
struct Verus {
    sender: Box<dyn Controller>,
    tags: Vec<u64>,
    acked: usize,
}

impl Verus {
    fn new() -> Verus {
        Verus { sender: controller("verus", 1450), tags: Vec::new(), acked: 0 }
    }

    fn in_flight(&self) -> u64 {
        1450 * (self.tags.len() - self.acked) as u64
    }

    fn send(&mut self, now: u64) {
        let mut packet = Outgoing::new(self.tags.len() as u64, 1450, self.in_flight());
        self.tags.push(self.sender.on_send(at(now), &mut packet));
    }

    fn ack(&mut self, now: u64, delay: u64) {
        let number = self.acked;
        self.acked += 1;
        let fates = [Fate::new(number as u64, 1450, at(now - delay), self.tags[number], false)];
        let mut feedback = Feedback::new(at(now), 1450);
        (feedback.acked, feedback.acked_packets) = (1450, 1);
        feedback.in_flight = self.in_flight();
        (feedback.srtt, feedback.min_rtt) = (ms(delay), ms(delay));
        feedback.rtt = Some(ms(delay));
        feedback.fates = &fates;
        self.sender.on_feedback(&feedback);
    }

    fn get(&self, name: &str) -> f64 {
        state(&*self.sender, name)
    }

    /// Returns a sender after forty packets in slow start, one at a time.
    fn after_forty() -> Verus {
        let mut verus = Verus::new();
        for step in 0..40 {
            verus.send(1000 + 10 * step);
            verus.ack(1005 + 10 * step, 5);
        }
        verus
    }
}

/// Delays at windows from 1 to the largest, and the windows of the fitted profile for desired
/// delays of 12, 24, ... 300 ms.
#[derive(Copy, Clone)]
struct Profile {
    name: &'static str,
    delay: fn(u64) -> u64,
    largest: u64,
    windows: [u32; 25],
}

const PROFILES: [Profile; 5] = [
    Profile {
        name: "a line",
        delay: |window| 41 + 2 * window,
        largest: 60,
        windows: [
            1, 1, 1, 3, 9, 15, 21, 27, 33, 39, 45, 51, 57, 63, 69, 75, 81, 87, 93, 99, 105, 111,
            117, 123, 129,
        ],
    },
    Profile {
        name: "a knee",
        delay: |window| 50 + 3 * window.saturating_sub(80),
        largest: 150,
        windows: [
            1, 1, 1, 45, 63, 74, 82, 89, 96, 101, 106, 111, 116, 121, 126, 130, 135, 139, 144, 148,
            152, 157, 161, 166, 170,
        ],
    },
    Profile {
        name: "steps",
        delay: |window| 40 + 20 * ((window - 1) / 30) + window % 3,
        largest: 120,
        windows: [
            1, 1, 4, 23, 43, 62, 81, 100, 120, 140, 160, 180, 200, 220, 240, 260, 280, 300, 320,
            340, 360, 380, 400, 421, 441,
        ],
    },
    Profile {
        name: "noise",
        delay: |window| 60 + window + window * 7919 % 13 * 2,
        largest: 90,
        windows: [
            1, 1, 1, 1, 1, 1, 12, 24, 36, 47, 59, 71, 83, 95, 106, 118, 130, 142, 154, 165, 177,
            189, 201, 212, 224,
        ],
    },
    Profile {
        name: "fourteen windows",
        delay: |window| 33 + 6 * window,
        largest: 14,
        windows: [
            1, 1, 1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40,
            42, 44,
        ],
    },
];

/// Slow start fills the profile, a timeout ends it, and then the desired delay grows by 2 ms per
/// epoch.
fn looks_up(profile: &Profile) -> Outcome {
    let mut verus = Verus::new();
    let (mut now, mut longest) = (1000, 0);
    for window in 1..=profile.largest {
        let delay = (profile.delay)(window);
        longest = longest.max(delay);
        verus.send(now);
        verus.ack(now + delay, delay);
        now += delay + 1;
    }
    verus.send(now);
    now += 2000;
    for epoch in 1..=150 {
        verus.sender.on_timer(at(now));
        let desired = verus.get("desired_delay");
        near(&format!("desired delay in epoch {epoch}"), desired, 2.0 * f64::from(epoch), 1e-9)?;
        if epoch % 6 == 0 {
            let window = profile.windows[epoch as usize / 6 - 1];
            near(&format!("window for {desired} ms"), verus.get("cwnd"), f64::from(window), 0.0)?;
        }
        // Delays do not rise here.
        verus.send(now);
        verus.acked = verus.tags.len() - 1;
        verus.ack(now + 4, longest);
        now += 5;
    }
    Ok(())
}

pub(super) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("Verus' authors");
    for profile in PROFILES {
        let test = format!("calcDelayCurve, ALGLIB's penalised spline: {}", profile.name);
        vectors.holds("verus", test, move || looks_up(&profile));
    }
    receiver_thread(&mut vectors);
    vectors
}

fn receiver_thread(vectors: &mut Vectors) {
    vectors.holds("verus", "receiver_thread: slow start opens by one per acknowledgement", || {
        let mut verus = Verus::new();
        for step in 0..30 {
            verus.send(1000 + step);
        }
        for step in 0..30 {
            verus.ack(1100 + step, 100);
        }
        near("cwnd", verus.get("cwnd"), 31.0, 1e-9)
    });
    // Sends one more packet, acknowledged after `delay`.
    let late = |delay: u64| {
        let mut verus = Verus::after_forty();
        verus.send(2000);
        verus.ack(2000 + delay, delay);
        verus
    };
    let reduced = 0.7 * 41.0;
    vectors.holds("verus", "receiver_thread: slow start goes on at 500 ms", move || {
        let verus = late(500);
        near("cwnd", verus.get("cwnd"), 42.0, 1e-9)?;
        near("loss phase", verus.get("loss_phase"), 0.0, 0.0)
    });
    vectors.holds(
        "verus",
        "receiver_thread: 501 ms end it at 0.7 of the packet's window",
        move || {
            let verus = late(501);
            // Plus 1/w for this acknowledgement.
            near("cwnd", verus.get("cwnd"), reduced + 1.0 / reduced, 1e-6)?;
            near("loss phase", verus.get("loss_phase"), 1.0, 0.0)
        },
    );
    vectors.holds("verus", "updateUponReceivingPacket: 1/w each in the loss phase", move || {
        let mut verus = Verus::after_forty();
        for step in 0..5 {
            verus.send(2000 + step);
        }
        verus.ack(2501, 501);
        for step in 0..4 {
            verus.ack(2502 + step, 500);
        }
        let expected = (0..5).fold(reduced, |cwnd, _| cwnd + 1.0 / cwnd);
        near("cwnd", verus.get("cwnd"), expected, 1e-6)
    });
    vectors.holds(
        "verus",
        "receiver_thread: a packet of a smaller window ends the loss phase",
        move || {
            let mut verus = late(501);
            let before = verus.get("cwnd");
            verus.send(2600);
            verus.ack(2700, 100);
            near("loss phase", verus.get("loss_phase"), 0.0, 0.0)?;
            near("cwnd", verus.get("cwnd"), before, 1e-9)
        },
    );
    vectors.holds("verus", "updateUponReceivingPacket: the smallest delay", || {
        let mut verus = Verus::new();
        near("before", verus.get("smallest_delay"), 1000.0, 0.0)?;
        for (sent, delay) in [(1000, 80), (1200, 70), (1400, 90)] {
            verus.send(sent);
            verus.ack(sent + delay, delay);
        }
        near("after", verus.get("smallest_delay"), 70.0, 0.0)
    });
}
