//! Flows that arrive at random.

use paceline_cc::{Span, Stream};

use crate::scenario::Scenario;

/// Returns the start and the bytes of each flow of `scenario.arrivals[index]`, in the order of their
/// starts. Equal scenarios give equal flows.
pub(crate) fn drawn(scenario: &Scenario, index: usize) -> impl Iterator<Item = (Span, u64)> {
    let arrivals = &scenario.arrivals[index];
    let mut random = Stream::new(scenario.seed, &format!("arrivals {index}"));
    let stop = arrivals.flow.stop.unwrap_or(scenario.duration).min(scenario.duration);
    let mut at = arrivals.flow.start;
    std::iter::from_fn(move || {
        at += Span::from_secs_f64(random.exponential(1.0 / arrivals.per_second));
        (at < stop).then(|| (at, arrivals.bytes.draw(&mut random).clamp(1.0, 1e15) as u64))
    })
}
