//! Ends whose machines stay on one thread.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use paceline_cc::{Packet, Span, Stage, Time};
use paceline_flow::{SenderStats, Transfer};
use paceline_sim::{TransportEnd, TransportEnds, TransportSetup};

use crate::end::{End, Ends, SizedTransfer, pair};
use crate::machine::Machine;

/// Returns the two ends of a flow whose machines cannot move between threads, because they hold
/// [`Rc`](std::rc::Rc)s, for example. `build` makes the machines of a client, which sends the flow's
/// data, and of a server, on a thread of their own, which runs them until the ends are dropped. Each
/// call of an end waits for that thread, so runs are as deterministic as with [`ends`](crate::ends),
/// and some microseconds per packet slower.
///
/// # Errors
/// Stacks do not have the flow's workload, `build` fails, or there is no thread.
pub fn ends_on_a_thread<C: Machine + 'static, S: Machine + 'static>(
    setup: &TransportSetup,
    build: impl FnOnce() -> Result<(C, S), String> + Send + 'static,
) -> Result<TransportEnds, String> {
    let (requests, for_thread) = channel();
    let (from_thread, replies) = channel();
    let setup = setup.clone();
    thread::Builder::new()
        .name("QUIC machines".into())
        .spawn(move || {
            let ends = build().and_then(|(client, server)| pair(&setup, client, server));
            let sent = match &ends {
                Ok((sender, receiver)) => {
                    let states = [EndState::of(sender), EndState::of(receiver)];
                    from_thread.send(Reply::Started(Box::new(states)))
                }
                Err(problem) => from_thread.send(Reply::Failed(problem.clone())),
            };
            // Without anyone to take the reply, the run is over.
            if let (Ok(()), Ok(ends)) = (sent, ends) {
                serve(ends, &for_thread, &from_thread);
            }
        })
        .map_err(|error| format!("a thread for the QUIC machines did not start: {error}"))?;
    let states = match replies.recv() {
        Ok(Reply::Started(states)) => *states,
        Ok(Reply::Failed(problem)) => return Err(problem),
        _ => return Err(ENDED.into()),
    };
    let line = Arc::new(Mutex::new(Line { requests, replies }));
    let [sender, receiver] = states;
    let end = |place, state| RemoteEnd { line: Arc::clone(&line), place, state, has_ended: false };
    Ok((Box::new(end(Place::Client, sender)), Box::new(end(Place::Server, receiver))))
}

const ENDED: &str = "the thread of the QUIC machines has ended: a machine panicked";

/// Which of the two ends.
#[derive(Copy, Clone)]
enum Place {
    Client,
    Server,
}

/// A call of an end.
enum Request {
    Push(Place, Time, Packet),
    Pop(Place, Time),
}

enum Reply {
    Started(Box<[EndState; 2]>),
    Failed(String),
    Done(Box<EndState>, Option<Packet>),
}

/// What an end's readers ask for, after its last call.
#[derive(Clone)]
struct EndState {
    wake: Time,
    received: u64,
    counters: SenderStats,
    finished: Option<Transfer>,
    sized: Option<SizedTransfer>,
    rtt: Option<Span>,
    inner: Vec<(&'static str, f64)>,
    failure: Option<String>,
}

impl EndState {
    fn of<M: Machine>(end: &End<M>) -> EndState {
        let mut inner = Vec::new();
        end.inspect_state(&mut |name, value| inner.push((name, value)));
        let (received, counters) = (end.bytes_received(), end.sender_stats());
        EndState {
            wake: end.wake(),
            received,
            counters,
            finished: end.finished_transfer(),
            sized: end.sized_transfer(),
            rtt: None,
            inner,
            failure: end.failed(),
        }
    }
}

/// Answers requests until both ends are dropped.
fn serve<C: Machine, S: Machine>(
    (mut client, mut server): Ends<C, S>,
    requests: &Receiver<Request>,
    replies: &Sender<Reply>,
) {
    while let Ok(request) = requests.recv() {
        let (Request::Push(place, ..) | Request::Pop(place, ..)) = request;
        let reply = match place {
            Place::Client => answer(&mut client, &request),
            Place::Server => answer(&mut server, &request),
        };
        if replies.send(reply).is_err() {
            return;
        }
    }
}

fn answer<M: Machine>(end: &mut End<M>, request: &Request) -> Reply {
    let packet = match request {
        Request::Push(_, now, packet) => {
            end.push(*now, packet);
            None
        }
        Request::Pop(_, now) => {
            let mut packet = Packet::opaque(0);
            end.pop_into(*now, &mut packet).then_some(packet)
        }
    };
    let rtt = end.take_new_rtt();
    Reply::Done(Box::new(EndState { rtt, ..EndState::of(end) }), packet)
}

/// The way to the thread.
struct Line {
    requests: Sender<Request>,
    replies: Receiver<Reply>,
}

/// An end whose machine is on the thread.
struct RemoteEnd {
    line: Arc<Mutex<Line>>,
    place: Place,
    state: EndState,
    has_ended: bool,
}

impl RemoteEnd {
    fn call(&mut self, request: Request) -> Option<Packet> {
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = line.requests.send(request).ok().and_then(|()| line.replies.recv().ok());
        drop(line);
        let Some(Reply::Done(state, packet)) = reply else {
            (self.has_ended, self.state.wake) = (true, Time::NEVER);
            return None;
        };
        let rtt = state.rtt.or(self.state.rtt);
        self.state = EndState { rtt, ..*state };
        packet
    }
}

impl Stage for RemoteEnd {
    fn push(&mut self, now: Time, packet: &Packet) {
        self.call(Request::Push(self.place, now, *packet));
    }

    fn pop_into(&mut self, now: Time, place: &mut Packet) -> bool {
        if self.state.wake > now {
            return false;
        }
        let packet = self.call(Request::Pop(self.place, now));
        if let Some(packet) = packet {
            *place = packet;
        }
        packet.is_some()
    }

    fn wake(&self) -> Time {
        self.state.wake
    }
}

impl TransportEnd for RemoteEnd {
    fn received(&self) -> u64 {
        self.state.received
    }

    fn take_rtt(&mut self) -> Option<Span> {
        self.state.rtt.take()
    }

    fn counters(&self) -> SenderStats {
        self.state.counters
    }

    fn transfers(&self) -> &[Transfer] {
        self.state.finished.as_slice()
    }

    fn unfinished_transfer(&self, now: Time) -> Option<Transfer> {
        self.state.sized?.until(now)
    }

    fn failure(&self) -> Option<String> {
        if self.has_ended { Some(ENDED.into()) } else { self.state.failure.clone() }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        for &(name, value) in &self.state.inner {
            see(name, value);
        }
    }
}
