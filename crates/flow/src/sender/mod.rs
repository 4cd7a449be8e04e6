//! The sender of a flow: a workload, a pacer and a connection's [`Account`] under a controller.
//!
//! It sends the workload's data as fast as the controller plans, and retransmits lost data.

mod config;
mod handshake;
mod limit;
mod pacer;
mod padding;
mod receive_window;
mod restart;
mod timers;

pub use config::{MissingSignals, SENDER_SIGNALS, SenderConfig};
pub use handshake::HandshakeCounts;

use core::num::NonZeroU64;

use paceline_cc::{
    Ack, Body, Controller, Data, Ecn, EcnFeedback, Header, MakeController, NO_SEGMENT, Outgoing,
    Packet, Plan, Rate, Report, Signals, Span, Stage, Time,
};

use self::config::Constants;
use self::handshake::Connector;
use self::pacer::Pacer;
use self::receive_window::ReceiveWindow;
use self::timers::answer_echo;
use crate::account::{Account, Loss, RttEstimator, SenderStats, Sent};
use crate::workload::{Frame, Source, Transfer, VideoStats};

/// Size in bytes of a packet without data on the wire, as senders count it: IP, UDP and scheme's
/// headers. A driver with longer headers counts them equally at the receiver, since schemes compare
/// bytes sent with bytes received.
pub const EMPTY_SIZE: u32 = 64;

/// The sender of a flow. Push acknowledgements in; pop data packets.
pub struct Sender {
    config: Constants,
    make: MakeController,
    controller: Box<dyn Controller>,
    needs: Signals,
    plan: Plan,
    account: Account,
    pacer: Pacer,
    source: Source,
    /// The handshakes of its connections, if it does them.
    connector: Option<Box<Connector>>,
    transfers: Vec<Transfer>,
    /// The receiver's window, if it is limited.
    receive_window: Option<Box<ReceiveWindow>>,
    /// Number of reports received.
    reports: u64,
    /// Classic ECN: true if the next packet is to carry CWR, since the window was reduced.
    cwr: bool,
    /// When the last packet was sent.
    last_sent: Time,
    /// RTT sample of the latest acknowledgement; [`Span::MAX`] after it was taken.
    latest_rtt: Span,
    /// A time before which no timer is due. It may be earlier than necessary; then it is moved on
    /// when it comes, which is cheaper than moving it at each acknowledgement.
    wake: Time,
    /// True if `wake` is when the pacer lets the next packet leave. Then it is moved with the pacer,
    /// since the pacer's time comes soon.
    wakes_to_pace: bool,
    /// True if only the pacer kept back the packet that was to be sent last.
    awaits_pacer: bool,
    /// True if a packet may be sent at once.
    pending: bool,
    /// True if the packet just sent is the first of two that leave at once.
    pairs: bool,
    /// Number of packets that the pacer still lets leave without pacing.
    unpaced: u32,
    /// Largest rate at which packets leave, in bits per second.
    limit_bps: Option<NonZeroU64>,
    /// Bytes of the next packet, and whether it is one datagram: see [`Sender::set_datagrams`].
    largest: u64,
    whole: bool,
}

