//! s2n-quic's congestion control as a scheme of the simulator.

use std::collections::VecDeque;
use std::time::Duration;

use num_rational::Ratio;
use paceline_cc::{
    Congestion, Controller, Fate, Feedback, Halves, Outgoing, Plan, Rate, Setup, Signals, Span,
    Stream, Time,
};
use s2n_quic_core::event::builder::{BbrState, SlowStartExitCause};
use s2n_quic_core::inet::SocketAddress;
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::path::mtu;
use s2n_quic_core::random::Generator;
use s2n_quic_core::recovery::bandwidth::{Bandwidth, RateSample};
use s2n_quic_core::recovery::congestion_controller::{
    CongestionController, Endpoint, PathInfo, Publisher,
};
use s2n_quic_core::recovery::{DEFAULT_INITIAL_RTT, RttEstimator};

use crate::clock::Clock;
use crate::unanswered::{Unanswered, is_persistent};

/// Packets that a probe timeout sends at most (RFC 9002 §6.2.4).
const PROBES: u64 = 2;

/// Returns a scheme that runs s2n-quic's controllers, one per flow. `make` builds their endpoint,
/// such as `cubic::Endpoint` or `bbr::Endpoint`.
///
/// The controllers get the calls of s2n-quic's recovery: packets and losses one by one,
/// acknowledgements together, counts of CE marks, and RTTs without the peer's delay of
/// acknowledgements (the simulator does not subtract this delay). Their window is applied, and so
/// is the pacing rate that they publish: the simulator's sender paces by rates, not by times of
/// departure. If the sender's timer expires, it declares all packets in flight lost. The controllers hear of a loss
/// when QUIC would declare it: after an acknowledgement (RFC 9002 §6.2), and as persistent congestion only if it is
/// that (§7.6). Until then these packets are a part of their window, from which the sender has two packets at least.
///
/// ```
/// use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, CustomScheme, Scenario};
/// use s2n_quic_core::recovery::bbr;
///
/// let bbr = CustomScheme::new("s2n-quic's BBR", paceline_s2n_quic::halves(bbr::Endpoint::default));
/// let mut scenario = Scenario::new("BBR of s2n-quic");
/// let rate = paceline_cc::Rate::from_mbps(12.0);
/// scenario.links.push(LinkSpec::new("link", Capacity::Constant(rate)));
/// scenario.flows.push(FlowSpec::bulk(bbr, &["link"]));
/// scenario.duration = paceline_cc::Span::from_secs(5);
/// assert!(paceline_sim::run(&scenario)?.links[0].utilization > 0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn halves<E: Endpoint>(make: impl Fn() -> E + Send + Sync + 'static) -> Halves {
    Halves::sender(move |setup| {
        Simulated::new(make().new_congestion_controller(path(setup)), setup)
    })
}

/// Returns a path whose packets have the simulator's size.
fn path(setup: &Setup) -> PathInfo<'static> {
    static NOBODY: std::sync::LazyLock<SocketAddress> =
        std::sync::LazyLock::new(SocketAddress::default);
    let mut path = PathInfo::new(&mtu::Config::MIN, &NOBODY);
    path.max_datagram_size = u16::try_from(setup.mss).unwrap_or(u16::MAX);
    path
}

struct Simulated<C: CongestionController> {
    inner: C,
    mss: u32,
    clock: Clock,
    rtt: RttEstimator,
    /// Data of the controller for each packet in flight, from number `first` on.
    packets: VecDeque<Option<C::PacketInfo>>,
    first: u64,
    random: Random,
    /// Packets of the present event.
    acked: Vec<Fate>,
    lost: Vec<Fate>,
    unanswered: Unanswered,
    published: PublishedPacing,
}

impl<C: CongestionController> Simulated<C> {
    fn new(inner: C, setup: &Setup) -> Simulated<C> {
        Simulated {
            inner,
            mss: setup.mss,
            clock: Clock::new(),
            rtt: RttEstimator::new(DEFAULT_INITIAL_RTT),
            packets: VecDeque::new(),
            first: 0,
            random: Random(setup.random("s2n-quic")),
            acked: Vec::new(),
            lost: Vec::new(),
            unanswered: Unanswered::default(),
            published: PublishedPacing::default(),
        }
    }

