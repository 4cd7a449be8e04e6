//! A queue of another crate: on a link, and by name.

use std::collections::VecDeque;

use paceline_cc::params::Params;
use paceline_cc::{Packet, Rate, Span, Spec, Stage, Stream, Time};
use paceline_path::queue::{self, QueueEntry};
use paceline_path::{DropReason, DroppedPacket, Limit, Link, Queue, Service};

paceline_cc::params! {
    /// Parameters of a queue that drops at random.
    pub struct CoinParams {
        /// Probability of a drop.
        p: f64 = 0.5, in 0.0..=1.0, source "this test";
    }
}

/// Drops arriving packets with a fixed probability, at any load.
struct Coin {
    packets: VecDeque<Packet>,
    p: f64,
    stream: Stream,
}

impl Queue for Coin {
    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        if self.stream.chance(self.p) {
            drops.push(DroppedPacket { packet: *packet, reason: DropReason::Aqm });
        } else {
            self.packets.push_back(Packet { queued: now, ..*packet });
        }
    }
    fn pop(&mut self, _: Time, _: &mut Vec<DroppedPacket>) -> Option<Packet> {
        self.packets.pop_front()
    }
    fn packets(&self) -> usize {
        self.packets.len()
    }
    fn bytes(&self) -> u64 {
        self.packets.iter().map(|packet| u64::from(packet.size)).sum()
    }
}

/// The queue's entry; `scale` shows that builders can hold data.
fn coin(scale: f64) -> QueueEntry {
    let entry = QueueEntry::new("coin", move |spec, _, stream| {
        let CoinParams { p } = spec.params()?;
        Ok(Box::new(Coin { packets: VecDeque::new(), p: p * scale, stream }))
    });
    entry.summary("Drops at random").source("this test").documented(CoinParams::infos)
}

#[test]
fn a_queue_of_another_crate_is_built_by_name() {
    let mut queues = queue::builtin();
    let builtin = queues.iter().len();
    assert_eq!(queues.add(coin(0.5)), Ok(()));
    assert!(queues.add(coin(1.0)).is_err());
    assert_eq!(queues.iter().len(), builtin + 1);
    let told = queues.get("coin").map(|info| info.params()[0].doc.clone());
    assert_eq!(told.as_deref(), Some("Probability of a drop."));

    let delivered = |text: &str, seed| {
        let spec = Spec::parse(text).expect("legal");
        let stream = Stream::new(seed, "queue of link test");
        let queue = queues
            .find(&spec.name)
            .and_then(|coin| coin.build(&spec, Limit::NONE, stream))
            .expect("in the table");
        let mut link = Link::new(queue, Service::constant(Rate::from_mbps(12.0)));
        for _ in 0..1000 {
            link.push(Time::ZERO, &Packet::opaque(1500));
        }
        let end = Time::ZERO + Span::from_secs(10);
        std::iter::from_fn(|| link.pop(end)).count()
    };
    assert_eq!(delivered("coin[p=0]", 1), 1000);
    assert!((650..850).contains(&delivered("coin", 1)));
    assert_eq!(delivered("droptail", 1), 1000);

    let spec = Spec::parse("coin[p=2]").expect("legal");
    let refused = queues.find(&spec.name).and_then(|coin| coin.check(&spec));
    assert!(refused.is_err_and(|error| error.to_string().contains("expected 0 to 1")));
}
