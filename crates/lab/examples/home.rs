//! Writes `docs/home.md`: the effect of other schemes and queues in a home network. `cargo run
//! --release -p paceline-lab --example home -- docs/home.md`, or `make home`.

use std::fmt::Write as _;
use std::path::Path;

use paceline_sim::Outcome;
use paceline_sim::cc::Spec;
use paceline_sim::scenario::{self, FlowSpec, QueueChoice, Scenario, check_scheme};

const HEAD: &str = include_str!("home_head.md");

/// Schemes of the transfers, and queue of the access point and of all stations. Their routers are
/// those of the flows that pass them.
struct Row {
    name: &'static str,
    /// Scheme of the download; scheme of the backup and the tablet.
    schemes: [&'static str; 2],
    queue: &'static str,
}

const fn all(name: &'static str, scheme: &'static str, queue: &'static str) -> Row {
    Row { name, schemes: [scheme, scheme], queue }
}

static ROWS: [Row; 9] = [
    all("Cubic, one queue", "cubic", "droptail"),
    all("Cubic, CoDel", "cubic", "codel"),
    all("Cubic, FQ-CoDel", "cubic", "fq_codel"),
    all("BBR, one queue", "bbr", "droptail"),
    all("C2TCP, one queue", "c2tcp", "droptail"),
    all("Copa, one queue", "copa", "droptail"),
    all("ABC with its router", "abc", "droptail"),
    Row { name: "ABC beside Cubic, one queue", schemes: ["abc", "cubic"], queue: "droptail" },
    Row { name: "ABC beside Cubic, two queues", schemes: ["abc", "cubic"], queue: "abc_dual" },
];

/// The flows of each situation.
static SITUATIONS: [(&str, &[&str]); 3] = [
    ("A download beside a backup", &["download", "backup"]),
    ("The same beside a call", &["download", "backup", "call-down", "call-up"]),
    ("The same beside a slow tablet", &["download", "backup", "call-down", "call-up", "tablet"]),
];

const SEEDS: u64 = 5;

/// Figures of a run, or their means over several.
#[derive(Clone, Debug, Default)]
struct Figures {
    /// Throughput in Mbit/s of the download, the backup, the tablet, and the call's two directions.
    download: f64,
    backup: f64,
    tablet: f64,
    call: [f64; 2],
    /// 95th percentiles of one-way delays in ms: of the download, and of the call's two directions.
    waits: f64,
    call_waits: [f64; 2],
    /// Jain's index of the transfers' rates.
    jain: f64,
}

impl Figures {
    fn of(outcome: &Outcome) -> Figures {
        let find = |name: &str| outcome.flows.iter().find(|flow| flow.name == name);
        let mbps = |name: &str| find(name).map_or(0.0, |flow| flow.goodput_mbps);
        let p95 = |name: &str| find(name).map_or(0.0, |flow| flow.one_way_delay_ms.p95);
        let transfers =
            ["download", "backup", "tablet"].into_iter().filter(|name| find(name).is_some());
        let rates: Vec<f64> = transfers.map(mbps).collect();
        Figures {
            download: mbps("download"),
            backup: mbps("backup"),
            tablet: mbps("tablet"),
            call: [mbps("call-down"), mbps("call-up")],
            waits: p95("download"),
            call_waits: [p95("call-down"), p95("call-up")],
            jain: paceline_sim::metrics::jain(&rates),
        }
    }

    fn total(&self) -> f64 {
        self.download + self.backup + self.tablet
    }

