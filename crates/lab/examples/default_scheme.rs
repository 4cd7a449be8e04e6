//! Writes `docs/default-scheme.md`: the default scheme of `paceline send`, and the reasons for it.
//! `cargo run --release -p paceline-lab --example default_scheme -- docs/default-scheme.md`, or
//! `make default-scheme`.

use std::fmt::Write as _;

use paceline_sim::Outcome;
use paceline_sim::metrics;
use paceline_sim::runs::Run;
use paceline_sim::scenario::{self, Scenario};
use rayon::prelude::*;

const HEAD: &str = include_str!("default_scheme_head.md");
/// Measurements in real time, which were made by hand.
const TAIL: &str = include_str!("default_scheme_tail.md");

const CANDIDATES: [&str; 11] = [
    "cubic", "newreno", "compound", "vegas", "ledbat", "c2tcp", "copa", "verus", "vivace", "bbr",
    "bbr3",
];
const CUBIC: usize = 0;

const SIZES: [(&str, u64); 2] = [("1 MB", 1_000_000), ("20 MB", 20_000_000)];
const RTTS_MS: [u64; 3] = [20, 100, 300];
/// Rates in Mbit/s.
const RATES: [u64; 3] = [2, 20, 100];
const LOSSES: [f64; 3] = [0.0, 0.01, 0.05];
const TRACES: [&str; 4] = ["lte-driving", "lte-walking", "umts-driving", "nr-walking"];
/// Buffers in bandwidth-delay products.
const BUFFERS: [f64; 3] = [0.5, 1.0, 4.0];
/// Smallest buffer of the grid in bytes.
const LEAST_BUFFER: u64 = 75_000;
/// Factor over the smallest worst ratio within which the mean ratio decides.
const MARGIN: f64 = 1.1;
/// Largest share of a file's packets that may be retransmitted over a cellular link.
const MOST_REPEATS: f64 = 0.05;

type Failure = Box<dyn std::error::Error>;

/// A network and a file that is sent over it: a scenario's text in which `SCHEME` stands for the
/// scheme of the flow called `file`.
struct Case {
    group: &'static str,
    network: String,
    size: &'static str,
    scenario: String,
    /// Time in seconds that counts for a file that does not arrive.
    longest_s: f64,
}

impl Case {
    /// True if retransmissions in this case decide whether a scheme is a candidate.
    fn counts_repeats(&self) -> bool {
        self.group == "Cellular links"
            && self.size == "20 MB"
            && self.network.ends_with(&percent(0.0))
    }
}

fn flow(scheme: &str, name: &str, rtt_ms: u64, more: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nscheme = \"{scheme}\"\nrtt = \"{rtt_ms}ms\"\nrecovery = \"rfc9002\"\n{more}\n"
    )
}

fn loss_lines(loss: f64) -> String {
    match loss {
        0.0 => String::new(),
        loss => format!("data = {{ loss = {loss} }}\nacks = {{ loss = {loss} }}\n"),
    }
}

