//! The emulator allocates nothing per packet in steady state, counted by an allocator that counts.

// A global allocator cannot be written without; it does nothing but count and pass on.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::eventfd::EventFd;
use paceline_cc::{Rate, Span, Time};
use paceline_emulator::{
    Chain, Control, Element, Emulator, EmulatorOptions, LiveEvent, Observer, Port, SocketPort, View,
};
use paceline_path::queue::Fifo;
use paceline_path::{Limit, Link, Pipe, Service};

struct CountingAllocator;

thread_local! {
    /// Allocations of this thread.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

fn note() {
    // While a thread ends there is nothing to count with.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call goes on to the system's allocator unchanged.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note();
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        unsafe { System.realloc(pointer, layout, size) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Ticks in the emulator's thread: allocations and events so far.
type Ticks = Arc<Mutex<Vec<(u64, u64)>>>;

struct Watcher {
    ticks: Ticks,
    events: u64,
}

impl Observer for Watcher {
    fn name(&self) -> String {
        "watcher".into()
    }
    fn wants_bytes(&self) -> bool {
        true
    }
    fn wants_ticks(&self) -> bool {
        true
    }
    fn on_event(&mut self, event: &LiveEvent<'_>) -> io::Result<()> {
        assert_eq!(event.bytes.len(), event.event.size as usize);
        self.events += 1;
        Ok(())
    }
    fn on_tick(&mut self, _: Time, _: &View<'_>) -> io::Result<()> {
        let mut ticks = self.ticks.lock().expect("not poisoned");
        if ticks.len() < ticks.capacity() {
            ticks.push((COUNT.get(), self.events));
        }
        Ok(())
    }
}

fn chain() -> Chain {
    let link = Link::new(
        Box::new(Fifo::new(Limit::packets(50))),
        Service::constant(Rate::from_mbps(60.0)),
    );
    let pipe = Pipe::new(Span::from_millis(3));
    Chain::new(vec![Element::Pipe(Box::new(pipe)), Element::Link(Box::new(link))])
}

/// A UDP packet without checksums of any kind.
fn packet() -> Vec<u8> {
    let mut packet = vec![0; 1400];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&1400_u16.to_be_bytes());
    packet[9] = 17;
    packet
}

#[test]
fn steady_state_allocates_nothing() {
    let (inner, mut program) = SocketPort::pair(false).expect("sockets");
    let (outer, mut world) = SocketPort::pair(false).expect("sockets");
    let stop = EventFd::new().expect("an eventfd");
    let ticks = Ticks::new(Mutex::new(Vec::with_capacity(2000)));
    let mut emulator = Emulator::new(inner, outer, chain(), chain(), EmulatorOptions::default());
    emulator.watch(Box::new(Watcher { ticks: ticks.clone(), events: 0 }));
    // The number of ticks, and the allocations and events until the last one.
    let latest = || {
        let ticks = ticks.lock().expect("not poisoned");
        (ticks.len(), ticks.last().copied().unwrap_or_default())
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    let (summary, [begin, end]) = thread::scope(|scope| {
        let running = scope.spawn(|| emulator.run(&[stop.as_fd()], &mut |_| Control::Stop));
        let (packet, mut buffer) = (packet(), vec![0; 2000]);
        // A batch larger than all before needs memory whenever it comes. The largest that there can be
        // is what the sockets hold, and comes when the emulator had to wait for a busy machine: so it
        // comes first, with as many packets on their way as this machine can bring there.
        let flooded = Instant::now() + Duration::from_millis(500);
        while Instant::now() < flooded {
            while program.write(&[IoSlice::new(&packet)]).is_ok() {}
            while world.read(&mut buffer).is_ok() {}
            thread::yield_now();
        }
        // More than the link carries, so that some are dropped, and never as much as before.
        let mut steady = |until: &dyn Fn() -> bool| {
            while !until() {
                assert!(Instant::now() < deadline, "in vain: {:?}", latest());
                for _ in 0..12 {
                    let _ = program.write(&[IoSlice::new(&packet)]);
                }
                while world.read(&mut buffer).is_ok() {}
                thread::sleep(Duration::from_millis(1));
            }
        };
        let flood = latest().0;
        steady(&|| latest().0 >= flood + 3);
        let begin = latest().1;
        steady(&|| latest().1.1 >= begin.1 + 10_000);
        let end = latest().1;
        stop.write(1).expect("a write");
        (running.join().expect("no panic").expect("a run"), [begin, end])
    });
    assert_eq!(summary.errors, [""; 0]);
    assert!(summary.up.stages[1].counters.dropped_packets() > 100, "{:?}", summary.up);
    let (allocations, events) = (end.0 - begin.0, end.1 - begin.1);
    assert!(allocations * 500 < events, "{allocations} allocations in {events} events");
}
