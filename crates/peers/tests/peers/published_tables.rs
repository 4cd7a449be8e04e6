//! Remy's published tables (`remycc` beside the repository), compared with figures of Remy's own
//! program.

use std::path::Path;
use std::sync::Arc;

use paceline_cc::{Rate, Span};
use paceline_flow::{Amount, On};
use paceline_peers::vector::Declared::Holds;
use paceline_peers::vector::{Outcome, near, same};
use paceline_remy::evaluate::Contender;
use paceline_remy::{Network, PACKET, eval, load};
use paceline_schemes::remy::{RemyParams, RuleTable};

use crate::vectors::remy_memories;
use crate::{Declaration, judge};

pub(crate) const PEER: &str = "Remy, published tables";

pub(crate) const DECLARED: &[Declaration] = &[
    ("whiskertree.cc: RemyCC-2013-delta1", Holds),
    ("whiskertree.cc: RemyCC-2014-100x", Holds),
    ("whiskertree.cc: RemyCC-2013-delta0.1", Holds),
    ("verify-2014-2.test", Holds),
    ("verify-2014-10.test", Holds),
    ("verify-2014-29.test", Holds),
    ("verify-2014-185.test", Holds),
    ("verify-2014-300.test", Holds),
    ("verify-2014-401.test", Holds),
    ("verify-2014-802.test", Holds),
    ("maintain-2013-results: RemyCC-2013-delta10", Holds),
    ("maintain-2013-results: RemyCC-2013-delta1", Holds),
    ("maintain-2013-results: RemyCC-2013-delta0.1", Holds),
];

fn table(folder: &Path, name: &str) -> RuleTable {
    let path = folder.join(format!("{name}.dna"));
    load(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).table
}

/// Acknowledgements after which a table's window and time between packets (in ms) are known.
const AFTER: [usize; 11] = [0, 5, 11, 17, 23, 29, 35, 41, 47, 53, 59];

/// Actions after these acknowledgements.
const ACTIONS: [(&str, [(u32, f64); 11]); 3] = [
    (
        "RemyCC-2013-delta1",
        [
            (10, 7.9897),
            (42, 6.2589),
            (74, 5.4288),
            (77, 4.0793),
            (75, 4.0793),
            (85, 4.0793),
            (15, 6.8693),
            (10, 3.8891),
            (18, 2.5795),
            (10, 3.8891),
            (11, 6.8997),
        ],
    ),
    (
        "RemyCC-2014-100x",
        [
            (60, 0.292),
            (211, 3.7295),
            (211, 3.7295),
            (211, 3.7295),
            (211, 3.7295),
            (211, 3.7295),
            (43, 4.9627),
            (43, 4.9627),
            (58, 1.7763),
            (43, 4.9627),
            (43, 4.9627),
        ],
    ),
    (
        "RemyCC-2013-delta0.1",
        [
            (10, 7.0799),
            (48, 1.2299),
            (89, 3.3095),
            (94, 3.3095),
            (97, 3.9898),
            (104, 3.3095),
            (10, 3.2691),
            (14, 7.3594),
            (32, 2.1193),
            (15, 7.3594),
            (10, 3.2691),
        ],
    ),
];

/// Compares the windows and times between packets of a table, acknowledgement by acknowledgement.
fn actions(table: &RuleTable, expected: &[(u32, f64); 11]) -> Outcome {
    let mut window = 1;
    for (index, memory) in remy_memories().iter().enumerate() {
        let rule = table.rule_for(memory).ok_or("no rule")?;
        let action = table.rules()[rule].action;
        window = action.apply(window);
        if let Some(row) = AFTER.iter().position(|after| *after == index) {
            let (packets, gap) = expected[row];
            same(&format!("window after {index}"), window, packets)?;
            near(&format!("time between packets after {index}"), action.intersend_ms, gap, 1e-6)?;
        }
    }
    Ok(())
}

