//! A connection begins with a SYN, and data waits for the SYN-ACK.

use std::sync::{Arc, Mutex};

use paceline_cc::{
    Body, Controller, Established, Feedback, Handshake, MakeController, Packet, Plan, Setup, Span,
    Stage, Time,
};
use paceline_flow::{
    Amount, On, Receiver, ReceiverConfig, SENDER_SIGNALS, Sender, SenderConfig, Workload,
};

/// A controller with a window of ten packets that records the handshakes reported to it.
struct Noting(Arc<Mutex<Vec<Established>>>);

impl Controller for Noting {
    fn on_established(&mut self, established: &Established) {
        self.0.lock().expect("one thread").push(*established);
    }
    fn on_feedback(&mut self, _feedback: &Feedback<'_>) {}
    fn plan(&self) -> Plan {
        Plan::window(15_000)
    }
}

/// A sender and its receiver, 50 ms apart, over a path whose losses the test chooses.
struct Pair {
    sender: Sender,
    receiver: Receiver,
    established: Arc<Mutex<Vec<Established>>>,
    /// Packets sent to the receiver: time and content.
    sent: Vec<(u64, Body)>,
}

const ONE_WAY: Span = Span::from_millis(50);

impl Pair {
    fn new(change: impl FnOnce(&mut SenderConfig)) -> Pair {
        let established = Arc::new(Mutex::new(Vec::new()));
        let noted = established.clone();
        let make: MakeController = Arc::new(move |_| Box::new(Noting(noted.clone())));
        let config = SenderConfig::bulk(Setup::new(1, 0)).with(|config| {
            config.handshake = true;
            config.workload = Workload::Bytes(30_000);
            change(config);
        });
        Pair {
            sender: Sender::new(config, make, SENDER_SIGNALS).expect("the signals it needs"),
            receiver: Receiver::new(ReceiverConfig::new(0)),
            established,
            sent: Vec::new(),
        }
    }

    /// Runs for `seconds`. `is_lost` decides for each packet whether it is dropped, given the
    /// packet and the number of earlier packets in its direction.
    fn run(&mut self, seconds: u64, mut is_lost: impl FnMut(&Packet, usize) -> bool) {
        let mut wire: Vec<(Time, Packet)> = Vec::new();
        let (mut place, mut answers) = (Packet::opaque(0), 0);
        loop {
            let arrival = wire.first().map_or(Time::NEVER, |(at, _)| *at);
            let now = arrival.min(self.sender.wake()).min(self.receiver.wake());
            if now >= Time::from_secs(seconds) {
                return;
            }
            if arrival <= now {
                let (_, packet) = wire.remove(0);
                match packet.route {
                    0 => self.receiver.push(now, &packet),
                    _ => self.sender.push(now, &packet),
                }
            }
            while self.sender.pop_into(now, &mut place) {
                self.sent.push((now.as_nanos() / 1_000_000, place.body));
                if !is_lost(&place, self.sent.len() - 1) {
                    wire.push((now + ONE_WAY, Packet { route: 0, ..place }));
                }
            }
            while self.receiver.pop_into(now, &mut place) {
                let back = Packet { route: 1, ..place };
                if !is_lost(&back, answers) {
                    wire.push((now + ONE_WAY, back));
                }
                answers += 1;
            }
        }
    }

    /// Returns when SYNs left, in milliseconds.
    fn syns(&self) -> Vec<u64> {
        let is_syn = |(_, body): &&(u64, Body)| matches!(body, Body::Handshake(_));
        self.sent.iter().filter(is_syn).map(|(at, _)| *at).collect()
    }

    /// Returns when the first data left, in milliseconds.
    fn first_data(&self) -> Option<u64> {
        let is_data = |(_, body): &&(u64, Body)| matches!(body, Body::Data(_));
        self.sent.iter().find(is_data).map(|(at, _)| *at)
    }

