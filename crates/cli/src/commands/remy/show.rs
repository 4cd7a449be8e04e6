//! `paceline remy show` and `compare`: describe tables.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use paceline_cc::{Rate, Span};
use paceline_remy::usage::{RuleUse, Usage};
use paceline_remy::{Network, score, words};
use paceline_report::Page;
use paceline_schemes::remy::{RemyParams, RuleTable, RuleTree, halves};
use paceline_sim::scenario::CustomScheme;

use super::page::rules_used;
use super::{maps, reaction, table};
use crate::args;
use crate::output::{self, Error};
use crate::results;
use crate::table::{Grid, counted};

/// Options of the trial run, in which uses of rules are counted.
#[derive(Args)]
#[command(next_help_heading = "Trial run")]
pub(crate) struct Trial {
    /// The rate of the link of the trial run, in which uses of rules are counted
    #[arg(long, default_value = "15Mbps", value_parser = args::rate)]
    link: Rate,
    /// The RTT in the trial run
    #[arg(long, default_value = "150ms", value_parser = args::length, allow_hyphen_values = true)]
    rtt: Span,
    /// How many senders the trial run has, each on and off for 5 s in the mean
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    senders: u32,
    /// How long the trial run is
    #[arg(long, default_value = "100s", value_parser = args::length, allow_hyphen_values = true)]
    duration: Span,
}

impl Trial {
    /// Counts the uses of each rule of a table in the trial run.
    fn uses(&self, table: &Arc<RuleTable>) -> Result<Vec<RuleUse>, Error> {
        let network =
            Network::new(self.link, self.rtt).with(|network| network.senders = self.senders);
        let usage = Arc::new(Usage::new(table.rules().len()));
        let params = RemyParams { as_published: true, ..RemyParams::default() };
        let halves = halves(params, Arc::clone(table), Some(usage.clone()));
        let scheme = CustomScheme::new("remy", halves).into();
        score::run(&network, &scheme, self.duration, 1)
            .map_err(|error| Error::Message(error.to_string()))?;
        Ok(usage.rules())
    }