/// A run of senders whose on- and off-periods are exponential with one mean.
struct Run {
    name: &'static str,
    table: &'static str,
    mbps: f64,
    senders: u32,
    /// Mean of on- and off-periods, and length of the run, in seconds.
    on: f64,
    seconds: u64,
    /// Throughput of a sender while it is on in Mbit/s, and delay in addition to the RTT of 150 ms.
    mbps_of_one: f64,
    delay: f64,
}

const fn two(name: &'static str, mbps: f64, figure: f64, delay_ms: f64) -> Run {
    let seconds = if mbps > 100.0 { 100 } else { 1000 };
    // The tests' figures are 3/4 of the throughput that the program prints.
    let mbps_of_one = figure / 0.75;
    let table = "RemyCC-2014-100x";
    Run { name, table, mbps, senders: 2, on: 1.0, seconds, mbps_of_one, delay: delay_ms / 150.0 }
}

const fn eight(name: &'static str, table: &'static str, throughput: f64, delay: f64) -> Run {
    let (mbps, senders, on, seconds) = (15.0, 8, 10.0, 1000);
    Run { name, table, mbps, senders, on, seconds, mbps_of_one: throughput * mbps, delay }
}

const RUNS: [Run; 10] = [
    two("verify-2014-2.test", 2.21, 1.8, 346.0),
    two("verify-2014-10.test", 9.93, 6.0, 165.0),
    two("verify-2014-29.test", 29.41, 18.0, 174.0),
    two("verify-2014-185.test", 185.04, 91.1, 157.0),
    two("verify-2014-300.test", 300.25, 133.1, 152.0),
    two("verify-2014-401.test", 401.4, 146.0, 151.0),
    two("verify-2014-802.test", 801.5, 156.0, 150.0),
    eight("maintain-2013-results: RemyCC-2013-delta10", "RemyCC-2013-delta10", 0.65, 1.0),
    eight("maintain-2013-results: RemyCC-2013-delta1", "RemyCC-2013-delta1", 0.81, 1.02),
    eight("maintain-2013-results: RemyCC-2013-delta0.1", "RemyCC-2013-delta0.1", 0.9, 1.11),
];

/// Compares a run within 5 %, as the program's own tests do.
fn runs(run: &Run, table: RuleTable) -> Outcome {
    let mut network = Network::new(Rate::from_mbps(run.mbps), Span::from_millis(150));
    network.senders = run.senders;
    network.on = On::Time(Amount::Exponential(run.on));
    network.off = Amount::Exponential(run.on);
    let params = RemyParams { as_published: true, ..RemyParams::default() };
    let table = Contender::Table { table: Arc::new(table), params };
    let packets_per_ms = run.mbps * 1e3 / (8.0 * f64::from(PACKET));
    let span = Span::from_secs(run.seconds);
    let outcome =
        eval("table", &network, packets_per_ms, &table, span, &[1, 2, 3], Default::default());
    let outcome = outcome.map_err(|error| error.to_string())?;
    near("Mbit/s", outcome.throughput_mbps, run.mbps_of_one, 0.05 * run.mbps_of_one)?;
    near("delay", outcome.delay_ms / 150.0, run.delay, 0.05 * run.delay)
}

/// Returns the declared outcomes of whole runs if `of_runs`, otherwise those of single look-ups in
/// a table.
fn declared(of_runs: bool) -> Vec<Declaration> {
    let is_run = |name: &str| RUNS.iter().any(|run| run.name == name);
    DECLARED.iter().copied().filter(|(name, _)| is_run(name) == of_runs).collect()
}

#[test]
fn published_tables_act_as_published() {
    let Some(folder) = paceline_testing::reference("remycc") else { return };
    let outcome = |(name, expected): &(&str, _)| {
        (format!("whiskertree.cc: {name}"), actions(&table(&folder, name), expected))
    };
    judge(&declared(false), &ACTIONS.iter().map(outcome).collect::<Vec<_>>());
}

#[test]
#[ignore = "takes a minute of a processor"]
fn whole_runs_are_as_published() {
    let Some(folder) = paceline_testing::reference("remycc") else { return };
    let outcome = |run: &Run| (run.name.to_string(), runs(run, table(&folder, run.table)));
    judge(&declared(true), &RUNS.iter().map(outcome).collect::<Vec<_>>());
}
