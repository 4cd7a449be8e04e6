//! The random processes of which models consist.

use paceline_cc::Stream;

/// Step of the rate and outage processes, in milliseconds.
pub(super) const STEP_MS: u32 = 10;

/// One random stream per process, so that a change of one parameter has little effect on the
/// others.
pub(crate) struct Randomness {
    pub(super) seed: u64,
    pub(super) take: u32,
    pub(super) rate: Stream,
    pub(super) outage: Stream,
    pub(super) grant: Stream,
}

impl Randomness {
    /// Returns the streams of a named trace for a seed; each `take` gives other streams.
    pub(crate) fn new(name: &str, seed: u64, take: u32) -> Randomness {
        let stream = |part| Stream::new(seed, &format!("trace {name} {take} {part}"));
        let (rate, outage, grant) = (stream("rate"), stream("outage"), stream("grant"));
        Randomness { seed, take, rate, outage, grant }
    }
}

/// A first-order autoregressive process with standard normal values.
pub(super) struct Ar {
    value: f64,
    keep: f64,
    kick: f64,
}

impl Ar {
    pub(super) fn new(time_constant_s: f64, random: &mut Stream) -> Ar {
        let keep = libm::exp(-f64::from(STEP_MS) / 1e3 / time_constant_s);
        Ar { value: random.normal(), keep, kick: libm::sqrt(1.0 - keep * keep) }
    }

    pub(super) fn step(&mut self, random: &mut Stream) -> f64 {
        self.value = self.keep * self.value + self.kick * random.normal();
        self.value
    }
}
