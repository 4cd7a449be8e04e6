//! The world: stages, the routes between them, and the time.

use paceline_cc::{Packet, Stage as _, Time};
use paceline_flow::{Receiver, Sender};
use paceline_path::{Link, Pipe};

use crate::digest::Digest;
use crate::nodes::{Carrier, Endpoint, EndpointSlot};
use crate::recorder::Recorder;
use crate::routes::Routes;
use crate::timetable::Timetable;
use crate::transport::TransportEndpoint;

/// Number of hand-overs after which the logs of links are read. Reading many entries at once costs
/// less than reading each entry as it is written.
const LOG_READ: u64 = 256;

/// Stages that pass packets to each other in virtual time.
///
/// Every packet has the number of its route, and `Routes` has the next stage for each stage and
/// route. After a call of a stage, its next wake-up is in the timetable. Only endpoints answer a
/// packet at once; links and pipes wait for their wake-ups, so that calls do not nest more deeply.
///
/// The carriers are the stages from 0 on; the endpoints follow them.
pub struct World {
    pub(crate) now: Time,
    pub(crate) carriers: Vec<Carrier>,
    pub(crate) slots: Vec<EndpointSlot>,
    routes: Routes,
    timetable: Timetable,
    digest: Option<Digest>,
    pub(crate) recorder: Option<Recorder>,
    hand_overs: u64,
    /// Number of hand-overs at which the logs of links are read next.
    logs_due: u64,
    /// Stages of each group of transports' ends: a call of one may change the wake-ups of the others.
    pub(crate) groups: Vec<Vec<usize>>,
}

impl World {
    /// Creates a world of carriers and endpoints.
    pub(crate) fn new(
        carriers: Vec<Carrier>,
        endpoints: Vec<Endpoint>,
        routes: Routes,
        recorder: Option<Recorder>,
        digest: bool,
    ) -> World {
        let border = carriers.len();
        let mut timetable = Timetable::new(border, endpoints.len());
        for (id, carrier) in carriers.iter().enumerate() {
            timetable.set_carrier(id, carrier.wake());
        }
        let slot = |(at, endpoint): (usize, Endpoint)| {
            let (id, wake) = (border + at, endpoint.wake());
            timetable.set_endpoint(id, wake);
            EndpointSlot { endpoint, wake, next: routes.first(id), heard: 0 }
        };
        let slots = endpoints.into_iter().enumerate().map(slot).collect();
        World {
            now: Time::ZERO,
            carriers,
            slots,
            routes,
            timetable,
            digest: digest.then(Digest::new),
            recorder,
            hand_overs: 0,
            logs_due: LOG_READ,
            groups: Vec::new(),
        }
    }

    fn endpoint(&self, id: usize) -> Option<&Endpoint> {
        self.slots.get(id.checked_sub(self.carriers.len())?).map(|slot| &slot.endpoint)
    }
    /// Returns the sender that is stage `id`.
    pub(crate) fn sender(&self, id: usize) -> Option<&Sender> {
        match self.endpoint(id)? {
            Endpoint::Sender(sender) => Some(sender),
            Endpoint::Receiver(_) | Endpoint::Transport(_) => None,
        }
    }
    /// Returns the end of a transport that is stage `id`.
    pub(crate) fn transport_endpoint(&self, id: usize) -> Option<&TransportEndpoint> {
        match self.endpoint(id)? {
            Endpoint::Transport(end) => Some(end),
            Endpoint::Sender(_) | Endpoint::Receiver(_) => None,
        }
    }
    /// Returns the receiver that is stage `id`.
    pub(crate) fn receiver(&self, id: usize) -> Option<&Receiver> {
        match self.endpoint(id)? {
            Endpoint::Receiver(receiver) => Some(receiver),
            Endpoint::Sender(_) | Endpoint::Transport(_) => None,
        }
    }
    /// Returns the carrier that is stage `id`.
    pub(crate) fn carrier(&self, id: usize) -> Option<&Carrier> {
        self.carriers.get(id)
    }
    /// Returns the link that is stage `id`; `None` if it looks ahead or is an access point.
    pub(crate) fn link(&self, id: usize) -> Option<&Link> {
        match self.carrier(id)? {
            Carrier::Link(link) => Some(link),
            Carrier::LookAhead(_) | Carrier::Pipe(_) | Carrier::Medium(_) => None,
        }
    }