    /// Takes the data of packet `number`.
    fn take(&mut self, number: u64) -> Option<C::PacketInfo> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let info = self.packets.get_mut(at)?.take();
        while let Some(None) = self.packets.front() {
            self.packets.pop_front();
            self.first += 1;
        }
        info
    }

    /// Tells the controller which packets are lost, oldest first.
    fn on_lost(&mut self, feedback: &Feedback<'_>) {
        match feedback.congestion {
            Some(Congestion::Timeout) => return self.unanswered.on_timeout(feedback.fates),
            Some(Congestion::Undo) => self.unanswered.on_undo(),
            _ => {}
        }
        let mut lost = std::mem::take(&mut self.lost);
        lost.clear();
        self.unanswered.on_fates(feedback.fates, feedback.now, self.loss_delay(), &mut lost);
        lost.extend(feedback.fates.iter().filter(|fate| fate.lost));
        lost.sort_unstable_by_key(|fate| fate.number);
        let now = self.clock.timestamp(feedback.now);
        let persistent = self.rtt.first_rtt_sample().is_some_and(|since| {
            let threshold = span(self.rtt.persistent_congestion_threshold());
            is_persistent(&lost, self.clock.time(since), threshold)
        });
        let mut before = None;
        for fate in &lost {
            let Some(info) = self.take(fate.number) else { continue };
            let new_burst = before.is_none_or(|before: u64| before + 1 != fate.number);
            before = Some(fate.number);
            let Simulated { inner, random, published, .. } = self;
            inner.on_packet_lost(fate.size, info, persistent, new_burst, random, now, published);
        }
        self.lost = lost;
    }

    /// Returns the time after which an older packet than the newest acknowledged one is lost (RFC 9002 §6.1.2).
    fn loss_delay(&self) -> Span {
        span(self.rtt.smoothed_rtt().max(self.rtt.latest_rtt()) * 9 / 8)
    }

    fn on_acked(&mut self, feedback: &Feedback<'_>) {
        let mut acked = std::mem::take(&mut self.acked);
        acked.clear();
        acked.extend(feedback.fates.iter().filter(|fate| !fate.lost));
        let mut bytes = 0;
        let mut newest = None;
        for fate in &acked {
            // A packet that was declared lost is no longer in flight.
            let Some(info) = self.take(fate.number) else { continue };
            bytes += fate.size as usize;
            if newest.as_ref().is_none_or(|(before, _): &(Fate, _)| before.number < fate.number) {
                newest = Some((*fate, info));
            }
        }
        self.acked = acked;
        let Some((newest, info)) = newest else { return };
        let now = self.clock.timestamp(feedback.now);
        let sent = self.clock.timestamp(newest.sent);
        let Simulated { inner, random, rtt, published, .. } = self;
        inner.on_ack(sent, bytes, info, rtt, random, now, published);
    }

    fn on_rtt(&mut self, feedback: &Feedback<'_>, sample: Span) {
        let now = self.clock.timestamp(feedback.now);
        let newest = feedback.fates.iter().filter(|fate| !fate.lost).max_by_key(|fate| fate.number);
        let Some(newest) = newest else { return };
        let space = PacketNumberSpace::ApplicationData;
        let sample = Duration::from_nanos(sample.as_nanos());
        self.rtt.update_rtt(Duration::ZERO, sample, now, true, space);
        let sent = self.clock.timestamp(newest.sent);
        self.inner.on_rtt_update(sent, now, &self.rtt, &mut self.published);
    }
}

impl<C: CongestionController> Controller for Simulated<C> {
    fn needs(&self) -> Signals {
        Signals::FATES
    }

    fn on_send(&mut self, now: Time, packet: &mut Outgoing) -> u64 {
        if self.packets.is_empty() {
            self.first = packet.number;
        }
        while self.first + (self.packets.len() as u64) < packet.number {
            self.packets.push_back(None);
        }
        let at = self.clock.timestamp(now);
        let size = packet.size as usize;
        let Simulated { inner, rtt, published, .. } = self;
        let info = inner.on_packet_sent(at, size, Some(packet.last), rtt, published);
        self.packets.push_back(Some(info));
        0
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        // As in s2n-quic's recovery: first RTT, then losses, marks, acknowledgements.
        if let Some(sample) = feedback.rtt {
            self.on_rtt(feedback, sample);
        }
        self.on_lost(feedback);
        if feedback.marked_packets > 0 {
            let now = self.clock.timestamp(feedback.now);
            let marked = feedback.marked_packets.into();
            self.inner.on_explicit_congestion(marked, now, &mut self.published);
        }
        self.on_acked(feedback);
    }

    fn plan(&self) -> Plan {
        let mss = u64::from(self.mss);
        let window = u64::from(self.inner.congestion_window()).max(mss);
        let window = match self.unanswered.bytes() {
            0 => window,
            unanswered => window.saturating_sub(unanswered).max(PROBES * mss),
        };
        let plan = Plan::window(window).without_prr();
        match self.published.rate {
            Some(rate) => plan.paced(rate, self.published.burst),
            None => plan,
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd", f64::from(self.inner.congestion_window()) / f64::from(self.mss.max(1)));
        if let Some(rate) = self.published.rate {
            see("pacing", rate.as_mbps());
        }
    }
}

fn span(duration: Duration) -> Span {
    Span::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// Random numbers from the run's seed.
struct Random(Stream);

impl Generator for Random {
    fn public_random_fill(&mut self, dest: &mut [u8]) {
        for bytes in dest.chunks_mut(8) {
            let word = self.0.next_u64().to_le_bytes();
            bytes.copy_from_slice(&word[..bytes.len()]);
        }
    }

    fn private_random_fill(&mut self, dest: &mut [u8]) {
        self.public_random_fill(dest);
    }
}

/// Pacing that a controller has published.
#[derive(Default)]
struct PublishedPacing {
    rate: Option<Rate>,
    burst: u32,
}

impl Publisher for PublishedPacing {
    fn on_pacing_rate_updated(&mut self, rate: Bandwidth, burst: u32, _gain: Ratio<u64>) {
        let rate = Rate::from_bytes_per_sec(rate.as_bytes_per_second() as f64);
        self.rate = (rate > Rate::ZERO).then_some(rate);
        self.burst = burst;
    }

    fn on_slow_start_exited(&mut self, _: SlowStartExitCause, _: u32) {}
    fn on_delivery_rate_sampled(&mut self, _: RateSample) {}
    fn on_bbr_state_changed(&mut self, _: BbrState) {}
}
