//! The sender's half of a scheme: its input (feedback, reports, timers) and its output (plans).

use crate::feedback::{Feedback, Signals};
use crate::header::{Header, Report};
use crate::packet::Ecn;
use crate::units::{Rate, Span, Time};

/// The result of a handshake, for the controller.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Established {
    /// When the connection was established, at the sender.
    pub now: Time,
    /// RTT of the handshake: the connection's first sample, measured with a packet without data.
    pub rtt: Span,
    /// True if the SYN was repeated more than once because of loss: then Linux begins with a window
    /// of one packet (`tcp_init_transfer`, RFC 5681 §3.1).
    pub after_losses: bool,
}

impl Established {
    /// Returns the result of a handshake with a single SYN, which ended at `now` and took `rtt`.
    pub fn new(now: Time, rtt: Span) -> Established {
        Established { now, rtt, after_losses: false }
    }
}

/// The controller's instructions to its sender, valid until the next plan.
///
/// [`Plan::window`] makes the plan of a scheme that only has a window; the other methods add to it.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// The congestion window: bytes on the wire that may be in flight.
    pub cwnd: u64,
    /// The pacing rate; `None` sends as soon as the window allows.
    pub pacing: Option<Rate>,
    /// Minimum time between two packets, in addition to the pacing rate; zero for none. Unlike a
    /// rate, it is exact to the nanosecond, and equal for packets of all sizes.
    pub gap: Span,
    /// With pacing, packets leave back to back in groups of this many bytes (segmentation offload's
    /// bursts, BBR's send quantum). A group has at least one packet.
    pub burst: u32,
    /// The ECN code point of outgoing packets.
    pub ecn: Ecn,
    /// When [`Controller::on_timer`] is to be called; [`Time::NEVER`] for no timer.
    pub timer: Time,
    /// True if the sender spreads a reduction of the window over a round trip, by Proportional Rate
    /// Reduction (RFC 6937), while it repairs losses.
    pub reduces_by_prr: bool,
    /// True if one packet without data is to leave now, even beyond the window: a heartbeat. Once
    /// it has left, the plan must not ask for it again.
    pub sends_empty_packet: bool,
    /// True if the window is a limit to the byte. Then a packet is made smaller if only part of it
    /// fits, and no packet exceeds the window, not even with nothing in flight or as a tail loss
    /// probe. With other windows, a whole packet may leave when nothing is in flight.
    pub exact_window: bool,
    /// While the application has nothing to send, packets without data of this many bytes leave as the
    /// window and the pacing rate allow; 0 for none. Fills probes of the path's rate.
    pub padding: u32,
    /// True if each packet that leaves may change the plan: the sender then asks for the plan again
    /// after every packet.
    pub changes_on_send: bool,
}

impl Plan {
    /// Returns a plan with a window only: not paced, not ECN-capable, reduced by PRR.
    #[inline]
    pub fn window(cwnd: u64) -> Plan {
        Plan {
            cwnd,
            pacing: None,
            gap: Span::ZERO,
            burst: 0,
            ecn: Ecn::NotEct,
            timer: Time::NEVER,
            reduces_by_prr: true,
            sends_empty_packet: false,
            exact_window: false,
            padding: 0,
            changes_on_send: false,
        }
    }

    /// Returns this plan, paced at `rate` in groups of `burst` bytes; 0 for single packets.
    #[inline]
    pub fn paced(self, rate: Rate, burst: u32) -> Plan {
        Plan { pacing: Some(rate), burst, ..self }
    }
    /// Returns this plan with packets at least `gap` apart: see [`Plan::gap`].
    #[inline]
    pub fn spaced(self, gap: Span) -> Plan {
        Plan { gap, ..self }
    }
    /// Returns this plan with this ECN code point on outgoing packets.
    #[inline]
    pub fn ecn(self, ecn: Ecn) -> Plan {
        Plan { ecn, ..self }
    }
    /// Returns this plan with a call of [`Controller::on_timer`] at `timer`.
    #[inline]
    pub fn timer(self, timer: Time) -> Plan {
        Plan { timer, ..self }
    }
    /// Returns this plan with reductions of the window that take effect at once, instead of by PRR.
    #[inline]
    pub fn without_prr(self) -> Plan {
        Plan { reduces_by_prr: false, ..self }
    }
    /// Returns this plan with a window exact to the byte that takes effect at once: see
    /// [`Plan::exact_window`].
    #[inline]
    pub fn exact(self) -> Plan {
        Plan { exact_window: true, reduces_by_prr: false, ..self }
    }
    /// Returns this plan with one packet without data that leaves now, if `wanted`: see
    /// [`Plan::sends_empty_packet`].
    #[inline]
    pub fn empty_packet(self, wanted: bool) -> Plan {
        Plan { sends_empty_packet: wanted, ..self }
    }
    /// Returns this plan with padding packets of `bytes` bytes while the application has nothing to
    /// send: see [`Plan::padding`].
    #[inline]
    pub fn padded(self, bytes: u32) -> Plan {
        Plan { padding: bytes, ..self }
    }
    /// Returns this plan; if `changes`, the driver calls `plan` again after each packet: see
    /// [`Plan::changes_on_send`].
    #[inline]
    pub fn changing_on_send(self, changes: bool) -> Plan {
        Plan { changes_on_send: changes, ..self }
    }
}