    /// Changes the link that is stage `id`, and updates its wake-up; `None` if the stage is not a
    /// link.
    pub(crate) fn change_link<T>(
        &mut self,
        id: usize,
        change: impl FnOnce(&mut Link) -> T,
    ) -> Option<T> {
        let Carrier::Link(link) = self.carriers.get_mut(id)? else { return None };
        let made = change(link);
        self.timetable.set_carrier(id, link.wake());
        Some(made)
    }

    /// Changes the pipe that is stage `id`, and updates its wake-up.
    pub(crate) fn change_pipe(&mut self, id: usize, change: impl FnOnce(&mut Pipe)) {
        if let Some(Carrier::Pipe(pipe)) = self.carriers.get_mut(id) {
            change(pipe);
            self.timetable.set_carrier(id, pipe.wake());
        }
    }

    /// Changes the sender that is stage `id`, and updates its wake-up.
    pub(crate) fn change_sender(&mut self, id: usize, change: impl FnOnce(&mut Sender)) {
        let Some(at) = id.checked_sub(self.carriers.len()) else { return };
        let Some(EndpointSlot { endpoint: Endpoint::Sender(sender), .. }) = self.slots.get_mut(at)
        else {
            return;
        };
        change(sender);
        let wake = sender.wake();
        self.set_endpoint(id, wake);
    }

    /// Adds endpoints after the existing ones. `routes` replaces the routes of all stages.
    pub(crate) fn add_endpoints(&mut self, endpoints: Vec<Endpoint>, routes: Routes) {
        self.timetable.add_endpoints(self.slots.len(), endpoints.len());
        self.routes = routes;
        for endpoint in endpoints {
            let (id, wake) = (self.carriers.len() + self.slots.len(), endpoint.wake());
            self.timetable.set_endpoint(id, wake);
            let next = self.routes.first(id);
            self.slots.push(EndpointSlot { endpoint, wake, next, heard: 0 });
        }
    }

    /// Returns the number of carriers and the number of endpoints.
    pub(crate) fn stages(&self) -> (usize, usize) {
        (self.carriers.len(), self.carriers.len() + self.slots.len())
    }

    /// Returns the current time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the number of hand-overs of packets between stages since the start.
    pub fn hand_overs(&self) -> u64 {
        self.hand_overs
    }

    /// Returns the digest of every arrival at an end so far; empty if the scenario has no digest.
    pub fn digest(&self) -> String {
        self.digest.map_or_else(String::new, Digest::hex)
    }

    /// Returns the time of the next event; [`Time::NEVER`] if there is none.
    pub(crate) fn next_event(&self) -> Time {
        self.timetable.first().0
    }

    /// Returns the route of packets from the end of a transport that is stage `id`.
    pub(crate) fn route_of(&self, id: usize) -> u32 {
        self.transport_endpoint(id).map_or(u32::MAX, TransportEndpoint::route)
    }

    /// Sends a packet from outside, now, from the end of a transport that is stage `id`.
    pub(crate) fn hand_in(&mut self, id: usize, packet: &Packet) {
        let border = self.carriers.len();
        let Some(slot) = id.checked_sub(border).and_then(|at| self.slots.get_mut(at)) else {
            return;
        };
        let next = slot.next as usize;
        let Endpoint::Transport(end) = &mut slot.endpoint else { return };
        let packet = end.stamp(packet);
        match (&self.recorder, &self.digest) {
            (None, None) => self.carry::<false>(next, &packet),
            _ => {
                self.carry::<true>(next, &packet);
                self.read_logs();
            }
        }
    }

    /// Keeps packets that are dropped or lost from now on for [`World::drain_drops`].
    pub(crate) fn keep_drops(&mut self) {
        for carrier in &mut self.carriers {
            match carrier {
                Carrier::Pipe(pipe) => pipe.keep_lost(true),
                carrier => carrier.each_log(|log| log.keep_drops(true)),
            }
        }
    }

