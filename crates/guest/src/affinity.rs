//! Keeps a simulation and its guests on one processor. They take turns thousands of times in a simulated second. On two processors, each
//! turn wakes a process on the other one, and a run takes more than twice the time.

use std::sync::{Mutex, PoisonError};

use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use nix::unistd::{Pid, gettid};

/// Threads of simulations that are kept on a processor.
static PINNED: Mutex<Vec<Pinned>> = Mutex::new(Vec::new());

struct Pinned {
    thread: Pid,
    processor: usize,
    /// Processors on which the thread was allowed to run before.
    before: CpuSet,
    /// Guests of the thread that run.
    guests: usize,
}

/// The share of one guest in keeping the thread that started it on a processor. Without it the thread may run anywhere again.
#[derive(Debug)]
pub(crate) struct OneProcessor {
    thread: Pid,
}

impl OneProcessor {
    /// Keeps a guest's process, and this thread, on one processor: the one on which the thread runs, unless another simulation
    /// of this process has it. Returns `None` if the system refuses it; then both run anywhere.
    pub(crate) fn with(guest: Pid) -> Option<Self> {
        let thread = gettid();
        let mut pinned = PINNED.lock().unwrap_or_else(PoisonError::into_inner);
        let place = match pinned.iter().position(|pin| pin.thread == thread) {
            Some(place) => place,
            None => {
                let before = sched_getaffinity(thread).ok()?;
                let processor = choose(&before, &pinned)?;
                sched_setaffinity(thread, &only(processor)?).ok()?;
                pinned.push(Pinned { thread, processor, before, guests: 0 });
                pinned.len() - 1
            }
        };
        let pin = &mut pinned[place];
        pin.guests += 1;
        // A guest that may run anywhere is slow, and no error.
        let _ = only(pin.processor).map(|set| sched_setaffinity(guest, &set));
        Some(Self { thread })
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        let mut pinned = PINNED.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = pinned.iter().position(|pin| pin.thread == self.thread) else { return };
        pinned[place].guests -= 1;
        if pinned[place].guests == 0 {
            let pin = pinned.swap_remove(place);
            // The thread may have ended.
            let _ = sched_setaffinity(pin.thread, &pin.before);
        }
    }
}

/// Returns the processor of this thread if no simulation has it; otherwise the allowed one with the fewest simulations.
fn choose(allowed: &CpuSet, pinned: &[Pinned]) -> Option<usize> {
    let simulations = |processor| pinned.iter().filter(|pin| pin.processor == processor).count();
    let is_allowed = |processor: &usize| allowed.is_set(*processor) == Ok(true);
    let here = sched_getcpu().ok().filter(|here| is_allowed(here) && simulations(*here) == 0);
    here.or_else(|| {
        (0..CpuSet::count()).filter(is_allowed).min_by_key(|processor| simulations(*processor))
    })
}

fn only(processor: usize) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    set.set(processor).ok()?;
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_runs_on_one_processor_while_it_has_guests() {
        let allowed = || {
            let set = sched_getaffinity(gettid()).expect("the set");
            (0..CpuSet::count()).filter(|processor| set.is_set(*processor) == Ok(true)).count()
        };
        // A thread of its own, as other tests start guests.
        let thread = std::thread::spawn(move || {
            let before = allowed();
            let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a child");
            let guest = Pid::from_raw(child.id() as i32);
            let (one, two) = (OneProcessor::with(guest), OneProcessor::with(guest));
            assert!(one.is_some() && two.is_some());
            let set = sched_getaffinity(guest).expect("the child's set");
            let of_child: Vec<usize> = (0..CpuSet::count())
                .filter(|processor| set.is_set(*processor) == Ok(true))
                .collect();
            let during = allowed();
            drop(one);
            let with_one = allowed();
            drop(two);
            child.kill().expect("the child's end");
            child.wait().expect("the child");
            assert_eq!((of_child.len(), during, with_one), (1, 1, 1));
            assert_eq!(allowed(), before);
        });
        thread.join().expect("the thread");
    }
}
