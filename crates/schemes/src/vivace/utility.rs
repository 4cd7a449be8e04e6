//! The utility of an interval.

use super::Utility;
use super::monitor::Summary;

/// Returns the paper's utility (§3.2) of `mbps` megabits (10⁶) per second, an RTT gradient and a
/// share of lost packets.
pub(super) fn paper(utility: Utility, mbps: f64, gradient: f64, loss: f64) -> f64 {
    let latency = if utility == Utility::Latency { 900.0 } else { 0.0 };
    libm::pow(mbps, 0.9) - latency * mbps * gradient - 11.35 * mbps * loss
}

/// Returns the program's utility: `mbps` in megabits of 2²⁰, the gradient truncated to even
/// hundredths.
pub(super) fn nsdi(utility: Utility, mbps: f64, gradient: f64, loss: f64) -> f64 {
    let latency = if utility == Utility::Latency { 11_330.0 } else { 0.0 };
    let hundredths = (gradient * 100.0) as i64;
    let gradient = (hundredths / 2 * 2) as f64 / 100.0;
    let price = if loss <= 0.03 { 1.0 } else { 11.35 };
    libm::pow(mbps, 0.9) - (price * loss + latency * gradient) * mbps
}

/// Unit of shares: thousandths, as in the kernel module.
const SCALE: i64 = 1000;

/// Returns the kernel module's utility, in integers; `rate` in bytes per second.
pub(super) fn kernel(utility: Utility, rate: i64, summary: &Summary, mss: u32, start: bool) -> i64 {
    let delivered = i64::from(summary.total - summary.lost.min(summary.total));
    if delivered == 0 {
        return 0;
    }
    let lost = i64::from(summary.lost);
    let change = (summary.rtt_change * 1e6) as i64;
    let sending = (summary.seconds * 1e6) as i64;
    let mut inflation = SCALE.saturating_mul(change) / sending.max(1);
    if summary.delivered > 0.0 {
        let two_packets = (2.0 * 8e6 * f64::from(mss) / summary.delivered) as i64;
        if change.abs() < two_packets {
            inflation = 0;
        }
    }
    if inflation.abs() < 30 || (inflation < 0 && start) || utility == Utility::Loss {
        inflation = 0;
    }
    let mut loss = SCALE * lost / (lost + delivered);
    if start && loss < 100 {
        loss = 0;
    }
    let price = inflation.saturating_mul(900).saturating_add(11 * loss);
    rate.saturating_sub(rate.saturating_mul(price) / SCALE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 0.005, "{value} instead of {expected}");
    }

    #[test]
    fn facts_at_10_mbps() {
        for utility in [Utility::Latency, Utility::Loss] {
            near(paper(utility, 10.0, 0.0, 0.0), 7.943);
            near(nsdi(utility, 10.0, 0.0, 0.0), 7.943);
            near(paper(utility, 10.0, 0.0, 0.05), 2.268);
            near(nsdi(utility, 10.0, 0.0, 0.05), 2.268);
        }
        near(paper(Utility::Latency, 10.0, 0.01, 0.0), -82.06);
        near(paper(Utility::Loss, 10.0, 0.01, 0.0), 7.943);
        near(nsdi(Utility::Latency, 10.0, 0.0199, 0.0), 7.943);
        near(nsdi(Utility::Latency, 10.0, -0.0199, 0.0), 7.943);
        near(nsdi(Utility::Latency, 10.0, 0.02, 0.0), 7.943 - 2266.0);
        // Falling RTTs are rewarded, small losses cost little.
        near(nsdi(Utility::Latency, 10.0, -0.025, 0.0), 7.943 + 2266.0);
        near(nsdi(Utility::Loss, 10.0, 0.0, 0.03), 7.943 - 0.3);
    }

    #[test]
    fn facts_of_the_kernel_module() {
        let summary = Summary {
            number: 0,
            total: 100,
            lost: 0,
            rate: 0.0,
            seconds: 0.1,
            gradient: 0.0,
            rtt_change: 0.0,
            delivered: 12e6,
            rtt: 0.1,
        };
        let worth = |change: f64, lost: u32, start: bool| {
            let summary = Summary { rtt_change: change, lost, ..summary };
            kernel(Utility::Latency, 1_000_000, &summary, 1500, start)
        };
        assert_eq!(worth(0.0, 0, false), 1_000_000);
        // Under 3 % of the time: ignored.
        assert_eq!(worth(0.0029, 0, false), 1_000_000);
        // 5 % of the time: 900 * 0.05.
        assert_eq!(worth(0.005, 0, false), -44_000_000);
        assert_eq!(worth(-0.005, 0, false), 46_000_000);
        assert_eq!(worth(-0.005, 0, true), 1_000_000);
        assert_eq!(worth(0.0, 5, false), 450_000);
        assert_eq!(worth(0.0, 5, true), 1_000_000);
        assert_eq!(worth(0.0, 10, true), -100_000);
        assert_eq!(worth(0.0, 100, false), 0);
        let slow = Summary { rtt_change: 0.02, delivered: 1e6, ..summary };
        // Less than the time of two packets: ignored.
        assert_eq!(kernel(Utility::Latency, 1_000_000, &slow, 1500, false), 1_000_000);
        let steep = Summary { rtt_change: 0.03, ..slow };
        assert!(kernel(Utility::Latency, 1_000_000, &steep, 1500, false) < 0);
        assert_eq!(kernel(Utility::Loss, 1_000_000, &steep, 1500, false), 1_000_000);
    }
}
