//! Asserts that steady state allocates nothing per packet, with an allocator that counts.
//!
//! Rings and tables double when the backlog or the flight outgrows them. A scheme that probes may
//! cause that at any time, so it does not count as an allocation per packet.
//! [`AllocationCounts::is_growth`] distinguishes the two by the bytes that stay allocated.

// A global allocator needs unsafe code. This one only counts, and calls the system's.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use paceline_cc::{AckPolicy, Span, Time};
use paceline_lab::bench;
use paceline_requests::compare::Comparison;
use paceline_sim::Simulation;
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Record, Scenario, check_scheme};

struct CountingAllocator;

/// Allocations so far.
#[derive(Copy, Clone, Debug)]
struct AllocationCounts {
    allocations: u64,
    /// Bytes of all allocations.
    allocated: usize,
    /// Bytes allocated minus bytes freed.
    held: isize,
}

impl AllocationCounts {
    fn since(self, before: AllocationCounts) -> AllocationCounts {
        AllocationCounts {
            allocations: self.allocations - before.allocations,
            allocated: self.allocated - before.allocated,
            held: self.held - before.held,
        }
    }

    /// True if the allocations can all be buffers that at least doubled, and are few. A buffer that
    /// doubles or more frees at most half of the bytes that it allocates, so at least half of all
    /// allocated bytes stay held. Allocations that are made and freed per packet do not stay;
    /// allocations that are made and kept per packet come to thousands.
    fn is_growth(self) -> bool {
        self.allocations < 50 && self.allocated as isize <= 2 * self.held
    }
}

thread_local! {
    /// Counts of this thread; other tests run in other threads.
    static COUNT: Cell<AllocationCounts> =
        const { Cell::new(AllocationCounts { allocations: 0, allocated: 0, held: 0 }) };
}

fn note(allocated: usize, freed: usize) {
    // While a thread ends, its counts are gone already.
    let _ = COUNT.try_with(|count| {
        let AllocationCounts { allocations, allocated: before, held } = count.get();
        count.set(AllocationCounts {
            allocations: allocations + u64::from(allocated > 0),
            allocated: before + allocated,
            held: held + allocated as isize - freed as isize,
        });
    });
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size, layout.size());
        unsafe { System.realloc(pointer, layout, size) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(0, layout.size());
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Returns the allocations between `warm` and `end` seconds, and the packets handed over in this
/// time.
fn count(mut scenario: Scenario, warm: u64, end: u64) -> (AllocationCounts, u64) {
    scenario.record = Record::Counters;
    scenario.warmup = Span::ZERO;
    scenario.duration = Span::from_secs(end);
    let mut simulation = Simulation::new(scenario).expect("builds");
    simulation.advance(Time::from_secs(warm));
    let before = (COUNT.get(), simulation.world().hand_overs());
    simulation.advance(Time::from_secs(end));
    let after = (COUNT.get(), simulation.world().hand_overs());
    (after.0.since(before.0), after.1 - before.1)
}

fn compare(trace: &str, scheme: &str) -> Scenario {
    let capacity = Capacity::trace(paceline_trace::load(trace).expect("built in"));
    Comparison::new(trace, capacity, check_scheme(scheme).expect(scheme)).scenario()
}

#[test]
fn the_counter_counts() {
    let before = COUNT.get();
    let boxed = std::hint::black_box(Box::new(7_u64));
    let counted = COUNT.get().since(before);
    assert_eq!((counted.allocations, counted.allocated, counted.held, *boxed), (1, 8, 8, 7));
    drop(boxed);
    // An allocation that is freed again does not count as growth.
    assert!(counted.is_growth() && !COUNT.get().since(before).is_growth());
}

#[test]
fn a_vector_grows() {
    let before = COUNT.get();
    let kept: Vec<u64> = (0..1000).map(std::hint::black_box).filter(|n| n % 2 == 0).collect();
    let counted = COUNT.get().since(before);
    assert!(counted.is_growth() && counted.allocations > 5, "{counted:?} for {}", kept.len());
}

#[test]
fn benchmarks_allocate_nothing() {
    for scenario in bench::SCENARIOS.iter().filter(|scenario| ["a", "b"].contains(&scenario.name)) {
        // Rings grow until the longest flight and backlog have occurred, which comes late with
        // flows out of step.
        let (counted, hand_overs) = count(scenario.scenario(1), 100, 150);
        assert!(hand_overs > 200_000, "{}: {hand_overs}", scenario.name);
        assert_eq!(counted.allocations, 0, "{}: in {hand_overs} hand-overs", scenario.name);
    }
}

/// Returns every scheme, and a queue that drops.
fn schemes() -> impl Iterator<Item = &'static str> {
    paceline_schemes::SCHEMES.iter().map(|scheme| scheme.name).chain(["cubic+codel"])
}