fn percent(loss: f64) -> String {
    format!("{} % loss", loss * 100.0)
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (size, bytes) in SIZES {
        for rate in RATES {
            for rtt in RTTS_MS {
                for loss in LOSSES {
                    let buffer = (rate * rtt * 125).max(LEAST_BUFFER);
                    let more = format!("bytes = {bytes}\n{}", loss_lines(loss));
                    cases.push(Case {
                        group: "Links of one rate",
                        network: format!("{rate} Mbit/s, {rtt} ms, {}", percent(loss)),
                        size,
                        scenario: format!(
                            "duration = \"3600s\"\nruns = 5\n[[link]]\nname = \"l\"\nrate = \"{rate}Mbps\"\n\
                             buffer = \"{buffer}B\"\n{}",
                            flow("SCHEME", "file", rtt, &more)
                        ),
                        longest_s: 3600.0,
                    });
                }
            }
        }
        for trace in TRACES {
            for loss in [0.0, 0.01] {
                let more = format!("bytes = {bytes}\n{}", loss_lines(loss));
                cases.push(Case {
                    group: "Cellular links",
                    network: format!("{trace}, 50 ms, {}", percent(loss)),
                    size,
                    scenario: format!(
                        "duration = \"3600s\"\nruns = 5\nspread = \"trace\"\n[[link]]\nname = \"l\"\n\
                         trace = \"{trace}\"\n{}",
                        flow("SCHEME", "file", 50, &more)
                    ),
                    longest_s: 3600.0,
                });
            }
        }
        for rtt in RTTS_MS {
            let more = format!("bytes = {bytes}\nstart = \"10s\"\n");
            cases.push(Case {
                group: "Beside a Cubic flow",
                network: format!("20 Mbit/s, {rtt} ms"),
                size,
                scenario: format!(
                    "duration = \"310s\"\nruns = 3\n[[link]]\nname = \"l\"\nrate = \"20Mbps\"\nbuffer = \"1bdp\"\n{}{}",
                    flow("cubic", "other", rtt, ""),
                    flow("SCHEME", "file", rtt, &more)
                ),
                longest_s: 300.0,
            });
        }
    }
    cases
}

fn runs(text: &str, scheme: &str) -> Result<Vec<Outcome>, String> {
    let text = text.replace("SCHEME", scheme);
    let scenario: Scenario = scenario::parse("default-scheme", &text, None)
        .map_err(|error| format!("{}: {text}", error.message))?;
    let run = |run: Run| paceline_sim::run(&run.scenario(&scenario));
    Run::all(&scenario).map(|one| run(one).map_err(|error| error.to_string())).collect()
}

fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    metrics::median(values).unwrap_or(f64::NAN)
}

/// Cost of a file with one scheme: medians over the runs of a case.
#[derive(Clone, Copy)]
struct Cost {
    /// Time until the file has arrived.
    seconds: f64,
    /// Packets retransmitted, as a share of the file's packets.
    repeats: f64,
}

fn cost(case: &Case, scheme: &str) -> Result<Cost, String> {
    let file = |outcome: &Outcome| outcome.flows.iter().find(|flow| flow.name == "file").cloned();
    let files: Vec<_> = runs(&case.scenario, scheme)?.iter().filter_map(file).collect();
    let seconds = |file: &paceline_sim::FlowOutcome| {
        let completion = file.completion_ms.as_ref();
        completion.map_or(case.longest_s, |completion| completion.p50 / 1e3).min(case.longest_s)
    };
    let repeats = |file: &paceline_sim::FlowOutcome| {
        let again = file.since_start.retransmits as f64;
        again / (file.since_start.sent as f64 - again).max(1.0)
    };
    Ok(Cost {
        seconds: median(files.iter().map(seconds)),
        repeats: median(files.iter().map(repeats)),
    })
}

/// Returns networks in which a candidate shares a link with Cubic: RTT in ms, and buffer in
/// bandwidth-delay products.
fn shared_links() -> impl Iterator<Item = (u64, f64)> {
    RTTS_MS.into_iter().flat_map(|rtt| BUFFERS.into_iter().map(move |buffer| (rtt, buffer)))
}

/// Returns Cubic's throughput beside a candidate in Mbit/s: the median over three runs.
fn beside(rtt: u64, buffer: f64, scheme: &str) -> Result<f64, String> {
    let scenario = format!(
        "duration = \"150s\"\nwarmup = \"30s\"\nruns = 3\n[[link]]\nname = \"l\"\nrate = \"20Mbps\"\n\
         buffer = \"{buffer}bdp\"\n{}{}",
        flow("cubic", "other", rtt, ""),
        flow("SCHEME", "file", rtt, "start = \"5s\"")
    );
    let of = |outcome: &Outcome| outcome.flows.first().map_or(0.0, |other| other.goodput_mbps);
    runs(&scenario, scheme).map(|all| median(all.iter().map(of)))
}

