//! The page of a training: score over time, which rules are used, what they do where.

use paceline_cc::schemes::remy::{Action, Memory, Signal};
use paceline_remy::evaluate::Evaluator;
use paceline_remy::train::{Entry, Trainer};
use paceline_remy::usage::RuleUse;
use paceline_remy::words;
use paceline_report::{
    BarPanel, Bars, Cell, Chart, Fold, Page, Paint, Panel, Series, Shade, Table,
};

/// Points of the score's line.
const BINS: usize = 300;
/// The most rules whose use is drawn.
const RULES: usize = 24;
/// Rows and columns of a map of actions, as shares of the memories.
const QUANTILES: [f64; 7] = [0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98];

/// The page of a training whose rules are used so.
pub(crate) fn page<E: Evaluator>(trainer: &Trainer<E>, uses: &[RuleUse], log: &[Entry]) -> String {
    let state = trainer.state();
    let mut page = Page::new("A table of rules for the scheme remy");
    page.paragraph(&format!(
        "{} rules after {} generations; seed {}; {} candidates; {:.0} simulated seconds in {:.0} CPU \
         seconds.",
        trainer.table().rules().len(),
        trainer.generations(),
        state.seed,
        state.spent.candidates,
        state.spent.simulated_s,
        state.spent.cpu_s
    ));
    page.paragraph(&words::beginning(trainer.table()));
    page.heading("Score over time");
    page.figure(
        &score(log),
        "The sum of the scores over the networks of each step, over processor time; networks are \
         drawn anew all the time, so that the line is never quite still. Below: rules.",
    );
    page.heading("Checks");
    page.paragraph(
        "At the end of a generation the table is compared with that of the generation before, on \
         networks drawn for this alone.",
    );
    page.table(&checks(log));
    used(&mut page, trainer, uses);
    page.heading("The specification");
    state.specification.lines().for_each(|line| page.paragraph(line));
    page.to_html()
}

/// Score and number of rules over processor time.
fn score(log: &[Entry]) -> paceline_report::Figure {
    let end = log.last().map_or(0.0, |entry| entry.spent.cpu_s);
    let bin_s = end / BINS as f64;
    let over = |value: &dyn Fn(&Entry) -> f64| -> Vec<f64> {
        let at = |bin: usize| {
            let time = bin_s * (bin + 1) as f64;
            let known = log.partition_point(|entry| entry.spent.cpu_s <= time);
            known.checked_sub(1).map_or(f64::NAN, |last| value(&log[last]))
        };
        (0..BINS).map(at).collect()
    };
    let series = |name: &str, unit: &str, values| Series {
        name: "table".into(),
        quantity: name.into(),
        unit: unit.into(),
        bin_s,
        values,
        paint: Paint::GOOD,
        shade: Shade::Line,
        fold: Fold::Mean,
        label: Vec::new(),
    };
    let panel = |title: &str, height, series| Panel {
        title: title.into(),
        height,
        log: false,
        series: vec![series],
    };
    Chart {
        label: "Score and rules over processor time".into(),
        panels: vec![
            panel("Score", 240.0, series("score", "", over(&|entry| entry.score))),
            panel("Rules", 90.0, series("rules", "", over(&|entry| entry.rules as f64))),
        ],
    }
    .figure()
}

fn columns(names: &[&str]) -> Vec<(String, String)> {
    names.iter().map(|name| (name.to_string(), String::new())).collect()
}

fn checks(log: &[Entry]) -> Table {
    let row = |entry: &Entry| {
        vec![
            Cell::number(f64::from(entry.generation), 0),
            Cell::number(entry.rules as f64, 0),
            Cell::number(entry.score, 3),
            Cell::number(entry.gain, 3),
            Cell::number(entry.spent.cpu_s, 0),
            Cell::text(&entry.note),
        ]
    };
    let rows = log.iter().filter(|entry| entry.what == "check").map(row).collect();
    Table { columns: columns(&["generation", "rules", "score", "gain", "CPU s", "what"]), rows }
}

