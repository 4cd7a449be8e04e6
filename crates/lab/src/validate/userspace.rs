//! The authors' own programs over real UDP, through Paceline's emulator.

use paceline_cc::Span;

use super::bound::{Bound, Tolerance};
use super::case::{Case, Check, Observations, OwnScheme};
use super::recorded::{PathSetup, ValidationFolders};
use paceline_requests::compare::CompareRow;

/// Figures of one run of a program over a droptail queue of 250 packets, from start to end.
struct Run {
    program: &'static str,
    trace: &'static str,
    reverse: &'static str,
    rtt_ms: u64,
    seconds: u64,
    utilization: f64,
    p95: f64,
    note: &'static str,
}

const fn run(
    program: &'static str,
    trace: &'static str,
    reverse: &'static str,
    rtt_ms: u64,
    seconds: u64,
    utilization: f64,
    p95: f64,
) -> Run {
    Run { program, trace, reverse, rtt_ms, seconds, utilization, p95, note: "" }
}

impl Run {
    /// Marks a row that weighs little: the machine was busy, and the emulator released packets
    /// late.
    const fn late(self) -> Run {
        Run { note: ", released late", ..self }
    }

    /// Marks a row in which the program's sending thread probably had too little CPU time.
    const fn starved(self) -> Run {
        Run { note: ", program probably starved", ..self }
    }
}

/// Every row. After the trace comes the capacity of the opposite direction. Sprout's program sends
/// data in both directions at once, and has a row for each.
#[rustfmt::skip]
static RUNS: [Run; 44] = [
    run("Sprout", "Verizon-LTE-short.down", "12Mbps", 100, 60, 0.1032, 42.0),
    run("Sprout", "12Mbps", "Verizon-LTE-short.down", 100, 60, 0.0828, 15.0),
    run("Sprout", "ATT-LTE-driving-2016.down", "12Mbps", 100, 60, 0.0818, 48.0),
    run("Sprout", "12Mbps", "ATT-LTE-driving-2016.down", 100, 60, 0.0534, 14.0),
    run("Sprout", "Verizon-LTE-short.down", "12Mbps", 100, 60, 0.1092, 47.0),
    run("Sprout", "12Mbps", "Verizon-LTE-short.down", 100, 60, 0.1139, 26.0),
    run("Sprout", "ATT-LTE-driving-2016.down", "12Mbps", 100, 60, 0.1252, 57.0).late(),
    run("Sprout", "12Mbps", "ATT-LTE-driving-2016.down", 100, 60, 0.0731, 19.0).late(),
    run("Sprout", "Verizon-LTE-short.up", "12Mbps", 100, 60, 0.1239, 31.0),
    run("Sprout", "12Mbps", "Verizon-LTE-short.up", 100, 60, 0.0892, 18.0),
    run("Sprout", "Verizon-LTE-short.up", "Verizon-LTE-short.down", 100, 60, 0.1018, 25.0),
    run("Sprout", "Verizon-LTE-short.down", "Verizon-LTE-short.up", 100, 60, 0.0983, 36.0),
    run("Sprout", "ATT-LTE-driving-2016.down", "ATT-LTE-driving-2016.up", 100, 60, 0.0919, 44.0),
    run("Sprout", "Verizon-LTE-short.down", "12Mbps", 40, 60, 0.5099, 69.0).late(),
    run("Sprout", "12Mbps", "Verizon-LTE-short.down", 40, 60, 0.9412, 39.0).late(),
    run("Sprout", "ATT-LTE-driving-2016.down", "12Mbps", 40, 60, 0.4879, 61.0),
    run("Sprout", "12Mbps", "ATT-LTE-driving-2016.down", 40, 60, 0.8681, 36.0),
    run("Sprout", "12Mbps", "12Mbps", 100, 30, 0.2359, 27.0),
    run("Sprout", "12Mbps", "12Mbps", 40, 30, 0.9859, 32.0),
    run("Sprout", "12Mbps", "12Mbps", 100, 30, 0.1926, 28.0),
    run("Sprout", "12Mbps", "12Mbps", 40, 30, 0.9860, 30.0),
    run("Sprout sendonly", "Verizon-LTE-short.down", "12Mbps", 100, 60, 0.1858, 48.0).late(),
    run("Sprout sendonly", "ATT-LTE-driving-2016.down", "12Mbps", 100, 60, 0.1888, 52.0).late(),
    run("Sprout sendonly", "Verizon-LTE-short.down", "12Mbps", 40, 60, 0.7162, 76.0).late(),
    run("Sprout-EWMA, as published", "Verizon-LTE-short.down", "12Mbps", 100, 60, 0.0023, 30.0),
    run("Sprout-EWMA, forecasts count from 0.2", "Verizon-LTE-short.down", "12Mbps", 100, 60, 0.4137, 79.0).late(),
    run("Sprout-EWMA, as published", "ATT-LTE-driving-2016.down", "12Mbps", 100, 60, 0.0025, 143.0),
    run("Sprout-EWMA, forecasts count from 0.2", "ATT-LTE-driving-2016.down", "12Mbps", 100, 60, 0.3557, 78.0).late(),
    run("Copa", "Verizon-LTE-short.down", "12Mbps", 100, 60, 0.7164, 89.0).late(),
    run("Copa", "ATT-LTE-driving-2016.down", "12Mbps", 100, 60, 0.6458, 102.0),
    run("Copa", "Verizon-LTE-short.up", "12Mbps", 100, 60, 0.7846, 85.0).late(),
    run("Copa", "Verizon-LTE-short.down", "12Mbps", 100, 60, 0.7749, 130.0),
    run("Verus", "Verizon-LTE-short.down", "12Mbps", 100, 60, 0.8683, 752.0),
    run("Verus", "ATT-LTE-driving-2016.down", "12Mbps", 100, 60, 0.5133, 946.0).starved(),
    run("Verus", "Verizon-LTE-short.up", "12Mbps", 100, 60, 0.8529, 664.0).late(),
    run("PCC Vivace-latency", "Verizon-LTE-short.down", "12Mbps", 100, 60, 0.4390, 411.0),
    run("PCC Vivace-loss", "Verizon-LTE-short.down", "12Mbps", 100, 60, 0.8485, 1413.0),
    run("PCC Proteus-P", "Verizon-LTE-short.down", "12Mbps", 100, 60, 0.8036, 1518.0).late(),
    run("RemyCC-2014-100x", "Verizon-LTE-short.down", "12Mbps", 100, 60, 0.8012, 158.0).late(),
    run("PCC Vivace-latency", "ATT-LTE-driving-2016.down", "12Mbps", 100, 60, 0.6029, 1925.0),
    run("PCC Vivace-loss", "ATT-LTE-driving-2016.down", "12Mbps", 100, 60, 0.7936, 1808.0).late(),
    run("PCC Proteus-P", "ATT-LTE-driving-2016.down", "12Mbps", 100, 60, 0.8498, 1786.0),
    run("RemyCC-2014-100x", "ATT-LTE-driving-2016.down", "12Mbps", 100, 60, 0.8985, 199.0).late(),
    run("PCC Vivace-latency", "Verizon-LTE-short.up", "12Mbps", 100, 60, 0.6201, 793.0),
];

