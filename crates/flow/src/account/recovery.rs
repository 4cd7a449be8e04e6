//! The state machine of TCP's loss recovery (RFC 6675), PRR (RFC 6937), and the detection of
//! mistakes (RFC 4015 and RFC 5682, made simple by unambiguous numbers). It decides when a loss or
//! a mark counts as congestion, when its repair ends, and how fast to send meanwhile.

use paceline_cc::Congestion;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum State {
    /// No congestion.
    Open,
    /// The window was reduced because of a mark; there is no loss to repair.
    Reduced,
    /// Losses are being repaired.
    Repair,
    /// The retransmission timer has expired; everything is repaired in slow start.
    Timeout,
}

/// The state of loss recovery of one flow.
#[derive(Debug)]
pub(crate) struct Recovery {
    state: State,
    /// True if lost data is retransmitted: repair ends when all of it has arrived. If false, repair
    /// ends when a packet sent after the reaction is acknowledged (RFC 9002 §7.3.2).
    reliable: bool,
    /// True for Linux' rules: PRR counts whole packets, and the reaction to a mark ends with the
    /// cumulative point.
    linux: bool,
    /// Numbers below were sent before the last reaction to congestion.
    point: u64,
    /// Numbers below were sent before the present episode began. A second timeout belongs to the
    /// episode of the first.
    episode: u64,
    /// True if the episode began with losses and `outstanding` counts all of them: then the
    /// reaction can be undone.
    undoable: bool,
    /// True if one original that arrives late shows that the timeout was a mistake (F-RTO, RFC
    /// 5682).
    frto: bool,
    /// The cumulative point at the last timeout.
    stuck_at: u64,
    /// True if new data goes before repairs: the last acknowledgement was the first to advance
    /// after a timeout that may be a mistake (F-RTO, RFC 5682 §2.1, step 2b).
    new_data_first: bool,
    /// Repair ends when all segments below are acknowledged.
    segment: u64,
    /// True if a segment beyond `segment` was lost meanwhile: the next reaction follows as soon as
    /// repair ends. On Linux it does only if that segment is still missing then (`lost_out`).
    react_again: bool,
    /// The end of the segments that a probe has completed by repeating a lost one: the window is
    /// reduced once a segment beyond has arrived (Linux `tlp_high_seq`). [`u64::MAX`] if no probe
    /// has.
    probed_end: u64,
    /// Packets declared lost in this episode minus those that were late.
    outstanding: u64,
    prr: Prr,
}

/// Proportional rate reduction: sends a fraction of the bytes delivered, so that a smaller window
/// is reached after about one round trip.
#[derive(Debug, Default)]
struct Prr {
    /// Bytes at the time of the reduction: see [`Event::prior`].
    start: u64,
    delivered: u64,
    sent: u64,
    allowance: u64,
}

/// One acknowledgement, as loss recovery sees it.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Event {
    /// The largest number acknowledged by it.
    pub(crate) largest: u64,
    /// Cumulative point: all segments below have arrived.
    pub(crate) cumulative: u64,
    /// Packets newly declared lost, without the one that a probe has repaired.
    pub(crate) lost: u32,
    /// The end of the segments that have arrived, if the last of them was lost and a probe has
    /// repaired it.
    pub(crate) probed_end: Option<u64>,
    /// The smallest segment among them; `None` if there are none.
    pub(crate) first_lost_segment: Option<u64>,
    /// The largest segment and the largest number among the lost.
    pub(crate) lost_segment: u64,
    pub(crate) lost_number: u64,
    /// Packets acknowledged that had been declared lost in this episode.
    pub(crate) late: u32,
    /// True if packets were newly reported as marked CE.
    pub(crate) marked: bool,
    /// True if `marked` is classic ECN's flag, which the receiver sets until CWR arrives. Outside
    /// of a reaction it is a new mark, whatever the numbers (`tcp_try_to_open`).
    pub(crate) classic: bool,
    /// Bytes of which PRR sends a share: those in flight before the acknowledgement (RFC 6937), or
    /// the window (Linux `prior_cwnd`).
    pub(crate) prior: u64,
    /// One more than the largest segment ever declared lost.
    pub(crate) lost_end: u64,
    /// The number and the segment that the flow will send next.
    pub(crate) next: u64,
    pub(crate) next_segment: u64,
}

