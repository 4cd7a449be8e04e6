//! Linux hosts as ends of a flow: the simulator's packets are the frames of their devices.

use std::collections::VecDeque;

use paceline_cc::{Body, Packet, Span, Stage, Time};
use paceline_flow::SenderStats;
use paceline_sim::{TransportEnd, TransportEnds, TransportSetup};

use crate::account::{Arrivals, Departures};
use crate::build::{BuiltGuest, find_module};
use crate::error::Error;
use crate::frame;
use crate::frames::{self, Sample};
use crate::guest::{Guest, ORIGIN};
use crate::host::{self, Role};
use crate::launch::Start;
use crate::settings::HostSettings;
use crate::store::Frames;
use crate::vhost::Device;

/// Longest time between two readings of the clock by a guest that computes: four steps of its
/// clock, 256 ns each. A guest that wants to run again within this time has not finished.
const COMPUTING: Span = Span::from_nanos(1024);

/// Boots the two hosts of a flow, up to simulated time 0.
///
/// # Errors
/// The guest does not have the congestion control or the workload; the errors of [`Guest::boot`].
pub(crate) fn ends(
    built: &BuiltGuest,
    settings: &HostSettings,
    setup: &TransportSetup,
) -> Result<TransportEnds, Error> {
    let module =
        find_module(built, &settings.scheme).map_err(|error| Error::Unusable(error.to_string()))?;
    let mut settings = settings.clone();
    let mut files = Vec::new();
    if let Some(module) = module {
        files.push((host::MODULE.to_string(), module.path));
        settings.scheme = module.scheme;
    }
    let (there, back) = (Frames::default(), Frames::default());
    let host = |role: Role, leaving: &Frames, arriving: &Frames| {
        let mut words = host::words(role, &settings, setup)?;
        if !files.is_empty() {
            words.push(format!("pl.module={}", host::MODULE));
        }
        let device = Device::new(role.mac(), host::mtu(&settings, setup)?);
        let (guest, hello) = Guest::boot(built, &Start { words, files: files.clone() }, device)?;
        if !hello.schemes.contains(&settings.scheme) {
            return Err(Error::Unusable(format!(
                "the Linux guest has no congestion control `{}`; it has {}",
                settings.scheme,
                hello.schemes.join(", ")
            )));
        }
        Ok(End::new(guest, role, leaving.clone(), arriving.clone()))
    };
    let sender = host(Role::Sender, &there, &back)?;
    let receiver = host(Role::Receiver, &back, &there)?;
    Ok((Box::new(sender), Box::new(receiver)))
}

/// One host.
struct End {
    /// `None` once it has failed.
    guest: Option<Guest>,
    failure: Option<String>,
    role: Role,
    /// Frames that this host has sent, and frames that will arrive at it.
    leaving: Frames,
    arriving: Frames,
    /// Frames that have arrived while the guest computes, and that its device has not received.
    arrived: VecDeque<Vec<u8>>,
    /// Packets that the host has sent and the simulator has not taken.
    ready: VecDeque<Packet>,
    /// Simulated time at which the guest wants to run.
    wake: Time,
    arrivals: Arrivals,
    departures: Departures,
    /// Latest report of the connection.
    sample: Option<Sample>,
}

/// Converts simulated time to guest time.
fn guest_time(now: Time) -> u64 {
    now.as_nanos().saturating_add(ORIGIN)
}

impl End {
    fn new(guest: Guest, role: Role, leaving: Frames, arriving: Frames) -> End {
        End {
            wake: wake(&guest),
            guest: Some(guest),
            failure: None,
            role,
            leaving,
            arriving,
            arrived: VecDeque::new(),
            ready: VecDeque::new(),
            arrivals: Arrivals::default(),
            departures: Departures::default(),
            sample: None,
        }
    }

    /// Calls `act` with the guest; ends a guest that fails.
    fn with_guest(&mut self, act: impl FnOnce(&mut Guest) -> Result<(), Error>) {
        let Some(guest) = &mut self.guest else { return };
        match act(guest) {
            Ok(()) => self.wake = wake(guest),
            Err(error) => self.fail(error.to_string()),
        }
    }

    fn fail(&mut self, problem: String) {
        let host =
            if self.role == Role::Sender { "the sending host" } else { "the receiving host" };
        self.failure.get_or_insert(format!("{host}: {problem}"));
        self.guest = None;
        self.wake = Time::NEVER;
    }

