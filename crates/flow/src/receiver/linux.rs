//! When a receiver on Linux acknowledges (`net/ipv4/tcp_input.c`, `tcp.c`), with an application
//! that reads at once.
//!
//! - In order: at once if more than one packet is unacknowledged (`__tcp_ack_snd_check`), if the
//!   packet has PSH (`tcp_measure_rcv_mss`, `tcp_cleanup_rbuf`), or in quickack mode; otherwise
//!   after a delay. It is 40 ms, or more where packets arrive more than 20 ms apart (`tcp_event_data_recv`), and doubles when it
//!   passes without a second packet (`tcp_delack_timer_handler`), up to the RTT and 200 ms (`tcp_send_delayed_ack`).
//! - Quickack mode lasts for 16 acknowledgements: from the first packet on, with a packet in order after a pause longer
//!   than the receiver's RTO (`tcp_event_data_recv`), and after a packet that had arrived before
//!   and is in no gap (`tcp_data_queue`). It lasts for two after classic ECN's first mark, and after a packet that is not
//!   ECN-capable, unlike earlier ones (`tcp_data_ecn_check`). It lasts for one acknowledgement whenever the receive window grows
//!   (`tcp_grow_window`). The window grows by two packets with each new packet, up to the room
//!   of the receive buffer beside data beyond a gap, which is twice what the application has read in a round trip, and more
//!   while that rises (`tcp_rcvbuf_grow`).
//! - Beyond a gap: at once for the first three packets, then once per millisecond or 5 % of the
//!   RTT, but at least for every 44th packet (compressed SACKs), and before a packet whose block is the third or a
//!   later one, as acknowledgements list few blocks (`tcp_sack_compress_send_ack`).

use paceline_cc::{AckPolicy, NO_SEGMENT, Packet, Span, Time};

use super::sacks::SackBlocks;

/// Acknowledgements in quickack mode (`TCP_MAX_QUICKACKS`).
const QUICK: u32 = 16;
/// Acknowledgements beyond a gap that are not delayed (`TCP_FASTRETRANS_THRESH`).
const AT_ONCE: u32 = 3;
/// Longest delay of an acknowledgement beyond a gap (`tcp_comp_sack_delay_ns`), also as a share of
/// the RTT, and the most packets that it covers (`tcp_comp_sack_nr`).
const GAP_DELAY: Span = Span::from_millis(1);
const GAP_RTT_SHARE: u64 = 20;
const GAP_PACKETS: u32 = 44;
/// Initial receive window in bytes, and the one that the initial receive buffer has room for
/// (`tcp_rmem`: 128 KiB, of which full packets fill 61 %).
const FIRST_WINDOW: u64 = 65_160;
const FIRST_LIMIT: u64 = 80_000;
/// Packets that the application is assumed to read in the first round trip
/// (`tcp_init_buffer_space`).
const FIRST_READ: u64 = 10;
/// Delay of an acknowledgement at first, and its upper bound (`TCP_ATO_MIN`, `TCP_DELACK_MAX`).
const ATO_MIN: Span = AckPolicy::DELAYED.delay;
const DELAY_MAX: Span = Span::from_millis(200);
/// Lower bound of the RTO's variation term (`tcp_rto_min`).
const RTO_MIN: Span = Span::from_millis(200);

/// State from which a receiver on Linux decides when to acknowledge.
#[derive(Debug)]
pub(super) struct LinuxAcks {
    /// Number of acknowledgements left in quickack mode.
    quick: u32,
    /// The window offered to the sender (`rcv_ssthresh`), and its limit (`window_clamp`), in bytes.
    window: u64,
    limit: u64,
    /// Bytes received in order so far; when the present measurement of a round trip's reading
    /// began, and the bytes then; the most bytes read in one round trip.
    in_order: u64,
    /// Bytes that have arrived beyond the gap: they take room of the receive buffer.
    beyond: u64,
    measured_from: Time,
    read_before: u64,
    read_most: u64,
    /// Delay of the way back, and the RTT as the receiver measures it (`rcv_rtt_est`); zero before
    /// the first packet.
    back: Span,
    rtt: Span,
    /// When the SYN-ACK was sent, and when the previous packet was sent.
    answered: Time,
    sent: Time,
    /// When the last packet arrived in order, and the RTO of the receiver, a pause after which quickack mode begins anew.
    last: Time,
    rto: Span,
    /// The delay of acknowledgements as the intervals of packets suggest it (`icsk_ack.ato`), and its limit by the RTT.
    ato: Span,
    longest_delay: Span,
    /// When the timer of the delayed acknowledgement expires.
    delayed_until: Time,
    /// Acknowledgements beyond the gap that were not delayed, and packets that the next delayed one
    /// covers.
    at_once: u32,
    compressed: u32,
    /// Made when the first packet arrives beyond a gap.
    sacks: Option<Box<SackBlocks>>,
    /// True if the acknowledgement that is due leaves for the blocks before the newest packet, whose own one stays
    /// delayed.
    flushes: bool,
}