    /// Passes the packets dropped and lost since the last call, of all flows, to `each`.
    pub(crate) fn drain_drops(&mut self, mut each: impl FnMut(&Packet)) {
        for carrier in &mut self.carriers {
            match carrier {
                Carrier::Pipe(pipe) => pipe.drain_lost().for_each(|packet| each(&packet)),
                carrier => {
                    carrier.each_log(|log| log.drain_drops().for_each(|drop| each(&drop.packet)));
                }
            }
        }
    }

    /// Handles all events before `end`, and advances the time to `end`.
    pub fn run_until(&mut self, end: Time) {
        // Two functions, so that a run without recorder and digest does not check for them.
        match (&self.recorder, &self.digest) {
            (None, None) => self.run::<false>(end),
            _ => self.run::<true>(end),
        }
        self.now = self.now.max(end);
        // Events at `end` itself happen in the next call.
        let before = Time::from_nanos(self.now.as_nanos().saturating_sub(1));
        for id in 0..self.carriers.len() {
            if let Carrier::LookAhead(link) = &mut self.carriers[id] {
                link.note_departures(before);
            }
        }
        self.read_logs();
    }

    fn run<const WATCHED: bool>(&mut self, end: Time) {
        // Two buffers for packets: one for the packet that a stage passes on, one for an endpoint's
        // answer to it.
        let (mut packet, mut answer) = (Packet::opaque(0), Packet::opaque(0));
        loop {
            let (at, id) = self.timetable.first();
            if at >= end {
                return;
            }
            if WATCHED && self.hand_overs >= self.logs_due {
                self.read_logs();
            }
            // A stage may request a time in the past, which means now.
            self.now = self.now.max(at);
            if id < self.carriers.len() {
                self.drain::<WATCHED>(id, &mut packet, &mut answer);
            } else {
                self.answer_on::<WATCHED>(id, &mut answer);
            }
        }
    }

    /// Passes on all packets of carrier `id` that are due, and updates its wake-up.
    #[inline(always)]
    fn drain<const WATCHED: bool>(&mut self, id: usize, place: &mut Packet, answer: &mut Packet) {
        let now = self.now;
        loop {
            let World { carriers, slots, routes, recorder, digest, timetable, .. } = self;
            let border = carriers.len();
            let Some((packet, wake)) = carriers[id].take_due(now, place) else {
                timetable.set_carrier(id, carriers[id].wake());
                break;
            };
            // Update the carrier's wake-up before the answer is passed on: if the answer goes to
            // the same carrier, it updates the wake-up again.
            timetable.set_carrier(id, wake);
            let next = routes.next(id, packet);
            let at = next.wrapping_sub(border);
            if at < slots.len() {
                let told = WATCHED.then_some((recorder.as_mut(), digest.as_mut()));
                let answered = tell(now, (slots, at), packet, answer, told);
                self.go_on::<WATCHED>(next, answered, answer);
            } else {
                let packet = *packet;
                self.carry::<WATCHED>(next, &packet);
            }
            if wake > now {
                break;
            }
        }
    }

    /// Continues after endpoint `id` was handed a packet: passes on its answer if it `answered`,
    /// and updates its wake-up.
    #[inline(always)]
    fn go_on<const WATCHED: bool>(
        &mut self,
        id: usize,
        (answered, next, wake): (bool, u32, Time),
        answer: &mut Packet,
    ) {
        self.hand_overs += 1;
        if answered {
            self.carry::<WATCHED>(next as usize, answer);
        }
        if wake <= self.now {
            self.answer_on::<WATCHED>(id, answer);
        } else {
            self.set_endpoint(id, wake);
        }
    }

    /// Updates the wake-up of an endpoint.
    #[inline]
    fn set_endpoint(&mut self, id: usize, wake: Time) {
        let Some(slot) = self.slots.get_mut(id - self.carriers.len()) else { return };
        if slot.wake != wake {
            slot.wake = wake;
            self.timetable.set_endpoint(id, wake);
        }
    }

