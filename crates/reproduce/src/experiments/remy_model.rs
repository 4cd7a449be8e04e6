//! Remy's model: the flow lengths of the Internet, the ranges of the general-purpose networks, and
//! the number of rules found for them (§3.6.1 of Winstein's thesis).

use paceline_cc::Stream;
use paceline_flow::Amount;
use paceline_remy::spec::Specification;

use super::Experiment;
use super::common::mean;
use super::remy_common::{GENERAL, median};
use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Record;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "remy-model",
    title: "Remy: the model",
    about: "100,000 flow lengths of the workload on_icsi, the built-in specification of the \
            general-purpose networks, and the size of the RemyCCs of 2013.",
    plan,
    find,
};

const FLOWS: usize = 100_000;

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let seed = setting.seed;
    let key = format!("flow lengths of ICSI, seed {seed}");
    Ok(vec![Task::other("flow lengths", key, 1.0, move || Ok(lengths(seed)))])
}

fn lengths(seed: u64) -> Record {
    let mut random = Stream::new(seed, "flow lengths");
    let amount = Amount::Icsi { plus: 0.0 };
    let lengths: Vec<f64> = (0..FLOWS).map(|_| amount.draw(&mut random)).collect();
    let above = |least: f64| lengths.iter().filter(|length| **length > least).count() as f64;
    let mut record = Record::default();
    // The share of longer flows falls with the length to the power of -alpha.
    let decades = ((1e6 + 40.0) / (1e3 + 40.0f64)).log10();
    record.set("alpha", (above(1e3) / above(1e6)).log10() / decades);
    record.set("median", median(lengths.iter().copied()));
    let (first, second) = lengths.split_at(FLOWS / 2);
    let ratio = mean(first.iter().copied()) / mean(second.iter().copied());
    record.set("means", ratio.max(1.0 / ratio));
    let mut sorted = lengths.clone();
    sorted.sort_by(f64::total_cmp);
    let longest: f64 = sorted[FLOWS - FLOWS / 1000..].iter().sum();
    record.set("longest", longest / lengths.iter().sum::<f64>());
    record
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings = Findings::default();
    // Statements about the published files need these files: no other table can replace them.
    let missing = GENERAL.iter().filter(|(_, file)| setting.tables.published(file).is_none());
    findings.missing.extend(missing.map(|(_, file)| (*file).to_string()));
    let record = results.get("flow lengths");
    for name in ["alpha", "median", "means", "longest"] {
        findings.measure(format!("icsi.{name}"), record.number(name));
    }
    let model = Specification::general_purpose();
    let ratio = |range: &paceline_remy::spec::Range| range.to / range.from;
    let range = ratio(&model.link_mbps) * ratio(&model.rtt_ms) * ratio(&model.senders);
    findings.measure("model.range", range);
    for (short, file) in GENERAL {
        let Some(path) = setting.tables.published(file) else { continue };
        let loaded = paceline_remy::load(&path).map_err(|error| error.to_string())?;
        findings.measure(format!("{short}.rules"), loaded.table.rules().len() as f64);
    }
    Ok(findings)
}
