//! Test benches for the vectors: controllers, accounts and senders whose events the vectors give, a
//! sender over one bottleneck, queues.

mod account;
mod bottleneck;
mod cubic;
mod feedback;
mod gcc;
mod queue;
mod router;
mod sender;

use paceline_cc::{Ack, Controller, Setup, Span, Spec, Time};
use paceline_schemes::registry;

pub(crate) use account::Books;
pub(crate) use bottleneck::Bottleneck;
pub(crate) use cubic::{SlowStart, curve, epoch, gain, of};
pub(crate) use feedback::Acks;
pub(crate) use gcc::{DECREASE, Gcc, after_overuse, congruential, run_course, slope_changes};
pub(crate) use queue::Bench;
pub(crate) use router::{Hop, header_of, with_header};
pub(crate) use sender::Desk;

pub(crate) fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

pub(crate) fn at(millis: u64) -> Time {
    Time::from_millis(millis)
}

/// Returns the controller of a scheme, for packets of `mss` bytes.
pub(crate) fn controller(scheme: &str, mss: u32) -> Box<dyn Controller> {
    let halves = registry::build(&Spec::parse(scheme).expect("a scheme")).expect("a scheme");
    (halves.controller)(&Setup::new(1, 0).with(|setup| setup.mss = mss))
}

/// Returns the value that `inspect` shows under a name; NaN if there is none.
fn shown(inspect: impl FnOnce(&mut dyn FnMut(&'static str, f64)), name: &str) -> f64 {
    let mut found = f64::NAN;
    inspect(&mut |key, value| {
        if key == name {
            found = value;
        }
    });
    found
}

/// Returns a value of a controller's inner state.
pub(crate) fn state(controller: &dyn Controller, name: &str) -> f64 {
    shown(|see| controller.inspect(see), name)
}

/// Returns an acknowledgement of these ranges of numbers, newest first, and of everything below
/// segment `cumulative`.
pub(crate) fn ranges(cumulative: u64, ranges: &[(u64, u64)]) -> Ack {
    let mut ack = Ack { largest: ranges[0].1, cumulative, ..Ack::default() };
    for (block, (first, last)) in ranges.iter().enumerate() {
        ack.lengths[block] = (last - first + 1) as u32;
        if block > 0 {
            ack.gaps[block - 1] = (ranges[block - 1].0 - 1 - last) as u32;
        }
    }
    ack
}
