//! `paceline compare` and `run`: results, formats, determinism.

use crate::common::paceline;
use paceline_testing::Folder;
use serde_json::Value;

fn json(arguments: &[&str]) -> Value {
    let seen = paceline(arguments);
    assert_eq!(seen.code, 0, "{}", seen.err);
    serde_json::from_str(&seen.out).expect("JSON and nothing else")
}

#[test]
fn delays_follow_a_recording() {
    let folder = Folder::new("recording");
    let lines = "20\n".repeat(100) + &"40\n".repeat(100);
    let file = folder.write("delays", lines.as_bytes());
    fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
        let quick = [
            "compare",
            "--runs",
            "1",
            "--duration",
            "8s",
            "--trace",
            "24Mbps",
            "--buffer",
            "50",
            "--json",
        ];
        [&quick[..], &["--schemes", "cubic"], more].concat()
    }
    let run = |more: &[&str]| json(&with(more))["runs"][0].clone();
    let moving = run(&["--delay-trace", &file]);
    let number = |name: &str, part: &str| moving[name][part].as_f64().expect("a number");
    // The recorded delay is 20 ms one way half of the time and 40 ms otherwise, the queue adds up
    // to 25 ms, and no RTT is added.
    let rtt = number("rtt_ms", "mean");
    assert!((60.0..86.0).contains(&rtt), "{rtt}");
    assert!(number("rtt_ms", "max") > 80.0, "{moving}");
    // The recording's delay is not self-inflicted by the sender.
    let own = number("self_inflicted_delay_ms", "p95");
    assert!(own < number("end_to_end_delay_ms", "p95") - 29.0, "{moving}");
    let beside = run(&["--delay-trace", &file, "--rtt", "10ms"]);
    let more = beside["rtt_ms"]["mean"].as_f64().expect("a number");
    assert!((5.0..15.0).contains(&(more - rtt)), "{rtt} {more}");
    assert_eq!(paceline(&with(&["--delay-trace", &file, "--omniscient"])).code, 2);
    let missing = paceline(&with(&["--delay-trace", "no.such"]));
    assert_eq!(missing.code, 2);
    assert!(missing.err.contains("no.such: no such file"), "{}", missing.err);
    let told = json(&["trace", "info", "--delays", "--json", &file, "leo"]);
    assert_eq!(told["traces"][0]["mean_ms"], 30.0);
    assert_eq!(told["traces"][1]["target"]["max_ms"], 68.0);
}

/// A trace whose only packet may leave after 1000 s offers nothing in 5 s.
const OUTAGE: &[u8] = b"1000000\n";

#[test]
fn tables_have_the_same_columns_whatever_happens() {
    let folder = Folder::new("columns");
    let outage = folder.write("outage.trace", OUTAGE);
    let header = |trace: &str| {
        let quick = ["compare", "--schemes", "cubic,abc", "--runs", "2", "--duration", "5s", "-q"];
        let seen = paceline(&[&quick[..], &["--trace", trace, "--csv", "-"]].concat());
        assert_eq!(seen.code, 0, "{}", seen.err);
        seen.out.lines().next().expect("a header").to_string()
    };
    let columns = header("12Mbps");
    assert_eq!(header(&outage), columns);
    assert_eq!(header(&format!("12Mbps,{outage}")), columns);
    let names: Vec<&str> = columns.split(',').collect();
    let is_object = |name: &&str| names.iter().any(|other| other.starts_with(&format!("{name}.")));
    assert_eq!(names.iter().find(|name| is_object(name)), None, "{columns}");
    assert!(names.contains(&"end_to_end_delay_ms.p95"), "{columns}");
}

