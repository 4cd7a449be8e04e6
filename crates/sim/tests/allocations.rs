//! No allocation per packet in steady state, counted by an allocator that counts.

// A global allocator cannot be written without; it does nothing but count and pass on.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use paceline_cc::{AckPolicy, Span, Time};
use paceline_sim::compare::Comparison;
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Record, Scenario, check_scheme};
use paceline_sim::{Simulation, bench};

struct Counting;

thread_local! {
    /// Allocations of this thread; other tests run on others.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

fn note() {
    // While a thread ends there is nothing to count with.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call goes on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
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
static ALLOCATOR: Counting = Counting;

/// Allocations between `warm` and `end` seconds, and the packets handed over meanwhile.
fn count(mut scenario: Scenario, warm: u64, end: u64) -> (u64, u64) {
    scenario.record = Record::Counters;
    scenario.warmup = Span::ZERO;
    scenario.duration = Span::from_secs(end);
    let mut simulation = Simulation::new(&scenario).expect("builds");
    simulation.advance(Time::from_secs(warm));
    let before = (COUNT.get(), simulation.world().hand_overs());
    simulation.advance(Time::from_secs(end));
    let after = (COUNT.get(), simulation.world().hand_overs());
    (after.0 - before.0, after.1 - before.1)
}

fn compare(trace: &str, scheme: &str) -> Scenario {
    let capacity = Capacity::trace(paceline_trace::load(trace).expect("built in"));
    Comparison::new(trace, capacity, check_scheme(scheme).expect(scheme)).scenario()
}

#[test]
fn the_counter_counts() {
    let before = COUNT.get();
    let boxed = std::hint::black_box(Box::new(7));
    assert_eq!((COUNT.get() - before, *boxed), (1, 7));
}

#[test]
fn benchmarks_allocate_nothing() {
    for scenario in bench::SCENARIOS.iter().filter(|scenario| ["a", "b"].contains(&scenario.name)) {
        let (allocations, hand_overs) = count(scenario.scenario(1), 10, 60);
        assert!(hand_overs > 200_000, "{}: {hand_overs}", scenario.name);
        assert_eq!(allocations, 0, "{}: in {hand_overs} hand-overs", scenario.name);
    }
}

#[test]
fn routers_and_queues_on_traces_allocate_nothing() {
    for scheme in ["abc", "cubic+codel", "newreno"] {
        // The longest backlog and flight so far make rings grow: they do so while the trace is
        // new, and its second lap brings nothing new.
        let (allocations, hand_overs) = count(compare("lte-driving", scheme), 140, 280);
        assert!(hand_overs > 50_000, "{scheme}: {hand_overs}");
        assert_eq!(allocations, 0, "{scheme}: in {hand_overs} hand-overs");
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
    let (allocations, hand_overs) = count(scenario, 20, 70);
    assert!(hand_overs > 50_000, "{hand_overs}");
    assert_eq!(allocations, 0, "in {hand_overs} hand-overs");
}
