//! Loss detection, proportional rate reduction, RTTs.

use paceline_cc::Span;
use paceline_flow::{RtoBounds, RttEstimator};
use paceline_peers::vector::{Outcome, Vectors, near, same, that};

use crate::bench::{Books, at, ms, ranges};
use crate::causes;

pub(super) fn add(vectors: &mut Vectors) {
    losses(vectors);
    prr(vectors);
    rtts(vectors);
}

/// Returns an account after a packet with an RTT of 100 ms, with `count` packets that left at 1 s.
fn sent_at_1s(count: u64) -> Books {
    let mut books = Books::new(1200);
    books.send(1);
    books.now = at(100);
    books.take(&ranges(1, &[(0, 0)]), u64::MAX);
    books.now = at(1000);
    books.send(count);
    books.now = at(1100);
    books
}

/// Returns the packets lost by acknowledgements of packet 0 and of these ranges, one after the
/// other.
fn lost(count: u64, acknowledged: &[(u64, u64)]) -> Vec<u32> {
    let mut books = sent_at_1s(count);
    let take = |range: &(u64, u64)| books.take(&ranges(1, &[*range, (0, 0)]), u64::MAX).lost;
    acknowledged.iter().map(take).collect()
}

fn losses(vectors: &mut Vectors) {
    let subject = "loss detection";
    for (test, count, acknowledged, expected) in [
        (
            "general_loss_algorithm_test.cc NackRetransmit1Packet: the third",
            5,
            vec![(2, 2), (2, 3), (2, 4)],
            vec![0, 0, 1],
        ),
        (
            "general_loss_algorithm_test.cc NackRetransmit1PacketWith1StretchAck",
            10,
            vec![(2, 4)],
            vec![1],
        ),
        (
            "general_loss_algorithm_test.cc NackRetransmit1PacketSingleAck",
            10,
            vec![(4, 4)],
            vec![1],
        ),
    ] {
        vectors.holds(subject, test, move || {
            same("lost", lost(count, &acknowledged), expected.clone())
        });
    }
    vectors.holds(
        subject,
        "general_loss_algorithm_test.cc DefaultIetfLossDetection: 9/8 RTT",
        || {
            let mut books = sent_at_1s(2);
            same("lost", books.take(&ranges(1, &[(2, 2), (0, 0)]), u64::MAX).lost, 0)?;
            same("deadline", books.account.deadline(), at(1000) + Span::from_micros(112_500))
        },
    );
    vectors.holds(
        subject,
        "general_loss_algorithm_test.cc AlwaysLosePacketSent1RTTEarlier",
        || {
            let mut books = sent_at_1s(1);
            books.now = at(1101);
            books.send(2);
            books.now = at(1201);
            same("lost", books.take(&ranges(1, &[(2, 2), (0, 0)]), u64::MAX).lost, 1)
        },
    );
}

fn prr(vectors: &mut Vectors) {
    vectors.by_design(
        "PRR",
        "prr_sender_test.cc SingleLossResultsInSendOnEveryOtherAck: on the 1st, 3rd, 5th",
        causes::PRR_IN_BYTES,
        || {
            let mut books = Books::reducing(1000, 50, 1, 25_000);
            that("repair", books.repair())?;
            for count in 2..=20 {
                books.sack(1, 2 + count, 25_000);
                let may_send = books.room(25_000) >= 1000;
                same(&format!("acknowledgement {count}"), may_send, count % 2 == 1)?;
                books.send(u64::from(may_send));
            }
            Ok(())
        },
    );
    vectors.holds(
        "PRR",
        "prr_sender_test.cc SingleLoss: one for two until the window is reached",
        || {
            let mut books = Books::reducing(1000, 50, 1, 25_000);
            that("repair", books.repair())?;
            let (mut sent, mut delivered) = (1u64, 1u64);
            while books.account.in_flight() > 25_000 {
                delivered += 1;
                books.sack(1, 2 + delivered, 25_000);
                let packets = books.room(25_000) / 1000;
                books.send(packets);
                sent += packets;
                let is_half = sent.abs_diff(delivered.div_ceil(2)) <= 1;
                that(&format!("{sent} sent for {delivered} delivered"), is_half)?;
                that("not below the window", books.account.in_flight() >= 24_000)?;
            }
            Ok(())
        },
    );
    vectors.by_design(
        "PRR",
        "prr_sender_test.cc BurstLossResultsInSlowStart: two for each of three",
        causes::PRR_SLOW_START,
        || {
            let mut books = Books::new(1000);
            books.send(20);
            books.now = at(100);
            books.sack(16, 16, 10_000);
            let mut sent = 0;
            while books.room(10_000) >= 1000 && books.repair() {
                sent += 1;
            }
            same("packets for the first", sent, 2)
        },
    );
}

/// Returns the smoothed RTT after samples in ms.
fn smoothed(samples: &[u64]) -> f64 {
    let mut rtt = RttEstimator::new(RtoBounds::RFC6298);
    for sample in samples {
        rtt.sample(ms(*sample), true);
    }
    rtt.smoothed().as_millis_f64()
}

fn rtts(vectors: &mut Vectors) {
    vectors.holds("RTT", "rtt_stats_test.cc SmoothedRtt: 300, 300, 300, 200 ms give 287.5", || {
        near("SRTT, ms", smoothed(&[300, 300, 300, 200]), 287.5, 1e-5)
    });
    vectors.holds("RTT", "rtt_stats_test.cc ExpireSmoothedMetrics: 10, 20 ms give 11.25", || {
        near("SRTT, ms", smoothed(&[10, 20]), 11.25, 1e-5)
    });
    vectors.holds("RTT", "rtt_stats_test.cc SmoothedRttStability: no drift above 1 us", || {
        (3..20_000).map(Span::from_micros).try_for_each(steady)
    });
    vectors.holds("RTT", "rtt_stats_test.cc MinRtt: 200, 10, 50, 7 ms", || {
        let mut rtt = RttEstimator::new(RtoBounds::LINUX);
        for (sample, least) in [(200, 200), (10, 10), (50, 10), (7, 7)] {
            rtt.sample(ms(sample), true);
            same("least", rtt.min(), ms(least))?;
        }
        Ok(())
    });
}

/// Asserts that a hundred equal samples leave the smoothed RTT at their value.
fn steady(sample: Span) -> Outcome {
    let mut rtt = RttEstimator::new(RtoBounds::LINUX);
    for _ in 0..100 {
        rtt.sample(sample, true);
    }
    near("SRTT, ms", rtt.smoothed().as_millis_f64(), sample.as_millis_f64(), 1e-3)
}