impl Recovery {
    pub(crate) fn new(reliable: bool, linux: bool) -> Recovery {
        Recovery {
            state: State::Open,
            reliable,
            linux,
            point: 0,
            episode: 0,
            undoable: false,
            frto: false,
            stuck_at: 0,
            new_data_first: false,
            segment: 0,
            react_again: false,
            probed_end: u64::MAX,
            outstanding: 0,
            prr: Prr::default(),
        }
    }

    /// Returns true from a reaction to congestion until its repair ends, or for one round trip if
    /// nothing is to be repaired.
    #[inline]
    pub(crate) fn in_recovery(&self) -> bool {
        self.state != State::Open
    }

    /// Returns true while the losses that a timeout declared are being repaired.
    #[inline]
    pub(crate) fn is_after_timeout(&self) -> bool {
        self.state == State::Timeout
    }

    /// Returns the number with which the present episode began: packets declared lost when this
    /// number or a later one was next belong to it.
    #[inline]
    pub(crate) fn episode(&self) -> u64 {
        self.episode
    }

    /// Returns true while losses are being repaired, including those that a timeout declared.
    #[inline]
    pub(crate) fn is_repairing(&self) -> bool {
        matches!(self.state, State::Repair | State::Timeout)
    }

    /// Returns true if losses are still being repaired once all segments below `cumulative` have
    /// arrived. Linux ends a repair before it looks for losses (`tcp_fastretrans_alert`).
    #[inline]
    pub(crate) fn is_repairing_after(&self, cumulative: u64) -> bool {
        self.is_repairing() && !(self.linux && cumulative >= self.segment)
    }

    /// Returns true if a probe has repaired a lost tail, and nothing beyond has arrived since.
    #[inline]
    pub(crate) fn has_probed_tail(&self) -> bool {
        self.probed_end != u64::MAX
    }

    /// Returns true if an acknowledgement may end an episode, or show that a probe has repaired a lost
    /// tail: a cheap bound for [`Recovery::may_end`].
    #[inline]
    pub(crate) fn awaits_end(&self) -> bool {
        self.state != State::Open || self.has_probed_tail()
    }

    /// Returns true if there is no congestion.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Returns true if PRR limits sending.
    #[inline]
    pub(crate) fn is_reducing(&self) -> bool {
        matches!(self.state, State::Repair | State::Reduced)
    }

    /// Returns true if an acknowledgement of `largest` and `cumulative` ends the repair.
    #[inline]
    fn is_repaired(&self, largest: u64, cumulative: u64) -> bool {
        match self.reliable {
            true => cumulative >= self.segment,
            false => largest >= self.point,
        }
    }

    /// Returns true if an acknowledgement of `largest` and `cumulative` ends the reaction to a mark.
    /// Linux ends it only with data beyond that sent before, so that CWR has arrived
    /// (`tcp_fastretrans_alert`): a loss among that data belongs to the same reaction.
    #[inline]
    fn is_reduced(&self, largest: u64, cumulative: u64) -> bool {
        match self.linux {
            true => cumulative > self.segment,
            false => largest >= self.point,
        }
    }

    /// Returns true if an acknowledgement without loss, late packet or mark may end the episode, or
    /// shows that a tail was lost which a probe has repaired. If false, it can be ignored.
    #[inline]
    pub(crate) fn may_end(&self, largest: u64, cumulative: u64) -> bool {
        match self.state {
            State::Open => cumulative > self.probed_end,
            State::Reduced => self.is_reduced(largest, cumulative) || cumulative > self.probed_end,
            State::Repair | State::Timeout => self.is_repaired(largest, cumulative),
        }
    }