/// A packet about to be sent.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub struct Outgoing {
    /// Transmission number.
    pub number: u64,
    /// Size in bytes on the wire.
    pub size: u32,
    /// True if it retransmits lost data.
    pub retransmission: bool,
    /// Bytes in flight before it.
    pub in_flight: u64,
    /// True if it carries no data: the packet that [`Plan::sends_empty_packet`] asked for, or
    /// [`Plan::padding`].
    pub empty: bool,
    /// True if the application has nothing more to send at present.
    pub last: bool,
    /// Bytes of the application, not counting this packet, that wait in the sender to be sent for the
    /// first time; 0 for drivers that do not know it, and very many for a bulk transfer.
    pub waiting: u64,
    /// Its congestion header, which the controller fills in.
    pub header: Header,
}

impl Outgoing {
    /// Returns a packet of new data.
    pub fn new(number: u64, size: u32, in_flight: u64) -> Outgoing {
        Outgoing {
            number,
            size,
            retransmission: false,
            in_flight,
            empty: false,
            last: false,
            waiting: 0,
            header: Header::None,
        }
    }
}

/// The sender's half of a scheme.
pub trait Controller: Send {
    /// Returns the signals that the controller cannot work without.
    fn needs(&self) -> Signals {
        Signals::NONE
    }
    /// Fills in the congestion header of a packet about to leave. Returns a tag, which comes back
    /// in the packet's [`Fate`](crate::Fate).
    fn on_send(&mut self, _now: Time, _packet: &mut Outgoing) -> u64 {
        0
    }
    /// Takes the result of the handshake in; data may leave from now on. Not called for connections
    /// without a handshake.
    fn on_established(&mut self, _established: &Established) {}
    /// Takes in an acknowledgement, or the expiry of a loss timer.
    fn on_feedback(&mut self, feedback: &Feedback<'_>);
    /// Takes in a report of the receiver's half.
    fn on_report(&mut self, _now: Time, _report: &Report) {}
    /// Called when the time of [`Plan::timer`] has come.
    fn on_timer(&mut self, _now: Time) {}
    /// Called when sending resumes with nothing in flight, `idle` after the last packet was sent
    /// (RFC 5681 §4.1).
    fn on_idle(&mut self, _now: Time, _idle: Span, _rto: Span) {}
    /// Called when the application has had no data for a while (`rests`), and when it has data
    /// again. While it rests, packets without data ([`Plan::empty_packet`]) are not wanted, except
    /// for a few that inform the receiver's half.
    fn on_rest(&mut self, _now: Time, _rests: bool) {}
    /// Returns the present plan for the sender.
    fn plan(&self) -> Plan;
    /// Returns the rate at which an adaptive application should produce data; `None` if the scheme
    /// does not say.
    fn target(&self) -> Option<Rate> {
        None
    }
    /// Returns the share of its frames, 0 to 1, that a video is to leave out now, because more is in
    /// flight than the scheme's congestion window. For a share below 1 the encoder leaves out every
    /// second frame at most, and lowers its rate by as much; for 1 it leaves out all frames.
    fn left_out_share(&self) -> f64 {
        0.0
    }
    /// Returns the bytes that the network will deliver within the scheme's forecast; `None` without
    /// a forecast. Data that waits beyond them will be late.
    fn forecast(&self) -> Option<u64> {
        None
    }
    /// Calls `see` with names and values of inner state, for plots: windows in packets, rates in
    /// Mbit/s, times in milliseconds.
    fn inspect(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
}
