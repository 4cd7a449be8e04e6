//! More flows, other round-trip times, small applications, XCP-b (Figs 11, 20, 21, §8 of the ABC
//! paper).

use paceline_cc::{Rate, Span};
use paceline_flow::Workload;
use paceline_report::{BarPanel, Bars, Palette};
use paceline_sim::scenario::Scenario;
use paceline_trace::Trace;

use super::Experiment;
use super::common::{self, SCHEMES, abc_emulation, mean, on, scheme};
use crate::findings::Findings;
use crate::front::distance;
use crate::setting::{Cellular, Setting};
use paceline_tasks::Record;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "lte-sweeps",
    title: "More flows, other round-trip times",
    about: "Verizon's LTE downlink with 1 to 16 flows of one scheme, with propagation delays of \
            20 to 200 ms, with one backlogged and 200 application-limited ABC flows, and XCP-b.",
    plan,
    find,
};

/// Schemes of the first comparison with ABC.
const FIRST: [&str; 7] = ["abc", "cubic", "codel", "pie", "bbr", "copa", "vivace"];
const FLOWS: [u32; 5] = [1, 2, 4, 8, 16];
const RTTS: [u64; 4] = [20, 50, 100, 200];

fn flows(short: &str, count: u32) -> String {
    format!("{count} flows of {short}")
}

fn rtt(short: &str, ms: u64) -> String {
    format!("{short} at {ms} ms")
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let down = setting.verizon_down()?;
    let length = setting.length(100, 20);
    let mut tasks = Vec::new();
    for (short, text) in SCHEMES {
        for count in FLOWS {
            let mut comparison = abc_emulation(text, &down, length)?;
            comparison.flows = count;
            comparison.warmup = Span::from_secs(5);
            tasks.push(Task::scenario(flows(short, count), comparison.scenario()));
        }
        for ms in RTTS {
            let mut comparison = abc_emulation(text, &down, length)?;
            comparison.rtt = Span::from_millis(ms);
            tasks.push(Task::scenario(rtt(short, ms), comparison.scenario()));
        }
    }
    for text in ["abc", "xcpb"] {
        for cellular in [&down, &setting.verizon_up()?] {
            let comparison = abc_emulation(text, cellular, length)?;
            tasks.push(Task::scenario(on(text, &cellular.name), comparison.scenario()));
        }
    }
    let raised = raised(&down)?;
    let mut limit = |name: &str, cellular: &Cellular, backlogged| -> Result<(), String> {
        let scenario = limited_scenario(cellular, length, backlogged)?;
        tasks.push(Task::scenario(name, scenario));
        Ok(())
    };
    limit("limited", &raised, true)?;
    limit("limited, recorded", &down, true)?;
    limit("limited, recorded, alone", &down, false)?;
    let mut at_once = limited_scenario(&down, length, true)?;
    for flow in &mut at_once.flows {
        flow.stagger = Span::ZERO;
    }
    tasks.push(Task::scenario("limited, recorded, at once", at_once));
    Ok(tasks)
}

/// Returns the recording with one more opportunity every 12 ms (1 Mbit/s), as the paper's authors
/// published it beside their code (`Verizon-LTE-short-modified`).
fn raised(cellular: &Cellular) -> Result<Cellular, String> {
    let mut entries = cellular.trace.opportunities().to_vec();
    if let Some(&last) = entries.last() {
        entries.extend((12..=last).step_by(12));
        entries.sort_unstable();
    }
    let name = format!("{}, and 1 Mbit/s", cellular.name);
    let trace = Trace::new(&name, entries).map_err(|error| error.to_string())?;
    Ok(Cellular { name, trace })
}

