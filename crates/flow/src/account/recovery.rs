//! When a loss or a mark counts as congestion, when its repair ends, and how fast to send
//! meanwhile: the state machine of TCP's loss recovery (RFC 6675), PRR (RFC 6937), and the
//! detection of mistakes (RFC 4015 and RFC 5682, made simple by unambiguous numbers).

use paceline_cc::Congestion;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum State {
    /// Nothing wrong.
    Open,
    /// The window was reduced because of a mark; no loss to repair.
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
    /// True if lost data is sent again, so that repair ends when all of it has arrived. Without,
    /// it ends when a packet is acknowledged that was sent after the reaction (RFC 9002 §7.3.2).
    reliable: bool,
    /// True if PRR counts whole packets, as Linux does.
    whole_packets: bool,
    /// Numbers below were sent before the last reaction to congestion.
    point: u64,
    /// Numbers below were sent before the present episode began; a second timeout belongs to the
    /// episode of the first.
    episode: u64,
    /// True if the episode began with losses, and all of them are counted in `outstanding`: then
    /// it can turn out to be a mistake.
    undoable: bool,
    /// True if one original that comes late shows that the timeout was a mistake (F-RTO, RFC 5682).
    frto: bool,
    /// All segments below had arrived at the last timeout.
    stuck_at: u64,
    /// The last acknowledgement was the first to advance after a timeout that may be a mistake: new data goes
    /// before repairs (F-RTO, RFC 5682 §2.1, step 2b).
    new_data_first: bool,
    /// Repair ends when all segments below are acknowledged.
    segment: u64,
    /// A segment beyond `segment` was lost meanwhile: react again as soon as repair ends.
    react_again: bool,
    /// Packets declared lost in this episode less those that came after all.
    outstanding: u64,
    prr: Prr,
}

/// Proportional rate reduction: sends a fraction of what is delivered, so that a smaller window
/// is reached after about one round trip.
#[derive(Debug, Default)]
struct Prr {
    /// What there was when the window was reduced: see [`Event::prior`].
    start: u64,
    delivered: u64,
    sent: u64,
    allowance: u64,
}

/// What one acknowledgement means for recovery.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Event {
    /// The largest number acknowledged by it.
    pub(crate) largest: u64,
    /// All segments below have arrived.
    pub(crate) cumulative: u64,
    /// Packets newly declared lost.
    pub(crate) lost: u32,
    /// The smallest segment among them; `None` if there are none.
    pub(crate) first_lost_segment: Option<u64>,
    /// The largest segment and the largest number among them.
    pub(crate) lost_segment: u64,
    pub(crate) lost_number: u64,
    /// Packets acknowledged that had been declared lost in this episode.
    pub(crate) late: u32,
    /// True if packets were newly reported as marked CE.
    pub(crate) marked: bool,
    /// Bytes before the acknowledgement, of which PRR sends a share: in flight (RFC 6937), or of the window
    /// (Linux `prior_cwnd`).
    pub(crate) prior: u64,
    /// The number and segment that the flow will send next.
    pub(crate) next: u64,
    pub(crate) next_segment: u64,
}

impl Recovery {
    pub(crate) fn new(reliable: bool, whole_packets: bool) -> Recovery {
        Recovery {
            state: State::Open,
            reliable,
            whole_packets,
            point: 0,
            episode: 0,
            undoable: false,
            frto: false,
            stuck_at: 0,
            new_data_first: false,
            segment: 0,
            react_again: false,
            outstanding: 0,
            prr: Prr::default(),
        }
    }

    /// True from a reaction to congestion until its repair ends, or for one round trip if there
    /// is nothing to repair.
    #[inline]
    pub(crate) fn in_recovery(&self) -> bool {
        self.state != State::Open
    }

    /// True while what a timeout declared lost is being repaired.
    #[inline]
    pub(crate) fn is_after_timeout(&self) -> bool {
        self.state == State::Timeout
    }

    /// Packets declared lost when this number or a later one was next belong to the present
    /// episode.
    #[inline]
    pub(crate) fn episode(&self) -> u64 {
        self.episode
    }

    /// True while losses are being repaired, also such as a timeout has declared.
    #[inline]
    pub(crate) fn is_repairing(&self) -> bool {
        matches!(self.state, State::Repair | State::Timeout)
    }

    /// True if PRR limits sending.
    #[inline]
    pub(crate) fn is_reducing(&self) -> bool {
        matches!(self.state, State::Repair | State::Reduced)
    }

    /// True if repair ends with an acknowledgement of these.
    #[inline]
    fn is_repaired(&self, largest: u64, cumulative: u64) -> bool {
        match self.reliable {
            true => cumulative >= self.segment,
            false => largest >= self.point,
        }
    }

    /// True if an acknowledgement that tells of no loss, late packet or mark may end the episode;
    /// else it need not be taken in.
    #[inline]
    pub(crate) fn may_end(&self, largest: u64, cumulative: u64) -> bool {
        match self.state {
            State::Open => false,
            State::Reduced => largest >= self.point,
            State::Repair | State::Timeout => self.is_repaired(largest, cumulative),
        }
    }

