//! Many runs one after the other leave no process, file or socket. This is the only test in its
//! process, so all child processes and open files are its own. `PACELINE_LINUX_RUNS=1000` makes a
//! thousand runs.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;

use paceline_cc::{Rate, Span};
use paceline_guest::{find, transport};
use paceline_sim::run;
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario, Workload};
use paceline_testing::{Need, skip, this_test};

/// Returns the targets of this process' open files, sorted.
fn open_files() -> Vec<String> {
    let entries = fs::read_dir("/proc/self/fd").expect("this process' files").flatten();
    let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    let mut files: Vec<String> = targets.map(|path| path.display().to_string()).collect();
    // The folder that was just read.
    files.retain(|path| !path.ends_with("/fd"));
    files.sort();
    files
}

/// Returns the numbers of this process' children, zombies included.
fn children() -> Vec<String> {
    let own = std::process::id().to_string();
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc").expect("proc").flatten() {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        if parent == Some(&own) {
            children.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    children
}

/// Returns the names of this process' folders for temporary files.
fn folders() -> Vec<String> {
    let start = format!("paceline-linux-{}-", std::process::id());
    let entries = fs::read_dir(std::env::temp_dir()).expect("a folder").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(&start)).collect()
}

#[test]
fn many_runs_leave_nothing() {
    let built = match find(None) {
        Ok(built) => built,
        Err(error) => return skip(Need::Linux, &this_test(), &error.to_string()),
    };
    let count = std::env::var("PACELINE_LINUX_RUNS").map_or(20, |text| text.parse().expect("runs"));
    let mut scenario = Scenario::new("short");
    scenario.duration = Span::from_millis(300);
    let link = LinkSpec::new("link", Capacity::Constant(Rate::from_bps(12_000_000)));
    scenario.links.push(link);
    let made = transport("cubic", move || Ok(built.clone())).expect("a transport");
    let mut flow = FlowSpec::bulk(made, &["link"]);
    flow.workload = Workload::Bytes(6_000);
    scenario.flows.push(flow);

    // The first run starts the thread that starts guests.
    let first = run(&scenario).expect("a run").digest;
    let files = open_files();
    let threads = || fs::read_dir("/proc/self/task").expect("this process' threads").count();
    let threads_before = threads();
    for number in 1..=count {
        assert_eq!(run(&scenario).expect("a run").digest, first, "run {number}");
    }
    assert_eq!(open_files(), files);
    assert_eq!(threads(), threads_before);
    assert_eq!(children(), [""; 0]);
    assert_eq!(folders(), [""; 0]);
}