/// Returns a scenario with 200 flows whose applications write 1 Mbit/s together, at staggered
/// times, and one flow of the scheme `backlogged`.
fn limited_scenario(
    cellular: &Cellular,
    length: Span,
    backlogged: bool,
) -> Result<Scenario, String> {
    let mut scenario = abc_emulation("abc", cellular, length)?.scenario();
    scenario.flows[0].name = "bulk".into();
    let mut small = scenario.flows[0].clone();
    small.count = 200;
    small.name = "small".into();
    small.scheme = scheme("abc")?.into();
    small.workload = Workload::Limited { rate: Rate::from_mbps(0.005), message: 500 };
    // Without a stagger there would be a burst of 200 packets every 0.8 s.
    small.stagger = Span::from_millis(4);
    scenario.flows.push(small);
    if !backlogged {
        scenario.flows.remove(0);
    }
    Ok(scenario)
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let (down, up) = (setting.verizon_down()?, setting.verizon_up()?);
    let mut findings =
        Findings { traces: vec![down.name.clone(), up.name.clone()], ..Findings::default() };
    let used = |record: &Record| record.number("link.link.utilization");
    let late = |record: &Record| record.number("link.link.delay.p95");
    let palette = Palette::new(SCHEMES.iter().map(|(short, _)| *short));
    let mut panels: Vec<Vec<Vec<f64>>> = vec![Vec::new(); 4];
    for count in FLOWS {
        let row = |figure: &dyn Fn(&Record) -> f64| -> Vec<f64> {
            SCHEMES.iter().map(|(short, _)| figure(results.get(&flows(short, count)))).collect()
        };
        panels[0].push(row(&|record| 100.0 * used(record)));
        panels[1].push(row(&late));
    }
    for ms in RTTS {
        let row = |figure: &dyn Fn(&Record) -> f64| -> Vec<f64> {
            SCHEMES.iter().map(|(short, _)| figure(results.get(&rtt(short, ms)))).collect()
        };
        panels[2].push(row(&|record| 100.0 * used(record)));
        panels[3].push(row(&late));
    }
    rising(results, &mut findings);
    for (short, _) in SCHEMES {
        for count in FLOWS {
            let record = results.get(&flows(short, count));
            findings.measure(format!("flows.{count}.{short}.utilization"), used(record));
            findings.measure(format!("flows.{count}.{short}.p95"), late(record));
        }
        for ms in RTTS {
            let record = results.get(&rtt(short, ms));
            findings.measure(format!("rtt.{ms}.{short}.utilization"), used(record));
            findings.measure(format!("rtt.{ms}.{short}.p95"), late(record));
        }
        let least = FLOWS.iter().map(|count| used(results.get(&flows(short, *count))));
        let (low, high) = least
            .fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
        findings.measure(format!("flows.{short}.range"), high - low);
        let [one, most] = [1, 16].map(|count| late(results.get(&flows(short, count))));
        findings.measure(format!("flows.{short}.p95.16/1"), most / one);
    }
    for (what, values, names) in [
        ("flows", FLOWS.map(u64::from).to_vec(), &panels[0..2]),
        ("rtt", RTTS.to_vec(), &panels[2..4]),
    ] {
        for value in &values {
            let better = better(&findings, &format!("{what}.{value}"));
            findings.measure(format!("{what}.{value}.better"), better);
            let point = |short: &str| {
                let get = |part| findings.get(&format!("{what}.{value}.{short}.{part}"));
                (get("utilization"), get("p95"))
            };
            let others = SCHEMES.iter().map(|(short, _)| *short).filter(|short| *short != "abc");
            let front = distance(point("abc"), others.map(point));
            findings.measure(format!("{what}.{value}.distance"), front);
        }
        let groups = values.iter().map(|value| match what {
            "flows" => format!("{value} flows"),
            _ => format!("{value} ms"),
        });
        let panel = |title: &str, unit: &str, values: &[Vec<f64>]| BarPanel {
            title: title.into(),
            unit: unit.into(),
            log: false,
            values: values.to_vec(),
        };
        let bars = Bars {
            label: format!("Utilisation and delay by {what}"),
            groups: groups.collect(),
            bars: SCHEMES
                .iter()
                .map(|(short, _)| (short.to_string(), palette.paint(short)))
                .collect(),
            panels: vec![
                panel("Utilisation (%)", "%", &names[0]),
                panel("95th-percentile delay (ms)", "ms", &names[1]),
            ],
        };
        let caption = match what {
            "flows" => "By the number of flows (Fig. 11).",
            _ => "By the round-trip propagation delay (Fig. 21).",
        };
        findings.figure(what, bars.figure(), caption);
    }
    for (key, task) in [
        ("limited", "limited"),
        ("limited.recorded", "limited, recorded"),
        ("limited.alone", "limited, recorded, alone"),
        ("limited.at_once", "limited, recorded, at once"),
    ] {
        findings.measure(format!("{key}.utilization"), used(results.get(task)));
        findings.measure(format!("{key}.p95"), late(results.get(task)));
    }
    let ratio = findings.get("limited.recorded.p95") / findings.get("limited.alone.p95");
    findings.measure("limited.recorded/alone.p95", ratio);
    let both = [&down, &up];
    let over = |figure: &dyn Fn(&Record) -> f64, scheme: &str| {
        mean(both.iter().map(|cellular| figure(results.get(&on(scheme, &cellular.name)))))
    };
    findings.measure("xcpb/abc.utilization", over(&used, "xcpb") / over(&used, "abc"));
    findings.measure("xcpb/abc.p95", over(&late, "xcpb") / over(&late, "abc"));
    Ok(findings)
}

