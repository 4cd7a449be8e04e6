//! The world: stages, the routes between them, and the time.

use paceline_cc::{Packet, Stage, Time};
use paceline_flow::{Receiver, Sender};
use paceline_path::{Link, Pipe};

use crate::digest::Digest;
use crate::recorder::Recorder;
use crate::routes::Routes;
use crate::timetable::Timetable;

/// One stage of the world. A closed set: the calls are direct.
pub(crate) enum Node {
    Sender(Box<Sender>),
    Receiver(Box<Receiver>),
    Link(Box<Link>),
    Pipe(Box<Pipe>),
}

macro_rules! each {
    ($node:expr, $stage:ident => $call:expr) => {
        match $node {
            Node::Sender($stage) => $call,
            Node::Receiver($stage) => $call,
            Node::Link($stage) => $call,
            Node::Pipe($stage) => $call,
        }
    };
}

/// Stages that hand packets to each other in virtual time.
///
/// Every packet carries the number of its route; `Routes` tells where it goes from each stage.
/// After a stage is called, its next wake-up stands in the timetable. Only endpoints answer what
/// they are handed at once; links and pipes wait for their turn, so that calls never nest deeper.
pub struct World {
    pub(crate) now: Time,
    pub(crate) nodes: Vec<Node>,
    routes: Routes,
    timetable: Timetable,
    digest: Option<Digest>,
    pub(crate) recorder: Option<Recorder>,
    hand_overs: u64,
}

impl World {
    /// A world of `carriers` and then the endpoints.
    pub(crate) fn new(
        nodes: Vec<Node>,
        carriers: usize,
        routes: Routes,
        recorder: Option<Recorder>,
        digest: bool,
    ) -> World {
        let mut timetable = Timetable::new(carriers, nodes.len() - carriers);
        for (id, node) in nodes.iter().enumerate() {
            timetable.set(id, each!(node, stage => stage.wake()));
        }
        World {
            now: Time::ZERO,
            nodes,
            routes,
            timetable,
            digest: digest.then(Digest::new),
            recorder,
            hand_overs: 0,
        }
    }

    /// Takes the memory of a world that is not needed any more; nothing must have happened here.
    pub(crate) fn take_memory(&mut self, other: &mut World) {
        for pair in self.nodes.iter_mut().zip(&mut other.nodes) {
            match pair {
                (Node::Sender(new), Node::Sender(old)) => new.take_memory(old),
                (Node::Receiver(new), Node::Receiver(old)) => new.take_memory(old),
                (Node::Link(new), Node::Link(old)) => new.take_memory(old),
                (Node::Pipe(new), Node::Pipe(old)) => new.take_memory(old),
                _ => {}
            }
        }
    }

    /// The time that has been reached.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Hand-overs of packets between stages since the start.
    pub fn hand_overs(&self) -> u64 {
        self.hand_overs
    }

    /// The digest of every hand-over so far; empty if the scenario has it switched off.
    pub fn digest(&self) -> String {
        self.digest.map_or_else(String::new, Digest::hex)
    }

    /// Lets everything happen that is due before `end`, and moves the time there.
    pub fn run_until(&mut self, end: Time) {
        // Two functions, so that nothing is asked for a recorder where there is none.
        match self.recorder {
            None => self.run::<false>(end),
            Some(_) => self.run::<true>(end),
        }
        self.now = self.now.max(end);
        // What is due at the end itself happens in the next stretch.
        let before = Time::from_nanos(self.now.as_nanos().saturating_sub(1));
        for id in 0..self.nodes.len() {
            if let Node::Link(link) = &mut self.nodes[id] {
                link.settle(before);
                self.record_link::<true>(id);
            }
        }
    }

    fn run<const RECORDED: bool>(&mut self, end: Time) {
        // Two places that packets pass through: one for what a stage hands on, one for an
        // endpoint's answer to it.
        let (mut packet, mut answer) = (Packet::opaque(0), Packet::opaque(0));
        loop {
            let (at, id) = self.timetable.first();
            if at >= end {
                return;
            }
            // A stage may ask for a time that has passed: it means at once.
            self.now = self.now.max(at);
            self.drain::<RECORDED>(id, &mut packet, &mut answer);
        }
    }

