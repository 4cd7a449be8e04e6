//! Making a connection after its handshake.

use core::net::SocketAddr;
use std::collections::VecDeque;
use std::sync::Arc;

use paceline_cc::{Established, Halves, Setup, Signals, Span, Spec, Time};
use paceline_flow::{
    LossRecovery, Receiver, ReceiverConfig, SENDER_SIGNALS, Sender, SenderConfig, Workload,
};
use paceline_schemes::{Schemes, registry};

use super::blackhole::BlackHole;
use super::credit::{GrantedCredit, SpentCredit};
use super::forgeries::Forgeries;
use super::held::{HeldBudget, HeldBytes};
use super::idle::{LONGEST_IDLE, quiet};
use super::incoming::Incoming;
use super::keys::Keyring;
use super::messages::Messages;
use super::outgoing::Outgoing;
use super::path::Path;
use super::peer::Peer;
use super::rest::Rest;
use super::role::Role;
use super::{CloseState, Connection};
use crate::cipher::{ReplayWindow, TAG};
use crate::frame::DATA;
use crate::mtu::ip_udp;
use crate::noise::Keys;
use crate::packet::{LONGEST_HEADER, SHORT};
use crate::terms::{Offer, Service};

/// Smallest packet size for which a connection may be made.
const LEAST_MTU: u16 = 576;

/// A connection's limits and timeouts.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Number of bytes that this end accepts beyond the first missing one.
    pub window: u64,
    /// True if the application reports by [`Connection::consume`] which bytes of the stream it has
    /// consumed. Bytes that it has received and not reported count against the window, so that a
    /// slow reader holds the other end up. False if it is done with bytes as soon as
    /// [`Sink::on_stream`](super::Sink::on_stream) returns.
    pub reads_later: bool,
    /// Budget, shared by connections, for data that waits for missing data before it.
    pub held: HeldBudget,
    /// Largest number of bytes of the stream that wait to be sent or acknowledged.
    pub buffer: usize,
    /// Idle time that this end asks for: after this time without a packet the other end counts as
    /// gone. The connection uses the longer of both ends' idle times; the other end's counts up to
    /// [`LONGEST_IDLE`].
    pub idle: Span,
    /// Time for which an initiator waits for an answer.
    pub silence: Span,
    /// Workload of a sender of [`Service::Filler`].
    pub workload: Workload,
    /// Time for which that sender sends.
    pub stop: Span,
    /// Signals that the driver provides.
    pub signals: Signals,
    /// Seed of the schemes' random draws.
    pub seed: u64,
    /// Halves of the initiator's scheme, if its offer does not describe it completely, for example
    /// with a table of rules in a local file. The other end builds its halves from the offer's text
    /// alone and reads no files for it.
    pub halves: Option<Halves>,
    /// Schemes that an offer may name, which this end builds from the offer's text; `None` for the
    /// built-in ones.
    pub schemes: Option<Arc<Schemes>>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            window: 32 << 20,
            reads_later: false,
            held: HeldBudget::default(),
            buffer: 16 << 20,
            idle: Span::from_millis(10_000),
            silence: Span::from_millis(10_000),
            workload: Workload::Bulk,
            stop: Span::MAX,
            signals: SENDER_SIGNALS,
            seed: 1,
            halves: None,
            schemes: None,
        }
    }
}

impl Limits {
    /// Returns the bytes of the IP and UDP headers of a datagram to this address.
    pub fn ip_udp(&self, to: &SocketAddr) -> usize {
        ip_udp(to)
    }

    /// Makes the scheme that an offer names.
    fn build(&self, scheme: &str) -> Result<Halves, String> {
        let build = |spec: &Spec| match &self.schemes {
            Some(schemes) => schemes.find(&spec.name)?.build(spec),
            None => registry::build(spec),
        };
        Spec::parse(scheme).and_then(|spec| build(&spec)).map_err(|error| error.to_string())
    }
}

impl Connection {
    /// Returns the reason why the offer cannot be accepted, if there is one.
    pub(crate) fn check(offer: &Offer, limits: &Limits) -> Result<(), String> {
        if offer.mtu < LEAST_MTU {
            return Err(format!("packets of {} bytes are too small", offer.mtu));
        }
        for scheme in [&offer.scheme, &offer.back] {
            if !scheme.is_empty() {
                limits.build(scheme)?;
            }
        }
        Ok(())
    }

