//! Cubic's window, set to the state in which a vector begins.

use paceline_cc::params::Params;
use paceline_cc::{Congestion, Span};
use paceline_schemes::cubic::{CubicParams, CubicWindow, HyStartKind};

use super::{Acks, ms, shown};

const MSS: u32 = 1200;

/// Parameters of RFC 9438's Cubic without HyStart, with a window of `packets`.
pub(crate) fn curve(packets: f64) -> CubicParams {
    let rfc = CubicParams::variant("rfc9438").expect("a variant");
    CubicParams { initial_window: packets, hystart: HyStartKind::Off, ..rfc }
}

/// Returns a value of the window's inner state.
pub(crate) fn of(window: &CubicWindow, name: &str) -> f64 {
    shown(|see| window.inspect(see), name)
}

/// Returns a window after a loss, at the beginning of its first epoch.
pub(crate) fn epoch(params: &CubicParams, rtt: Span) -> (CubicWindow, Acks) {
    let mut window = CubicWindow::new(params);
    let mut acks = Acks::new(MSS, rtt);
    window.on_feedback(&acks.event(Congestion::Loss));
    window.on_feedback(&acks.of(1.0 / f64::from(MSS)));
    (window, acks)
}

/// Returns the packets by which the acknowledgement of one packet opens a window of `cwnd`, at the
/// time `after` in the epoch after a loss at `w_max`.
pub(crate) fn gain(w_max: f64, cwnd: f64, after: Span, rtt: Span) -> f64 {
    let (mut window, mut acks) = epoch(&curve(w_max), rtt);
    acks.now += after;
    window.cap(cwnd);
    window.add(cwnd - window.cwnd());
    window.on_feedback(&acks.of(1.0));
    window.cwnd() - cwnd
}

/// A slow start with HyStart.
pub(crate) struct SlowStart {
    pub(crate) window: CubicWindow,
    pub(crate) acks: Acks,
}

impl SlowStart {
    pub(crate) fn new(hystart: HyStartKind, paced: bool) -> SlowStart {
        let mut window = CubicWindow::new(&CubicParams { hystart, ..CubicParams::default() });
        window.set_paced(paced);
        SlowStart { window, acks: Acks::new(MSS, ms(100)) }
    }

    /// Returns a slow start with RFC 9406's HyStart and pacing.
    pub(crate) fn rfc9406() -> SlowStart {
        SlowStart::new(HyStartKind::Rfc9406, true)
    }

    /// Acknowledges a packet 3 ms later; returns the packets by which the window opens.
    pub(crate) fn ack(&mut self, rtt: Span) -> f64 {
        let before = self.window.cwnd();
        self.acks.rtt = rtt;
        self.acks.now += ms(3);
        self.window.on_feedback(&self.acks.of(1.0));
        self.window.cwnd() - before
    }

    /// Plays a round trip of `count` acknowledgements; returns the packets by which the last one
    /// opens the window.
    pub(crate) fn round(&mut self, rtt: Span, count: u32) -> f64 {
        self.acks.in_flight.1 = f64::from(count) - 1.0;
        (0..count).map(|_| self.ack(rtt)).last().unwrap_or(0.0)
    }

    /// Plays two round trips of nine samples with these RTTs in ms; returns true if conservative
    /// slow start has begun.
    pub(crate) fn turns_conservative(&mut self, first: u64, second: u64) -> bool {
        self.round(ms(first), 9);
        self.round(ms(second), 9);
        self.ack(ms(second)) < 0.5
    }
}