/// How often rules are used, what those used most do, and maps.
fn used<E: Evaluator>(page: &mut Page, trainer: &Trainer<E>, uses: &[RuleUse]) {
    let rules = trainer.table().rules();
    let total: u64 = uses.iter().map(|one| one.count).sum();
    let share = |rule: usize| 100.0 * uses[rule].count as f64 / total.max(1) as f64;
    let mut order: Vec<usize> = (0..uses.len()).filter(|&rule| uses[rule].count > 0).collect();
    order.sort_by_key(|&rule| std::cmp::Reverse(uses[rule].count));
    page.heading("Rules used most");
    let most = &order[..order.len().min(RULES)];
    let bars = Bars {
        label: "Uses of rules".into(),
        groups: most.iter().map(usize::to_string).collect(),
        bars: vec![("share of all uses".into(), Paint::GOOD)],
        panels: vec![BarPanel {
            title: "Uses (%)".into(),
            unit: "%".into(),
            log: false,
            values: most.iter().map(|&rule| vec![share(rule)]).collect(),
        }],
    };
    page.figure(&bars.figure(), "How often each rule was used on the networks drawn last.");
    let row = |&rule: &usize| {
        vec![
            Cell::number(rule as f64, 0),
            Cell::number(share(rule), 2),
            Cell::text(words::domain(&rules[rule].domain)),
            Cell::text(words::action(&rules[rule].action)),
        ]
    };
    page.table(&Table {
        columns: columns(&["rule", "uses, %", "memories", "what it does"]),
        rows: order.iter().map(row).collect(),
    });
    page.heading("Maps of actions");
    page.paragraph(
        "What is done with memories whose two signals are as in row and column, the others at their \
         medians: the rule, the window's multiple and increment, and the milliseconds between \
         packets.",
    );
    let samples: Vec<&Memory> = uses.iter().flat_map(RuleUse::samples).collect();
    for (down, across) in [(Signal::RttRatio, Signal::RecEwma), (Signal::SendEwma, Signal::RecEwma)]
    {
        page.subheading(
            &format!("{}-{}", down.name(), across.name()),
            &format!("{} (down) and {} (across)", down.name(), across.name()),
        );
        page.table(&map(trainer, &samples, down, across));
    }
}

/// A table of actions over two signals.
fn map<E: Evaluator>(
    trainer: &Trainer<E>,
    samples: &[&Memory],
    down: Signal,
    across: Signal,
) -> Table {
    let quantile = |signal: Signal, share: f64| {
        let mut values: Vec<f64> = samples.iter().map(|memory| memory.get(signal)).collect();
        values.sort_by(f64::total_cmp);
        let at = (share * values.len() as f64) as usize;
        values.get(at.min(values.len().saturating_sub(1))).copied().unwrap_or(0.0)
    };
    let ends = |signal| {
        let mut ends: Vec<f64> = QUANTILES.iter().map(|&share| quantile(signal, share)).collect();
        ends.dedup();
        ends
    };
    let medians = Signal::ALL.map(|signal| quantile(signal, 0.5));
    let columns_at = ends(across);
    let cell = |row: f64, column: f64| {
        let mut memory = Memory { values: medians };
        (memory.values[down.index()], memory.values[across.index()]) = (row, column);
        match trainer.table().rule_for(&memory) {
            None => Cell::text("no rule"),
            Some(rule) => {
                let Action { multiple, increment, intersend_ms } =
                    trainer.table().rules()[rule].action;
                Cell::text(format!("{rule}: {multiple}, {increment:+}, {intersend_ms}"))
            }
        }
    };
    let rows = ends(down).into_iter().map(|row| {
        let first = Cell::number(row, 4);
        std::iter::once(first).chain(columns_at.iter().map(|&column| cell(row, column))).collect()
    });
    let rows = rows.collect();
    let heads = columns_at.iter().map(|column| (format!("{column:.4}"), String::new()));
    let first = (down.name().to_string(), String::new());
    Table { columns: std::iter::once(first).chain(heads).collect(), rows }
}
