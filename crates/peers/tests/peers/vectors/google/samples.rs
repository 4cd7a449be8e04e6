//! Delivery-rate samples, and filters for the maximum or minimum over a window.

use paceline_cc::{RateSample, Span, Time};
use paceline_peers::vector::{Outcome, Vectors, near, same, that};
use paceline_schemes::parts::{WindowedMax, WindowedMin};

use crate::bench::{Books, at, ranges};

const SUBJECT: &str = "rate samples";
/// Rate of one packet of 1280 bytes per millisecond, in bytes per second.
const FULL: f64 = 1_280_000.0;

pub(super) fn add(vectors: &mut Vectors) {
    rates(vectors);
    app_limited(vectors);
    filters(vectors);
}

/// Acknowledges all packets up to number `last`.
fn acked(books: &mut Books, now: Time, last: u64) -> Result<RateSample, String> {
    books.now = now;
    let reaction = books.take(&ranges(last + 1, &[(0, last)]), 1_000_000);
    reaction.sample.ok_or_else(|| format!("no sample at {now:?}"))
}

fn sent(books: &mut Books, millis: u64) {
    books.now = at(millis);
    books.send(1);
}

/// Sends twenty packets a millisecond apart, which are acknowledged from 20 ms on while twenty more
/// leave.
fn forty() -> Result<Books, String> {
    let mut books = Books::new(1280);
    for number in 0..20 {
        sent(&mut books, number);
    }
    for number in 0..20 {
        let sample = acked(&mut books, at(20 + number), number)?;
        that("the first twenty are not limited", !sample.app_limited)?;
        sent(&mut books, 20 + number);
    }
    Ok(books)
}

fn is_full(sample: &RateSample) -> Outcome {
    that("not limited", !sample.app_limited)?;
    near("bytes/s", sample.rate.bytes_per_sec(), FULL, 1e-6 * FULL)
}

fn rates(vectors: &mut Vectors) {
    vectors.holds(SUBJECT, "bandwidth_sampler_test.cc SendAndWait: a packet for 10 ms", || {
        let mut books = Books::new(1280);
        for number in 0..20 {
            sent(&mut books, 10 * number);
            let rate = acked(&mut books, at(10 * number + 10), number)?.rate;
            near("bytes/s", rate.bytes_per_sec(), 128_000.0, 1.0)?;
        }
        Ok(())
    });
    vectors.holds(SUBJECT, "bandwidth_sampler_test.cc SendPaced: a packet for 1 ms", || {
        let mut books = forty()?;
        (20..40).try_for_each(|number| is_full(&acked(&mut books, at(20 + number), number)?))
    });
    vectors.holds(
        SUBJECT,
        "bandwidth_sampler_test.cc CompressedAck: not above the rate of sending",
        || {
            let mut books = forty()?;
            let mut rate = 0.0;
            for number in 20..40 {
                let now = at(55) + Span::from_micros(8 * (number - 20));
                // Acknowledgements too close to each other give no sample.
                if let Ok(sample) = acked(&mut books, now, number) {
                    rate = sample.rate.bytes_per_sec();
                    that(&format!("rate {rate}"), rate <= FULL * 1.000_001)?;
                }
            }
            near("the last one", rate, FULL, 0.01 * FULL)
        },
    );
    vectors.holds(
        SUBJECT,
        "bandwidth_sampler_test.cc FirstRoundTrip: rises to ten packets in 0.8 s",
        || {
            let mut books = Books::new(1280);
            for number in 0..10 {
                sent(&mut books, number);
            }
            let (mut last, real) = (0.0, 12_800.0 / 0.8);
            for number in 0..10 {
                let rate = acked(&mut books, at(800 + number), number)?.rate.bytes_per_sec();
                that(&format!("{last} < {rate} <= {real}"), last < rate && rate <= real)?;
                last = rate;
            }
            near("the last one", last, real, 0.02 * real)
        },
    );
}

/// Sends twenty more packets after a pause of a second without data from the application.
fn after_a_pause(asked_each_time: bool) -> Result<Books, String> {
    let mut books = forty()?;
    books.account.on_app_limited();
    for number in 20..40 {
        is_full(&acked(&mut books, at(20 + number), number)?)?;
        if asked_each_time {
            books.account.on_app_limited();
        }
    }
    for number in 40..60 {
        sent(&mut books, 1020 + number);
    }
    Ok(books)
}

