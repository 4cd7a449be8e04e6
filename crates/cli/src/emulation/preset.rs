//! `paceline link --preset`: links by the names of their kinds.

use paceline_cc::Span;

/// A link in each direction, and the delay beyond it.
#[derive(Debug)]
pub(crate) struct Preset {
    pub(crate) name: &'static str,
    /// Capacities, in the form of `--up` and `--down`.
    pub(crate) up: &'static str,
    pub(crate) down: &'static str,
    /// One-way delay: half of the source's round-trip time.
    pub(crate) delay: Span,
    /// Built-in recording of a delay that is added.
    pub(crate) delay_trace: Option<&'static str>,
}

const fn constant(name: &'static str, up: &'static str, down: &'static str, rtt_ms: u64) -> Preset {
    let delay = Span::from_micros(rtt_ms * 500);
    Preset { name, up, down, delay, delay_trace: None }
}

/// All presets. Those with a constant rate are WebPageTest's profiles (connectivity.ini.sample) of these names. `lte` has the
/// built-in traces, and the delay of Sprout's evaluation (NSDI 2013, 20 ms each way); `leo` is a satellite link.
pub(crate) const PRESETS: [Preset; 8] = [
    constant("dsl", "384kbps", "1500kbps", 50),
    constant("cable", "1Mbps", "5Mbps", 28),
    constant("3g-slow", "400kbps", "400kbps", 400),
    constant("3g", "768kbps", "1600kbps", 300),
    constant("3g-fast", "768kbps", "1600kbps", 150),
    constant("4g", "9Mbps", "9Mbps", 170),
    constant("lte", "lte-driving.up", "lte-driving", 40),
    Preset { name: "leo", up: "12Mbps", down: "leo", delay: Span::ZERO, delay_trace: Some("leo") },
];

/// Finds a preset by its name.
pub(crate) fn preset(name: &str) -> Result<&'static Preset, String> {
    PRESETS.iter().find(|preset| preset.name == name.to_ascii_lowercase()).ok_or_else(|| {
        let names = PRESETS.map(|preset| preset.name).join(", ");
        format!("there is no preset `{name}`; there are {names}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;

    #[test]
    fn every_preset_can_be_had() {
        for Preset { name, up, down, delay_trace, .. } in &PRESETS {
            assert!(args::capacity(up).is_ok() && args::capacity(down).is_ok(), "{name}");
            assert!(delay_trace.is_none_or(|trace| args::delays(trace).is_ok()), "{name}");
            assert_eq!(preset(name).expect("there is").name, *name);
        }
        assert_eq!(preset("DSL").expect("there is").delay, Span::from_millis(25));
        assert!(preset("wifi").expect_err("no preset").contains("there are dsl, cable, 3g-slow"));
    }
}
