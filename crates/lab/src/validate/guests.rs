//! Runs of Linux guests over one simulated bottleneck of constant rate: the kernel's own code over
//! the simulator's links and queues.
//!
//! The figures stand in `guests.tsv` with the hashes of the guest that gave them. `paceline validate
//! --guests FILE` runs the guests again.

use paceline_cc::{Rate, Span};
use paceline_path::BufferSize;
use paceline_requests::compare::{CompareRow, Comparison};
use paceline_sim::scenario::{Capacity, Scenario, SchemeChoice, check_scheme};

use super::bound::{Bound, Tolerance, mean};
use super::case::{Case, Check, Observations, OwnScheme};

/// Number of runs, each with its own seed and start.
const RUNS: u32 = 2;
/// Time between the starts of two runs: half of the guests' timer tick of 1 ms.
const START_STEP: Span = Span::from_micros(500);
const DURATION: Span = Span::from_secs(8);
/// Measured figures; [`guest_figures`] writes the format.
const FIGURES: &str = include_str!("guests.tsv");

/// One path and scheme of a guest.
#[derive(Clone, Debug)]
pub struct GuestRun {
    /// Paceline's scheme, with the queue unless it is droptail.
    pub scheme: &'static str,
    mbps: u32,
    rtt_ms: u32,
    /// Limit of the queue in packets.
    buffer: u32,
}

/// Returns all runs: every scheme over droptail with buffers of 1 and 4 times the path's bandwidth-delay
/// product (BDP), at least 10 packets, and schemes over managed queues with 250 packets.
pub fn guest_runs() -> Vec<GuestRun> {
    let mut runs = Vec::new();
    let rtts = [20, 100];
    for scheme in ["cubic", "newreno", "bbr", "vegas", "c2tcp"] {
        for mbps in [4, 12] {
            for rtt_ms in rtts {
                // A packet of 1500 bytes has 12,000 bits.
                let bdp = (mbps * rtt_ms / 12).max(10);
                let buffers = [bdp, 4 * bdp];
                runs.extend(buffers.map(|buffer| GuestRun { scheme, mbps, rtt_ms, buffer }));
            }
        }
    }
    for (scheme, rates) in [
        ("dctcp+step[k=20]", [4, 12].as_slice()),
        ("cubic+codel", &[12]),
        ("cubic+fq_codel", &[12]),
        ("cubic+pie", &[12]),
        ("cubic[ecn=true]+codel[ecn=true]", &[12]),
        ("newreno+codel", &[12]),
    ] {
        for mbps in rates.iter().copied() {
            runs.extend(rtts.map(|rtt_ms| GuestRun { scheme, mbps, rtt_ms, buffer: 250 }));
        }
    }
    runs
}

impl GuestRun {
    /// Returns the scheme of Linux hosts that corresponds to [`GuestRun::scheme`], with its queue.
    pub fn linux_scheme(&self) -> String {
        let (sender, queue) = match self.scheme.split_once('+') {
            Some((sender, queue)) => (sender, format!("+{queue}")),
            None => (self.scheme, String::new()),
        };
        let sender = match sender {
            "newreno" => "reno",
            // Without ECN, Linux' DCTCP is Reno.
            "dctcp" => "dctcp[ecn=true]",
            sender => sender,
        };
        format!("linux:{sender}{queue}")
    }

    /// Returns the scenarios of the runs with the ends of `scheme`.
    pub fn scenarios(&self, scheme: &SchemeChoice) -> Vec<Scenario> {
        let comparison = self.comparison(scheme);
        let scenario_of = |number: u32| {
            let mut scenario = comparison.scenario();
            scenario.seed = u64::from(number);
            for flow in &mut scenario.flows {
                flow.start += START_STEP * u64::from(number - 1);
            }
            scenario
        };
        (1..=RUNS).map(scenario_of).collect()
    }

    /// Returns the comparison that gives the rows of the runs.
    pub fn comparison(&self, scheme: &SchemeChoice) -> Comparison {
        let capacity = Capacity::Constant(Rate::from_mbps(f64::from(self.mbps)));
        Comparison {
            rtt: Span::from_millis(self.rtt_ms.into()),
            buffer: BufferSize::Packets(self.buffer.into()),
            duration: DURATION,
            ..Comparison::new("constant", capacity, scheme.clone())
        }
    }

    /// Returns the fields that identify the run in `guests.tsv`.
    fn key(&self) -> String {
        format!("{}\t{}\t{}\t{}\t", self.scheme, self.mbps, self.rtt_ms, self.buffer)
    }

    fn name(&self) -> String {
        let GuestRun { mbps, rtt_ms, buffer, .. } = self;
        format!("{}, {mbps} Mbit/s {rtt_ms} ms {buffer} packets", self.linux_scheme())
    }

