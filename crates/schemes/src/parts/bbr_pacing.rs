//! The pacing of BBR and BBRv3: a rate that follows the bandwidth, and bursts.

use paceline_cc::{Rate, Span};

/// Time in which the pacing rate sends a burst, and the maximum size of a burst.
const BURST_SPAN: Span = Span::from_millis(1);
const BURST_MAX: u64 = 65_536;

/// The pacing rate of a BBR sender.
#[derive(Clone, Debug)]
pub(crate) struct BbrPacing {
    rate: Rate,
    mss: u32,
    /// Share of the bandwidth by which the rate stays below it.
    margin: f64,
    /// True once a measured RTT has set the initial rate.
    has_rtt: bool,
}

impl BbrPacing {
    /// The pacing of a sender of packets of `mss` bytes, before it has a rate.
    pub(crate) fn new(mss: u32, margin: f64) -> BbrPacing {
        BbrPacing { rate: Rate::ZERO, mss, margin, has_rtt: false }
    }

    /// Returns the rate.
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    #[cfg(test)]
    pub(crate) fn set(&mut self, rate: Rate) {
        self.rate = rate;
    }

    fn scaled(&self, bw: Rate, gain: f64) -> Rate {
        bw.mul_f64(gain * (1.0 - self.margin))
    }

    /// Returns one packet per second, so that a wrong estimate cannot stop the flow for ever.
    fn slowest(&self) -> Rate {
        Rate::from_bps(8 * u64::from(self.mss))
    }

    /// Sets the initial rate: a window of `cwnd` bytes per `rtt`, times Startup's gain.
    pub(crate) fn begin(&mut self, cwnd: u64, rtt: Span, gain: f64) {
        let bw = Rate::from_bytes_in(cwnd, rtt.max(Span::from_micros(1)));
        self.rate = self.scaled(bw, gain).max(self.slowest());
    }

    /// Sets the initial rate from the RTT of a handshake.
    pub(crate) fn begin_connection(&mut self, cwnd: u64, rtt: Span, gain: f64) {
        self.has_rtt = true;
        self.begin(cwnd, rtt, gain);
    }

    /// Sets the initial rate from the first RTT that is measured.
    pub(crate) fn begin_measured(&mut self, cwnd: u64, rtt: Span, gain: f64) {
        if !self.has_rtt && !rtt.is_zero() {
            self.has_rtt = true;
            self.begin(cwnd, rtt, gain);
        }
    }

    /// Paces at the bandwidth times `gain`. Until the pipe is full, the rate only increases.
    pub(crate) fn follow(&mut self, bw: Rate, gain: f64, is_full: bool) {
        let rate = self.scaled(bw, gain);
        if is_full || rate > self.rate {
            self.rate = rate.max(self.slowest());
        }
    }

    /// Returns the size of a burst in bytes: at least `least` packets.
    pub(crate) fn burst(&self, least: u64) -> u64 {
        let mss = u64::from(self.mss);
        (self.rate.bytes_in(BURST_SPAN).min(BURST_MAX) / mss).max(least) * mss
    }
}