/// A run of Paceline: the scheme, and the settings after its name.
#[derive(Copy, Clone, Debug)]
struct Setting {
    /// The scheme; `None` if Paceline has no such scheme.
    scheme: Option<&'static str>,
    /// Mean random delay of acknowledgements, in milliseconds.
    jitter: u64,
    /// Whether a second flow carries data in the opposite direction.
    two_ways: bool,
    /// For a variant: the property of the program that it copies.
    why: Option<&'static str>,
}

const fn default(scheme: &'static str) -> Setting {
    Setting { scheme: Some(scheme), jitter: 0, two_ways: false, why: None }
}

const fn variant(scheme: &'static str, why: &'static str) -> Setting {
    Setting { why: Some(why), ..default(scheme) }
}

impl Setting {
    const fn jitter(self, jitter: u64) -> Setting {
        Setting { jitter, ..self }
    }

    const fn two_ways(self) -> Setting {
        Setting { two_ways: true, ..self }
    }

    fn name(&self) -> String {
        let mut name = self.scheme.unwrap_or("none here").to_string();
        if self.jitter > 0 {
            name += &format!(", jitter {} ms", self.jitter);
        }
        if self.two_ways {
            name += ", data both ways";
        }
        name
    }

    fn run(
        &self,
        folders: ValidationFolders<'_>,
        way: &PathSetup,
        seed: u64,
    ) -> Result<CompareRow, String> {
        let scheme = self.scheme.ok_or_else(|| "there is no such scheme here".to_string())?;
        let jitter = Span::from_millis(self.jitter);
        if self.two_ways {
            return folders.two_ways(way, scheme, jitter, seed);
        }
        folders.one_way(way, scheme, jitter, seed)
    }
}

const WHY_BOTH: &str = "data flow both ways, as in the program's run, and slow each other down";
const WHY_POLL: &str = "the authors' sender looks for the end of a tick every 10 ms";
const WHY_POLL_BOTH: &str = "data flow both ways, and the sender looks for the end of a tick every \
                             10 ms";
const WHY_FLIGHTS: &str = "the same, and forecasts ride on the first packet of a flight of the \
                           other direction, 35 ms apart in the mean";