impl LinuxAcks {
    pub(super) fn new() -> LinuxAcks {
        LinuxAcks {
            quick: QUICK,
            window: FIRST_WINDOW,
            limit: FIRST_LIMIT,
            in_order: 0,
            beyond: 0,
            measured_from: Time::ZERO,
            read_before: 0,
            read_most: 0,
            back: Span::ZERO,
            rtt: Span::ZERO,
            answered: Time::NEVER,
            sent: Time::NEVER,
            last: Time::NEVER,
            rto: RTO_MIN,
            ato: ATO_MIN,
            longest_delay: DELAY_MAX,
            delayed_until: Time::NEVER,
            at_once: 0,
            compressed: 0,
            sacks: None,
            flushes: false,
        }
    }

    /// Begins anew, since a connection has a socket of its own. The memory for blocks stays.
    pub(super) fn begin_connection(&mut self) {
        *self = LinuxAcks { sacks: self.sacks.take(), ..LinuxAcks::new() };
    }

    /// Takes a packet in, before the decision when to acknowledge it.
    #[inline(always)]
    pub(super) fn on_packet(&mut self, now: Time, packet: &Packet) {
        if packet.sent != self.sent {
            self.sample_rtt(now, packet);
        }
        if now.since(self.measured_from) >= self.rtt {
            self.look_at_reading(now);
        }
    }

    /// Notes that the receiver answers a SYN.
    pub(super) fn on_syn(&mut self, now: Time) {
        self.answered = now;
    }

    /// Notes that the SYN-ACK is acknowledged: the application's reading is measured from now on.
    pub(super) fn on_established(&mut self, now: Time) {
        self.measured_from = now;
    }

    /// Measures the RTT: the time since the acknowledgement left that released the packet
    /// (`tcp_rcv_rtt_measure_ts`). Of packets sent at one instant, only the first counts.
    #[inline(always)]
    fn sample_rtt(&mut self, now: Time, packet: &Packet) {
        self.sent = packet.sent;
        let sample = now.since(packet.sent.min(now)) + self.back;
        if sample < self.rtt {
            self.rtt = sample;
        } else if self.rtt.is_zero() {
            self.begin(now, packet);
        } else {
            self.rtt += (sample - self.rtt) / 8;
        }
    }

    /// Initializes the state when the first packet arrives.
    #[cold]
    fn begin(&mut self, now: Time, packet: &Packet) {
        let there = now.since(packet.sent.min(now));
        self.rtt = match self.answered <= packet.sent {
            true => now.since(self.answered),
            false => there * 2,
        };
        self.back = self.rtt - there;
        self.rto = self.rtt + RTO_MIN.max(self.rtt * 2);
        self.longest_delay = self.rtt.clamp(ATO_MIN, DELAY_MAX);
        self.read_most = FIRST_READ * u64::from(packet.size);
        if self.measured_from == Time::ZERO {
            self.measured_from = now;
        }
    }

    /// Notes that a packet arrived whose segment is the first missing one.
    #[inline(always)]
    pub(super) fn on_in_order(&mut self, now: Time) {
        let pause = now.since(self.last.min(now));
        self.last = now;
        if pause > ATO_MIN / 2 || self.ato != ATO_MIN {
            self.adapt_delay(pause);
        }
    }

    /// Adapts the delay of acknowledgements to the pause before a packet (`tcp_event_data_recv`).
    #[cold]
    fn adapt_delay(&mut self, pause: Span) {
        if pause <= ATO_MIN / 2 {
            self.ato = self.ato / 2 + ATO_MIN / 2;
        } else if pause < self.ato {
            self.ato = (self.ato / 2 + pause).min(self.rto);
        } else if pause > self.rto {
            self.quick = self.quick.max(QUICK);
        }
    }

    /// Delays the acknowledgement of a packet that arrived in order. Returns until when (`tcp_send_delayed_ack`).
    #[inline(always)]
    pub(super) fn delay(&mut self, now: Time) -> Time {
        self.delayed_until = now + self.ato.min(self.longest_delay);
        self.delayed_until
    }

    /// Takes in a packet of `size` bytes that arrived in order, when `pending` packets are
    /// unacknowledged. Returns whether to acknowledge them at once.
    #[inline(always)]
    pub(super) fn acks_in_order(&mut self, now: Time, size: u32, pending: u32, push: bool) -> bool {
        self.on_in_order(now);
        self.in_order += u64::from(size);
        if self.window < self.limit {
            self.window = self.limit.min(self.window + 2 * u64::from(size));
            self.quick |= 1;
        }
        self.at_once = 0;
        pending >= 2 || push || self.quick > 0
    }

