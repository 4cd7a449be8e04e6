//! The end of a tunnel to which one or many clients connect: one event loop, or several.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use paceline_os::udp::Socket;
use paceline_os::{Interrupts, RealTimeError};
use paceline_wire::{Server, ServerLimits};

use super::Event;
use super::arrivals::Arrivals;
use super::client_list::ClientList;
use super::control::Control;
use super::device::Device;
use super::directory::Directory;
use super::loops::{EndWithLoop, Loops, Member};
use super::neighbours::Neighbours;
use super::owners::{ListedOwners, Owners};
use super::server_loop::Loop;
use super::server_options::ServerOptions;
use crate::udp::loop_parts::{LoopResult, STEERING, checked_count};

/// The MTU of the device before the first connection: what a connection over a path of 1500 bytes
/// carries.
const MTU: u32 = 1380;
/// Maximum number of events of several loops that wait to be reported.
const MOST_EVENTS: usize = 10_000;

/// State shared by all loops.
struct Common<'a> {
    options: &'a ServerOptions,
    interrupts: &'a Interrupts,
    list: Option<Arc<ClientList>>,
}

/// The parts from which a loop is built on its own thread.
struct Parts {
    socket: Socket,
    device: Device,
    control: Option<Control>,
    member: Option<Member>,
}

/// Serves until an interrupt or, with `once`, until the first connection is over. Calls `tell` with
/// each event, on the calling thread. Returns false if a connection has ended with an error.
///
/// # Errors
/// The address is in use, there are too many loops, or the device cannot be created or has been
/// removed.
pub fn server(options: &ServerOptions, tell: &mut dyn FnMut(Event)) -> Result<bool, RealTimeError> {
    let count = checked_count(options.loops)?;
    let sockets = Socket::bind_several(options.listen, count, STEERING)?;
    // Before any thread starts, so that every thread inherits the blocked signals.
    let interrupts = Interrupts::watch_for(options.clients.is_some() || options.outlives_hangup)?;
    let addresses = &options.device.addresses;
    let list =
        options.clients.as_ref().map(|list| ClientList::read(list, addresses)).transpose()?;
    let list = list.map(Arc::new);
    let devices = Device::open_for(&options.device, MTU, count)?;
    tell(Event::Device(options.device.name.clone()));
    if let Some(socket) = sockets.first() {
        tell(Event::Listening(socket.local()?));
    }
    let (loops, members) = match count {
        1 => (None, Vec::new()),
        _ => Loops::new(count).map(|(loops, members)| (Some(loops), members))?,
    };
    let wakers = match members.is_empty() {
        true => vec![interrupts.waker()],
        false => members.iter().map(Member::waker).collect(),
    };
    let controls = Control::open_for(&options.device.name, wakers).unwrap_or_else(|error| {
        tell(Event::NoControl(error.to_string()));
        Vec::new()
    });
    let mut members = members.into_iter();
    let mut controls = controls.into_iter();
    let parts = sockets.into_iter().zip(devices).map(|(socket, device)| {
        let (control, member) = (controls.next(), members.next());
        Parts { socket, device, control, member }
    });
    let parts: Vec<Parts> = parts.collect();
    let common = Common { options, interrupts: &interrupts, list };
    let ended = match loops {
        None => {
            let parts = parts.into_iter();
            parts
                .map(|parts| common.run(parts, tell))
                .collect::<Result<Vec<LoopResult>, RealTimeError>>()?
        }
        Some(loops) => common.run_all(&loops, parts, tell)?,
    };
    if let Some(stats) = LoopResult::interrupted_stats(&ended) {
        tell(Event::Stopping(stats));
    }
    Ok(ended.iter().all(|ended| ended.good))
}

impl Common<'_> {
    /// Runs several loops, each on its own thread, until all have ended. When one loop ends for any
    /// reason, all end.
    fn run_all(
        &self,
        loops: &Arc<Loops>,
        parts: Vec<Parts>,
        tell: &mut dyn FnMut(Event),
    ) -> Result<Vec<LoopResult>, RealTimeError> {
        let (events, told) = mpsc::sync_channel(MOST_EVENTS);
        let left_out = AtomicU64::new(0);
        let ended = thread::scope(|scope| {
            let threads: Vec<_> = parts
                .into_iter()
                .map(|parts| {
                    let (events, left_out, loops) = (events.clone(), &left_out, Arc::clone(loops));
                    scope.spawn(move || {
                        let _end = EndWithLoop(loops);
                        // A loop never waits for the thread that reports events.
                        self.run(parts, &mut |event| {
                            if events.try_send(event).is_err() {
                                left_out.fetch_add(1, Ordering::Relaxed);
                            }
                        })
                    })
                })
                .collect();
            drop(events);
            told.iter().for_each(&mut *tell);
            let join = |thread: thread::ScopedJoinHandle<'_, _>| match thread.join() {
                Ok(ended) => ended,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            threads.into_iter().map(join).collect::<Result<Vec<LoopResult>, RealTimeError>>()
        });
        match left_out.load(Ordering::Relaxed) {
            0 => {}
            count => tell(Event::LeftOut(count)),
        }
        ended
    }

    /// Runs one loop from its start to its end.
    fn run(&self, parts: Parts, tell: &mut dyn FnMut(Event)) -> Result<LoopResult, RealTimeError> {
        let Common { options, interrupts, list } = self;
        let Parts { socket, device, control, member } = parts;
        let limits =
            ServerLimits { datagrams: true, one_per_client: true, ..options.limits.clone() };
        let mut server = Server::new(options.identity.clone(), limits)
            .map_err(|error| RealTimeError::Message(error.to_string()))?;
        if let Some(Member { loops, number, .. }) = &member {
            server = server.numbered(u8::try_from(*number).unwrap_or(u8::MAX), &loops.counts);
        }
        server.admit_only(list.as_ref().map(|list| Arc::clone(&list.admission)));
        let owners = match list {
            Some(list) => Owners::Listed(ListedOwners::new(&list.file)),
            None => Owners::Learnt(Neighbours::default()),
        };
        let number = member.as_ref().map_or(0, |member| member.number);
        let changes = member.as_ref().map(|member| Arc::clone(&member.loops.changes));
        let arrivals = Arrivals::new(device, Directory::new(owners, number, changes));
        let list = list.clone();
        Loop::new(options, interrupts, (server, socket, arrivals), list, control, member).run(tell)
    }
}