/// All measurements: by case or network, and then by candidate.
struct Table {
    cases: Vec<Case>,
    /// Times in seconds.
    times: Vec<Figures>,
    /// Retransmitted shares of the file.
    repeats: Vec<Figures>,
    /// Throughput of Cubic in Mbit/s.
    shares: Vec<Figures>,
}

/// A row or a column: one figure for each candidate or each case.
type Figures = Vec<f64>;

fn measure() -> Result<Table, Failure> {
    let cases = cases();
    let each = |case: &Case| CANDIDATES.par_iter().map(|scheme| cost(case, scheme)).collect();
    let costs: Result<Vec<Vec<Cost>>, String> = cases.par_iter().map(each).collect();
    let costs = costs?;
    let times = costs.iter().map(|row| row.iter().map(|cost| cost.seconds).collect()).collect();
    let repeats = costs.iter().map(|row| row.iter().map(|cost| cost.repeats).collect()).collect();
    let networks: Vec<(u64, f64)> = shared_links().collect();
    let each = |&(rtt, buffer): &(u64, f64)| {
        CANDIDATES.par_iter().map(|scheme| beside(rtt, buffer, scheme)).collect()
    };
    let shares: Result<Vec<Figures>, String> = networks.par_iter().map(each).collect();
    Ok(Table { times, repeats, shares: shares?, cases })
}

impl Table {
    /// Returns the ratios of a candidate's times to the fastest one's, by case.
    fn ratios(&self, candidate: usize) -> Figures {
        let ratio = |times: &Figures| {
            let best = times.iter().copied().fold(f64::INFINITY, f64::min);
            times.get(candidate).map_or(f64::NAN, |time| time / best)
        };
        self.times.iter().map(ratio).collect()
    }

    fn worst(&self, candidate: usize) -> (f64, &Case) {
        let ratios = self.ratios(candidate);
        let worst = ratios.iter().zip(&self.cases).max_by(|a, b| a.0.total_cmp(b.0));
        let (ratio, case) = worst.expect("there are cases");
        (*ratio, case)
    }

