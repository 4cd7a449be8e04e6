//! Processor time.

use std::time::Instant;

/// Measures the processor time of the thread that it is made in, where the system tells it; else the
/// time on the clock.
#[derive(Clone, Debug)]
pub struct CpuClock {
    cpu: Option<u64>,
    wall: Instant,
}

impl CpuClock {
    /// Begins to measure.
    pub fn start() -> CpuClock {
        CpuClock { cpu: cpu_nanos(), wall: Instant::now() }
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        match (self.cpu, cpu_nanos()) {
            (Some(before), Some(now)) if now > before => (now - before) as f64 / 1e9,
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }
}

/// Nanoseconds that this thread has run, from Linux' statistics of its scheduler.
fn cpu_nanos() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}
