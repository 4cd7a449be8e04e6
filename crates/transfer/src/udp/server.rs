//! The server that receives from many clients at once.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use paceline_os::udp::Socket;
use paceline_os::{Interrupts, RealTimeError};
use paceline_wire::{ConnectionCounts, Server};

use super::events::{Event, Events, tell_all};
use super::listed::ListedClients;
use super::loop_parts::{LoopResult, STEERING, checked_count};
use super::opening::open_store;
use super::qlog::LogTarget;
use super::server_loop::Loop;
use super::server_options::ServerOptions;
use super::shared_state::SharedState;
use super::stop_signal::{AskAtEnd, StopSignal};
use super::store::WorkerCount;

/// Serves until an interrupt or, with `once`, until the first connection is over. Calls `tell` with
/// each event, on the calling thread. Returns false if a connection has ended with an error.
///
/// # Errors
/// The address is in use, there are too many loops, or the system refuses something.
pub fn serve(options: &ServerOptions, tell: &mut dyn FnMut(Event)) -> Result<bool, RealTimeError> {
    let count = checked_count(options.loops)?;
    options.qlog.as_ref().map_or(Ok(()), LogTarget::check)?;
    let listed = options.clients.as_deref().map(ListedClients::read).transpose()?;
    let sockets = Socket::bind_several(options.listen, count, STEERING)?;
    // Before any thread starts, so that every thread inherits the blocked signals.
    let interrupts = Interrupts::watch_for(listed.is_some() || options.outlives_hangup)?;
    let stop = StopSignal::new().map_err(RealTimeError::system("making a pipe"))?;
    let (clients, ordinary) = (AtomicU64::new(0), Once::new());
    let counts = ConnectionCounts::new();
    let measurements = AtomicU64::new(0);
    let interrupts = &interrupts;
    let listening = sockets.first().map(Socket::local).transpose()?;
    let place = (&options.target, options.outside_links, options.disk);
    let store = open_store(place, options.progress.as_ref(), &stop, listening, tell)?;
    let workers = WorkerCount::default();
    let shared = SharedState {
        options,
        interrupts,
        listed,
        clients,
        counts,
        measurements,
        store,
        workers,
        stop,
        ordinary,
    };
    let (events, told) = Events::new();
    let left_out = events.left_out();
    let all = thread::scope(|scope| {
        let loops = sockets.into_iter().zip(0..).map(|(socket, number)| {
            let (shared, events) = (&shared, events.clone());
            scope.spawn(move || {
                // If one loop ends for any reason, all end.
                let _asks = AskAtEnd(&shared.stop);
                run(shared, socket, number, events)
            })
        });
        let loops: Vec<_> = loops.collect();
        drop(events);
        tell_all(&told, &loops, tell);
        let join = |thread: thread::ScopedJoinHandle<'_, _>| match thread.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        loops.into_iter().map(join).collect::<Result<Vec<LoopResult>, RealTimeError>>()
    })?;
    match left_out.load(Ordering::Relaxed) {
        0 => {}
        count => tell(Event::LeftOut(count)),
    }
    if let Some(stats) = LoopResult::interrupted_stats(&all) {
        tell(Event::Stopping(stats));
    }
    Ok(all.iter().all(|ended| ended.good))
}

/// Runs one loop from its start to its end.
fn run(
    shared: &SharedState<'_>,
    socket: Socket,
    number: u8,
    events: Events,
) -> Result<LoopResult, RealTimeError> {
    let options = shared.options;
    let mut limits = options.limits.clone();
    // Received bytes count against the receive window until a worker has written them.
    limits.each.reads_later = true;
    let mut server = Server::new(options.identity.clone(), limits)
        .map_err(|error| RealTimeError::Message(error.to_string()))?;
    if options.loops.get() > 1 {
        server = server.numbered(number, &shared.counts);
    }
    Loop::new(shared, socket, server, events)?.run()
}