    /// Notes a packet that filled `filled` segments of its size, itself included, while a gap was open; `has_gap` says that
    /// one still is.
    pub(super) fn on_filling(&mut self, now: Time, size: u32, filled: u64, has_gap: bool) {
        self.on_in_order(now);
        // The application reads what the gap kept, too.
        self.in_order += u64::from(size).saturating_mul(filled);
        let drained = u64::from(size).saturating_mul(filled.saturating_sub(1));
        self.beyond = if has_gap { self.beyond.saturating_sub(drained) } else { 0 };
        self.grow_window(size);
    }

    /// Notes new data of `size` bytes beyond a gap. From the first missing segment to the end of the largest that has
    /// arrived, there are `span` segments. The window grows, and the buffer has room for the span (`tcp_data_queue_ofo`).
    pub(super) fn on_beyond_gap(&mut self, size: u32, span: u64) {
        self.grow_window(size);
        self.beyond += u64::from(size);
        let span = u64::from(size).saturating_mul(span);
        self.limit = self.limit.max((2 * self.read_most).saturating_add(span));
    }

    /// Lets the window grow if the buffer has room beside the data beyond the gap.
    fn grow_window(&mut self, size: u32) {
        let room = self.limit.saturating_sub(self.window.saturating_add(self.beyond));
        if room > 0 {
            self.window += room.min(2 * u64::from(size));
            self.quick |= 1;
        }
    }

    /// Notes a packet whose data, and all before it, had arrived.
    pub(super) fn on_duplicate(&mut self) {
        self.quicken(QUICK);
    }

    /// Begins quickack mode for at least `acks` acknowledgements (`tcp_enter_quickack_mode`).
    pub(super) fn quicken(&mut self, acks: u32) {
        self.quick = self.quick.max(acks);
        self.ato = ATO_MIN;
    }

    /// Notes a packet with this segment while a gap is open; all segments below `cumulative` have arrived. Returns
    /// when to acknowledge it: at once if the gap has moved, or if that is demanded (`ICSK_ACK_NOW`).
    pub(super) fn due_beyond_gap(
        &mut self,
        now: Time,
        (moved, demanded): (bool, bool),
        segment: u64,
        cumulative: u64,
    ) -> Time {
        // A packet without data belongs to no block.
        let is_beyond = segment >= cumulative && segment != NO_SEGMENT;
        let flushes = is_beyond && self.sacks.get_or_insert_default().insert(segment, cumulative);
        if moved {
            self.at_once = 0;
        }
        if demanded || self.quick > 0 || self.compressed >= GAP_PACKETS {
            return now;
        }
        if self.at_once < AT_ONCE {
            self.at_once += 1;
            return now;
        }
        if flushes && self.compressed > 0 {
            // Linux sends the delayed acknowledgement, and then delays that of this packet. Here one acknowledgement
            // reports both.
            self.flushes = true;
            return now;
        }
        self.compressed += 1;
        now + GAP_DELAY.min(self.rtt / GAP_RTT_SHARE)
    }

    /// Notes that an acknowledgement is sent at `now`.
    #[inline(always)]
    pub(super) fn on_ack(&mut self, now: Time) {
        if now >= self.delayed_until {
            self.on_late_ack();
        }
        self.delayed_until = Time::NEVER;
        if self.quick | self.compressed != 0 {
            self.on_special_ack();
        }
    }

    /// Notes that the timer of the delayed acknowledgement expired: no second packet came in time
    /// (`tcp_delack_timer_handler`).
    #[cold]
    fn on_late_ack(&mut self) {
        self.ato = (self.ato * 2).min(self.rto);
    }

    /// Notes an acknowledgement in quickack mode (`tcp_dec_quickack_mode`) or beyond a gap.
    #[inline(never)]
    fn on_special_ack(&mut self) {
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = ATO_MIN;
            }
        }
        self.compressed = u32::from(self.flushes);
        self.flushes = false;
    }

    /// Ends a round trip: the limit of the window follows what the application read in it
    /// (`tcp_rcv_space_adjust`).
    #[cold]
    fn look_at_reading(&mut self, now: Time) {
        let read = self.in_order - self.read_before;
        if read > self.read_most {
            let rise = (2 * read).saturating_mul(read - self.read_most) / self.read_most.max(1);
            self.limit = self.limit.max((2 * read).saturating_add(rise.saturating_mul(2)));
            self.read_most = read;
        }
        self.read_before = self.in_order;
        self.measured_from = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_without_data_belong_to_no_block() {
        let mut acks = LinuxAcks::new();
        acks.due_beyond_gap(Time::ZERO, (false, false), NO_SEGMENT, 0);
        assert!(acks.sacks.is_none());
        acks.due_beyond_gap(Time::ZERO, (false, true), 5, 0);
        assert!(acks.sacks.is_some(), "also if its acknowledgement is demanded");
    }

    #[test]
    fn what_a_gap_kept_counts_as_read() {
        let mut acks = LinuxAcks::new();
        acks.on_filling(Time::ZERO, 1500, 51, false);
        acks.look_at_reading(Time::from_millis(50));
        assert_eq!(acks.read_most, 51 * 1500);
    }
}