    /// Hands on everything that stage `id` has due, and notes its next wake-up.
    #[inline(always)]
    fn drain<const RECORDED: bool>(&mut self, id: usize, packet: &mut Packet, answer: &mut Packet) {
        let now = self.now;
        loop {
            let (popped, wake) = match &mut self.nodes[id] {
                Node::Link(link) => (link.pop_into(now, packet), link.wake()),
                Node::Pipe(pipe) => (pipe.pop_into(now, packet), pipe.wake()),
                Node::Sender(_) | Node::Receiver(_) => {
                    return self.answer_on::<RECORDED>(id, packet);
                }
            };
            // Before the packet is handed over: if an answer to it comes here, that notes a wake-up
            // of its own.
            self.timetable.set_carrier(id, wake);
            if popped {
                self.hand_over::<RECORDED>(self.routes.next(id, packet), packet, answer);
            }
            if !popped || wake > now {
                break;
            }
        }
        self.record_link::<RECORDED>(id);
    }

    /// Hands a packet to stage `id`; an endpoint answers at once.
    #[inline(always)]
    fn hand_over<const RECORDED: bool>(&mut self, id: usize, packet: &Packet, answer: &mut Packet) {
        let now = self.now;
        let node = &mut self.nodes[id];
        if let Some(recorder) = self.recorder.as_mut().filter(|_| RECORDED) {
            recorder.before(now, node, packet);
        }
        let (answered, wake) = match node {
            Node::Sender(sender) => (sender.answer(now, packet, answer), sender.wake()),
            Node::Receiver(receiver) => (receiver.answer(now, packet, answer), receiver.wake()),
            Node::Link(_) | Node::Pipe(_) => {
                self.carry::<RECORDED>(id, packet);
                return;
            }
        };
        if let Some(recorder) = self.recorder.as_mut().filter(|_| RECORDED) {
            recorder.after(now, node);
        }
        self.hand_overs += 1;
        if let Some(digest) = &mut self.digest {
            digest.arrival(now, packet);
        }
        let direct = answered && self.carry::<RECORDED>(self.routes.next(id, answer), answer);
        if wake <= now || direct {
            self.answer_on::<RECORDED>(id, answer);
        } else {
            self.timetable.set_endpoint(id, wake);
        }
    }

    /// Hands on everything that an endpoint has due, and notes its next wake-up.
    #[inline(never)]
    fn answer_on<const RECORDED: bool>(&mut self, id: usize, answer: &mut Packet) {
        let now = self.now;
        loop {
            let (popped, wake) = match &mut self.nodes[id] {
                Node::Sender(sender) => (sender.pop_into(now, answer), sender.wake()),
                Node::Receiver(receiver) => (receiver.pop_into(now, answer), receiver.wake()),
                Node::Link(_) | Node::Pipe(_) => return,
            };
            if popped && self.carry::<RECORDED>(self.routes.next(id, answer), answer) {
                // The other endpoint, or what it answered, may have changed this one.
                continue;
            }
            if !popped || wake > now {
                return self.timetable.set_endpoint(id, wake);
            }
        }
    }

    /// Hands a packet to a link or pipe. True if it went to an endpoint instead, directly.
    #[inline(always)]
    fn carry<const RECORDED: bool>(&mut self, id: usize, packet: &Packet) -> bool {
        let now = self.now;
        let wake = match &mut self.nodes[id] {
            Node::Link(link) => {
                link.push(now, packet);
                link.wake()
            }
            Node::Pipe(pipe) => {
                pipe.push(now, packet);
                pipe.wake()
            }
            Node::Sender(_) | Node::Receiver(_) => {
                self.hand_directly(id, packet);
                return true;
            }
        };
        self.record_link::<RECORDED>(id);
        self.hand_overs += 1;
        self.timetable.set_carrier(id, wake);
        false
    }

    /// Takes over what a link has logged, if somebody records.
    #[inline(always)]
    fn record_link<const RECORDED: bool>(&mut self, id: usize) {
        if let Some(recorder) = self.recorder.as_mut().filter(|_| RECORDED)
            && let Node::Link(link) = &mut self.nodes[id]
        {
            recorder.on_link(id, link);
        }
    }

    /// Hands a packet from one endpoint to the other with nothing between them. Only one direction
    /// of a flow can be like that, so that calls end.
    #[cold]
    #[inline(never)]
    fn hand_directly(&mut self, id: usize, packet: &Packet) {
        self.hand_over::<true>(id, packet, &mut Packet::opaque(0));
    }
}