    /// Returns the figures of the guests; `None` if `guests.tsv` lacks the run.
    fn expected(&self) -> Option<[f64; 3]> {
        let key = self.key();
        let rest = FIGURES.lines().find_map(|line| line.strip_prefix(&key))?;
        let figures: Vec<f64> = rest.split('\t').filter_map(|field| field.parse().ok()).collect();
        figures.try_into().ok()
    }

    /// Returns the figures of Paceline's runs.
    fn measure(&self) -> Result<Observations, String> {
        let scheme = check_scheme(self.scheme).map_err(|error| error.to_string())?.into();
        let comparison = self.comparison(&scheme);
        let names = paceline_remy::names();
        let observe = |scenario: Scenario| {
            let outcome = paceline_sim::run_with(&scenario, &names);
            let outcome = outcome.map_err(|error| error.to_string())?;
            Ok(figures(&comparison.row(&outcome)).to_vec())
        };
        self.scenarios(&scheme).into_iter().map(observe).collect()
    }

    fn checks(&self, [throughput, mean, p95]: [f64; 3]) -> Vec<Check> {
        let packet_ms = 12.0 / f64::from(self.mbps);
        let check =
            |figure, expected, tolerance| Check::new(figure, expected, Bound::stated(tolerance));
        vec![
            check("throughput, Mbit/s", throughput, Tolerance::Share(0.02)),
            check("mean delay, ms", mean, Tolerance::Packets(0.1, 0.5, packet_ms)),
            check("p95 delay, ms", p95, Tolerance::Packets(0.1, 1.0, packet_ms)),
        ]
    }
}

/// Returns the figures of a run in the order of the checks.
fn figures(row: &CompareRow) -> [f64; 3] {
    [row.throughput_mbps, row.queue_delay_ms.mean, row.queue_delay_ms.p95]
}

/// Returns the text of `guests.tsv`. `guest` describes the kernel and its modules; `rows` has the rows
/// of each run of [`guest_runs`], in order.
pub fn guest_figures(guest: &str, rows: &[Vec<CompareRow>]) -> String {
    let mut text = format!(
        "# Figures of {guest}.\n\
         # To measure anew: paceline validate --guests crates/lab/src/validate/guests.tsv\n\
         # Means over {RUNS} runs of {} s. Fields: Paceline's scheme, Mbit/s, RTT in ms, buffer in packets,\n\
         # throughput in Mbit/s, mean and 95th percentile of queueing delay in ms.\n",
        DURATION.as_secs_f64()
    );
    for (run, rows) in guest_runs().iter().zip(rows) {
        let column =
            |place: usize| mean(&rows.iter().map(|row| figures(row)[place]).collect::<Vec<_>>());
        let [throughput, mean, p95] = [0, 1, 2].map(column);
        text += &format!("{}{throughput:.3}\t{mean:.2}\t{p95:.2}\n", run.key());
    }
    text
}

/// Returns a case for each run that `guests.tsv` has.
pub(super) fn cases() -> Vec<Case<'static>> {
    let case = |run: GuestRun| {
        Some(Case {
            peer: "Linux guests",
            group: run.name(),
            ours: OwnScheme::default(run.scheme),
            checks: run.checks(run.expected()?),
            run: Box::new(move || run.measure()),
        })
    };
    guest_runs().into_iter().filter_map(case).collect()
}

#[cfg(test)]
mod tests {
    use paceline_sim::metrics::Quantiles;

    use super::*;

    #[test]
    fn every_run_has_figures_of_a_guest() {
        let missing: Vec<String> = guest_runs()
            .iter()
            .filter(|run| run.expected().is_none())
            .map(GuestRun::name)
            .collect();
        assert!(missing.is_empty(), "guests.tsv lacks {missing:?}: paceline validate --guests");
        assert!(FIGURES.starts_with("# Figures of Linux 6"), "guests.tsv names no guest");
    }

    #[test]
    fn schemes_have_their_counterparts_on_linux_hosts() {
        let of = |scheme| GuestRun { scheme, mbps: 12, rtt_ms: 20, buffer: 100 }.linux_scheme();
        assert_eq!(of("newreno+codel"), "linux:reno+codel");
        assert_eq!(of("dctcp+step[k=20]"), "linux:dctcp[ecn=true]+step[k=20]");
        assert_eq!(of("cubic"), "linux:cubic");
    }

    #[test]
    fn written_figures_are_read_again() {
        let queue_delay_ms = Quantiles { mean: 5.0, p95: 6.0, ..Quantiles::default() };
        let row = |throughput_mbps| CompareRow {
            throughput_mbps,
            queue_delay_ms,
            ..CompareRow::default()
        };
        let rows = vec![vec![row(1.0), row(2.0)]; 2];
        let text = guest_figures("Linux 6.12", &rows);
        let first = guest_runs().remove(0);
        let line = text.lines().find_map(|line| line.strip_prefix(&first.key()));
        assert_eq!(line, Some("1.500\t5.00\t6.00"));
    }
}