fn app_limited(vectors: &mut Vectors) {
    vectors.holds(
        SUBJECT,
        "bandwidth_sampler_test.cc AppLimited: 21 to 40, sent before, are not",
        || after_a_pause(false).map(|_| ()),
    );
    vectors.holds(
        SUBJECT,
        "bandwidth_sampler_test.cc AppLimited: 41 to 60, sent after a pause, are limited",
        || {
            let mut books = after_a_pause(true)?;
            let mut limited = 0;
            for number in 40..60 {
                let sample = acked(&mut books, at(1040 + number), number)?;
                limited += u32::from(sample.app_limited);
                sent(&mut books, 1040 + number);
            }
            same("limited of twenty", limited, 20)
        },
    );
    vectors.holds(
        SUBJECT,
        "bandwidth_sampler_test.cc AppLimited: 61 to 80, sent later, are not",
        || {
            let mut books = after_a_pause(false)?;
            for number in 40..60 {
                acked(&mut books, at(1040 + number), number)?;
                sent(&mut books, 1040 + number);
            }
            // Packet number 60 left at the end of the limited phase.
            (61..80).try_for_each(|number| is_full(&acked(&mut books, at(1040 + number), number)?))
        },
    );
}

/// Reason: values after the best one of a window.
const NEARER: &str = "when the best value leaves the window, its successor is nearer to the exact minimum or maximum, as in \
     Linux' win_minmax; Google's filter keeps an older value as its third";

fn filters(vectors: &mut Vectors) {
    vectors.by_design(
        "filters",
        "windowed_filter_test.cc MonotonicallyIncreasingMin",
        NEARER,
        || {
            let mut filter = WindowedMin::new(99);
            let best = |step: u64| filter.update(25 * step, 10 + 10 * step);
            same("best", (0..7).map(best).collect::<Vec<_>>(), vec![10, 10, 10, 10, 20, 40, 40])
        },
    );
    vectors.by_design(
        "filters",
        "windowed_filter_test.cc MonotonicallyDecreasingMax",
        NEARER,
        || {
            let mut filter = WindowedMax::new(99);
            let best = |step: u64| filter.update(25 * step, 1000 - 100 * step);
            let expected = vec![1000, 1000, 1000, 1000, 900, 700, 700];
            same("best", (0..7).map(best).collect::<Vec<_>>(), expected)
        },
    );
    // After 1000, 900, ... 600, 25 ms apart: returns the best value after one more.
    let best_after = |now: u64, value: u64| {
        let mut filter = WindowedMax::new(99);
        for step in 0..5 {
            filter.update(25 * step, 1000 - 100 * step);
        }
        filter.update(now, value)
    };
    for (test, now, value, best) in [
        ("windowed_filter_test.cc SampleChangesThirdBestMax", 101, 650, 900),
        ("windowed_filter_test.cc SampleChangesSecondBestMax", 101, 750, 900),
        ("windowed_filter_test.cc SampleChangesAllMaxs", 101, 950, 950),
        ("windowed_filter_test.cc ExpireSecondBestMax", 175, 550, 600),
        ("windowed_filter_test.cc ExpireAllMaxs", 200, 550, 550),
    ] {
        vectors.holds("filters", test, move || same("best", best_after(now, value), best));
    }
    vectors.by_design("filters", "windowed_filter_test.cc ExpireBestMax: 700", NEARER, move || {
        same("best", best_after(125, 550), 700)
    });
    vectors.holds("filters", "windowed_filter_test.cc ExpireCounterBasedMax", || {
        let mut filter = WindowedMax::new(2);
        for (round, value, best) in
            [(1, 50_000, 50_000), (2, 40_000, 50_000), (3, 30_000, 50_000), (4, 20_000, 40_000)]
        {
            same("best", filter.update(round, value), best)?;
            for small in 0..1000 {
                same("best after small ones", filter.update(round, small % 20), best)?;
            }
        }
        Ok(())
    });
}
