//! ProbeRTT: half the flight for a while, to measure the path's propagation time (draft §5.3.4).

use paceline_cc::{Feedback, Time};

use super::Bbr3Sender;
use super::state::Bbr3State;

/// State of ProbeRTT.
#[derive(Clone, Debug, Default)]
pub(super) struct ProbeRtt {
    /// When it may end; set once the flight is small.
    end: Option<Time>,
    round_done: bool,
    /// The window, fixed when ProbeRTT begins.
    window: u64,
    /// Bytes delivered at the last acknowledgement.
    delivered: u64,
}

impl ProbeRtt {
    /// Returns its window, in bytes.
    pub(super) fn window(&self) -> u64 {
        self.window
    }
}

impl Bbr3Sender {
    /// Takes the RTT in, and enters, continues or leaves ProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, feedback: &Feedback<'_>) {
        self.probe_rtt.delivered = feedback.delivered;
        // The sample that replaces an expired minimum RTT has the queue in it, which a window made of that sample would
        // not drain: the window is that of the minimum before (draft after -06, SaveProbeRTTCwnd).
        let window = self.probe_rtt_window();
        let expired = self.model.on_rtt(feedback, &self.params);
        if expired && self.state != Bbr3State::ProbeRtt && !self.idle_restart {
            self.repair.save(self.cwnd, false);
            self.state = Bbr3State::ProbeRtt;
            self.probe_rtt.end = None;
            self.probe_rtt.window = window;
            self.cycle.stop_probing();
            self.model.begin_round(feedback.delivered);
        }
        self.idle_restart = false;
        if self.state != Bbr3State::ProbeRtt {
            return;
        }
        // Low rates measured from now on are due to the small window, not to the path.
        self.model.self_limited.begin(feedback);
        if self.probe_rtt.end.is_some() {
            self.probe_rtt.round_done |= self.model.rounds.started();
            if self.probe_rtt.round_done {
                self.check_probe_rtt_done(feedback.now, Some(feedback));
            }
        } else if feedback.in_flight <= self.probe_rtt.window {
            self.probe_rtt.end = Some(feedback.now + self.params.probe_rtt_time);
            self.probe_rtt.round_done = false;
            self.model.begin_round(feedback.delivered);
        }
    }

    /// Leaves ProbeRTT if its time is over.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time, feedback: Option<&Feedback<'_>>) {
        if self.probe_rtt.end.is_none_or(|end| now <= end) {
            return;
        }
        let delivered = feedback.map_or(self.probe_rtt.delivered, |feedback| feedback.delivered);
        self.model.refresh_rtt(now);
        self.cwnd = self.repair.restored(self.cwnd);
        self.bounds.reset_short_term();
        if self.full.reached {
            self.start_down(now, delivered);
            // The flight is small already, so no Down is needed.
            self.state = Bbr3State::Cruise;
        } else {
            self.state = Bbr3State::Startup;
        }
    }
}