    /// Notes whether new data goes before repairs until the next acknowledgement: it does after the first one
    /// that advances the cumulative point past what the timer sent again, but no further than what was sent before the
    /// timeout (Linux `tcp_process_loss`). `late` tells that an original has come late: then the timeout
    /// is undone.
    pub(crate) fn note_progress(&mut self, advanced: bool, late: bool, cumulative: u64, next: u64) {
        let first = self.state == State::Timeout && self.frto && next <= self.segment;
        self.new_data_first = first && advanced && !late && cumulative < self.segment;
    }

    /// A further acknowledgement has come.
    #[inline]
    pub(crate) fn end_new_data_first(&mut self) {
        self.new_data_first = false;
    }

    /// True if new data goes before repairs, as long as there is some. Once some was sent, so that `next` segments
    /// have been sent, repairs wait for the next acknowledgement.
    #[inline]
    pub(crate) fn new_data_first(&self, is_ready: bool, next: u64) -> bool {
        self.new_data_first && (is_ready || next > self.segment)
    }

    /// Takes an acknowledgement in; returns what the controller is to be told.
    pub(crate) fn on_ack(&mut self, event: &Event) -> Option<Congestion> {
        self.outstanding += event.lost as u64;
        if event.late > 0 && self.state != State::Open {
            self.outstanding = self.outstanding.saturating_sub(event.late as u64);
            // After a timeout, one original that comes late shows that the timer was wrong, if
            // nothing was lost before it; otherwise all of the lost packets must have come.
            let mistaken = match self.state {
                State::Timeout if self.frto => true,
                State::Timeout | State::Repair => self.outstanding == 0,
                State::Open | State::Reduced => false,
            };
            if mistaken && self.undoable {
                self.end();
                // Nothing has been reacted to.
                self.point = 0;
                return Some(Congestion::Undo);
            }
        }
        let repaired = self.is_repaired(event.largest, event.cumulative);
        match self.state {
            State::Reduced if event.largest >= self.point => self.end(),
            State::Repair | State::Timeout if repaired => {
                self.end();
                if std::mem::take(&mut self.react_again) {
                    self.react(State::Repair, event);
                    // How many packets this is about was not counted.
                    self.undoable = false;
                    return Some(Congestion::Loss);
                }
            }
            _ => {}
        }
        if event.lost > 0 {
            match self.state {
                // Without repair, late news of the losses of the last episode are no new episode.
                State::Open if !self.reliable && event.lost_number < self.point => {}
                State::Open => {
                    self.outstanding = event.lost as u64;
                    self.react(State::Repair, event);
                    return Some(Congestion::Loss);
                }
                State::Reduced => {
                    // The proportional reduction goes on: schemes that answer marks as they answer
                    // losses have their window already.
                    self.state = State::Repair;
                    self.point = event.next;
                    self.segment = event.next_segment;
                    return Some(Congestion::LossAfterMark);
                }
                // What the timeout declared lost was sent again and is lost again: congestion of its
                // own (RFC 5681 §4.3), and the repair goes on under PRR (Linux: `FLAG_LOST_RETRANS` in
                // `tcp_fastretrans_alert`). Otherwise a repair that does not get through would let the
                // window grow by what arrives beside it, however much is lost.
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
        if event.marked && self.state == State::Open && event.largest >= self.point {
            self.react(State::Reduced, event);
            return Some(Congestion::Ecn);
        }
        None
    }

    /// The retransmission timer expired with `lost` packets in flight, when all segments below
    /// `cumulative` had arrived.
    ///
    /// A timeout while losses are being repaired belongs to their episode, and one original that
    /// comes late says nothing against it, since some packets are known to be lost; unless it is
    /// the second one in a row (Linux: `tcp_enter_loss` and its `frto`).
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
    }

    fn react(&mut self, state: State, event: &Event) {
        self.state = state;
        self.undoable = state == State::Repair;
        self.point = event.next;
        self.episode = event.next;
        self.segment = event.next_segment;
        self.prr = Prr { start: event.prior.max(1), ..Prr::default() };
    }

    fn end(&mut self) {
        self.state = State::Open;
        self.outstanding = 0;
    }

    /// Updates PRR after `delivered` bytes were acknowledged: `target` is the controller's
    /// window, `safe` tells that the acknowledgement repaired something and revealed no loss.
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
            let whole = u128::from(if self.whole_packets { mss } else { 1 });
            let share = u128::from(prr.delivered) * u128::from(target);
            let share = share.div_ceil(u128::from(prr.start) * whole) * whole;
            (share as u64).saturating_sub(prr.sent)
        } else {
            // Conserve packets; while repair goes well, catch up by one packet per acknowledgement
            // (RFC 6937's two bounds, chosen as in RFC 6937bis and Linux).
            let limit = prr.delivered.saturating_sub(prr.sent).max(delivered);
            let limit = if safe { limit + mss } else { limit };
            limit.min(target - in_flight)
        };
        // The first retransmission leaves at once.
        let send = if prr.sent == 0 { send.max(mss) } else { send };
        prr.allowance = in_flight + send;
    }

    /// The bytes that may be in flight under PRR.
    #[inline]
    pub(crate) fn allowance(&self) -> u64 {
        self.prr.allowance
    }

    #[inline]
    pub(crate) fn on_send(&mut self, size: u32) {
        self.prr.sent += size as u64;
    }
}