    fn text(&self) -> String {
        let Trial { link, rtt, senders, duration } = self;
        let senders = counted(*senders as usize, "sender");
        format!("{senders} over {link}, RTT {rtt}, for {duration}")
    }
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline remy show general-delta1
  paceline remy show mine.toml --rules 20 -o mine.html")]
pub(crate) struct Show {
    /// A table: a file, or the name of a built-in one
    #[arg(value_name = "TABLE")]
    table: String,
    /// How many of the most used rules to describe
    #[arg(long, default_value_t = 10)]
    rules: usize,
    /// Also print the whole tree of boxes
    #[arg(long)]
    tree: bool,
    /// Also write a page with maps of the rules' actions, and plots of the senders when another
    /// joins or the link slows down
    #[arg(short, long, value_name = "FILE.html")]
    output: Option<PathBuf>,
    #[command(flatten)]
    trial: Trial,
}

/// Checks that the name of a page is not that of another format.
fn check_page(path: Option<&Path>) -> Result<(), Error> {
    path.map_or(Ok(()), |path| results::check_name(path, "-o", "a page", &["html"]))
}

impl Show {
    pub(crate) fn run(self) -> Result<(), Error> {
        check_page(self.output.as_deref())?;
        let table = table(&self.table)?;
        let tree = table.tree();
        let empty = table.rules().iter().filter(|rule| rule.domain.is_empty()).count();
        let mut text = format!(
            "{}: {}, {}, at most {} within each other; empty boxes: {empty}\n{}\n",
            self.table,
            counted(tree.rules(), "rule"),
            counted(tree.splits(), "division"),
            tree.depth(),
            words::beginning(&table),
        );
        if table.resolution() != RuleTable::EXACT {
            text += &format!(
                "RTTs that exceed the minimum by at most {} count as the minimum.\n",
                table.resolution()
            );
        }
        if table.timer() > Span::ZERO {
            text += &format!("{}\n", words::timer(&table));
        }
        let uses = self.trial.uses(&table)?;
        let total: u64 = uses.iter().map(|one| one.count).sum();
        let used = uses.iter().filter(|one| one.count > 0).count();
        let mut order: Vec<usize> = (0..uses.len()).filter(|&rule| uses[rule].count > 0).collect();
        order.sort_by_key(|&rule| std::cmp::Reverse(uses[rule].count));
        text += &format!(
            "\nThe most used of the {used} rules that are used by {}:\n\n",
            self.trial.text()
        );
        let mut grid =
            Grid::words(&["rule", "uses", "with a memory of", "with each acknowledgement it"]);
        for rule in order.into_iter().take(self.rules) {
            let here = &table.rules()[rule];
            grid.row(vec![
                rule.to_string(),
                format!("{:.1} %", 100.0 * uses[rule].count as f64 / total.max(1) as f64),
                words::domain(&here.domain),
                words::action(&here.action),
            ]);
        }
        text += &grid.text();
        if self.tree {
            text += "\n";
            branch(&tree, 0, &mut 0, &uses, &mut text);
        }
        if let Some(path) = &self.output {
            let title = format!("{}, a table of rules for the scheme remy", self.table);
            let mut page = Page::new(&title);
            page.paragraph(&format!(
                "{}, of which {used} are used by {}.",
                counted(tree.rules(), "rule"),
                self.trial.text()
            ));
            page.paragraph(&words::beginning(&table));
            if table.timer() > Span::ZERO {
                page.paragraph(&words::timer(&table));
            }
            rules_used(&mut page, &table, &uses);
            page.heading("Maps of actions");
            maps::add(&mut page, &self.table, &table, &uses);
            page.heading("What senders do");
            reaction::add(&mut page, &self.table, &table, self.trial.link, self.trial.rtt)?;
            output::write_file(path, page.to_html().as_bytes())?;
        }
        output::print(&text)
    }
}

/// Appends a tree to the text, one line for each box.
fn branch(tree: &RuleTree, depth: usize, rule: &mut usize, uses: &[RuleUse], text: &mut String) {
    let place = "  ".repeat(depth);
    let domain = words::domain(tree.domain());
    match tree {
        RuleTree::Leaf(leaf) => {
            let count = uses.get(*rule).map_or(0, |one| one.count);
            let action = words::action(&leaf.action);
            *text += &format!("{place}rule {rule}, {count} uses: {domain}: {action}\n");
            *rule += 1;
        }
        RuleTree::Inner { children, .. } => {
            *text += &format!("{place}{domain}:\n");
            for child in children {
                branch(child, depth + 1, rule, uses, text);
            }
        }
    }
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline remy compare starter general-delta1
  paceline remy compare mine.toml RemyCC-2014-100x.dna -o both.html")]
pub(crate) struct Compare {
    /// A table: a file, or the name of a built-in one
    #[arg(value_name = "TABLE")]
    one: String,
    /// Another table
    #[arg(value_name = "OTHER")]
    other: String,
    /// Also write a page with maps of both tables' actions, and plots of their senders when another
    /// joins or the link slows down
    #[arg(short, long, value_name = "FILE.html")]
    output: Option<PathBuf>,
    #[command(flatten)]
    trial: Trial,
}

impl Compare {
    /// Compares the tables in the situations of the first one: by the memories that it has in the
    /// trial run.
    pub(crate) fn run(self) -> Result<(), Error> {
        check_page(self.output.as_deref())?;
        let (one, other) = (table(&self.one)?, table(&self.other)?);
        if one == other {
            if self.output.is_some() {
                output::note("no page is written of two equal tables");
            }
            return output::print(&format!(
                "{} and {} have the same rules\n",
                self.one, self.other
            ));
        }
        let mut text = String::new();
        for (name, table) in [(&self.one, &one), (&self.other, &other)] {
            let rules = counted(table.rules().len(), "rule");
            text += &format!("{name}: {rules}. {}\n", words::beginning(table));
        }
        let uses = self.trial.uses(&one)?;
        let total: u64 = uses.iter().map(|one| one.count).sum();
        let mut order: Vec<usize> = (0..uses.len()).filter(|&rule| uses[rule].count > 0).collect();
        order.sort_by_key(|&rule| std::cmp::Reverse(uses[rule].count));
        text += &format!(
            "\nWhat each does with the median memories of the rules that the first uses most, with {}:\n\n",
            self.trial.text()
        );
        let mut grid = Grid::words(&["uses", "rule", &self.one, "rule", &self.other]);
        for rule in order.into_iter().take(10) {
            let mut memory = paceline_schemes::remy::Memory::default();
            for signal in paceline_schemes::remy::Signal::ALL {
                memory.values[signal.index()] = uses[rule].median(signal).unwrap_or(0.0);
            }
            let theirs = other.rule_for(&memory);
            grid.row(vec![
                format!("{:.1} %", 100.0 * uses[rule].count as f64 / total.max(1) as f64),
                rule.to_string(),
                words::action(&one.rules()[rule].action),
                theirs.map_or("none".into(), |rule| rule.to_string()),
                theirs.map_or("-".into(), |rule| words::action(&other.rules()[rule].action)),
            ]);
        }
        if let Some(path) = &self.output {
            let mut page = Page::new(&format!("{} and {}", self.one, self.other));
            let both = [(&self.one, &one), (&self.other, &other)];
            for (name, table) in both {
                let rules = counted(table.rules().len(), "rule");
                page.paragraph(&format!("{name}: {rules}. {}", words::beginning(table)));
            }
            for (name, table) in both {
                page.heading(&format!("Maps of actions of {name}"));
                page.paragraph(&format!(
                    "Memories are those of {} with {}.",
                    self.one,
                    self.trial.text()
                ));
                maps::add(&mut page, name, table, &uses);
            }
            for (name, table) in both {
                page.heading(&format!("What senders of {name} do"));
                reaction::add(&mut page, name, table, self.trial.link, self.trial.rtt)?;
            }
            output::write_file(path, page.to_html().as_bytes())?;
        }
        output::print(&(text + &grid.text()))
    }
}
