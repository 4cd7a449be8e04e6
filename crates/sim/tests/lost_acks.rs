//! Acknowledgements that are lost in bursts, while data is lost, too: the next one tells what has
//! arrived, so that nothing is declared lost that was not.

use paceline_sim::scenario::{Record, parse};
use paceline_sim::{Outcome, run};

/// A bulk transfer that ends, over 96 Mbit/s and an RTT of 50 ms; 2 % of the data is lost, and 10 % of
/// the acknowledgements in bursts of so many.
fn transfer(burst: u32, seed: u64) -> Outcome {
    let text = format!(
        r#"
        name = "lost acknowledgements"
        duration = "20s"
        seed = {seed}
        [[link]]
        name = "link"
        rate = "96Mbps"
        buffer = "inf"
        [[flow]]
        scheme = "bbr"
        rtt = "50ms"
        bytes = 60000000
        data = {{ loss = 0.02 }}
        acks = {{ loss = 0.1, burst = {burst} }}
        "#
    );
    let mut scenario = parse("lost_acks.toml", &text, None).expect("a scenario");
    scenario.record = Record::Sums;
    run(&scenario).expect("a run")
}

#[test]
fn what_arrived_is_not_declared_lost() {
    // With a third seed, bursts of 200 become an outage of the way back that outlasts the
    // retransmission timer: then everything counts as lost until an acknowledgement comes.
    for (burst, seeds) in [(50, 3), (200, 2)] {
        for seed in 1..=seeds {
            let outcome = transfer(burst, seed);
            let flow = &outcome.flows[0];
            let sender = &flow.sender;
            let really = sender.sent - flow.sums.as_ref().expect("sums").packets;
            let declared = sender.lost - sender.late;
            assert!(flow.transfers == 1 && really > 500, "{flow:?}");
            assert!(declared.abs_diff(really) <= 5, "{declared} declared lost of {really}");
        }
    }
}
