//! The up to three halves that a scheme builds ([`Halves`]), and the facts that a driver passes for
//! each end of a connection ([`Setup`]) and each router ([`RouterSetup`]).

use std::sync::Arc;

use crate::control::Controller;
use crate::packet::TrafficClass;
use crate::report::{AckPolicy, Reporter};
use crate::rng::Stream;
use crate::route::Router;

/// What a driver passes to a scheme when it makes a sender or a receiver. Start from [`Setup::new`] and change
/// fields. The seed can be set but not read: random numbers are drawn from streams of
/// [`Setup::random`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Setup {
    /// The largest packet, in bytes on the wire.
    pub mss: u32,
    seed: u64,
    /// Number of the flow.
    pub flow: u32,
    /// Number of the flow's connection: 0 for the first, one more with each reconnection.
    pub connection: u32,
    /// Prefix of the names of random streams: empty for a sender.
    end: &'static str,
}

impl Setup {
    /// Returns the setup of the first connection of flow `flow` in the run with this seed, with
    /// packets of 1500 bytes.
    pub fn new(seed: u64, flow: u32) -> Setup {
        Setup { mss: 1500, seed, flow, connection: 0, end: "" }
    }

    /// Returns this setup changed by `change`: `setup.with(|setup| setup.mss = 1200)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Setup)) -> Setup {
        change(&mut self);
        self
    }

    /// Returns the setup of the same connection's receiver, whose random streams differ from those of
    /// the sender.
    #[must_use]
    pub fn of_receiver(self) -> Setup {
        Setup { end: "receiver ", ..self }
    }

    /// Returns the random stream called `name` of this end. Its key is made from the run's seed, the
    /// flow, the connection, the end and the name, so that a reconnection draws other numbers.
    pub fn random(&self, name: &str) -> Stream {
        let Setup { flow, connection, end, .. } = self;
        let key = match connection {
            0 => format!("flow {flow} {end}{name}"),
            _ => format!("flow {flow} connection {connection} {end}{name}"),
        };
        Stream::new(self.seed, &key)
    }
}

impl Default for Setup {
    /// Returns the first connection of flow 0 in the run with seed 1.
    fn default() -> Setup {
        Setup::new(1, 0)
    }
}

/// What a driver passes to a scheme when it makes a router. Start from [`RouterSetup::new`] and change
/// fields. The seed can be set but not read, as in [`Setup`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RouterSetup {
    /// Name of the link, or of the station of a medium, unique in the run.
    pub link: String,
    /// The largest packet of the flows, in bytes on the wire.
    pub mss: u32,
    seed: u64,
}

impl RouterSetup {
    /// Returns the setup of the router of the link with this name in the run with this seed, with
    /// packets of 1500 bytes.
    pub fn new(seed: u64, link: impl Into<String>) -> RouterSetup {
        RouterSetup { link: link.into(), mss: 1500, seed }
    }

    /// Returns this setup changed by `change`: `setup.with(|setup| setup.mss = 1200)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut RouterSetup)) -> RouterSetup {
        change(&mut self);
        self
    }

    /// Returns the random stream called `name` of this router. Its key is made from the run's seed, the
    /// link and the name.
    pub fn random(&self, name: &str) -> Stream {
        Stream::new(self.seed, &format!("router of link {} {name}", self.link))
    }
}

impl Default for RouterSetup {
    /// Returns the router of a link called `link` in the run with seed 1.
    fn default() -> RouterSetup {
        RouterSetup::new(1, "link")
    }
}

/// Makes controllers, the senders' halves.
pub type MakeController = Arc<dyn Fn(&Setup) -> Box<dyn Controller> + Send + Sync>;
/// Makes reporters, the receivers' halves.
pub type MakeReporter = Arc<dyn Fn(&Setup) -> Box<dyn Reporter> + Send + Sync>;
/// Makes routers, the network's halves.
pub type MakeRouter = Arc<dyn Fn(&RouterSetup) -> Box<dyn Router> + Send + Sync>;

/// A scheme with its parameters set, which makes each of its halves as often as needed.
#[derive(Clone)]
pub struct Halves {
    /// The sender's half.
    pub controller: MakeController,
    /// The receiver's half, if the scheme has one.
    pub reporter: Option<MakeReporter>,
    /// The network's half, if the scheme has one.
    pub router: Option<MakeRouter>,
    /// How its receivers acknowledge unless the user chooses otherwise.
    pub ack: AckPolicy,
    /// Class of its packets.
    pub class: TrafficClass,
    /// True if lost data is retransmitted, as in TCP.
    pub reliable: bool,
    /// True if its reliable connections begin with a handshake, as TCP's do; false if the scheme's
    /// own first packets serve as one.
    pub handshake: bool,
    /// True if the receiver's half only adds to when stock TCP acknowledges, such as DCTCP's and ABC's, which have
    /// the packets before a change of marks acknowledged at once. False: the half decides alone, with the acknowledgement policy.
    pub adds_to_stock_receiver: bool,
}

impl std::fmt::Debug for Halves {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Halves").field("ack", &self.ack).finish_non_exhaustive()
    }
}

impl Halves {
    /// Returns a scheme with only a sender's half, with TCP's delayed acknowledgements.
    pub fn sender<C: Controller + 'static>(
        make: impl Fn(&Setup) -> C + Send + Sync + 'static,
    ) -> Halves {
        Halves {
            controller: Arc::new(move |setup| Box::new(make(setup))),
            reporter: None,
            router: None,
            ack: AckPolicy::DELAYED,
            class: TrafficClass::DEFAULT,
            reliable: true,
            handshake: true,
            adds_to_stock_receiver: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routers_draw_by_seed_link_and_name() {
        let draw = |seed, link: &str, name| RouterSetup::new(seed, link).random(name).next_u64();
        assert_eq!(draw(1, "up", "marks"), draw(1, "up", "marks"));
        let others = [draw(2, "up", "marks"), draw(1, "down", "marks"), draw(1, "up", "drops")];
        assert!(!others.contains(&draw(1, "up", "marks")));
    }

    #[test]
    fn streams_are_keyed_by_seed_flow_connection_and_name() {
        let setup = Setup::default();
        let others = [
            Setup { seed: 2, ..setup.clone() },
            Setup { flow: 1, ..setup.clone() },
            Setup { connection: 1, ..setup.clone() },
            Setup { connection: 2, ..setup.clone() },
            setup.clone().of_receiver(),
            Setup { connection: 1, ..setup.clone().of_receiver() },
        ];
        let first = setup.random("bbr").next_u64();
        assert_eq!(setup.random("bbr").next_u64(), first);
        assert_ne!(setup.random("vivace").next_u64(), first);
        let mut drawn: Vec<u64> = others.iter().map(|s| s.random("bbr").next_u64()).collect();
        drawn.push(first);
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 7);
    }
}