    /// Passes on all packets of an endpoint that are due, and updates its wake-up.
    #[inline(never)]
    fn answer_on<const WATCHED: bool>(&mut self, id: usize, answer: &mut Packet) {
        let now = self.now;
        loop {
            let Some(slot) = self.slots.get_mut(id - self.carriers.len()) else { return };
            let (popped, wake) = slot.endpoint.pop_into(now, answer);
            let next = slot.next as usize;
            if let Some(recorder) = self.recorder.as_mut().filter(|_| WATCHED)
                && recorder.is_detailed()
            {
                recorder.on_wake(now, &slot.endpoint);
            }
            if popped {
                self.carry::<WATCHED>(next, answer);
            }
            if !popped || wake > now {
                self.set_endpoint(id, wake);
                if !self.groups.is_empty() {
                    self.update_group(id);
                }
                return;
            }
        }
    }

    /// Updates the wake-ups of the endpoints that are in the group of endpoint `id`.
    #[cold]
    #[inline(never)]
    fn update_group(&mut self, id: usize) {
        let Some(group) = self.transport_endpoint(id).and_then(TransportEndpoint::group) else {
            return;
        };
        for at in 0..self.groups.get(group).map_or(0, Vec::len) {
            let other = self.groups[group][at];
            if let Some(wake) = self.endpoint(other).map(Endpoint::wake) {
                self.set_endpoint(other, wake);
            }
        }
    }

    /// Hands a packet to stage `id`: a carrier, or the other endpoint of the flow.
    #[inline(always)]
    fn carry<const WATCHED: bool>(&mut self, id: usize, packet: &Packet) {
        let Some(carrier) = self.carriers.get_mut(id) else {
            return self.hand_directly::<WATCHED>(id, packet);
        };
        let wake = carrier.push(self.now, packet);
        self.timetable.set_carrier(id, wake);
        self.hand_overs += 1;
    }

    /// Reads and clears the logs of all links and media, if there is a recorder for them.
    #[inline(never)]
    fn read_logs(&mut self) {
        self.logs_due = self.hand_overs + LOG_READ;
        let Some(recorder) = self.recorder.as_mut().filter(|recorder| recorder.is_detailed())
        else {
            return;
        };
        for (id, carrier) in self.carriers.iter_mut().enumerate() {
            match carrier {
                Carrier::Link(link) => recorder.on_port(id, link.log_mut()),
                Carrier::LookAhead(link) => recorder.on_port(id, link.log_mut()),
                Carrier::Medium(shared) => {
                    recorder.on_medium(shared.first_record, &mut shared.medium);
                }
                Carrier::Pipe(_) => {}
            }
        }
    }

    /// Hands a packet from one endpoint directly to the other. Only one direction of a flow may
    /// have no carriers, so that calls do not recurse for ever, and the state of the endpoint that
    /// passed the packet on does not change.
    #[cold]
    #[inline(never)]
    fn hand_directly<const WATCHED: bool>(&mut self, id: usize, packet: &Packet) {
        let mut answer = Packet::opaque(0);
        let World { carriers, slots, recorder, digest, .. } = self;
        let at = id - carriers.len();
        if at >= slots.len() {
            return;
        }
        let told = WATCHED.then_some((recorder.as_mut(), digest.as_mut()));
        let answered = tell(self.now, (slots, at), packet, &mut answer, told);
        self.go_on::<WATCHED>(id, answered, &mut answer);
    }
}

/// Hands a packet to the endpoint at index `at`. Informs the recorder and the digest, if there are
/// any. Returns whether `answer` contains a packet, where it goes, and when the endpoint must be
/// called next.
#[inline(always)]
fn tell(
    now: Time,
    (slots, at): (&mut [EndpointSlot], usize),
    packet: &Packet,
    answer: &mut Packet,
    told: Option<(Option<&mut Recorder>, Option<&mut Digest>)>,
) -> (bool, u32, Time) {
    let (recorder, digest) = told.unwrap_or_default();
    let slot = &mut slots[at];
    let next = slot.next;
    let (answered, wake) = match slot.is_untold(packet) {
        false => slot.endpoint.answer(now, packet, answer),
        true => EndpointSlot::answer_with_older(now, (slots, at), packet, answer),
    };
    if let Some(recorder) = recorder {
        recorder.on_packet(now, &mut slots[at].endpoint, packet);
    }
    if let Some(digest) = digest {
        digest.arrival(now, packet);
    }
    (answered, next, wake)
}
