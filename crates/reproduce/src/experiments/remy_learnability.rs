//! Knowledge that a designer needs: number of senders, RTTs, signals (§1.2 of Winstein's thesis).

use paceline_cc::{Rate, Span};
use paceline_flow::{Amount, On};
use paceline_path::BufferSize;
use paceline_remy::Network;

use super::Experiment;
use super::common::{mean, most};
use super::remy_common::{Runs, note_missing, tables};
use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "remy-learnability",
    title: "Remy: what a designer has to know",
    about: "RemyCCs made for few and many senders over 15 Mbit/s with 1 to 100 of them; RemyCCs made \
            for narrow ranges of RTTs over 33 Mbit/s with RTTs of 50 to 250 ms; tables that were \
            trained without one signal, if there are any.",
    plan,
    find,
};

const MULTIPLEXING: [(&str, &str); 3] = [
    ("2", "fig3-multiplexing__muxing2.dna.2"),
    ("10", "fig3-multiplexing__muxing10-resume.dna.3"),
    ("100", "fig3-multiplexing__muxing100-resume.dna.0"),
];
const SENDERS: [u32; 5] = [1, 2, 10, 30, 100];
const RTT: [(&str, &str); 4] = [
    ("150", "fig4-rtt__150-alone.dna.2"),
    ("145-155", "fig4-rtt__145--155.dna.4"),
    ("140-160", "fig4-rtt__140-160.dna.5"),
    ("10x", "fig4-rtt__rtt_10x.dna.3"),
];
const RTTS_MS: [u64; 5] = [50, 100, 150, 200, 250];
const SIGNALS: [(&str, &str); 4] = [
    ("all", "signals-all.toml"),
    ("no-send_ewma", "signals-no-send_ewma.toml"),
    ("no-rec_ewma", "signals-no-rec_ewma.toml"),
    ("no-rtt_ratio", "signals-no-rtt_ratio.toml"),
];

fn network(mbps: f64, rtt_ms: u64, senders: u32) -> Network {
    Network::new(Rate::from_mbps(mbps), Span::from_millis(rtt_ms)).with(|network| {
        network.senders = senders;
        network.on = On::Time(Amount::Exponential(1.0));
        network.off = Amount::Exponential(1.0);
        network.buffer = BufferSize::Bdp(5.0);
    })
}

fn runs(setting: &Setting, name: String, network: Network) -> Runs {
    Runs { name, network, duration: setting.length(100, 20), count: 1, seed: setting.seed }
}

fn multiplexing(setting: &Setting) -> Vec<Runs> {
    let of = |senders| runs(setting, format!("{senders} senders"), network(15.0, 150, senders));
    SENDERS.map(of).to_vec()
}

fn rtts(setting: &Setting) -> Vec<Runs> {
    RTTS_MS.map(|rtt| runs(setting, format!("RTT {rtt} ms"), network(33.0, rtt, 2))).to_vec()
}

fn signals(setting: &Setting) -> Runs {
    let network = network(15.0, 150, 8).with(|network| {
        network.on = On::Time(Amount::Exponential(5.0));
        network.off = Amount::Exponential(5.0);
        network.buffer = BufferSize::Unlimited;
    });
    let duration = setting.length(200, 20);
    Runs { name: "signals".into(), network, duration, count: 2, seed: setting.seed }
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let mut tasks = signals(setting).tasks_of(&tables(setting, &SIGNALS))?;
    for (all, files) in [(multiplexing(setting), &MULTIPLEXING[..]), (rtts(setting), &RTT[..])] {
        for runs in all {
            tasks.extend(runs.tasks_of(&tables(setting, files))?);
        }
    }
    Ok(tasks)
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings = Findings::default();
    for files in [&MULTIPLEXING[..], &RTT[..], &SIGNALS[..]] {
        note_missing(setting, files, &mut findings);
    }
    let mux = scores(&multiplexing(setting), &MULTIPLEXING, results);
    let gain = |at: usize, one: usize, other: usize| mux[one][at] - mux[other][at];
    // Indices for 2, 10 and 100 senders, and for the tables made for them.
    findings.measure("mux.2.gain", gain(1, 0, 2));
    findings.measure("mux.10.gain", gain(2, 1, 0));
    findings.measure("mux.100.gain", gain(4, 2, 0));
    losses("mux", &MULTIPLEXING, &mux, &mut findings);
    let rtt = scores(&rtts(setting), &RTT, results);
    losses("rtt", &RTT, &rtt, &mut findings);
    show(
        "Remy: score by the number of senders",
        "15 Mbit/s, RTT 150 ms: score by the number of senders and the number that a RemyCC was made \
         for.",
        (&SENDERS.map(|senders| senders.to_string()), &MULTIPLEXING),
        &mux,
        &mut findings,
    );
    show(
        "Remy: score by the RTT",
        "33 Mbit/s, two senders: score by the RTT in ms and the RTTs that a RemyCC was made for.",
        (&RTTS_MS.map(|rtt| rtt.to_string()), &RTT),
        &rtt,
        &mut findings,
    );
    let runs = signals(setting);
    let score = |short: &str| runs.score(&runs.senders(short, results));
    for (short, _) in &SIGNALS {
        findings.measure(format!("signals.{short}.score"), score(short));
    }
    for (short, _) in &SIGNALS[1..] {
        findings.measure(format!("signals.{short}"), score("all") - score(short));
    }
    Ok(findings)
}

/// Returns the score of each table on each network.
fn scores(all: &[Runs], files: &[(&str, &str)], results: &Results) -> Vec<Vec<f64>> {
    let of =
        |short: &str| all.iter().map(|runs| runs.score(&runs.senders(short, results))).collect();
    files.iter().map(|(short, _)| of(short)).collect()
}

/// Adds the score by which each table is below the best one, as mean over the networks.
fn losses(what: &str, files: &[(&str, &str)], scores: &[Vec<f64>], findings: &mut Findings) {
    let best = |at: usize| most(scores.iter().map(|own| own[at]));
    for ((short, _), own) in files.iter().zip(scores) {
        let loss = mean(own.iter().enumerate().map(|(at, score)| best(at) - score));
        findings.measure(format!("{what}.{short}.loss"), loss);
    }
}

fn show(
    name: &str,
    caption: &str,
    (rows, files): (&[String], &[(&str, &str)]),
    scores: &[Vec<f64>],
    findings: &mut Findings,
) {
    let heads: Vec<String> = files.iter().map(|(short, _)| format!("made for {short}")).collect();
    let columns: Vec<&str> = std::iter::once("").chain(heads.iter().map(String::as_str)).collect();
    let row = |(at, head): (usize, &String)| {
        let cells = scores.iter().map(|own| format!("{:.2}", own[at]));
        std::iter::once(head.clone()).chain(cells).collect()
    };
    findings.sweep(name, caption, &columns, rows.iter().enumerate().map(row).collect());
}
