//! Compound TCP's draft (draft-sridharan-tcpm-ctcp), eq. 5: figures computed by hand.

use paceline_cc::{Congestion, Controller};
use paceline_peers::vector::{Vectors, near};

use crate::bench::{Acks, controller, ms, state};

/// A sender in congestion avoidance, and its acknowledgements.
struct Sender {
    sender: Box<dyn Controller>,
    acks: Acks,
}

impl Sender {
    /// Returns a sender with a window of `packets`, after a loss at twice this window.
    fn new(packets: f64) -> Sender {
        let scheme = format!("compound[initial_window={}]", 2.0 * packets - 4.0);
        let mut sender = controller(&scheme, 1000);
        let mut acks = Acks::new(1000, ms(100));
        for _ in 0..4 {
            sender.on_feedback(&acks.of(1.0));
        }
        sender.on_feedback(&acks.event(Congestion::Loss));
        Sender { sender, acks }
    }

    fn get(&self, name: &str) -> f64 {
        state(&*self.sender, name)
    }

    /// Plays a round trip with this RTT; returns the delay window. Few bytes are acknowledged, so
    /// that the loss window does not change.
    fn round(&mut self, rtt: u64) -> f64 {
        self.acks.rtt = ms(rtt);
        for index in 0..10 {
            self.acks.begins_round = index == 9;
            self.sender.on_feedback(&self.acks.of(1e-9));
        }
        self.acks.begins_round = false;
        self.get("delay_window")
    }

    /// Returns a sender after `count` round trips without a queue.
    fn rounds(packets: f64, count: u32) -> Sender {
        let mut sender = Sender::new(packets);
        for _ in 0..count {
            sender.round(100);
        }
        sender
    }
}

/// Returns the growth of the delay window without a queue.
fn growth(window: f64) -> f64 {
    0.125 * window.powf(0.75) - 1.0
}

pub(super) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("draft-sridharan-tcpm-ctcp");
    vectors.holds("compound", "eq. 5: 100 packets and no queue, 2.953 more", || {
        near("delay window", Sender::new(100.0).round(100), growth(100.0), 0.01)
    });
    vectors.holds("compound", "eq. 5: 16 packets or fewer, none", || {
        for packets in [16.0, 12.0] {
            near("delay window", Sender::new(packets).round(100), 0.0, 1e-6)?;
        }
        Ok(())
    });
    vectors.holds("compound", "eq. 5: thirty packets wait or more, less by them", || {
        let mut sender = Sender::rounds(200.0, 12);
        let (before, sum) = (sender.get("delay_window"), sender.get("cwnd"));
        // At 125 ms a fifth of the window waits in the queue.
        near("delay window", sender.round(125), (before - 0.2 * sum).max(0.0), 0.01)
    });
    vectors.holds("compound", "eq. 5: fewer than thirty wait, it grows", || {
        let mut sender = Sender::rounds(100.0, 1);
        let (before, sum) = (sender.get("delay_window"), sender.get("cwnd"));
        // At 120 ms a sixth of 103 packets waits in the queue.
        near("growth", sender.round(120) - before, growth(sum), 0.01)
    });
    vectors.holds("compound", "eq. 5: a loss leaves half of the sum", || {
        let mut sender = Sender::rounds(200.0, 12);
        let sum = sender.get("cwnd");
        let feedback = sender.acks.event(Congestion::Loss);
        sender.sender.on_feedback(&feedback);
        near("sum", sender.get("cwnd"), 0.5 * sum, 0.6)
    });
    vectors.holds("compound", "§3: the loss window grows by 1/(cwnd + dwnd)", || {
        let mut sender = Sender::rounds(200.0, 12);
        let (before, sum) = (sender.get("loss_window"), sender.get("cwnd"));
        let feedback = sender.acks.of(1.0);
        sender.sender.on_feedback(&feedback);
        near("growth", sender.get("loss_window") - before, 1.0 / sum, 1e-6)
    });
    vectors
}
