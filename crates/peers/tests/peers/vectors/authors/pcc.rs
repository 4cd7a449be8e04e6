//! PCC Vivace: the start, as in PCC-Kernel and in PCC-Uspace NSDI-2018.

use paceline_peers::vector::{Vectors, near, same, that};

use crate::bench::{Bottleneck, ms};

/// Returns the first pacing rates, in bit/s, of a transfer over 400 Mbit/s and 40 ms.
fn first_rates(scheme: &str, count: usize) -> Vec<u64> {
    let mut path = Bottleneck::new(scheme, 1500, 400.0, ms(40), 10_000_000);
    path.write(1 << 30);
    let mut rates = Vec::new();
    path.run(ms(3000), |path| {
        let rate = path.sender.plan().pacing.map_or(0, |rate| rate.as_bps());
        if rate > 0 && rates.last() != Some(&rate) {
            rates.push(rate);
        }
        rates.len() >= count
    });
    rates
}

pub(super) fn vectors() -> [Vectors; 2] {
    let mut kernel = Vectors::of("PCC-Kernel");
    kernel.holds(
        "vivace",
        "tcp_pcc.c: from 512 KB/s, half more for each interval that pays",
        || {
            let rates = (0..6).scan(524_288u64, |rate, _| {
                let now = *rate;
                *rate += *rate / 2;
                Some(8 * now)
            });
            same("rates", first_rates("vivace", 6), rates.collect())
        },
    );
    let mut userspace = Vectors::of("PCC-Uspace NSDI-2018");
    userspace.holds("vivace", "pcc.h: from 0.8 Mbit/s, doubled before each interval", || {
        let rates = first_rates("vivace[rule=nsdi2018]", 5);
        near("first, Mbit/s", rates[0] as f64 / 1e6, 1.6, 0.01)?;
        let doubles = |pair: &[u64]| (pair[1] as f64 / pair[0] as f64 - 2.0).abs() < 0.01;
        that(&format!("{rates:?} double"), rates.windows(2).all(doubles))
    });
    [kernel, userspace]
}
