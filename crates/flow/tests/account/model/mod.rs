//! Random sends, acknowledgements and deadlines, for the account and a slow, plain one beside it.

mod check;
mod judge;
mod losses;
mod path;
mod plain;
mod rack;
mod rtt;
mod timers;

use check::World;

/// Counts of the events in all runs together.
#[derive(Default, Debug)]
struct Seen {
    timeouts: u64,
    probes: u64,
    undone: u64,
    late: u64,
}

fn run(name: &str, seeds: u64, hostile: f64) -> Seen {
    let mut seen = Seen::default();
    for seed in 0..seeds {
        let mut world = World::new(seed, hostile);
        let run = std::panic::AssertUnwindSafe(|| (0..1000).for_each(|_| world.step()));
        if std::panic::catch_unwind(run).is_err() {
            panic!("the two accounts differ: {name}, seed {seed}");
        }
        let stats = world.stats();
        seen.timeouts += stats.timeouts;
        seen.probes += stats.probes;
        seen.late += stats.late;
        seen.undone += world.undone;
    }
    seen
}

/// 300,000 steps on paths with and without reordering, losses and duplicated acknowledgements, and
/// with outages of seconds.
#[test]
fn the_account_agrees_with_a_plain_one() {
    let seen = run("path", 300, 0.0);
    let Seen { timeouts, probes, undone, late } = seen;
    assert!(timeouts.min(probes).min(undone).min(late) > 300, "{seen:?}");
}

/// 100,000 steps, a third of them with an arbitrary acknowledgement: nothing panics, and the bytes
/// in flight stay right.
#[test]
fn hostile_acknowledgements_are_counted_right() {
    run("hostile", 100, 0.3);
}