#[test]
fn the_use_of_a_link_that_offers_nothing_is_unknown() {
    let folder = Folder::new("outage");
    let outage = folder.write("outage.trace", OUTAGE);
    let quick = ["compare", "--schemes", "cubic", "--runs", "2", "--duration", "5s", "--trace"];
    let table = paceline(&[&quick[..], &[&outage]].concat());
    assert_eq!(table.code, 0, "{}", table.err);
    let result = json(&[&quick[..], &[&outage, "--json"]].concat());
    let run = &result["runs"][0];
    assert_eq!((&run["capacity_mbps"], &run["throughput_mbps"]), (&0.0.into(), &0.0.into()));
    assert!(run["utilization"].is_null() && run["end_to_end_delay_ms"]["p95"].is_null(), "{run}");
    assert!(result["summary"][0]["utilization"]["median"].is_null(), "{result}");
    // Figures do not draw the trace without a delay; the trade-off says over how many traces its means are.
    let both = format!("12Mbps,{outage}");
    let result = json(&[&quick[..], &[&both, "--json"]].concat());
    let saved = folder.write("both.json", result.to_string().as_bytes());
    for (figure, told) in [("bars", "cubic, 12Mbps: "), ("tradeoff", ">mean over 1 of 2 traces<")] {
        let file = folder.path(&format!("{figure}.svg"));
        let seen = paceline(&["plot", &saved, "--figure", figure, "-o", &file, "-q"]);
        assert_eq!(seen.code, 0, "{}", seen.err);
        let figure = std::fs::read_to_string(&file).expect("a figure");
        assert!(!figure.contains("NaN") && figure.contains(told), "{figure}");
    }
    let log = folder.write("silent.log", b"5 + 1500\n4 - 1500 3\n");
    let silent = &json(&["log", &log, "--json"])["logs"][0];
    assert_eq!((&silent["capacity_mbps"], &silent["throughput_mbps"]), (&0.0.into(), &12.0.into()));
    assert!(silent["utilization"].is_null(), "{silent}");
    let table = paceline(&["log", &log]);
    assert!(table.code == 0 && !table.out.contains("NaN"), "{}", table.out);
}

const QUICK: [&str; 10] = [
    "compare",
    "--runs",
    "1",
    "--duration",
    "5s",
    "--json",
    "--trace",
    "lte-driving",
    "--schemes",
    "abc,cubic+codel",
];