/// Counts the schemes whose utilisation and delay are higher with the most flows than with one. A
/// link that one flow fills has no more to give: a utilisation counts if it is 0.995 of the one with
/// one flow.
fn rising(results: &Results, findings: &mut Findings) {
    for (part, least) in [("utilization", 0.995), ("delay.p95", 1.0)] {
        let rises = |short: &&str| {
            let figure =
                |count: u32| results.get(&flows(short, count)).number(&format!("link.link.{part}"));
            let (one, most) = (figure(1), figure(16));
            if least < 1.0 { most >= least * one } else { most > one }
        };
        let count = SCHEMES.iter().map(|(short, _)| *short).filter(rises).count();
        let part = part.trim_start_matches("delay.");
        findings.measure(format!("flows.rising.{part}"), count as f64);
    }
}

/// Returns the number of first schemes that reach ABC's utilisation with at most its delay.
fn better(findings: &Findings, group: &str) -> f64 {
    let point = |short: &str| {
        let figure = |part: &str| findings.get(&format!("{group}.{short}.{part}"));
        (figure("utilization"), figure("p95"))
    };
    let others = FIRST.iter().filter(|short| **short != "abc").map(|short| point(short));
    common::better(point("abc"), others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_raised_trace_has_a_megabit_more_and_no_outage() {
        let trace = Trace::new("gaps", vec![100, 100, 5000, 12_000]).expect("a trace");
        let before = trace.mean_mbps();
        let raised = raised(&Cellular { name: "gaps".into(), trace }).expect("a trace").trace;
        assert!((raised.mean_mbps() - before - 1.0).abs() < 0.01, "{}", raised.mean_mbps());
        assert_eq!(raised.period(), Span::from_secs(12));
        let gaps = raised.opportunities().windows(2).map(|pair| pair[1] - pair[0]);
        assert_eq!(gaps.max(), Some(12));
    }

    #[test]
    fn limited_flows_do_not_write_at_once() {
        let setting = Setting { quick: true, ..Setting::default() };
        let down = setting.verizon_down().expect("a trace");
        for (backlogged, flows) in [(true, 2), (false, 1)] {
            let scenario = limited_scenario(&down, Span::from_secs(1), backlogged).expect("one");
            assert_eq!(scenario.flows.len(), flows);
            let small = scenario.flows.last().expect("flows");
            assert!(!small.stagger.is_zero());
            assert_eq!(small.stagger * u64::from(small.count), Span::from_millis(800));
        }
    }
}
