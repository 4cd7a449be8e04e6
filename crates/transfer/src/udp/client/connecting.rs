//! How a client connects, and reconnects.

use std::net::SocketAddr;
use std::os::fd::AsFd as _;

use paceline_cc::{Ecn, Span, Time};
use paceline_os::RealTimeError;
use paceline_os::udp::Socket;
use paceline_wire::{ConnectError, Connection};

use super::failure::Failure;
use super::transfer_progress::GOES_ON;
use super::work::Work;
use super::{Client, ClientOptions};
use crate::udp::addresses::Name;
use crate::udp::clock::wait;
use crate::udp::race::Race;
use crate::udp::retry::Retry;

/// How long refusals, and packets that this machine cannot send, are ignored: a server or an interface that starts
/// together with this client may need this time.
const REFUSAL_GRACE: Span = Span::from_secs(1);

impl Client {
    /// Reconnects after a connection was cut off, with growing pauses.
    ///
    /// # Errors
    /// There was no progress for too long, another attempt would fail for the same reason, or this
    /// program is asked to end.
    pub(super) fn connect_again(
        &mut self,
        options: &ClientOptions,
        work: &mut dyn Work,
        retry: &mut Retry,
        cut_off: RealTimeError,
    ) -> Result<Connection, RealTimeError> {
        let mut name = options.name.as_deref().map(Name::new);
        let mut last = cut_off;
        let mut is_first = true;
        loop {
            let now = self.clock.now();
            let Some(at) = retry.next(now) else { return Err(last) };
            if std::mem::take(&mut is_first) {
                let pause = at.since(now).as_millis_f64() / 1000.0;
                options.tell(match at > now {
                    true => format!("{last}; connecting again in {pause:.1} s"),
                    false => format!("{last}; connecting again"),
                });
            }
            if let Some(name) = &mut name {
                name.look_up()?;
            }
            while self.clock.now() < at {
                let socket = self.socket.as_fd();
                let found = wait(&mut self.clock, at, socket, None, &self.interrupts)?;
                if found.interrupted || options.progress.as_ref().is_some_and(|it| it.is_stopped())
                {
                    return Err(RealTimeError::Message(GOES_ON.into()));
                }
                // Packets that still arrive belong to the connection that has ended.
                self.socket.receive(&mut self.inbox, |_| {})?;
            }
            if let Some(name) = &mut name {
                name.take();
            }
            let found = name.as_ref().and_then(|name| name.addresses().ok());
            let to = found.map_or_else(|| options.to.clone(), <[SocketAddr]>::to_vec);
            let connected = match Socket::for_any_of(&to) {
                Ok(socket) => {
                    self.socket = socket;
                    self.connect(options, &to, work)
                }
                Err(error) => Err(Failure::CutOff(error)),
            };
            match connected {
                Ok(connection) => {
                    options.tell(format!("connected again to {}", connection.remote().0));
                    return Ok(connection);
                }
                Err(Failure::CutOff(error)) => last = error,
                Err(Failure::Final(error)) => return Err(error),
            }
        }
    }

    /// Connects to one of these addresses.
    ///
    /// # Errors
    /// No address answers, or the other end refuses.
    pub(super) fn connect(
        &mut self,
        options: &ClientOptions,
        to: &[SocketAddr],
        work: &mut dyn Work,
    ) -> Result<Connection, Failure> {
        // Only until a connection is established: later, only authentic packets may end it.
        self.socket.watch_refusals(true);
        let connected = self.shake_hands(options, to, work);
        self.socket.watch_refusals(false);
        connected
    }

    fn shake_hands(
        &mut self,
        options: &ClientOptions,
        to: &[SocketAddr],
        work: &mut dyn Work,
    ) -> Result<Connection, Failure> {
        let (offer, limits) = (options.offer.clone(), options.limits.clone());
        let now = self.clock.now();
        let mut refused = Vec::new();
        let mut race = Race::new(now, &options.key, to, offer, limits);
        loop {
            let now = self.clock.now();
            if let Err(error) = race.transmit(now, &mut self.socket, &mut self.outbox) {
                return Err(Failure::of(&error, race.error_text(&error)));
            }
            let socket = self.socket.as_fd();
            let ready = wait(&mut self.clock, race.wake(), socket, None, &self.interrupts)?;
            if ready.interrupted {
                return Err(Failure::text("interrupted before a connection stood"));
            }
            let now = self.clock.now();
            let mut made: Option<Result<Connection, ConnectError>> = None;
            let Client { socket, inbox, .. } = self;
            socket.receive(inbox, |group| {
                for bytes in group.bytes.chunks_mut(group.size) {
                    match &mut made {
                        // A server that sends begins right after its answer.
                        Some(Ok(connection)) => {
                            connection.on_datagram(
                                now,
                                group.from,
                                Ecn::of_bits(group.ecn),
                                bytes,
                                work,
                            );
                        }
                        Some(Err(_)) => {}
                        None => made = race.on_datagram(now, bytes).transpose(),
                    }
                }
            })?;
            refused.extend(self.socket.take_refused());
            let all = to
                .iter()
                .all(|to| refused.contains(&SocketAddr::new(to.ip().to_canonical(), to.port())));
            let is_late = now.since(Time::ZERO) >= REFUSAL_GRACE;
            if made.is_none() && !options.waits_for_server && is_late {
                let command = options.offer.server_command();
                let refused = format!(
                    "refused: nothing listens there at this port (ICMP port unreachable): is the other end running \
                     (`{command}`), and is this its port?"
                );
                if let Some(why) = if all { Some(refused) } else { race.unsendable() } {
                    let to: Vec<String> = to.iter().map(SocketAddr::to_string).collect();
                    let text = format!("{}: {why}", to.join(", "));
                    return Err(Failure::CutOff(RealTimeError::Message(text)));
                }
            }
            if let Some(made) = made {
                return Ok(made?);
            }
        }
    }
}