    /// Decides whether new data goes before repairs until the next acknowledgement. It does after
    /// the first acknowledgement that advances the cumulative point past the timer's retransmission
    /// but not beyond the data sent before the timeout (Linux `tcp_process_loss`). `late` says that
    /// an original arrived late: then the timeout is undone instead.
    pub(crate) fn note_progress(&mut self, advanced: bool, late: bool, cumulative: u64, next: u64) {
        let first = self.state == State::Timeout && self.frto && next <= self.segment;
        self.new_data_first = first && advanced && !late && cumulative < self.segment;
    }

    /// Ends the precedence of new data, at the next acknowledgement.
    #[inline]
    pub(crate) fn end_new_data_first(&mut self) {
        self.new_data_first = false;
    }

    /// Returns true if new data goes before repairs, and there is some. Once some was sent (`next`
    /// segments in total), repairs wait for the next acknowledgement.
    #[inline]
    pub(crate) fn new_data_first(&self, is_ready: bool, next: u64) -> bool {
        self.new_data_first && (is_ready || next > self.segment)
    }

    /// Takes an acknowledgement in and returns the congestion signal for the controller.
    pub(crate) fn on_ack(&mut self, event: &Event) -> Option<Congestion> {
        self.outstanding += event.lost as u64;
        if event.late > 0 {
            // Most likely the packet that the probe repeated: then nothing was lost (Linux asks for
            // the DSACK of exactly this one, `FLAG_DSACK_TLP`).
            self.probed_end = u64::MAX;
        }
        if event.late > 0 && self.state != State::Open {
            self.outstanding = self.outstanding.saturating_sub(event.late as u64);
            // After a timeout, one original that arrives late shows that the timer was wrong, if
            // nothing was lost before the timeout; otherwise all of the lost packets must have
            // arrived.
            let mistaken = match self.state {
                State::Timeout if self.frto => true,
                State::Timeout | State::Repair => self.outstanding == 0,
                State::Open | State::Reduced => false,
            };
            if mistaken && self.undoable {
                self.end();
                // The reaction is undone: no packet was sent before a reaction.
                self.point = 0;
                return Some(Congestion::Undo);
            }
        }
        let repaired = self.is_repaired(event.largest, event.cumulative);
        match self.state {
            State::Reduced if self.is_reduced(event.largest, event.cumulative) => self.end(),
            State::Repair | State::Timeout if repaired => {
                self.end();
                let is_missing = !self.linux || event.cumulative < event.lost_end;
                if std::mem::take(&mut self.react_again) && is_missing {
                    self.react(State::Repair, event);
                    // The number of packets lost in this episode is not known, so it cannot be
                    // undone.
                    self.undoable = false;
                    return Some(Congestion::Loss);
                }
            }
            _ => {}
        }
        if let Some(end) = event.probed_end
            && !self.is_repairing()
        {
            self.probed_end = end;
        }
        if event.cumulative > self.probed_end && event.lost == 0 {
            // Nothing is left to repair: the reduction is over at once (`tcp_process_tlp_ack`).
            self.react(State::Reduced, event);
            self.end();
            return Some(Congestion::Loss);
        }
        if event.lost > 0 {
            match self.state {
                // Without retransmission, late news of the last episode's losses begins no new
                // episode.
                State::Open if !self.reliable && event.lost_number < self.point => {}
                State::Open => {
                    self.outstanding = event.lost as u64;
                    self.react(State::Repair, event);
                    return Some(Congestion::Loss);
                }
                State::Reduced => {
                    // The proportional reduction continues: schemes that react to marks as to
                    // losses have reduced their window already.
                    self.state = State::Repair;
                    if self.linux {
                        // The repair ends where the reaction to the mark would have ended. What was
                        // sent since and is lost is congestion of its own (`high_seq` is set by
                        // `tcp_init_cwnd_reduction` only).
                        self.react_again = event.lost_segment >= self.segment;
                    } else {
                        self.point = event.next;
                        self.segment = event.next_segment;
                    }
                    return Some(Congestion::LossAfterMark);
                }
                // Data that the timeout declared lost was retransmitted and is lost again: this is
                // congestion of its own (RFC 5681 §4.3), and the repair continues under PRR (Linux:
                // `FLAG_LOST_RETRANS` in `tcp_fastretrans_alert`). Otherwise, during a repair that
                // does not get through, the window would grow with other packets that arrive,
                // however many are lost.
                State::Timeout if event.first_lost_segment.is_some_and(|s| s < self.segment) => {
                    self.react(State::Repair, event);
                    self.undoable = false;
                    return Some(Congestion::Loss);
                }
                State::Repair | State::Timeout => {
                    self.react_again |= event.lost_segment >= self.segment;
                }
            }
        }
        let is_new = || (self.linux && event.classic) || event.largest >= self.point;
        if event.marked && self.state == State::Open && is_new() {
            self.react(State::Reduced, event);
            return Some(Congestion::Ecn);
        }
        None
    }

