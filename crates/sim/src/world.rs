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

/// How many stages may hand on at once what they have just been handed. Packets that go round in no
/// time (a trace's opportunity of many packets, no propagation delay) would otherwise fill the
/// stack; what is left is due at once, and comes from the timetable.
const MAX_DEPTH: u32 = 32;

/// Stages that hand packets to each other in virtual time.
///
/// Every packet carries the number of its route; `Routes` tells where it goes from each stage.
/// After a stage is called, its next wake-up stands in the timetable; what is due at once is handed on
/// at once.
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
        while self.timetable.earliest() < end {
            // A stage may ask for a time that has passed: it means at once.
            self.now = self.now.max(self.timetable.earliest());
            self.drain(self.timetable.first(), MAX_DEPTH);
        }
        self.now = self.now.max(end);
    }

    /// Hands on everything that stage `id` has due, and notes its next wake-up.
    fn drain(&mut self, id: usize, depth: u32) {
        let now = self.now;
        let mut packet = Packet::opaque(0);
        let wake = loop {
            let wake = each!(&mut self.nodes[id], stage => {
                if stage.pop_into(now, &mut packet) { None } else { Some(stage.wake()) }
            });
            if let Some(wake) = wake {
                break wake;
            }
            self.hand_over(self.routes.next(id, &packet), &packet, depth);
        };
        if let (Some(recorder), Node::Link(link)) = (&mut self.recorder, &mut self.nodes[id]) {
            recorder.on_link(id, link);
        }
        self.timetable.set(id, wake);
    }

    /// Hands a packet to stage `id`, and on from there what is due at once.
    fn hand_over(&mut self, id: usize, packet: &Packet, depth: u32) {
        let now = self.now;
        if let Some(digest) = &mut self.digest {
            digest.hand_over(now, id as u32, packet);
        }
        self.hand_overs += 1;
        let node = &mut self.nodes[id];
        if let Some(recorder) = &mut self.recorder {
            recorder.before(now, node, packet);
        }
        let wake = each!(node, stage => {
            stage.push(now, packet);
            stage.wake()
        });
        if let Some(recorder) = &mut self.recorder {
            recorder.after(now, id, node);
        }
        if wake <= now && depth > 0 {
            self.drain(id, depth - 1);
        } else {
            self.timetable.set(id, wake);
        }
    }
}
