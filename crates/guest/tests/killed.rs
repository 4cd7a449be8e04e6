//! Kills a guest in the middle of a run. This is the only test in its process, so all child
//! processes are guests.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use paceline_cc::{Rate, Span, Time};
use paceline_guest::{find, transport};
use paceline_sim::Simulation;
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario};
use paceline_testing::{Need, skip, this_test};

/// Returns the processes in sessions that guests of this process lead: the guests, and the stubs of
/// their programs.
fn processes() -> Vec<i32> {
    let own = std::process::id().to_string();
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc").expect("proc").flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let fields: Vec<String> = stat
            .rsplit_once(')')
            .map(|(_, rest)| rest.split_whitespace().map(str::to_string).collect())
            .unwrap_or_default();
        // Fields: state, parent, group, session.
        if let [state, parent, _, session, ..] = &fields[..] {
            all.push((pid, parent.clone(), session.clone(), state.clone()));
        }
    }
    let leaders: Vec<String> = all
        .iter()
        .filter(|(pid, parent, session, _)| *parent == own && *session == pid.to_string())
        .map(|(pid, ..)| pid.to_string())
        .collect();
    let is_guest = |session: &String| leaders.contains(session);
    all.iter().filter(|(.., session, _)| is_guest(session)).map(|(pid, ..)| *pid).collect()
}

/// Returns the number of folders of this process' guests.
fn folders() -> usize {
    let start = format!("paceline-linux-{}-", std::process::id());
    let entries = fs::read_dir(std::env::temp_dir()).expect("a folder").flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&start)).count()
}

#[test]
fn a_killed_guest_is_an_error_and_leaves_nothing() {
    let built = match find(None) {
        Ok(built) => built,
        Err(error) => return skip(Need::Linux, &this_test(), &error.to_string()),
    };
    let mut scenario = Scenario::new("killed");
    scenario.duration = Span::from_secs(4);
    let link = LinkSpec::new("link", Capacity::Constant(Rate::from_bps(12_000_000)));
    scenario.links.push(link);
    let made = transport("cubic", move || Ok(built.clone())).expect("a transport");
    scenario.flows.push(FlowSpec::bulk(made, &["link"]));

    let mut simulation = Simulation::new(scenario).expect("a simulation");
    simulation.advance(Time::from_secs(1));
    assert_eq!(folders(), 0, "guests need no folder once they are set up");
    let guests = processes();
    assert!(guests.len() >= 2, "{guests:?}");
    simulation.outcome().expect("all is well");
    kill(Pid::from_raw(guests[0]), Signal::SIGKILL).expect("a guest");
    simulation.advance(Time::from_secs(4));
    let error = simulation.outcome().expect_err("a guest is gone").to_string();
    assert!(error.contains("killed by signal 9") && error.contains("host"), "{error}");
    drop(simulation);
    // The guest or process 1 reaps the stubs.
    let gone = (0..600).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        guests.iter().all(|pid| {
            let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            status.is_empty() || status.contains(") Z ")
        })
    });
    assert!(gone && processes().is_empty() && folders() == 0, "{:?}", processes());
}