#[test]
fn schemes_on_traces_allocate_nothing() {
    for scheme in schemes() {
        // A new longest backlog or flight makes rings grow. Most schemes reach it in the trace's
        // first lap; schemes that probe at random also a few times in the next laps.
        let (counted, hand_overs) = count(compare("lte-driving", scheme), 560, 700);
        assert!(hand_overs > 1_000, "{scheme}: {hand_overs}");
        assert!(counted.is_growth(), "{scheme}: {counted:?} in {hand_overs} hand-overs");
    }
}

#[test]
fn schemes_that_share_a_rate_allocate_for_records_only() {
    for scheme in schemes() {
        let capacity = Capacity::Constant(paceline_cc::Rate::from_mbps(24.0));
        let spec = check_scheme(scheme).expect(scheme);
        // An RTT well below C2TCP's delay target: at 100 ms C2TCP hardly sends.
        let rtt = Span::from_millis(40);
        let comparison = Comparison { flows: 2, rtt, ..Comparison::new("24Mbps", capacity, spec) };
        let (counted, hand_overs) = count(comparison.scenario(), 60, 120);
        assert!(hand_overs > 50_000, "{scheme}: {hand_overs}");
        // Flows that probe may reach a new maximum in flight even now. Then the dozen tables of the
        // flight double, once or twice. One allocation per round trip would be a thousand.
        assert!(counted.is_growth(), "{scheme}: {counted:?} in {hand_overs} hand-overs");
    }
}

#[test]
fn damage_on_the_way_allocates_nothing() {
    let rate = paceline_cc::Rate::from_mbps(12.0);
    let mut scenario = Scenario::new("damage");
    scenario.links.push(LinkSpec::new("link", Capacity::Constant(rate)));
    let mut flow = FlowSpec::bulk(check_scheme("cubic").expect("cubic"), &["link"]);
    flow.count = 3;
    flow.ack = Some(AckPolicy::DELAYED);
    flow.data.impairments.loss = paceline_path::Loss::Bernoulli(0.005);
    flow.data.impairments.duplicate = 0.01;
    flow.acks.impairments.reorder =
        Some(paceline_path::Reorder { probability: 0.02, extra: Some(Span::from_millis(5)) });
    scenario.flows.push(flow);
    let (counted, hand_overs) = count(scenario, 20, 70);
    assert!(hand_overs > 50_000, "{hand_overs}");
    assert!(counted.is_growth(), "{counted:?} in {hand_overs} hand-overs");
}

#[test]
fn batches_allocate_nothing() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/wifi.toml");
    let mut scenario = paceline_sim::scenario::load(path.as_ref()).expect("an example");
    for per_station in [false, true] {
        if let Capacity::Wifi(wifi) = &mut scenario.links[0].capacity {
            wifi.queue_per_station = per_station;
        }
        let (counted, hand_overs) = count(scenario.clone(), 300, 360);
        assert!(hand_overs > 500_000, "{hand_overs}");
        assert!(counted.is_growth(), "{counted:?} in {hand_overs} hand-overs");
    }
}

#[test]
fn a_shared_medium_allocates_nothing() {
    for name in ["home-medium", "home-802.11n"] {
        let path = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let scenario = paceline_sim::scenario::load(path.as_ref()).expect("an example");
        let (counted, hand_overs) = count(scenario, 200, 260);
        assert!(hand_overs > 50_000, "{name}: {hand_overs}");
        assert!(counted.is_growth(), "{name}: {counted:?} in {hand_overs} hand-overs");
    }
}
