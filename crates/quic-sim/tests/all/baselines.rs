//! The kept figures of stacks, and the page with them, have every bound of the suite; the stacks keep
//! to them, and a mistake leaves them.

use std::path::PathBuf;
use std::sync::Arc;

use crate::page;
use crate::stacks::{self, RELEASED, UNDER_STACKS, chosen, stack};
use paceline_quic_sim::Quinn;
use paceline_quic_sim::suite::{Aim, Baseline, BaselineFigure, Suite};
use quinn_proto::congestion::NewRenoConfig;

/// Returns the folder of the kept figures.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("baselines")
}

fn kept(name: &str) -> Baseline {
    stacks::kept(&folder(), name).unwrap_or_else(|error| panic!("{error}"))
}

/// A bound that a baseline does not have would be judged without it.
#[test]
fn kept_figures_have_every_bound_in_each_run() {
    let is_kept = |(name, _): &(&str, Aim)| stacks::kept_file(&folder(), name).exists();
    for (name, aim) in RELEASED.into_iter().filter(is_kept) {
        let baseline = kept(name);
        assert_eq!(baseline.scheme, name);
        for case in Suite::standard().cases {
            for bound in case.bounds.iter().filter(|bound| bound.applies_to(aim)) {
                let measure = bound.measure.to_string();
                let is_of = |figure: &&BaselineFigure| {
                    figure.case == case.name && figure.measure == measure
                };
                let figure = baseline.figures.iter().find(is_of);
                let figure = figure.unwrap_or_else(|| panic!("{name}: {} {measure}", case.name));
                assert!(figure.values.len() >= 5, "{name}: {} {measure}", case.name);
            }
        }
    }
}

/// Cases that take little time, on one congestion control of each stack.
#[test]
fn stacks_keep_to_their_figures() {
    let suite = Suite::standard().only(&["startup", "first-flight", "video", "bursts"]).runs(1);
    for name in ["quinn:own-cubic", "noq:own-newreno", "s2n-cubic", "newreno"] {
        let (scheme, aim) = stack(name).expect("a stack");
        let found = suite.run(&scheme, aim).expect("a run");
        let baseline = kept(name);
        assert!(found.holds_against(&baseline), "{}", found.against(&baseline));
    }
}

/// The simulator's sender declares packets lost at a timeout, and s2n-quic does not: what waited for two seconds is
/// acknowledged, and the window stays.
#[test]
fn s2n_quics_controllers_bridge_an_outage() {
    let suite = Suite::standard().only(&["outage"]).runs(1);
    for name in ["s2n-cubic", "s2n-bbr"] {
        let (scheme, aim) = stack(name).expect("a stack");
        let found = suite.run(&scheme, aim).expect("a run");
        assert!(found.holds(), "{found}");
    }
}

/// A NewReno that keeps .8 of its window meets the bounds of `steady`, but loses more than quinn's.
#[test]
fn a_mistake_leaves_the_kept_figures() {
    let mut config = NewRenoConfig::default();
    config.loss_reduction_factor(0.8);
    let mistaken = Quinn::new("quinn:own-newreno", Arc::new(config)).transport();
    let suite = Suite::standard().only(&["steady"]).runs(1);
    let found = suite.run(&mistaken.into(), Aim::FillsBuffers).expect("a run");
    let baseline = kept("quinn:own-newreno");
    assert!(found.holds() && !found.holds_against(&baseline), "{}", found.against(&baseline));
}

#[test]
fn names_select_congestion_controls() {
    let select = |name: &str| chosen(&[name.to_string()]);
    assert_eq!(select("bbr3"), Ok(vec!["bbr3"]));
    assert_eq!(select("own-bbr"), Ok(vec!["quinn:own-bbr", "noq:own-bbr3"]));
    assert!(select("vegas").is_err_and(|error| error.contains("quinn:own-bbr")));
    assert_eq!(chosen(&[]).map(|all| all.len()), Ok(RELEASED.len() + UNDER_STACKS.len()));
}

#[test]
fn the_page_has_the_kept_figures() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/quic-suite.md");
    let written = std::fs::read_to_string(path).expect("the page");
    let made = page::page(&folder()).unwrap_or_else(|error| panic!("{error}"));
    assert!(
        written == made,
        "docs/quic-suite.md is not of the kept figures: its head has the command"
    );
}
