//! Text and JSON output of `paceline kernel`.

use std::collections::BTreeMap;

use paceline_kernel::{self as kernel, Probe, ProgramState};
use serde::Serialize;

use crate::output::{self, Error};
use crate::table::Grid;

#[derive(Serialize)]
struct ProgramList<'a> {
    programs: &'a [ProgramState],
}

/// Prints the programs and their states.
pub(super) fn list(json: bool) -> Result<(), Error> {
    let states = kernel::list();
    if json {
        return output::print_json(&ProgramList { programs: &states });
    }
    let mut grid = Grid::after(3, &["name", "state", "what it does"]);
    for state in &states {
        let how = match (state.loaded, state.leftover, state.available) {
            (true, _, _) if state.options.is_empty() => "loaded".to_string(),
            (true, _, _) => format!("loaded: {}", state.options.join(", ")),
            (_, true, _) => "left over: unload it".into(),
            (_, _, true) => "registered, not from here".into(),
            _ => "-".into(),
        };
        grid.row(vec![state.name.into(), how, state.summary.into()]);
    }
    output::print(&grid.text())
}

#[derive(Serialize)]
struct Status<'a> {
    #[serde(flatten)]
    probe: &'a Probe,
    missing: Option<String>,
    programs: &'a [ProgramState],
}

/// Prints which features this machine has, and which it lacks.
pub(super) fn status(json: bool) -> Result<(), Error> {
    let (probe, states) = (kernel::probe(), kernel::list());
    let missing = probe.check().err().map(|error| error.to_string());
    if json {
        return output::print_json(&Status { probe: &probe, missing, programs: &states });
    }
    let yes = |there| if there { "yes" } else { "no" };
    let loaded: Vec<_> = states.iter().filter(|state| state.loaded).map(|s| s.name).collect();
    let loaded = if loaded.is_empty() { "none".to_string() } else { loaded.join(", ") };
    let mut grid = Grid::after(2, &["", ""]);
    let accurate = probe.accurate_ecn.map_or("unknown", yes);
    for (what, value) in [
        ("kernel", probe.kernel.as_str()),
        ("eBPF programs built in", yes(probe.built)),
        ("root", yes(probe.root)),
        ("kernel tells its types (BTF)", yes(probe.btf)),
        ("BPF file system mounted", yes(probe.bpf_fs)),
        ("Accurate ECN", accurate),
        ("loaded", &loaded),
        ("congestion controls here", &probe.available.join(", ")),
    ] {
        grid.row(vec![what.into(), value.into()]);
    }
    let verdict = missing.unwrap_or_else(|| "nothing is missing".into());
    output::print(&format!("{}{verdict}\n", grid.text()))
}

/// Prints a program's counters.
pub(super) fn stats(counters: &[(&'static str, u64)], json: bool) -> Result<(), Error> {
    if json {
        let all: BTreeMap<_, _> = counters.iter().copied().collect();
        return output::print_json(&all);
    }
    let mut grid = Grid::after(1, &["counter", ""]);
    for (name, value) in counters {
        grid.row(vec![name.replace('_', " "), value.to_string()]);
    }
    output::print(&grid.text())
}