    /// Returns a connection after its handshake. `ids` are the identifiers of this end and the
    /// other.
    pub(crate) fn new(
        now: Time,
        role: Role,
        keys: Keys,
        ids: (u32, u32),
        remote: SocketAddr,
        offer: &Offer,
        limits: &Limits,
    ) -> Result<Connection, String> {
        let is_initiator = matches!(role, Role::Initiator { .. });
        let (sends, receives) = match role {
            Role::Initiator { .. } => (&offer.scheme, &offer.back),
            Role::Responder => (&offer.back, &offer.scheme),
        };
        let (window, credit, others_idle) = match role {
            Role::Initiator { window, credit, idle, .. } => (window, credit, idle),
            Role::Responder => (offer.window, offer.credit, offer.idle),
        };
        let credit = (credit && offer.service == Service::Stream).then_some(window);
        let idle = limits.idle.max(others_idle.min(LONGEST_IDLE));
        let ip_udp = limits.ip_udp(&remote);
        let own = limits.halves.clone().filter(|_| is_initiator);
        let outgoing = match sends.as_str() {
            "" => None,
            scheme => {
                let halves = own.map_or_else(|| limits.build(scheme), Ok)?;
                let rtt = match role {
                    Role::Initiator { rtt, .. } => rtt,
                    Role::Responder => None,
                };
                Some(outgoing(now, (scheme, halves), offer, (window, credit, rtt), ip_udp, limits)?)
            }
        };
        let incoming = match receives.as_str() {
            "" => None,
            scheme => Some(incoming(&limits.build(scheme)?, offer, limits)),
        };
        let keys = Keyring::new(now, &keys, is_initiator, offer.plaintext);
        Ok(Connection {
            local: ids.0,
            remote: ids.1,
            keys: keys.ok_or("the keys of the handshake cannot be used")?,
            number: 0,
            replay: ReplayWindow::new(),
            path: Path::new(remote),
            ip_udp,
            black_hole: BlackHole::new(offer.mtu),
            outgoing,
            incoming,
            peer_scheme: receives.as_str().into(),
            peer: Peer::default(),
            scheme: sends.as_str().into(),
            service: offer.service,
            messages: Messages::default(),
            unanswered: None,
            state: CloseState::Open,
            idle,
            heard: now,
            rest: Rest::new(now, role, offer, idle),
            // The initiator sends at once, to show that it has the keys.
            ping: if role == Role::Responder { now + quiet(idle, 4) } else { now },
            pings: 0,
            pongs: VecDeque::new(),
            ignored: 0,
            forgeries: Forgeries::default(),
            latest_ack: None,
        })
    }
}

fn is_reliable(halves: &Halves, service: Service) -> bool {
    match service {
        Service::Stream => true,
        Service::Filler => halves.reliable,
        Service::Datagrams => false,
    }
}

/// Returns what both halves of the offer's schemes are made with.
fn setup(offer: &Offer, limits: &Limits) -> Setup {
    Setup::new(limits.seed, 0).with(|setup| setup.mss = u32::from(offer.mtu))
}

fn outgoing(
    now: Time,
    (scheme, halves): (&str, Halves),
    offer: &Offer,
    (window, credit, rtt): (u64, Option<u64>, Option<Span>),
    ip_udp: usize,
    limits: &Limits,
) -> Result<Outgoing, String> {
    let setup = setup(offer, limits);
    let needs = (halves.controller)(&setup).needs();
    let header = if needs.contains(Signals::HEADERS) { LONGEST_HEADER } else { 1 };
    let overhead = ip_udp + SHORT + header + TAG + DATA;
    let config = SenderConfig::of(&halves, setup).with(|config| {
        config.start = now;
        config.recovery = LossRecovery::Rfc9002;
        config.reliable = is_reliable(&halves, offer.service);
        match offer.service {
            Service::Filler => {
                config.workload = limits.workload.clone();
                config.stop = now + limits.stop;
            }
            Service::Stream | Service::Datagrams => config.workload = Workload::Supplied,
        }
        if offer.service == Service::Stream {
            config.receive_window = window;
        }
    });
    let mut sender = Sender::new(config, halves.controller.clone(), limits.signals)
        .map_err(|error| format!("{scheme}: {error}"))?;
    if let Some(rtt) = rtt {
        sender.set_established(&Established::new(now, rtt));
    }
    let sizes = (u64::from(offer.mtu), overhead as u64, ip_udp as u64);
    Ok(Outgoing::new(
        sender,
        offer.service,
        sizes,
        limits.buffer,
        SpentCredit::new(credit.unwrap_or(u64::MAX)),
    ))
}

pub(super) fn incoming(halves: &Halves, offer: &Offer, limits: &Limits) -> Incoming {
    let service = offer.service;
    let config = ReceiverConfig::of(halves, setup(offer, limits))
        .with(|config| config.reliable = is_reliable(halves, service));
    let held = HeldBytes::new(limits.held.clone());
    let credit = limits.reads_later && service == Service::Stream;
    let credit = credit.then(|| GrantedCredit::new(limits.window));
    Incoming::new(Receiver::new(config), service, halves.class, (limits.window, credit), held)
}