    fn mean(&self, candidate: usize) -> f64 {
        let ratios = self.ratios(candidate);
        (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
    }

    /// Returns Cubic's throughput beside a candidate as a share of its throughput beside Cubic, by
    /// network.
    fn kept(&self, candidate: usize) -> Figures {
        self.shares.iter().map(|row| row[candidate] / row[CUBIC].max(1e-9)).collect()
    }

    fn is_fair(&self, candidate: usize) -> bool {
        let least = |(_, buffer): (u64, f64)| if buffer < 1.0 { 0.25 } else { 0.5 };
        shared_links().zip(self.kept(candidate)).all(|(network, kept)| kept >= least(network))
    }

    /// Returns the largest share of a file of 20 MB that a candidate retransmits over a cellular
    /// link without random loss.
    fn most_repeats(&self, candidate: usize) -> f64 {
        let rows = self.cases.iter().zip(&self.repeats).filter(|(case, _)| case.counts_repeats());
        rows.map(|(_, row)| row[candidate]).fold(0.0, f64::max)
    }

    fn is_thrifty(&self, candidate: usize) -> bool {
        self.most_repeats(candidate) <= MOST_REPEATS
    }

    /// Returns the chosen scheme, by the first rule or by the rule with the bound on
    /// retransmissions.
    fn winner(&self, thrifty: bool) -> usize {
        let all = (0..CANDIDATES.len()).filter(|&one| !thrifty || self.is_thrifty(one));
        let fair: Vec<usize> = all.filter(|&one| self.is_fair(one)).collect();
        let least = fair.iter().map(|&one| self.worst(one).0).fold(f64::INFINITY, f64::min);
        let close = fair.into_iter().filter(|&one| self.worst(one).0 <= least * MARGIN);
        close
            .min_by(|&a, &b| self.mean(a).total_cmp(&self.mean(b)))
            .expect("Cubic is fair and thrifty")
    }
}

fn heading(text: &mut String, first: &str) -> std::fmt::Result {
    write!(text, "\n| {first} |")?;
    CANDIDATES.iter().try_for_each(|scheme| write!(text, " {scheme} |"))?;
    writeln!(text, "\n| --- |{}", " --- |".repeat(CANDIDATES.len()))
}

fn text(table: &Table) -> Result<String, std::fmt::Error> {
    let (first, winner) = (table.winner(false), table.winner(true));
    let mut text = HEAD.to_string();
    writeln!(
        text,
        "\n## The choice\n\nThe changed rule chooses **`{}`**; the original rule, points 1 to 4, chose `{}`.\n",
        CANDIDATES[winner], CANDIDATES[first]
    )?;
    text += "| scheme | worst ratio | where | mean ratio | Cubic keeps at least | leaves enough | retransmitted at most (point 5) |\n\
             | --- | --- | --- | --- | --- | --- | --- |\n";
    let mut order: Vec<usize> = (0..CANDIDATES.len()).collect();
    order.sort_by(|&a, &b| table.worst(a).0.total_cmp(&table.worst(b).0));
    for one in order {
        let (worst, case) = table.worst(one);
        let kept = table.kept(one).into_iter().fold(f64::INFINITY, f64::min);
        writeln!(
            text,
            "| {} | {worst:.1} | {}: {}, {} | {:.2} | {:.0} % | {} | {:.1} %{} |",
            CANDIDATES[one],
            case.group.to_lowercase(),
            case.size,
            case.network,
            table.mean(one),
            kept * 100.0,
            if table.is_fair(one) { "yes" } else { "no" },
            table.most_repeats(one) * 100.0,
            if table.is_thrifty(one) { "" } else { ": too much" },
        )?;
    }
    text += "\n## What Cubic keeps\n\nMbit/s of a Cubic flow next to the scheme at 20 Mbit/s. Medians of three runs, \
             from 30 s on.\n";
    heading(&mut text, "RTT, buffer")?;
    for ((rtt, buffer), row) in shared_links().zip(&table.shares) {
        write!(text, "| {rtt} ms, {buffer} BDP |")?;
        row.iter().try_for_each(|mbps| write!(text, " {mbps:.1} |"))?;
        text.push('\n');
    }
    for group in ["Links of one rate", "Cellular links", "Beside a Cubic flow"] {
        write!(text, "\n## {group}\n\nSeconds.\n")?;
        for (size, _) in SIZES {
            heading(&mut text, size)?;
            let rows = table.cases.iter().zip(&table.times);
            for (case, times) in rows.filter(|(case, _)| (case.group, case.size) == (group, size)) {
                write!(text, "| {} |", case.network)?;
                for seconds in times {
                    match *seconds < case.longest_s {
                        true => write!(text, " {seconds:.2} |")?,
                        false => write!(text, " > {:.0} |", case.longest_s)?,
                    }
                }
                text.push('\n');
            }
        }
    }
    text += "\n## What is sent again over cellular links\n\nRetransmissions in per cent of the packets of a file of 20 MB, without random loss.\n";
    heading(&mut text, "network")?;
    for (case, row) in table.cases.iter().zip(&table.repeats) {
        if case.counts_repeats() {
            write!(text, "| {} |", case.network)?;
            row.iter().try_for_each(|repeats| write!(text, " {:.1} |", repeats * 100.0))?;
            text.push('\n');
        }
    }
    Ok(text + TAIL)
}

fn main() -> Result<(), Failure> {
    let text = text(&measure()?)?;
    match std::env::args().nth(1) {
        Some(path) => std::fs::write(path, text)?,
        None => std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?,
    }
    Ok(())
}