impl Sender {
    /// Returns a sender whose controllers `make` makes.
    ///
    /// # Errors
    /// If the controller needs signals outside `available`.
    pub fn new(
        config: SenderConfig,
        make: MakeController,
        available: Signals,
    ) -> Result<Sender, MissingSignals> {
        let controller = make(&config.setup);
        let needs = controller.needs();
        let missing = needs.missing_from(available);
        if !missing.is_empty() {
            return Err(MissingSignals { missing });
        }
        let plan = controller.plan();
        let account = Account::new(config.account(needs, !plan.exact_window));
        let constants = Constants::new(&config);
        let connector = (config.handshake && config.reliable).then(|| Box::new(Connector::new()));
        let receive_window =
            if config.reliable { ReceiveWindow::of(config.receive_window) } else { None };
        let SenderConfig { workload, start, stop, .. } = config;
        let random = || constants.setup.random("workload");
        // Where not all lost data is sent again, frames have packets of their own, as in RTP; TCP has a stream of bytes.
        let own_packets = !config.reliable;
        let source = Source::new(workload, start, stop, own_packets, random);
        let mut sender = Sender {
            account,
            config: constants,
            make,
            controller,
            needs,
            plan,
            pacer: Pacer::default(),
            wake: source.next(),
            wakes_to_pace: false,
            source,
            connector,
            transfers: Vec::new(),
            receive_window,
            reports: 0,
            cwr: false,
            last_sent: Time::NEVER,
            latest_rtt: Span::MAX,
            awaits_pacer: false,
            pending: false,
            pairs: false,
            unpaced: 0,
            limit_bps: None,
            largest: 0,
            whole: false,
        };
        sender.largest = u64::from(sender.config.setup.mss);
        sender.unpaced = sender.config.unpaced;
        sender.pacer.hold(sender.connector.is_some());
        sender.replan();
        Ok(sender)
    }
    /// Returns the flow's number.
    pub fn flow(&self) -> u32 {
        self.config.setup.flow
    }
    /// Returns the counters since the start.
    pub fn stats(&self) -> SenderStats {
        self.account.stats()
    }
    /// Returns the number of reports received.
    pub fn reports(&self) -> u64 {
        self.reports
    }
    /// Returns the packets of handshakes, which [`Sender::stats`] does not count. Zeros if the
    /// driver does the handshake.
    pub fn handshakes(&self) -> HandshakeCounts {
        self.connector.as_ref().map_or_else(HandshakeCounts::default, |connector| connector.counts)
    }
    /// Returns the bytes in flight.
    pub fn in_flight(&self) -> u64 {
        self.account.in_flight()
    }
    /// Returns the bytes acknowledged since the start.
    pub fn delivered(&self) -> u64 {
        self.account.delivered()
    }
    /// Returns the estimates of the round-trip time.
    pub fn rtt(&self) -> &RttEstimator {
        self.account.rtt()
    }
    /// Takes the RTT sample of the latest acknowledgement; `None` if it was taken before.
    pub fn take_rtt(&mut self) -> Option<Span> {
        let rtt = std::mem::replace(&mut self.latest_rtt, Span::MAX);
        (rtt != Span::MAX).then_some(rtt)
    }
    /// Starts to log packets declared lost, for [`Sender::drain_losses`].
    pub fn log_losses(&mut self) {
        self.account.log_losses();
    }
    /// Drains the packets declared lost since the last call.
    pub fn drain_losses(&mut self) -> impl Iterator<Item = Loss> + '_ {
        self.account.drain_losses()
    }
    /// Returns the controller's current plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
    /// Calls `see` with the name and value of each variable that the controller shows.
    pub fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.controller.inspect(see);
    }
    /// Returns the counted transfers that have finished, oldest first.
    pub fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }
    /// Returns the counted transfer that is not finished at `now`, with `now` as its end.
    pub fn unfinished_transfer(&self, now: Time) -> Option<Transfer> {
        self.source.unfinished(now)
    }
    /// Returns how long until `now` the application had data to send or waited for the
    /// acknowledgement of its last data. For an on-off workload, this is the sum of its on-periods.
    pub fn on_time(&self, now: Time) -> Span {
        self.source.on_time(now)
    }
    /// Returns since when the application is on in the sense of [`Sender::on_time`]; `None` while
    /// it is off. Bulk data are on from the start to the stop.
    #[inline]
    pub fn on_since(&self) -> Option<Time> {
        self.source.on_since()
    }
    /// Returns the frames of a video workload so far, and their counts; `None` for other workloads.
    pub fn video(&self) -> Option<(&[Frame], VideoStats)> {
        self.source.video()
    }
    /// Returns true if all lost data is sent again, so that the receiver's application reads it in order.
    pub fn is_reliable(&self) -> bool {
        self.config.reliable
    }
    /// Returns the packets of an audio workload so far, as frames; `None` for other workloads.
    pub fn audio(&self) -> Option<&[Frame]> {
        self.source.audio()
    }
    /// Returns the rate at which an adaptive application should produce data: the controller's rate
    /// if it states one, else a window per RTT, at most the pacing rate; zero if neither is known.
    pub fn media_rate(&self) -> Rate {
        self.controller.target().unwrap_or_else(|| {
            let rtt = self.account.rtt().smoothed();
            let window = if rtt.is_zero() { None } else { Some(self.plan.cwnd) };
            let window = window.map(|cwnd| Rate::from_bytes_in(cwnd, rtt));
            self.plan.pacing.into_iter().chain(window).min().unwrap_or(Rate::ZERO)
        })
    }
    /// Stops the application at `now`: no new data is sent. Data in flight is still acknowledged,
    /// and retransmitted if it is lost.
    pub fn stop(&mut self, now: Time) {
        self.source.stop(now);
        self.wake = self.wake.min(now);
        self.pending = true;
    }
    /// Sets the number of bytes that wait to be sent, headers included, for
    /// [`Workload::Supplied`](crate::Workload::Supplied). It replaces the number set before. Call
    /// it before each pop, as the size of the last packet depends on it.
    #[inline]
    pub fn set_ready(&mut self, bytes: u64) {
        self.source.set_ready(bytes);
        self.pending = true;
    }
    /// Sets the bytes that wait, in the form of datagrams: the next packet has `next` bytes, at
    /// most the size of the largest packet, and is sent whole. If a part of it fits into an exact
    /// window, all of it is sent, as in Sprout's tunnel. See [`Sender::set_ready`].
    #[inline]
    pub fn set_datagrams(&mut self, next: u64, waiting: u64) {
        self.largest = next.min(u64::from(self.config.setup.mss));
        self.whole = true;
        self.set_ready(waiting);
    }
    /// Tells the scheme that the application has no data for a while (`rests`), or has data again.
    pub fn set_rest(&mut self, now: Time, rests: bool) {
        self.controller.on_rest(now, rests);
        self.replan();
        self.pending = true;
    }
    /// Limits new packets to `bytes` bytes, since the path carries no larger ones. Retransmissions
    /// keep their size, and the controller goes on to count packets of the original size.
    pub fn set_largest(&mut self, bytes: u64) {
        self.largest = bytes.min(u64::from(self.config.setup.mss));
    }
    /// Returns the bytes that the network will soon deliver: the controller's forecast, or else the
    /// window, at most the bytes paced out in a round trip (100 ms if that is longer). If the queue
    /// in front of this sender is longer than that, some of its packets will be late.
    pub fn deliverable(&self) -> u64 {
        self.controller.forecast().unwrap_or_else(|| {
            let span = self.account.rtt().smoothed().max(Span::from_millis(100));
            let paced = self.plan.pacing.map_or(u64::MAX, |rate| rate.bytes_in(span));
            self.window().min(paced)
        })
    }
    /// Returns the most bytes that may be in flight now.
    #[inline]
    pub fn window(&self) -> u64 {
        self.account.window(self.plan.cwnd, self.plan.reduces_by_prr)
    }

    /// Updates the plan from the controller.
    #[inline(always)]
    fn replan(&mut self) {
        // Copied field by field: the controller has just written the fields one by one, and a copy
        // of the whole plan would have to wait for these writes.
        let Plan {
            cwnd,
            pacing,
            gap,
            burst,
            ecn,
            timer,
            reduces_by_prr,
            sends_empty_packet,
            exact_window,
            padding,
            changes_on_send,
            ..
        } = self.controller.plan();
        self.plan.cwnd = cwnd;
        self.plan.pacing = pacing;
        self.plan.gap = gap;
        self.plan.burst = burst;
        self.plan.ecn = if self.config.ecn == EcnFeedback::Off { Ecn::NotEct } else { ecn };
        self.plan.timer = timer;
        self.plan.reduces_by_prr = reduces_by_prr;
        self.plan.sends_empty_packet = sends_empty_packet;
        self.plan.exact_window = exact_window;
        self.plan.padding = padding;
        self.plan.changes_on_send = changes_on_send;
        self.pacer.set(pacing, gap);
        if let Some(limit) = self.limit_bps {
            self.apply_limit(Rate::from_bps(limit.get()));
        }
    }

    /// Takes a packet in at `now`. If it lets a packet leave, puts that into `place`:
    /// [`Stage::push`] and [`Stage::pop_into`] in one step.
    #[inline(never)]
    pub fn answer(&mut self, now: Time, packet: &Packet, place: &mut Packet) -> bool {
        self.push(now, packet);
        self.pop_next(now, place)
    }

    /// Takes an acknowledgement in, with the `older` ranges that its receiver reports beside it:
    /// [`Receiver::older_ranges`](crate::Receiver::older_ranges). [`Stage::push`] passes none.
    #[inline(never)]
    pub fn push_ack(&mut self, now: Time, ack: &Ack, older: impl Iterator<Item = (u64, u64)>) {
        self.on_ack(now, ack, older);
    }

    /// Takes an acknowledgement in.
    #[inline(always)]
    fn on_ack(&mut self, now: Time, ack: &Ack, older: impl Iterator<Item = (u64, u64)>) {
        let feedback = self.account.on_ack_with_older(now, ack, older);
        if let Some(rtt) = feedback.rtt {
            self.latest_rtt = rtt;
        }
        answer_echo(&mut self.cwr, feedback.congestion);
        self.controller.on_feedback(&feedback);
        self.replan();
        self.account.on_window(self.plan.cwnd);
        self.on_progress(now);
    }

    /// Takes a report in.
    #[cold]
    fn on_report(&mut self, now: Time, report: &Report) {
        self.reports += 1;
        self.controller.on_report(now, report);
        self.replan();
        self.pending = true;
    }

    /// Ends the transfer if all data sent is acknowledged, and makes the next pop due at once.
    #[inline(always)]
    fn on_progress(&mut self, now: Time) {
        if self.source.is_draining() {
            self.on_draining(now);
        }
        self.pending = true;
    }

    /// Ends a counted transfer if all of it is acknowledged.
    #[cold]
    fn on_draining(&mut self, now: Time) {
        if self.account.is_drained() {
            self.transfers.push(self.source.on_drained(now));
            self.account.forget_repairs();
        }
    }

    /// Returns the size of the next packet, if there is data to send and all limits allow it, and
    /// whether that packet is a repair. `FOLLOWS` is true if a packet was just sent.
    #[inline(always)]
    fn sendable<const FOLLOWS: bool>(&mut self, now: Time) -> Option<(u64, bool)> {
        let in_flight = self.account.in_flight();
        let ready = self.source.ready();
        let repairs = self.has_repair(ready);
        if ready == 0 && !repairs {
            self.on_nothing_ready::<FOLLOWS>(in_flight);
            return None;
        }
        let size = self.allowed::<FOLLOWS>(now, in_flight, ready, repairs)?;
        Some((size, repairs))
    }

    /// Returns true if lost data is to be retransmitted next; `ready` bytes of new data wait.
    #[inline(always)]
    pub(super) fn has_repair(&self, ready: u64) -> bool {
        self.account.next_repair().is_some()
            && !self.account.sends_new_data_first(ready > 0 && self.is_taken())
    }

    /// Notes that the application has nothing to send.
    #[inline]
    fn on_nothing_ready<const FOLLOWS: bool>(&mut self, in_flight: u64) {
        self.awaits_pacer = false;
        if in_flight < self.plan.cwnd {
            self.account.on_app_limited();
        }
        if FOLLOWS {
            // A flight that fills the window exactly counts as limited by it, as on Linux.
            match in_flight + self.largest > self.window() {
                true => self.account.on_window_limited(),
                false => self.account.on_window_open(),
            }
        }
    }

    /// Returns the size of the next packet, if all limits allow one. `ready` bytes of new data
    /// wait; `repairs` says that repairs wait.
    #[inline(always)]
    fn allowed<const FOLLOWS: bool>(
        &mut self,
        now: Time,
        in_flight: u64,
        ready: u64,
        repairs: bool,
    ) -> Option<u64> {
        // A full window counts as full even if the pacer is closed, too.
        let Some(largest) = self.room(in_flight, repairs) else {
            self.awaits_pacer = false;
            self.account.on_window_limited();
            return None;
        };
        self.awaits_pacer = self.pacer.next() > now;
        if self.awaits_pacer || (!repairs && !self.is_taken()) {
            // The pacer or the receiver's window keeps the packet back, not the controller's
            // window.
            if FOLLOWS {
                self.account.on_window_open();
            }
            return None;
        }
        Some(ready.min(largest))
    }

    /// Returns the size of the largest packet for which the window has room; `None` if it is full.
    #[inline(always)]
    fn room(&self, in_flight: u64, repairs: bool) -> Option<u64> {
        if self.plan.exact_window {
            let room = self.largest.min(self.window().saturating_sub(in_flight));
            let size = if self.whole { self.largest } else { room };
            return (room >= u64::from(EMPTY_SIZE)).then_some(size);
        }
        // Linux sends a packet if a whole one fits into the window; one may always be in flight.
        let Plan { cwnd, reduces_by_prr, .. } = self.plan;
        let window = self.account.window_without_inflation(cwnd, reduces_by_prr);
        // A packet that ends with a frame may be smaller (RFC 8298 §4.1.2 compares its own size).
        let next = if repairs { self.largest } else { self.source.packet_bytes(self.largest) };
        let full = in_flight > 0 && in_flight + next > window;
        (!full || self.account.fits_inflated(window, in_flight + next)).then_some(self.largest)
    }

    /// Sends one packet, if there is data to send and all limits allow it.
    #[inline(always)]
    fn send(&mut self, now: Time, place: &mut Packet) -> bool {
        let Some((size, repairs)) = self.sendable::<false>(now) else { return false };
        if self.account.in_flight() == 0 {
            self.resume(now);
        }
        // Apart, so that the compiler leaves out of `emit` what only a repair needs.
        if repairs && self.send_repair(now, place) {
            return true;
        }
        let sent = self.take_new(self.source.packet_bytes(size) as u32);
        self.emit(now, sent, place);
        true
    }

    /// Sends the data that is to be retransmitted next. Returns false if there is none.
    #[inline(never)]
    fn send_repair(&mut self, now: Time, place: &mut Packet) -> bool {
        let Some(repair) = self.account.take_repair() else { return false };
        self.emit(now, Sent::retransmission(repair), place);
        true
    }

    /// Builds a packet and reports it to the account.
    #[inline(always)]
    fn emit(&mut self, now: Time, sent: Sent, place: &mut Packet) {
        let Sent { segment, size, retransmission, .. } = sent;
        let number = self.account.next_number();
        let mut outgoing = Outgoing::new(number, size, self.account.in_flight());
        outgoing.retransmission = retransmission;
        outgoing.empty = segment == NO_SEGMENT;
        outgoing.waiting = self.source.ready();
        outgoing.last = outgoing.waiting == 0 && self.account.next_repair().is_none();
        // Linux sends two packets in one piece if the window has room for both, and sets PSH on the
        // last packet of a piece (`tcp_tso_autosize`, `__tcp_transmit_skb`), and of what the application wrote
        // (`tcp_push`).
        let ends_piece = self.pairs && self.last_sent == now;
        // A retransmission has it if the lost packet had it.
        let push = sent.push || (!retransmission && (ends_piece || outgoing.waiting == 0));
        let room = self.account.in_flight() + 2 * u64::from(size) <= self.plan.cwnd;
        self.pairs = !push && !retransmission && room;
        let tag = self.controller.on_send(now, &mut outgoing);
        self.account.on_sent(now, Sent { tag, push, ..sent });
        if self.unpaced > 0 {
            self.unpaced -= 1;
        } else {
            self.pacer.on_send(now, size, self.plan.burst);
        }
        self.last_sent = now;
        let cwr = !retransmission && std::mem::take(&mut self.cwr); // RFC 3168 §6.1.2: on new data
        *place = Packet {
            flow: self.config.setup.flow,
            size,
            route: self.config.route,
            ecn: self.plan.ecn,
            class: self.config.class,
            sent: now,
            queued: now,
            body: Body::Data(Data { number, segment, header: Header::None, cwr, push }),
        };
        // The header is copied only if there is one, since the copy waits for the write before it.
        if self.needs.contains(Signals::HEADERS)
            && let Body::Data(data) = &mut place.body
        {
            data.header = outgoing.header;
        }
        if self.plan.changes_on_send {
            self.replan();
        }
    }

    /// Builds a packet that does not follow an acknowledgement, which is rare.
    #[cold]
    #[inline(never)]
    fn emit_seldom(&mut self, now: Time, sent: Sent, place: &mut Packet) {
        self.emit(now, sent, place);
    }

    /// Sends a packet without data.
    #[cold]
    fn send_empty(&mut self, now: Time, place: &mut Packet) {
        self.emit_seldom(now, Sent::empty(EMPTY_SIZE), place);
        self.replan();
    }

    /// Returns true if nothing will be sent any more and no acknowledgement is awaited.
    fn is_over(&self) -> bool {
        let source = &self.source;
        let supplied = source.is_supplied();
        source.ready() == 0 && source.next() == Time::NEVER && !source.is_draining() && !supplied
    }
}