#[test]
fn json_has_every_figure() {
    let result = json(&QUICK);
    let runs = result["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 2);
    for run in runs {
        for name in ["trace", "scheme", "digest"] {
            assert!(run[name].is_string(), "{name}");
        }
        let numbers = [
            "flows",
            "duration_s",
            "capacity_mbps",
            "throughput_mbps",
            "utilization",
            "drops",
            "marks",
            "retransmits",
            "jain",
            "packets",
        ];
        for name in numbers {
            assert!(run[name].is_number(), "{name}");
        }
        for name in ["queue_delay_ms", "one_way_delay_ms", "rtt_ms"] {
            for part in ["mean", "p50", "p95", "p99", "max"] {
                assert!(run[name][part].is_number(), "{name}.{part}");
            }
        }
        for name in ["end_to_end_delay_ms", "self_inflicted_delay_ms"] {
            assert!(run[name]["p95"].is_number(), "{name}");
        }
        let power = run["goodput_mbps"].as_f64().expect("a number")
            / (run["end_to_end_delay_ms"]["p95"].as_f64().expect("a number") / 1e3);
        assert!((run["power"].as_f64().expect("a number") / power - 1.0).abs() < 1e-9);
        // A single flow has no fairness.
        assert!(run["jain_1s"].is_null());
        let used = run["utilization"].as_f64().expect("a number");
        assert!((0.2..=1.0).contains(&used), "{used}");
        // A packet takes at least half of the round-trip time.
        assert!(run["one_way_delay_ms"]["p50"].as_f64() >= Some(50.0));
        assert!(run["rtt_ms"]["p50"].as_f64() >= Some(100.0));
    }
}

/// Winstein's thesis, Fig. 2-12: the omniscient protocol bounds what any scheme can do.
#[test]
fn no_scheme_does_better_than_the_omniscient_protocol() {
    let mut arguments = vec!["compare", "--schemes", "all", "--omniscient", "--json"];
    arguments.extend(["--runs", "1", "--duration", "25s", "--warmup", "5s"]);
    arguments.extend(["--trace", "lte-driving", "--trace", "umts-driving.up", "--trace", "12Mbps"]);
    let result = json(&arguments);
    let runs = result["runs"].as_array().expect("runs");
    let schemes = json(&["schemes", "--json"]);
    let count = schemes["schemes"].as_array().expect("schemes").len();
    assert_eq!(runs.len(), 3 * (count + 1));
    for of_trace in runs.chunks(count + 1) {
        let figure = |run: &Value, name: &str| run[name].as_f64().expect("a number");
        let p95 = |run: &Value, name: &str| run[name]["p95"].as_f64().expect("a number");
        let (best, others) = of_trace.split_last().expect("rows");
        let trace = best["trace"].as_str().expect("a trace");
        assert_eq!(
            (best["scheme"].as_str(), best["digest"].as_str()),
            (Some("omniscient"), Some(""))
        );
        // On a trace every opportunity carries a packet. At a constant rate the last packet is
        // still in transmission at the end.
        let (used, own) = if trace == "12Mbps" { (0.999, 1.0) } else { (1.0, 0.0) };
        assert!((used..=1.0).contains(&figure(best, "utilization")), "{trace}");
        assert_eq!(p95(best, "queue_delay_ms"), own, "{trace}");
        assert_eq!(p95(best, "one_way_delay_ms"), 50.0 + own, "{trace}");
        assert_eq!(p95(best, "self_inflicted_delay_ms"), 0.0, "{trace}");
        for run in others {
            let what = format!("{} on {trace}", run["scheme"]);
            let own = p95(run, "end_to_end_delay_ms") - p95(best, "end_to_end_delay_ms");
            assert!((p95(run, "self_inflicted_delay_ms") - own).abs() < 1e-3, "{what}: {own}");
            assert!(own >= 0.0, "{what}: {own}");
            assert!(figure(run, "power") <= figure(best, "power"), "{what}");
        }
    }
}

#[test]
fn a_link_without_packets_has_no_omniscient_row() {
    let folder = Folder::new("idle");
    let trace = folder.write("late.trace", b"90000\n");
    let seen = paceline(&["compare", "--schemes", "cubic", "--omniscient", "--trace", &trace]);
    assert_eq!((seen.code, seen.out.as_str()), (1, ""));
    assert!(
        seen.err.contains("carries no packet between 0s and 60s; measure longer"),
        "{}",
        seen.err
    );
}

#[test]
fn several_flows_have_their_fairness_by_the_second() {
    let run = |bin: &str| {
        let folder = Folder::new("fairness");
        let out = folder.path("out");
        let mut arguments = vec!["compare", "--schemes", "cubic", "--trace", "12Mbps", "--json"];
        arguments.extend([
            "--runs",
            "1",
            "--flows",
            "3",
            "--duration",
            "20s",
            "-q",
            "--bin",
            bin,
            "-o",
            &out,
        ]);
        json(&arguments)["runs"][0]["jain_1s"].as_f64().expect("a number")
    };
    let mean = run("100ms");
    assert!((1.0 / 3.0..=1.0).contains(&mean), "{mean}");
    assert_eq!(mean, run("700ms"));
}

#[test]
fn threads_change_nothing() {
    let on = |threads| {
        let mut arguments = QUICK.to_vec();
        arguments.extend(["--trace", "12Mbps", "--flows", "3", "--threads", threads]);
        arguments[2] = "3";
        json(&arguments)
    };
    assert_eq!(on("1"), on("2"));
}

#[test]
fn seeds_change_the_digest_of_random_paths() {
    let folder = Folder::new("seeds");
    let scenario = folder.write(
        "lossy.toml",
        b"duration = \"3s\"\n[[link]]\nname = \"l\"\nrate = \"12Mbps\"\n\
          [[flow]]\nscheme = \"cubic\"\ndata = { loss = 0.01 }\n",
    );
    let digest = |seed: &str| json(&["run", &scenario, "--json", "--seed", seed])["digest"].clone();
    assert_eq!(digest("1"), digest("1"));
    assert_ne!(digest("1"), digest("2"));
}

#[test]
fn output_folder_gets_page_plots_and_json() {
    let folder = Folder::new("output");
    let out = folder.path("results");
    let seen = paceline(&[
        "compare",
        "--duration",
        "2s",
        "--trace",
        "12Mbps",
        "--schemes",
        "abc,cubic",
        "-o",
        &out,
    ]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    assert!(seen.out.contains("12Mbps: 12.0 Mbit/s"), "{}", seen.out);
    let read = |name: &str| std::fs::read_to_string(format!("{out}/{name}")).expect(name);
    let page = read("compare.html");
    assert!(page.starts_with("<!DOCTYPE html>") && !page.contains("src=\"http"));
    assert!(read("scatter.svg").starts_with("<svg"));
    assert!(read("timeseries-12Mbps.svg").contains("abc"));
    let saved: Value = serde_json::from_str(&read("compare.json")).expect("JSON");
    assert_eq!(saved["runs"].as_array().map(Vec::len), Some(20));
    assert_eq!(saved["summary"].as_array().map(Vec::len), Some(2));
}

#[test]
fn another_comparison_replaces_the_results_of_a_folder() {
    let folder = Folder::new("another");
    let out = folder.path("results");
    let compare = |trace: &str| {
        let line = ["compare", "--duration", "1s", "--schemes", "cubic", "--runs", "1"];
        let seen = paceline(&[&line[..], &["--trace", trace, "-o", &out]].concat());
        assert_eq!(seen.code, 0, "{}", seen.err);
        seen.err
    };
    let is_there = |name: &str| std::path::Path::new(&out).join(name).exists();
    std::fs::create_dir(&out).expect("a folder");
    std::fs::write(format!("{out}/timeseries-mine.svg"), "<svg/>").expect("written");
    assert!(!compare("12Mbps").contains("replaced the results"));
    assert!(!compare("12Mbps").contains("replaced the results"), "the same command");
    let said = compare("6Mbps");
    assert!(said.contains("replaced the results of `paceline compare"), "{said}");
    assert!(said.contains("--trace 12Mbps"), "{said}");
    assert!(is_there("timeseries-6Mbps.svg") && !is_there("timeseries-12Mbps.svg"));
    assert!(is_there("timeseries-mine.svg"), "no comparison has written it");
}

#[test]
fn schemes_come_from_the_registries() {
    let listing = json(&["schemes", "--json"]);
    let schemes = listing["schemes"].as_array().expect("schemes");
    let abc = schemes.iter().find(|scheme| scheme["name"] == "abc").expect("abc");
    assert_eq!(abc["halves"], serde_json::json!(["sender", "receiver", "router"]));
    let parameters = abc["parameters"].as_array().expect("parameters");
    let eta = parameters.iter().find(|parameter| parameter["name"] == "eta").expect("eta");
    assert_eq!(eta["default"], "0.98");
    assert_eq!((&eta["unit"], &eta["range"]), (&"none".into(), &"more than 0, up to 1.5".into()));
    assert_eq!(eta["source"], "paper §7.2");
    assert!(abc["source"].is_string() && abc["summary"].is_string());
    assert!(paceline(&["schemes", "codel"]).out.contains("interval"));
}

#[test]
fn benchmarks_report_their_figures() {
    let report = json(&["bench", "a", "--json"]);
    let row = &report["scenarios"][0];
    assert_eq!(row["name"], "a");
    for name in ["delivered_packets", "cpu_s", "packets_per_cpu_s", "peak_rss_mb"] {
        assert!(row[name].as_f64().is_some_and(|value| value > 0.0), "{name}");
    }
}

#[test]
fn traces_go_round() {
    let folder = Folder::new("traces");
    let (mahimahi, csv, back) =
        (folder.path("a.trace"), folder.path("a.csv"), folder.path("b.trace"));
    let fine = |arguments: &[&str]| {
        let seen = paceline(arguments);
        assert_eq!(seen.code, 0, "{}", seen.err);
        seen.out
    };
    fine(&["trace", "generate", "lte-driving", "--duration", "20s", "-o", &mahimahi]);
    fine(&["trace", "convert", &mahimahi, &csv]);
    fine(&["trace", "convert", &csv, &back]);
    let mean = |path: &str| {
        json(&["trace", "info", path, "--json"])["traces"][0]["mean_mbps"].as_f64().expect("a mean")
    };
    assert!((mean(&mahimahi) / mean(&back) - 1.0).abs() < 0.02);
    assert!(fine(&["trace", "plot", &mahimahi]).starts_with("<svg"));
    assert!(fine(&["trace", "list"]).contains("lte-walking"));
    assert!(fine(&["trace", "info", "umts-driving"]).contains("target"));
}

#[test]
fn completions_and_manual_pages() {
    assert!(paceline(&["completions", "bash"]).out.contains("paceline"));
    assert!(paceline(&["man"]).out.contains(".TH paceline"));
    let folder = Folder::new("man");
    let pages = folder.path("pages");
    assert_eq!(paceline(&["man", &pages]).code, 0);
    let page = |name: &str| std::path::Path::new(&pages).join(name).exists();
    assert!(page("paceline-compare.1") && page("paceline-remy-train.1"));
    // Commands that help hides have no page.
    assert!(!page("paceline-mm-delay.1") && !page("paceline-traffic.1"));
}
