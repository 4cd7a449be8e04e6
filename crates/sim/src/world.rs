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
    digest: Digest,
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
            digest: Digest::new(),
            recorder,
            hand_overs: 0,
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

    /// The digest of every hand-over so far.
    pub fn digest(&self) -> String {
        self.digest.hex()
    }

    /// Lets everything happen that is due before `end`, and moves the time there.
    pub fn run_until(&mut self, end: Time) {
        // Two places that packets pass through: one for what a stage hands on, one for an
        // endpoint's answer to it.
        let (mut packet, mut answer) = (Packet::opaque(0), Packet::opaque(0));
        loop {
            let (at, id) = self.timetable.first();
            if at >= end {
                break;
            }
            // A stage may ask for a time that has passed: it means at once.
            self.now = self.now.max(at);
            self.drain(id, &mut packet, &mut answer);
        }
        self.now = self.now.max(end);
        // What is due at the end itself happens in the next stretch.
        let before = Time::from_nanos(self.now.as_nanos().saturating_sub(1));
        for (id, node) in self.nodes.iter_mut().enumerate() {
            let Node::Link(link) = node else { continue };
            link.settle(before);
            if let Some(recorder) = &mut self.recorder {
                recorder.on_link(id, link);
            }
        }
    }

    /// Hands on everything that stage `id` has due, and notes its next wake-up.
    #[inline(always)]
    fn drain(&mut self, id: usize, packet: &mut Packet, answer: &mut Packet) {
        let now = self.now;
        loop {
            let (popped, wake) = match &mut self.nodes[id] {
                Node::Link(link) => (link.pop_into(now, packet), link.wake()),
                Node::Pipe(pipe) => (pipe.pop_into(now, packet), pipe.wake()),
                Node::Sender(_) | Node::Receiver(_) => return self.answer(id, packet),
            };
            if popped {
                self.hand_over(self.routes.next(id, packet), packet, answer);
            }
            if !popped || wake > now {
                break;
            }
        }
        // What was handed over may have come back.
        if let Node::Link(link) = &mut self.nodes[id]
            && let Some(recorder) = &mut self.recorder
        {
            recorder.on_link(id, link);
        }
        self.timetable.set(id, each!(&self.nodes[id], stage => stage.wake()));
    }

    /// Hands a packet to stage `id`; an endpoint answers at once.
    #[inline(always)]
    fn hand_over(&mut self, id: usize, packet: &Packet, answer: &mut Packet) {
        let now = self.now;
        let node = &mut self.nodes[id];
        if let Some(recorder) = &mut self.recorder {
            recorder.before(now, node, packet);
        }
        let wake = match node {
            Node::Sender(sender) => {
                sender.push(now, packet);
                sender.wake()
            }
            Node::Receiver(receiver) => {
                receiver.push(now, packet);
                receiver.wake()
            }
            Node::Link(_) | Node::Pipe(_) => return self.carry(id, packet),
        };
        self.hand_overs += 1;
        self.digest.arrival(now, packet);
        if let Some(recorder) = &mut self.recorder {
            recorder.after(now, node);
        }
        if wake <= now {
            self.answer(id, answer);
        } else {
            self.timetable.set(id, wake);
        }
    }

    /// Hands on everything that an endpoint has due, and notes its next wake-up.
    #[inline(always)]
    fn answer(&mut self, id: usize, answer: &mut Packet) {
        let now = self.now;
        loop {
            let (popped, wake) = match &mut self.nodes[id] {
                Node::Sender(sender) => (sender.pop_into(now, answer), sender.wake()),
                Node::Receiver(receiver) => (receiver.pop_into(now, answer), receiver.wake()),
                Node::Link(_) | Node::Pipe(_) => return,
            };
            if popped {
                self.carry(self.routes.next(id, answer), answer);
            }
            if !popped || wake > now {
                break;
            }
        }
        self.timetable.set(id, each!(&self.nodes[id], stage => stage.wake()));
    }

    /// Hands a packet to a link or pipe.
    #[inline(always)]
    fn carry(&mut self, id: usize, packet: &Packet) {
        let now = self.now;
        let wake = match &mut self.nodes[id] {
            Node::Link(link) => {
                link.push(now, packet);
                if let Some(recorder) = &mut self.recorder {
                    recorder.on_link(id, link);
                }
                link.wake()
            }
            Node::Pipe(pipe) => {
                pipe.push(now, packet);
                pipe.wake()
            }
            Node::Sender(_) | Node::Receiver(_) => return self.hand_directly(id, packet),
        };
        self.hand_overs += 1;
        self.timetable.set(id, wake);
    }

    /// Hands a packet from one endpoint to the other with nothing between them. Only one direction
    /// of a flow can be like that, so that calls end.
    #[cold]
    #[inline(never)]
    fn hand_directly(&mut self, id: usize, packet: &Packet) {
        self.hand_over(id, packet, &mut Packet::opaque(0));
    }
}
