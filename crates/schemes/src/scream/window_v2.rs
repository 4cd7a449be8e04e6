//! The reference window of version 2 (draft, "Network Congestion Control").

use paceline_cc::{Span, Time};

use super::marked_share::MarkedShare;
use super::{EcnMode, ScreamParams};

/// Weight of a longer queueing delay in the average (draft `QDELAY_AVG_G`).
const QDELAY_AVERAGE_GAIN: f64 = 0.25;
/// Delay, in seconds, by which deviations are divided (draft `QDELAY_DEV_NORM`).
const DEVIATION_UNIT: f64 = 0.025;
/// Weight of a sample in the averaged deviation (draft `QDELAY_DEV_AVG_G`).
const DEVIATION_GAIN: f64 = 1.0 / 64.0;
/// Least share of growth and of a reduction that deviations leave (draft `MIN_QUEUE_DELAY_DEV_SCALE`).
const LEAST_DEVIATION_SCALE: f64 = 0.1;
/// Time between updates of the inflection point, in RTTs.
const INFLECTION_RTTS: u64 = 10;
/// After this number of RTTs without congestion, the window is at most what was in flight.
const STALE_RTTS: u64 = 100;
/// Share of the largest rate above which the bytes in flight limit the window (authors' `updateCwnd`).
const NEAR_MAX_RATE: f64 = 0.95;

/// Contents of an acknowledgement that the window needs. Delays are in seconds, sizes in bytes.
#[derive(Copy, Clone, Debug)]
pub(super) struct Acked {
    pub(super) now: Time,
    pub(super) srtt: Span,
    pub(super) qdelay: f64,
    pub(super) qdelay_target: f64,
    /// Bytes that were acknowledged or lost, and of these the bytes of marked packets.
    pub(super) bytes: f64,
    pub(super) marked_bytes: f64,
    /// Packets acknowledged, and of these marked.
    pub(super) packets: u32,
    pub(super) marked: u32,
    pub(super) has_loss: bool,
    /// Bytes in flight before the acknowledgement.
    pub(super) in_flight: f64,
    /// The encoder's rate in bits per second.
    pub(super) target: f64,
    /// True if the authors' receiver would have reported with this packet.
    pub(super) is_report: bool,
}

/// The reference window in bytes.
#[derive(Clone, Debug)]
pub(super) struct WindowV2 {
    mss: f64,
    ref_wnd: f64,
    /// The window when congestion was met.
    inflection: f64,
    inflection_at: Option<Time>,
    marks: MarkedShare,
    qdelay_average: f64,
    /// The averaged deviation of the queueing delay.
    deviation: f64,
    averaged_at: Time,
    /// A loss, or a mark, since the last reaction.
    has_loss: bool,
    has_mark: bool,
    /// When congestion was last seen, and when the window was last reduced.
    congested_at: Option<Time>,
    reduced_at: Option<Time>,
    /// Most bytes in flight in this round trip and in the one before.
    max_in_flight: f64,
    max_in_flight_before: f64,
    round_start: Time,
}

/// Which kind of congestion reduces the window.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) enum Reaction {
    Loss,
    Mark,
    /// A queueing delay that counts as this averaged share of marks.
    Delay(f64),
}

impl WindowV2 {
    pub(super) fn new(params: &ScreamParams, mss: u32) -> WindowV2 {
        WindowV2 {
            mss: f64::from(mss),
            ref_wnd: params.min_window as f64,
            inflection: 1.0,
            inflection_at: None,
            marks: MarkedShare::default(),
            qdelay_average: 0.0,
            deviation: 0.0,
            averaged_at: Time::ZERO,
            has_loss: false,
            has_mark: false,
            congested_at: None,
            reduced_at: None,
            max_in_flight: 0.0,
            max_in_flight_before: 0.0,
            round_start: Time::ZERO,
        }
    }

    /// Returns the reference window in bytes.
    pub(super) fn ref_wnd(&self) -> f64 {
        self.ref_wnd
    }

    /// Returns the averaged share of marks.
    pub(super) fn l4s_alpha(&self) -> f64 {
        self.marks.l4s_alpha()
    }

    /// Returns the size of a packet as a share of the window, at most 1.
    pub(super) fn ratio(&self) -> f64 {
        (self.mss / self.ref_wnd).min(1.0)
    }

    /// Returns the deviation from which on growth is restricted as much as possible.
    pub(super) fn deviation_limit(&self) -> f64 {
        (0.1 * (1.0 - self.ratio() / 0.1)).max(0.05)
    }

    /// Returns 1 for a steady queueing delay, down to 0 at the limit of its deviation.
    pub(super) fn steadiness(&self) -> f64 {
        let limit = self.deviation_limit();
        ((limit - self.deviation) / limit).max(0.0)
    }

    /// Returns the number of windows that may be in flight.
    pub(super) fn overhead(&self, params: &ScreamParams) -> f64 {
        params.overhead_min + (params.overhead_max - params.overhead_min) * self.steadiness()
    }

    /// Takes an acknowledgement in.
    pub(super) fn update(&mut self, params: &ScreamParams, acked: &Acked) {
        let now = acked.now;
        self.max_in_flight = self.max_in_flight.max(acked.in_flight);
        self.marks.count(params, now, acked.srtt, (acked.packets, acked.marked));
        self.average(params, acked);
        self.has_loss |= acked.has_loss;
        self.has_mark |= acked.marked > 0;
        if acked.has_loss || acked.marked > 0 {
            self.congested_at = Some(now);
        }
        // Both the reduction and the growth are scaled by the distance from the inflection point before
        // the update.
        let distance = self.distance();
        if let Some(reaction) = self.reaction(params, acked) {
            if self.inflection_at.is_none_or(|at| now.since(at) > acked.srtt * INFLECTION_RTTS) {
                (self.inflection_at, self.inflection) = (Some(now), self.ref_wnd);
            }
            self.reduce(params, acked, reaction, distance);
        }
        self.grow(params, acked, distance);
        if now.since(self.round_start) >= acked.srtt {
            self.round_start = now;
            self.max_in_flight_before = self.max_in_flight;
            self.max_in_flight = 0.0;
        }
    }