    fn established(&self) -> Vec<Established> {
        self.established.lock().expect("one thread").clone()
    }
}

fn is_syn(packet: &Packet) -> bool {
    packet.route == 0 && matches!(packet.body, Body::Handshake(_))
}

fn is_syn_ack(packet: &Packet) -> bool {
    packet.route == 1 && matches!(packet.body, Body::Handshake(_))
}

#[test]
fn data_follows_after_a_round_trip_with_a_timer_from_its_sample() {
    let mut pair = Pair::new(|_| {});
    pair.run(1, |_, _| false);
    assert_eq!((pair.syns(), pair.first_data()), (vec![0], Some(100)));
    let told = Established::new(Time::from_millis(100), Span::from_millis(100));
    assert_eq!(pair.established(), [told]);
    // Windows of ten and ten: two round trips besides that of the handshake. The user asked at time
    // 0.
    let transfer = pair.sender.transfers()[0];
    assert_eq!((transfer.start, transfer.end), (Time::ZERO, Time::from_millis(300)));
    let (stats, handshakes) = (pair.sender.stats(), pair.sender.handshakes());
    assert_eq!((handshakes.syns, handshakes.syn_acks, stats.sent, stats.timeouts), (1, 1, 20, 0));
    let received = pair.receiver.stats();
    assert_eq!((received.syns, received.packets, received.goodput), (1, 20, 30_000));
}

/// A flow that loses its first window has a timer of 300 ms (100 ms and Linux' minimum variation of
/// 200 ms), not of 1 s.
#[test]
fn the_first_window_has_a_timer_from_the_handshake() {
    let mut pair = Pair::new(|_| {});
    pair.run(5, |packet, at| packet.route == 0 && (1..=13).contains(&at));
    assert_eq!(pair.sender.rtt().min(), Span::from_millis(100));
    let data: Vec<u64> = pair.sent.iter().map(|(at, _)| *at).collect();
    // The SYN, the SYN-ACK's acknowledgement, ten packets, the tail probe after two RTTs and 2 ms,
    // the timeout.
    let last = (data[11], data[12], data[13]);
    assert_eq!((data[0], data[1], data[2], last), (0, 100, 100, (100, 302, 602)));
}

/// RFC 6298 §5.5, §5.7; the RTT sample is that of the SYN that arrived, by TCP's timestamps.
#[test]
fn lost_syns_are_sent_again_after_1_3_and_7_seconds() {
    for (lost, syns, after_losses) in [
        (1, vec![0, 1000], false),
        (2, vec![0, 1000, 3000], true),
        (3, vec![0, 1000, 3000, 7000], true),
    ] {
        let mut pair = Pair::new(|_| {});
        pair.run(9, |packet, at| is_syn(packet) && at < lost);
        assert_eq!(pair.syns(), syns);
        assert_eq!(pair.first_data(), Some(syns[lost] + 100));
        let told = pair.established()[0];
        assert_eq!((told.rtt, told.after_losses), (Span::from_millis(100), after_losses));
    }
}

/// The receiver answers a repeated SYN with the timestamp of the first one, as Linux does: the
/// sender sees that its first SYN had arrived, and keeps its window.
#[test]
fn lost_syn_acks_give_a_long_sample() {
    let mut pair = Pair::new(|_| {});
    pair.run(9, |packet, at| is_syn_ack(packet) && at < 2);
    assert_eq!((pair.syns(), pair.first_data()), (vec![0, 1000, 3000], Some(3100)));
    let told = pair.established()[0];
    assert_eq!((told.rtt, told.after_losses), (Span::from_millis(3100), false));
}

#[test]
fn a_connection_without_an_answer_is_given_up() {
    let mut pair = Pair::new(|_| {});
    pair.run(1000, |packet, _| is_syn(packet));
    assert_eq!(pair.syns(), [0, 1000, 3000, 7000, 15_000, 31_000, 63_000]);
    assert_eq!((pair.first_data(), pair.sender.wake()), (None, Time::NEVER));
}

#[test]
fn each_connection_shakes_hands() {
    let mut pair = Pair::new(|config| {
        config.workload = Workload::OnOff {
            on: On::Bytes(Amount::Fixed(3000.0)),
            off: Amount::Fixed(0.5),
            starts_off: true,
            fresh: true,
        };
    });
    pair.run(2, |_, _| false);
    // On at 0.5 s, one round trip for the handshake and one for the data; off for half a second.
    assert_eq!(pair.syns(), [500, 1200, 1900]);
    assert_eq!(pair.established().len(), 2);
    let connections: Vec<u32> = pair
        .sent
        .iter()
        .filter_map(|(_, body)| match body {
            Body::Handshake(Handshake { connection, .. }) => Some(*connection),
            _ => None,
        })
        .collect();
    assert_eq!(connections, [0, 1, 2]);
}

#[test]
fn datagrams_have_no_handshake() {
    let mut pair = Pair::new(|config| config.reliable = false);
    pair.run(1, |_, _| false);
    assert_eq!((pair.syns(), pair.first_data()), (vec![], Some(0)));
}

/// A SYN-ACK is acknowledged before the first data leaves, by a packet that occupies the link.
#[test]
fn a_handshake_ends_with_an_acknowledgement() {
    let mut pair = Pair::new(|_| {});
    pair.run(1, |_, _| false);
    let sent: Vec<&Body> = pair.sent.iter().map(|(_, body)| body).collect();
    assert!(matches!(sent[0], Body::Handshake(_)));
    assert!(matches!(sent[1], Body::Opaque(_)));
    assert!(matches!(sent[2], Body::Data(_)));
}