    /// Notes that the retransmission timer expired with `lost` packets in flight, when all segments
    /// below `cumulative` had arrived.
    ///
    /// A timeout while losses are being repaired belongs to their episode. One original that
    /// arrives late does not undo it, since some packets are known to be lost; except after a
    /// second timeout in a row (Linux: `tcp_enter_loss` and its `frto`).
    pub(crate) fn on_timeout(&mut self, lost: u64, cumulative: u64, next: u64, next_segment: u64) {
        let in_a_row = self.state == State::Timeout && self.stuck_at == cumulative;
        let repairing = matches!(self.state, State::Repair | State::Timeout);
        if !repairing {
            self.episode = next;
            self.undoable = true;
            self.outstanding = 0;
        }
        self.frto = !repairing || in_a_row;
        self.new_data_first = false;
        self.outstanding += lost;
        self.stuck_at = cumulative;
        self.state = State::Timeout;
        self.point = next;
        self.segment = next_segment;
        self.react_again = false;
        self.probed_end = u64::MAX;
    }

    fn react(&mut self, state: State, event: &Event) {
        self.state = state;
        self.undoable = state == State::Repair;
        self.point = event.next;
        self.episode = event.next;
        self.segment = event.next_segment;
        self.probed_end = u64::MAX;
        self.prr = Prr { start: event.prior.max(1), ..Prr::default() };
    }

    fn end(&mut self) {
        self.state = State::Open;
        self.outstanding = 0;
    }

    /// Updates PRR after `delivered` bytes were acknowledged. `target` is the controller's window;
    /// `safe` says that the acknowledgement repaired something and revealed no loss.
    pub(crate) fn reduce(
        &mut self,
        target: u64,
        in_flight: u64,
        delivered: u64,
        safe: bool,
        mss: u64,
    ) {
        let prr = &mut self.prr;
        prr.delivered += delivered;
        let send = if in_flight > target {
            let whole = u128::from(if self.linux { mss } else { 1 });
            let share = u128::from(prr.delivered) * u128::from(target);
            let share = share.div_ceil(u128::from(prr.start) * whole) * whole;
            (share as u64).saturating_sub(prr.sent)
        } else {
            // Sends as much as was delivered; while repair goes well, one packet more per
            // acknowledgement (RFC 6937's two bounds, chosen as in RFC 6937bis and Linux).
            let limit = prr.delivered.saturating_sub(prr.sent).max(delivered);
            let limit = if safe { limit + mss } else { limit };
            limit.min(target - in_flight)
        };
        // The first retransmission leaves at once.
        let send = if prr.sent == 0 { send.max(mss) } else { send };
        prr.allowance = in_flight + send;
    }

    /// Returns the bytes that may be in flight under PRR.
    #[inline]
    pub(crate) fn allowance(&self) -> u64 {
        self.prr.allowance
    }

    #[inline]
    pub(crate) fn on_send(&mut self, size: u32) {
        self.prr.sent += size as u64;
    }
}
