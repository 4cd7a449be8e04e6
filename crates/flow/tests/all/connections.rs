//! A flow whose on-periods are connections makes a new controller for each, and numbers the
//! connections.

use std::sync::{Arc, Mutex};

use paceline_cc::{Controller, Feedback, MakeController, Packet, Plan, Setup, Span, Stage, Time};
use paceline_flow::{Amount, On, SENDER_SIGNALS, Sender, SenderConfig, Workload};

/// A controller with a constant window of ten packets.
struct Fixed;

impl Controller for Fixed {
    fn on_feedback(&mut self, _feedback: &Feedback<'_>) {}
    fn plan(&self) -> Plan {
        Plan::window(15_000)
    }
}

/// Returns the number of each connection for which a controller was made, and the first random
/// number that the controller would draw.
fn connections(fresh: bool) -> Vec<(u32, u64)> {
    let made = Arc::new(Mutex::new(Vec::new()));
    let noted = made.clone();
    let make: MakeController = Arc::new(move |setup| {
        let drawn = setup.random("test").next_u64();
        noted.lock().expect("one thread").push((setup.connection, drawn));
        Box::new(Fixed)
    });
    let mut config = SenderConfig::bulk(Setup::new(1, 3));
    config.workload = Workload::OnOff {
        on: On::Time(Amount::Fixed(0.1)),
        off: Amount::Fixed(0.1),
        starts_off: false,
        fresh,
    };
    let mut sender = Sender::new(config, make, SENDER_SIGNALS).expect("the signals it needs");
    let mut place = Packet::opaque(0);
    while sender.wake() < Time::ZERO + Span::from_millis(750) {
        let now = sender.wake();
        while sender.pop_into(now, &mut place) {}
    }
    let made = made.lock().expect("one thread");
    made.clone()
}

#[test]
fn each_connection_has_its_number_and_draws_anew() {
    let made = connections(true);
    // The first on-period begins the first connection: no packet was sent before it.
    let mut numbers: Vec<u32> = made.iter().map(|(number, _)| *number).collect();
    numbers.dedup();
    assert_eq!(numbers, [0, 1, 2, 3]);
    let mut drawn: Vec<u64> = made.iter().map(|(_, drawn)| *drawn).collect();
    drawn.sort_unstable();
    drawn.dedup();
    assert_eq!(drawn.len(), 4);
}

#[test]
fn one_connection_keeps_its_controller() {
    let made = connections(false);
    assert_eq!(made.len(), 1);
    assert_eq!(made[0].0, 0);
}