const WHY_PAPER: &str = "the paper's text, which the program is not";
const WHY_JITTER: &str = "the same over a path whose acknowledgements have 1 ms of random delay, \
                          which makes the target of slow start finite";
const WHY_JITTER_2: &str = "the same with 2 ms of random delay";
const WHY_LATE: &str = "the same, and reports have random delays of some milliseconds, as a busy \
                        machine has them; how long they were in the program's run is not known";
const WHY_SOCKET: &str = "the program's bursts end where its socket is full, at 92 packets if nothing \
                          takes them meanwhile";
const WHY_VIVACE: &str = "the program's own rule";
const WHY_NOISE: &str = "the program's rule goes by RTT slopes of 2 % over ten packets, and random \
                         delays of some milliseconds, as a busy machine has them, decide its votes \
                         at low rates";

/// Returns the runs of Paceline for a program: the default, then variants.
fn ours(program: &str) -> Vec<Setting> {
    let none = Setting { scheme: None, ..default("") };
    match program {
        "Sprout" => vec![
            default("sprout"),
            variant("sprout", WHY_BOTH).two_ways(),
            variant("sprout[poll=10ms]", WHY_POLL_BOTH).two_ways(),
            variant("sprout[feedback=flights,poll=10ms]", WHY_FLIGHTS).two_ways(),
            variant("sprout[feedback=flights,poll=10ms]", WHY_LATE).two_ways().jitter(1),
            variant("sprout[feedback=flights,poll=10ms]", WHY_LATE).two_ways().jitter(4),
        ],
        "Sprout sendonly" => vec![
            default("sprout"),
            variant("sprout[poll=10ms]", WHY_POLL),
            variant("sprout[poll=10ms]", WHY_LATE).jitter(1),
        ],
        "Sprout-EWMA, as published" => vec![default("sprout-ewma[least=0]")],
        "Sprout-EWMA, forecasts count from 0.2" => {
            vec![default("sprout-ewma"), variant("sprout-ewma[poll=10ms]", WHY_POLL)]
        }
        "Copa" => vec![
            default("copa"),
            variant("copa", WHY_JITTER).jitter(1),
            variant("copa", WHY_JITTER_2).jitter(2),
            variant("copa[variant=paper]", WHY_PAPER),
        ],
        "Verus" => vec![default("verus"), variant("verus[socket=92]", WHY_SOCKET)],
        "PCC Vivace-latency" => vec![
            default("vivace[utility=latency]"),
            variant("vivace[variant=nsdi2018,utility=latency]", WHY_VIVACE),
            variant("vivace[variant=nsdi2018,utility=latency]", WHY_NOISE).jitter(4),
        ],
        "PCC Vivace-loss" => vec![
            default("vivace[utility=loss]"),
            variant("vivace[variant=nsdi2018,utility=loss]", WHY_VIVACE),
        ],
        "RemyCC-2014-100x" => vec![default("remy[file=RemyCC-2014-100x.dna]")],
        _ => vec![none],
    }
}

/// Number of runs, each with its own seed, of a scheme that draws random numbers.
const RANDOM: u64 = 10;

fn measure(
    folders: ValidationFolders<'_>,
    setting: &Setting,
    way: &PathSetup,
) -> Result<Observations, String> {
    let figures = |row: &CompareRow| vec![row.utilization, row.queue_delay_ms.p95];
    let first = setting.run(folders, way, 1)?;
    let second = setting.run(folders, way, 2)?;
    let mut runs = vec![figures(&first)];
    if second.digest != first.digest {
        runs.push(figures(&second));
        for seed in 3..=RANDOM {
            runs.push(figures(&setting.run(folders, way, seed)?));
        }
    }
    Ok(runs)
}

/// Returns a case for each run and each of Paceline's settings for it.
pub(super) fn cases(folders: ValidationFolders<'_>) -> Vec<Case<'_>> {
    let mut cases = Vec::new();
    for (number, run) in RUNS.iter().enumerate() {
        for setting in ours(run.program) {
            let Run { program, trace, reverse, rtt_ms, seconds, .. } = *run;
            let way = PathSetup { trace, reverse, rtt_ms, seconds };
            cases.push(Case {
                peer: "programs",
                group: format!(
                    "{}: {program} on {trace}, {reverse} back, RTT {rtt_ms} ms, {seconds} s{}",
                    number + 1,
                    run.note
                ),
                ours: OwnScheme { scheme: setting.name(), why: setting.why },
                checks: vec![
                    Check::new(
                        "utilisation",
                        run.utilization,
                        Bound::stated(Tolerance::Within(0.03)),
                    ),
                    Check::new("p95 delay, ms", run.p95, Bound::stated(Tolerance::Share(0.2))),
                ],
                run: Box::new(move || measure(folders, &setting, &way)),
            });
        }
    }
    cases
}
