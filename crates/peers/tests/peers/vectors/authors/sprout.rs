//! Sprout's authors' program (Alfalfa c838669): figures from running its forecaster on arrivals.

use std::sync::Arc;

use paceline_cc::{Controller, Forecast, Outgoing, Report, Setup};
use paceline_peers::vector::{Outcome, Vectors, near, same};
use paceline_schemes::sprout::{Belief, SproutParams, SproutSender, Tables, Ticks};

use crate::bench::at;

/// Arrivals, as packets per tick and number of ticks, and number of repetitions; expected packets
/// by the end of each of eight ticks; mean rate in packets per second; probability of an outage.
type Row = (&'static [(u32, usize)], usize, [u16; 8], f64, f64);

const ROWS: [Row; 19] = [
    (&[], 1, [1, 1, 3, 4, 5, 6, 8, 9], 501.9455, 0.003_891_05),
    (&[(0, 1)], 1, [0; 8], 45.2572, 0.257_609),
    (&[(1, 1)], 1, [0, 0, 0, 1, 2, 2, 3, 4], 104.5323, 0.0),
    (&[(10, 1)], 1, [4, 10, 16, 22, 28, 34, 40, 47], 544.2445, 0.0),
    (&[(19, 1)], 1, [9, 21, 33, 46, 58, 70, 82, 95], 835.0030, 0.0),
    (&[(1, 10)], 1, [0, 0, 0, 1, 1, 2, 3, 4], 68.1200, 0.0),
    (&[(5, 50)], 1, [2, 4, 8, 11, 14, 18, 21, 24], 258.2851, 0.0),
    (&[(10, 50)], 1, [5, 12, 20, 27, 35, 43, 51, 59], 505.7901, 0.0),
    (&[(15, 50)], 1, [9, 20, 33, 45, 57, 70, 82, 95], 754.6940, 0.0),
    (&[(20, 50)], 1, [12, 28, 44, 61, 77, 94, 111, 128], 953.3583, 0.0),
    (&[(25, 50)], 1, [13, 29, 46, 63, 80, 98, 115, 133], 977.8887, 0.0),
    (&[(10, 50), (0, 1)], 1, [4, 9, 15, 21, 27, 33, 38, 44], 413.2417, 1.05751e-12),
    (&[(10, 50), (0, 2)], 1, [2, 6, 10, 13, 17, 21, 25, 29], 314.6971, 5.80442e-7),
    (&[(10, 50), (0, 3)], 1, [1, 2, 4, 6, 8, 10, 12, 14], 209.6578, 0.001_088_87),
    (&[(10, 50), (0, 10)], 1, [0; 8], 3.2125, 0.897_889),
    (&[(0, 100), (1, 1)], 1, [0, 0, 0, 0, 0, 1, 2, 2], 40.6800, 0.0),
    (&[(0, 100), (2, 5)], 1, [0, 0, 1, 2, 3, 4, 5, 6], 99.9018, 0.0),
    (&[(10, 50), (40, 1)], 1, [8, 19, 30, 42, 54, 65, 77, 89], 705.3777, 0.0),
    (&[(0, 1), (5, 1), (10, 1)], 20, [2, 6, 9, 13, 17, 21, 25, 29], f64::NAN, f64::NAN),
];

pub(super) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("Sprout's authors");
    let tables = Arc::new(Tables::new(Ticks::Independent, false));
    for row in ROWS {
        let arrivals: Vec<String> =
            row.0.iter().map(|(packets, ticks)| format!("{ticks} ticks of {packets}")).collect();
        let times = if row.1 > 1 { format!(", {} times", row.1) } else { String::new() };
        let test = format!("forecaster: {}{times}", arrivals.join(", "));
        let test = if row.0.is_empty() { "forecaster: nothing known".to_string() } else { test };
        let tables = tables.clone();
        vectors.holds("sprout", test, move || forecast(&tables, &row));
    }
    window(&mut vectors);
    vectors
}

fn forecast(tables: &Tables, (arrivals, times, counts, mean, outage): &Row) -> Outcome {
    let mut belief = Belief::new(Arc::clone(&tables.transition));
    for (packets, ticks) in std::iter::repeat_n(*arrivals, *times).flatten() {
        for _ in 0..*ticks {
            belief.evolve();
            belief.observe(*packets);
        }
    }
    let probabilities = belief.p();
    same("packets", tables.quantile(probabilities, 0.05), *counts)?;
    if mean.is_nan() {
        return Ok(());
    }
    // The authors print the centre of a bin of 1000/256 packets per second.
    let rate = |bin: usize| (bin as f64 + 0.5) * 1000.0 / 256.0;
    let expected = probabilities.iter().enumerate().skip(1).map(|(bin, p)| p * rate(bin)).sum();
    near("mean rate", expected, *mean, 0.02)?;
    near("an outage", probabilities[0], *outage, 1e-5 * outage.max(1e-9))
}

/// Returns a report with a forecast from `millis` on, after `total` bytes have arrived.
fn report(total: u64, millis: u64) -> Report {
    let counts = [2, 4, 8, 11, 14, 18, 21, 24];
    Report::Forecast(Forecast { total, from: at(millis), counts })
}

fn window(vectors: &mut Vectors) {
    let sender = || SproutSender::new(&SproutParams::default(), &Setup::new(1, 0));
    vectors.holds("sprout", "sproutconn.cc window_size: five ticks ahead", move || {
        let mut sender = sender();
        sender.on_report(at(1000), &report(0, 900));
        // counts[min(tick + 5, 7)] - counts[tick]; 0 from the last tick on.
        for (tick, packets) in [16, 17, 16, 13, 10, 6, 3, 0, 0].into_iter().enumerate() {
            sender.on_timer(at(1000 + 20 * tick as u64));
            same(&format!("packets at tick {tick}"), sender.window() / 1440, packets)?;
        }
        Ok(())
    });
    vectors.holds(
        "sprout",
        "sproutconn.cc: what has not arrived is queue, and drains",
        move || {
            let mut sender = sender();
            sender.on_report(at(1000), &report(0, 900));
            for number in 0..5 {
                sender.on_send(at(1001), &mut Outgoing::new(number, 1500, 1500 * number));
            }
            same("window", sender.window(), (16 - 5) * 1440)?;
            // The sender counts 1490 bytes for each packet; two packets have arrived.
            sender.on_report(at(1030), &report(2 * 1490, 930));
            same("queue", sender.queue(), 3 * 1490)?;
            same("window", sender.window(), 16 * 1440 - 3 * 1490)?;
            sender.on_timer(at(1050));
            same("queue after a tick", sender.queue(), 3 * 1490 - 2 * 1440)?;
            sender.on_timer(at(1070));
            same("queue after two", sender.queue(), 0)
        },
    );
}
