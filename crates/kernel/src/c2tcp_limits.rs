//! The target and the interval of C2TCP in the kernel.

use paceline_cc::Span;
use paceline_schemes::c2tcp::Limit;

/// One in fixed-point numbers of 16 fraction bits.
const ONE: u64 = 1 << 16;

/// The longest fixed target or interval, and the largest floor: an hour in microseconds.
const LONGEST_LIMIT: u64 = 3_600_000_000;

/// The target and the interval of C2TCP.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct C2tcpLimits {
    /// RTT above which the condition may be bad.
    pub target: Limit,
    /// How long RTTs are to be above the target.
    pub interval: Limit,
    /// Least target and interval where they are multiples of the smallest RTT.
    pub floor: Span,
}

/// Twice the smallest RTT, as in the journal version of the paper, and at least the 100 ms of the paper of 2018.
/// Twice an RTT below 40 ms is shorter than the delay of acknowledgements, and would leave windows at one packet.
impl Default for C2tcpLimits {
    fn default() -> C2tcpLimits {
        C2tcpLimits {
            target: Limit::Rtts(2.0),
            interval: Limit::Rtts(2.0),
            floor: Span::from_millis(100),
        }
    }
}

impl C2tcpLimits {
    /// Returns the words of the C code (`enum c2tcp_limit`): target and interval, each as a multiple of the smallest RTT with
    /// 16 fraction bits, and as a least value in microseconds. A fixed time has a multiple of 0.
    pub fn words(&self) -> [u64; 4] {
        let micros = |span: Span| (span.as_nanos() / 1000).min(LONGEST_LIMIT);
        let words = |limit| match limit {
            Limit::Time(time) => [0, micros(time)],
            Limit::Rtts(rtts) => {
                [(rtts.clamp(0.0, 1000.0) * ONE as f64 + 0.5) as u64, micros(self.floor)]
            }
        };
        let ([target, least_target], [interval, least_interval]) =
            (words(self.target), words(self.interval));
        [target, least_target, interval, least_interval]
    }
}
