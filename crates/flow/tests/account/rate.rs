//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation).

use super::script::stream;

/// Section 2.2: packets leave in a burst and a bottleneck spaces them by 10 ms. The acknowledgement
/// phase is the longer one, and gives the bottleneck's rate.
#[test]
fn an_ack_limited_interval() {
    stream().run(
        "  0  send 0-9
         100  ack 0   -> sample 1 in 100
         100  send 10
         110  ack 0-1 -> sample 2 in 110
         190  ack 0-9 -> sample 10 in 190
         200  ack 0-10 -> sample 10 in 100     # 1 to 10, in the 100 ms after 0 came",
    );
}

/// Section 2.2: acknowledgements that were held back arrive together. The acknowledgement phase
/// alone would give too high a rate; the send phase is longer.
#[test]
fn a_send_limited_interval() {
    stream().run(
        "  0  send 0
          50  send 1
         100  send 2
         150  ack 0   -> sample 1 in 150
         200  ack 0-1 -> rtt 150, sample 2 in 200
         200  send 3
         200  ack 0-2 -> rtt 100, sample 3 in 200
         300  ack 0-3 -> rtt 100, sample 2 in 150",
    );
}

/// Packets at a steady rate with a constant delay give that rate.
#[test]
fn a_steady_rate() {
    let mut script = stream().run("0 send 0\n 10 send 1\n 20 send 2\n 30 send 3");
    for k in 0..20 {
        let (now, next) = (40 + 10 * k, 4 + k);
        // The snapshot of a packet is that of the acknowledgement 40 ms before its own.
        let sample = if k < 4 { format!("{} in {now}", k + 1) } else { "4 in 40".to_string() };
        script = script.run(&format!(
            "{now} ack 0-{k} -> rtt 40, sample {sample}
             {now} send {next}"
        ));
    }
}

/// Section 3.3: of several packets newly acknowledged, the one sent last gives the sample.
#[test]
fn the_newest_packet_gives_the_sample() {
    stream().run(
        "  0  send 0-1
         100  ack 0     -> sample 1 in 100
         100  send 2
         200  ack 2 0   -> acked 2, lost 1, congestion loss, sample 1 in 100",
    );
}

/// A packet declared lost that arrives late counts as delivered, and gives no sample.
#[test]
fn late_packets_count_without_a_sample() {
    stream().run(
        "  0  send 0-5
         100  ack 1-5   -> lost 0, congestion loss, sample 5 in 100, delivered 5
         120  ack 0-5   -> acked 0, congestion undo, sample none, delivered 6",
    );
}