    fn mean(all: &[Figures]) -> Figures {
        let mean = |part: &dyn Fn(&Figures) -> f64| {
            all.iter().map(part).sum::<f64>() / all.len().max(1) as f64
        };
        Figures {
            download: mean(&|it| it.download),
            backup: mean(&|it| it.backup),
            tablet: mean(&|it| it.tablet),
            call: [mean(&|it| it.call[0]), mean(&|it| it.call[1])],
            waits: mean(&|it| it.waits),
            call_waits: [mean(&|it| it.call_waits[0]), mean(&|it| it.call_waits[1])],
            jain: mean(&|it| it.jain),
        }
    }
}

type Failure = Box<dyn std::error::Error>;

fn scenario_of(base: &Scenario, row: &Row, flows: &[&str], seed: u64) -> Result<Scenario, Failure> {
    let mut scenario = base.clone();
    scenario.seed = seed;
    scenario.flows.retain(|flow| flows.contains(&flow.name.as_str()));
    let [first, others] = row.schemes;
    let set = |flow: &mut FlowSpec, scheme: &str| -> Result<(), Failure> {
        flow.scheme = check_scheme(scheme)?.into();
        Ok(())
    };
    for flow in &mut scenario.flows {
        match flow.name.as_str() {
            "download" => set(flow, first)?,
            "backup" | "tablet" => set(flow, others)?,
            _ => {}
        }
    }
    for medium in &mut scenario.media {
        let queue = QueueChoice::Named(Spec::parse(row.queue)?);
        medium.access_point.queue = queue.clone();
        medium.stations.iter_mut().for_each(|station| station.port.queue = queue.clone());
    }
    Ok(scenario)
}

/// Figures by situation and row.
type Table = Vec<Vec<Figures>>;

/// Returns the means of a row in a situation.
fn mean_of(base: &Scenario, row: &Row, flows: &[&str]) -> Result<Figures, String> {
    let mut all = Vec::new();
    for seed in 1..=SEEDS {
        let scenario = scenario_of(base, row, flows, seed).map_err(|error| error.to_string())?;
        all.push(Figures::of(&paceline_sim::run(&scenario).map_err(|error| error.to_string())?));
    }
    Ok(Figures::mean(&all))
}

/// Measures all rows of all situations, with a thread for each row.
fn measure(base: &Scenario) -> Result<Table, Failure> {
    let mut table = Table::new();
    for (_, flows) in SITUATIONS {
        let rows: Result<Vec<Figures>, String> = std::thread::scope(|scope| {
            let start = |row| scope.spawn(move || mean_of(base, row, flows));
            let threads: Vec<_> = ROWS.iter().map(start).collect();
            let ended = threads.into_iter().map(|thread| thread.join());
            ended.map(|row| row.unwrap_or_else(|_| Err("a run has panicked".into()))).collect()
        });
        table.push(rows?);
    }
    Ok(table)
}

/// An expectation from before the first run, and whether the table meets it.
type Expectation = (&'static str, fn(&Table) -> bool);

/// Indices of rows in `ROWS`.
const CUBIC: usize = 0;
const CODEL: usize = 1;
const FQ: usize = 2;
const C2TCP: usize = 4;
const COPA: usize = 5;
const ABC: usize = 6;
const MIXED: usize = 7;
const DUAL: usize = 8;

static EXPECTATIONS: [Expectation; 9] = [
    (
        "Beside a call: with Cubic over one queue the call's packets down wait more than 100 \
         ms (95th percentile)",
        |table| table[1][CUBIC].call_waits[0] > 100.0,
    ),
    ("Beside a call: with FQ-CoDel they wait less than 50 ms", |table| {
        table[1][FQ].call_waits[0] < 50.0
    }),
    ("Beside a call: with CoDel they wait a time between these two", |table| {
        let waits = |row: usize| table[1][row].call_waits[0];
        (waits(FQ)..waits(CUBIC)).contains(&waits(CODEL))
    }),
    (
        "Beside a call: the call's packets up wait less than 50 ms with every scheme and \
         queue, since the phone's queue has no other packets",
        |table| table[1].iter().all(|row| row.call_waits[1] < 50.0),
    ),
    (
        "Without a call: with Cubic over one queue the backup gets more than the download, \
         since the access point has no more turns than the desktop",
        |table| table[0][CUBIC].backup > table[0][CUBIC].download,
    ),
    (
        "Beside a call and the slow tablet: the transfers' total is less than three quarters \
         of the total beside a call alone, with every scheme and queue",
        |table| {
            let total = |row: &Figures| row.download + row.backup;
            table[1]
                .iter()
                .zip(&table[2])
                .all(|(without, with)| with.total() < 0.75 * total(without))
        },
    ),
    (
        "Beside a call: with C2TCP, Copa and ABC the call's packets down wait less than half \
         as long as with Cubic over one queue",
        |table| {
            let waits = |row: usize| table[1][row].call_waits[0];
            [C2TCP, COPA, ABC].into_iter().all(|row| waits(row) < 0.5 * waits(CUBIC))
        },
    ),
    (
        "In each of the three situations: ABC carries at least 90 % of the rate of Cubic over \
         one queue",
        |table| table.iter().all(|rows| rows[ABC].total() > 0.9 * rows[CUBIC].total()),
    ),
    (
        "Beside a call and the slow tablet, whose packets also wait at the access point, \
         under Cubic: ABC's download gets more with two queues than with one",
        |table| table[2][DUAL].download > table[2][MIXED].download,
    ),
];

fn text(table: &Table) -> Result<String, std::fmt::Error> {
    let mut text = HEAD.to_string();
    for ((title, flows), rows) in SITUATIONS.iter().zip(table) {
        write!(
            text,
            "\n## {title}\n\n| | download | backup | {}total | Jain | download's delay |{}\n\
             | --- | --- | --- | --- | --- | --- |{}\n",
            if flows.contains(&"tablet") { "tablet | " } else { "" },
            if flows.contains(&"call-up") { " call down, up | its delay down, up |" } else { "" },
            [(&"tablet", " --- |"), (&"call-up", " --- | --- |")]
                .into_iter()
                .filter_map(|(flow, columns)| flows.contains(flow).then_some(columns))
                .collect::<String>(),
        )?;
        for (row, it) in ROWS.iter().zip(rows) {
            write!(text, "| {} | {:.1} | {:.1} |", row.name, it.download, it.backup)?;
            if flows.contains(&"tablet") {
                write!(text, " {:.2} |", it.tablet)?;
            }
            write!(text, " {:.1} | {:.2} | {:.0} |", it.total(), it.jain, it.waits)?;
            if flows.contains(&"call-up") {
                let ([down, up], [late, early]) = (it.call, it.call_waits);
                write!(text, " {down:.2}, {up:.2} | {late:.0}, {early:.0} |")?;
            }
            text.push('\n');
        }
    }
    text += "\n## What was expected, and what came\n\nWritten down before the first run; the \
             words before each colon were added later.\n\n";
    for (what, holds) in &EXPECTATIONS {
        let came = if holds(table) { "It is so" } else { "**It is not so**" };
        writeln!(text, "- {what}. {came}.")?;
    }
    Ok(text)
}

fn main() -> Result<(), Failure> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/home-call.toml");
    let table = measure(&scenario::load(&file)?)?;
    let text = text(&table)?;
    match std::env::args().nth(1) {
        Some(path) => std::fs::write(path, text)?,
        None => std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?,
    }
    Ok(())
}