    /// Averages the queueing delay and its deviation: slowly when it rises, at once when it falls. Only the packet with
    /// which a report would come counts: the first packet of a frame has the shortest queue, its last one the longest.
    fn average(&mut self, params: &ScreamParams, acked: &Acked) {
        let is_early = acked.now.since(self.averaged_at) < params.virtual_rtt.min(acked.srtt);
        if is_early || !acked.is_report {
            return;
        }
        self.averaged_at = acked.now;
        let qdelay = acked.qdelay;
        if qdelay < self.qdelay_average {
            self.qdelay_average = qdelay;
        } else {
            self.qdelay_average += QDELAY_AVERAGE_GAIN * (qdelay - self.qdelay_average);
        }
        let deviation = (qdelay - DEVIATION_UNIT / 4.0) / DEVIATION_UNIT;
        let deviation = deviation.min(1.5 * self.deviation_limit()).max(0.0);
        self.deviation += DEVIATION_GAIN * (deviation - self.deviation);
    }

    /// Returns how far the window is from the inflection point: 1 for far, 0.1 for near.
    pub(super) fn distance(&self) -> f64 {
        let distance = 8.0 * (self.ref_wnd - self.inflection) / self.inflection;
        (distance * distance).clamp(0.1, 1.0)
    }

    /// Returns the reaction that is due now: at most one per virtual RTT.
    fn reaction(&mut self, params: &ScreamParams, acked: &Acked) -> Option<Reaction> {
        let reduced_at = *self.reduced_at.get_or_insert(acked.now);
        if acked.now.since(reduced_at) < params.virtual_rtt.min(acked.srtt) {
            return None;
        }
        let half = acked.qdelay_target / 2.0;
        if self.has_loss {
            Some(Reaction::Loss)
        } else if self.has_mark {
            Some(Reaction::Mark)
        } else if self.qdelay_average > half {
            Some(Reaction::Delay(((self.qdelay_average - half) / half).clamp(0.0, 1.0)))
        } else {
            None
        }
    }

    fn reduce(&mut self, params: &ScreamParams, acked: &Acked, reaction: Reaction, distance: f64) {
        let (srtt, virtual_rtt) = (acked.srtt.as_secs_f64(), params.virtual_rtt.as_secs_f64());
        // Where RTTs are long there are several reductions per RTT.
        let per_rtt = (srtt / virtual_rtt).max(1.0);
        let share = match reaction {
            Reaction::Loss => params.beta_loss,
            Reaction::Mark if params.ecn != EcnMode::L4s => params.beta_ecn,
            Reaction::Mark => {
                let mut backoff = self.marks.l4s_alpha() / 2.0 / per_rtt;
                if acked.qdelay < 0.25 * acked.qdelay_target {
                    backoff *= distance.max(0.25) * self.steadiness().max(LEAST_DEVIATION_SCALE);
                }
                self.leave_stale_window(params, acked);
                1.0 - backoff
            }
            Reaction::Delay(share) => 1.0 - share / 2.0 / per_rtt,
        };
        self.ref_wnd = (self.ref_wnd * share).max(params.min_window as f64);
        (self.has_loss, self.has_mark, self.reduced_at) = (false, false, Some(acked.now));
    }

    /// A long time without congestion, as when the encoder's largest rate is below the link's, may have
    /// left a window far above the bytes in flight.
    fn leave_stale_window(&mut self, params: &ScreamParams, acked: &Acked) {
        let stale = acked.srtt.max(params.virtual_rtt) * STALE_RTTS;
        if self.reduced_at.is_some_and(|at| acked.now.since(at) > stale) {
            self.ref_wnd = self.ref_wnd.min(self.max_in_flight_before.max(self.mss));
        }
    }

    fn grow(&mut self, params: &ScreamParams, acked: &Acked, distance: f64) {
        let srtt = acked.srtt.as_secs_f64();
        let rtt = acked.srtt.max(params.virtual_rtt).as_secs_f64();
        let since = self.congested_at.map_or(f64::INFINITY, |at| acked.now.since(at).as_secs_f64());
        let recovered = (since / (params.post_congestion_rtts * rtt)).clamp(0.0, 1.0);
        let multiple = 1.0 + params.mul_increase * self.ref_wnd / self.mss * recovered * distance;
        let increment = (acked.bytes - acked.marked_bytes).max(0.0)
            * self.ratio()
            * (srtt / params.virtual_rtt.as_secs_f64()).min(1.0)
            * distance.max(0.25)
            * self.steadiness().max(LEAST_DEVIATION_SCALE)
            * multiple;
        let most_in_flight = self.max_in_flight.max(self.max_in_flight_before);
        let allowed = self.mss + most_in_flight * params.flight_headroom;
        let max_rate = params.max_rate.as_bps() as f64;
        let grown = self.ref_wnd + increment;
        if grown <= allowed && acked.target < max_rate {
            self.ref_wnd = grown;
        }
        if acked.target > NEAR_MAX_RATE * max_rate {
            let flight = params.pacing_headroom * max_rate / 8.0 * (srtt + 0.001);
            self.ref_wnd = self.ref_wnd.min(most_in_flight.max(flight));
        }
        self.ref_wnd = self.ref_wnd.max(params.min_window as f64);
    }
}