    /// Runs the guest for its events up to `now`. Delivers a frame that has arrived whenever the
    /// guest is idle.
    ///
    /// A link over a recording delivers several frames at one instant. A real host behind a TUN
    /// device processes them one by one: the write of each frame runs TCP to its end. If the guest
    /// received them together, TCP would process all of them before the application reads the
    /// first one, and send one acknowledgement for all.
    fn run(&mut self, now: Time) {
        loop {
            if self.wake <= now {
                self.with_guest(|guest| guest.advance(guest_time(now)));
                self.collect(now);
            }
            if self.wake <= now + COMPUTING {
                return;
            }
            let Some(frame) = self.arrived.pop_front() else { return };
            self.with_guest(|guest| guest.deliver(guest_time(now), &frame));
        }
    }

    /// Collects the frames that the guest has sent, and its reports.
    fn collect(&mut self, now: Time) {
        let Some(guest) = &mut self.guest else { return };
        let peer = self.role.peer().mac();
        for frame in guest.take_frames() {
            // Frames to other receivers, such as IPv6 router solicitations, are dropped.
            if frame[..6] != peer || !frame::is_ipv4(&frame) {
                continue;
            }
            if let Some(segment) = frame::segment(&frame) {
                self.departures.on_segment(now, &segment);
            }
            let mut packet = Packet::opaque(frame::ip_length(&frame));
            packet.ecn = frame::ecn(&frame);
            packet.body = Body::Opaque(self.leaving.put(frame));
            self.ready.push_back(packet);
        }
        let mut problem = None;
        for report in guest.take_reports() {
            match report.body {
                frames::Body::Sample(sample) | frames::Body::End(sample) => {
                    self.sample = Some(sample);
                }
                frames::Body::Error(text) => {
                    problem = Some(Error::Reported(text).to_string());
                }
                frames::Body::Exit(status) if status != 0 => {
                    problem = Some(format!("its program ended with status {status}"));
                }
                frames::Body::Exit(_) | frames::Body::Note(_) | frames::Body::Hello { .. } => {}
            }
        }
        if let Some(problem) = problem {
            self.fail(problem);
        }
    }
}

/// Returns the simulated time at which a guest wants to run.
fn wake(guest: &Guest) -> Time {
    match guest.wake() {
        u64::MAX => Time::NEVER,
        at => Time::from_nanos(at.saturating_sub(ORIGIN)),
    }
}

impl Stage for End {
    fn push(&mut self, now: Time, packet: &Packet) {
        let Body::Opaque(handle) = packet.body else { return };
        let Some(mut frame) = self.arriving.get(handle) else { return };
        frame::set_ecn(&mut frame, packet.ecn);
        if let Some(segment) = frame::segment(&frame) {
            match self.role {
                Role::Receiver => self.arrivals.on_segment(&segment),
                Role::Sender => {
                    self.departures.on_acknowledgement(now, &segment, &frame::sack(&frame));
                }
            }
        }
        self.arrived.push_back(frame);
        self.run(now);
    }

    fn pop_into(&mut self, now: Time, place: &mut Packet) -> bool {
        if self.ready.is_empty() {
            self.run(now);
        }
        match self.ready.pop_front() {
            Some(packet) => {
                *place = packet;
                true
            }
            None => false,
        }
    }

    fn wake(&self) -> Time {
        if self.ready.is_empty() { self.wake } else { Time::ZERO }
    }
}

impl TransportEnd for End {
    fn received(&self) -> u64 {
        self.arrivals.bytes()
    }

    fn take_rtt(&mut self) -> Option<Span> {
        self.departures.take_rtt()
    }

    fn counters(&self) -> SenderStats {
        let mut counters = SenderStats::default();
        let Departures { segments, repeated, .. } = self.departures;
        (counters.sent, counters.retransmits, counters.lost) = (segments, repeated, repeated);
        counters.timeouts = self.sample.as_ref().map_or(0, |sample| sample.timeouts.into());
        counters
    }

    fn failure(&self) -> Option<String> {
        self.failure.clone()
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let Some(sample) = &self.sample else { return };
        see("cwnd", f64::from(sample.cwnd));
        // Linux' value for "no threshold" is 2³¹ - 1.
        if sample.ssthresh < i32::MAX as u32 {
            see("ssthresh", f64::from(sample.ssthresh));
        }
        see("rtt", f64::from(sample.srtt_us) / 1e3);
        if sample.pacing_rate < u64::MAX {
            see("pacing", sample.pacing_rate as f64 * 8e-6);
        }
    }
}