impl Stage for Sender {
    #[inline(always)]
    fn push(&mut self, now: Time, packet: &Packet) {
        // Most packets are acknowledgements: one comparison instead of a jump table.
        if let Body::Ack(ack) = &packet.body {
            self.on_ack(now, ack, std::iter::empty());
        } else if let Body::Report(report) = &packet.body {
            self.on_report(now, report);
        } else if let Body::Handshake(answer) = &packet.body {
            self.on_handshake(now, answer);
        }
    }

    #[inline(never)]
    fn pop_into(&mut self, now: Time, place: &mut Packet) -> bool {
        self.pop_next(now, place)
    }

    #[inline]
    fn wake(&self) -> Time {
        if self.pending { Time::ZERO } else { self.wake }
    }
}

impl Sender {
    #[inline(always)]
    fn pop_next(&mut self, now: Time, place: &mut Packet) -> bool {
        if self.wake <= now && self.on_wake(now, place) {
            return true;
        }
        if self.plan.sends_empty_packet && !self.is_over() && !self.pacer.is_held() {
            self.send_empty(now, place);
            return true;
        }
        let mut sent = self.send(now, place);
        if !sent && self.plan.padding > 0 {
            sent = self.send_padding(now, place);
        }
        // Mostly one packet follows an acknowledgement. If no second one may be sent, the sender
        // notes that now, and the driver need not ask again.
        if !sent
            || (self.sendable::<true>(now).is_none()
                && (self.plan.padding == 0 || self.next_padding(now).is_none()))
        {
            self.rearm(now);
        }
        sent
    }
}
