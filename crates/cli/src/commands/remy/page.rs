//! The page of a training: the score over time, the uses of rules, and maps of their actions.

use paceline_remy::evaluate::Evaluator;
use paceline_remy::train::{Entry, Trainer};
use paceline_remy::usage::RuleUse;
use paceline_remy::words;
use paceline_report::{
    BarPanel, Bars, Cell, Chart, Fold, Page, Paint, Panel, Series, Shade, Table,
};
use paceline_schemes::remy::RuleTable;

use super::maps;
use crate::table::counted;

/// Points of the score's line.
const BINS: usize = 300;
/// Most rules whose use is drawn.
const RULES: usize = 24;

/// Returns the page of a training, with the uses of its table's rules.
pub(crate) fn page<E: Evaluator>(trainer: &Trainer<E>, uses: &[RuleUse], log: &[Entry]) -> String {
    let state = trainer.state();
    let mut page = Page::new("A table of rules for the scheme remy");
    page.paragraph(&format!(
        "{} after {}; seed {}; {} candidates; {:.0} simulated seconds in {:.0} CPU seconds.",
        counted(trainer.table().rules().len(), "rule"),
        counted(trainer.generations() as usize, "generation"),
        state.seed,
        state.spent.candidates,
        state.spent.simulated_s,
        state.spent.cpu_s
    ));
    page.paragraph(&words::beginning(trainer.table()));
    page.heading("Score over time");
    page.figure(
        &score(log),
        "Over processor time. Above: the score per network on the validation set, which is the same all \
         the time and which training does not see. Below: the sum of the scores over the networks of \
         each step, which are drawn anew all the time, so that the line is never quite still; rules.",
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

/// Draws the score and the number of rules over processor time.
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
    let last_validation = |entry: &Entry| {
        let upto = log.partition_point(|one| one.step <= entry.step);
        log[..upto].iter().rev().find_map(|one| one.validation).unwrap_or(f64::NAN)
    };
    let validation = over(&last_validation);
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
            panel("Validation score per network", 240.0, series("validation", "", validation)),
            panel("Score", 120.0, series("score", "", over(&|entry| entry.score))),
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
            Cell::number(entry.validation.unwrap_or(f64::NAN), 4),
            Cell::number(entry.spent.cpu_s, 0),
            Cell::text(&entry.note),
        ]
    };
    let rows = log.iter().filter(|entry| entry.what == "check").map(row).collect();
    let names = ["generation", "rules", "score", "gain", "validation", "CPU s", "what"];
    Table { columns: columns(&names), rows }
}

/// Adds the uses of rules, the actions of the most used ones, and maps.
fn used<E: Evaluator>(page: &mut Page, trainer: &Trainer<E>, uses: &[RuleUse]) {
    rules_used(page, trainer.table(), uses);
    page.heading("Maps of actions");
    maps::add(page, "The table", trainer.table(), uses);
}

/// Adds the uses of rules, and the actions of the most used ones.
pub(super) fn rules_used(page: &mut Page, table: &RuleTable, uses: &[RuleUse]) {
    let rules = table.rules();
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
    page.figure(&bars.figure(), "How often each rule was used.");
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
}
