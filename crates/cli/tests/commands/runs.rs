//! Several runs: medians, ranges, ratios, and the results that `--runs 1` does not change.

use crate::common::paceline;
use paceline_testing::Folder;
use serde_json::Value;

fn json(arguments: &[&str]) -> Value {
    let seen = paceline(arguments);
    assert_eq!(seen.code, 0, "{}", seen.err);
    serde_json::from_str(&seen.out).expect("JSON and nothing else")
}

const QUICK: [&str; 7] =
    ["compare", "--duration", "3s", "--schemes", "abc,cubic+codel", "--json", "-q"];

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn summaries_hold_the_runs_and_ratios_their_pairs() {
    let result = json(&[&QUICK[..], &["--runs", "12"]].concat());
    let runs = result["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 24);
    let (abc, codel) = runs.split_at(12);
    for (at, (one, other)) in abc.iter().zip(codel).enumerate() {
        assert_eq!(one["run"], at + 1);
        assert_eq!((&one["start_ms"], &one["seed"]), (&other["start_ms"], &other["seed"]));
        assert!((0.0..1000.0).contains(&number(&one["start_ms"])));
    }
    assert_eq!((&abc[0]["start_ms"], &abc[0]["seed"]), (&0.0.into(), &1.into()));
    let summary = result["summary"].as_array().expect("summary");
    for (row, runs) in summary.iter().zip([abc, codel]) {
        assert_eq!((&row["scheme"], &row["trace"]), (&runs[0]["scheme"], &runs[0]["trace"]));
        assert_eq!((&row["runs"], &row["equal"]), (&12.into(), &false.into()));
        for path in ["/utilization", "/throughput_mbps", "/queue_delay_ms/p95"] {
            let mut values: Vec<f64> =
                runs.iter().map(|run| number(run.pointer(path).expect(path))).collect();
            values.sort_by(f64::total_cmp);
            let of = row.pointer(path).expect(path);
            let median = (values[5] + values[6]) / 2.0;
            assert!((number(&of["median"]) - median).abs() < 1e-9 * median, "{path} {of}");
            assert_eq!((number(&of["p5"]), number(&of["p95"])), (values[0], values[11]));
            // With 12 runs these are the third and the tenth value.
            assert_eq!(of["median_interval"], serde_json::json!([values[2], values[9]]));
        }
    }
    let ratios = result["ratios"].as_array().expect("ratios");
    assert_eq!(ratios.len(), 2);
    assert_eq!((&ratios[0]["scheme"], &ratios[0]["over"]), (&"abc".into(), &"cubic+codel".into()));
    assert_eq!((&ratios[1]["scheme"], &ratios[1]["over"]), (&"cubic+codel".into(), &"abc".into()));
    let figure = |run: &Value| number(&run["utilization"]);
    let smallest =
        abc.iter().zip(codel).map(|(a, b)| figure(a) / figure(b)).fold(f64::INFINITY, f64::min);
    assert_eq!(number(&ratios[0]["utilization"]["p5"]), smallest);
    assert!(number(&ratios[0]["queue_delay_ms"]["p95"]["median"]) > 0.0);
}

#[test]
fn more_runs_keep_those_before_and_the_first_stands_alone() {
    let runs = |count| json(&[&QUICK[..], &["--runs", count]].concat())["runs"].clone();
    let (one, three, five) = (runs("1"), runs("3"), runs("5"));
    assert_eq!(one.as_array().map(Vec::len), Some(2));
    assert_eq!(one[0], three[0]);
    for run in 0..3 {
        assert_eq!(three[run], five[run]);
        assert_eq!(three[3 + run], five[5 + run]);
    }
    assert_ne!(three[0]["digest"], three[1]["digest"]);
}

#[test]
fn ten_runs_are_the_default_of_compare() {
    let seen = paceline(&["compare", "--duration", "3s", "--schemes", "abc,cubic+codel"]);
    assert!(seen.out.contains("10 runs"), "{}", seen.out);
    let carries = "abc carries ";
    assert!(seen.out.contains(carries) && seen.out.contains(" times what cubic+codel carries"));
    assert!(seen.out.lines().all(|line| line.chars().count() <= 100), "{}", seen.out);
    let one = paceline(&["compare", "--duration", "3s", "--runs", "1"]);
    assert!(!one.out.contains("runs") && !one.out.contains(carries), "{}", one.out);
}

#[test]
fn a_spread_of_a_trace_reaches_all_of_it() {
    let starts = |spread: &[&str]| -> Vec<f64> {
        let arguments =
            ["compare", "--duration", "1s", "--schemes", "abc", "--json", "--runs", "30"];
        let all = json(&[&arguments[..], spread].concat());
        let runs = all["runs"].as_array().expect("runs");
        runs.iter().map(|run| number(&run["start_ms"])).collect()
    };
    let largest = |starts: Vec<f64>| starts.into_iter().fold(0.0, f64::max);
    assert!(largest(starts(&["--spread", "trace"])) > 20_000.0);
    assert!(largest(starts(&["--spread", "20ms"])) < 20.0);
    assert_eq!(largest(starts(&["--trace", "12Mbps", "--spread", "trace"])), 0.0);
    assert_eq!(paceline(&["compare", "--spread", "wide"]).code, 2);
    assert_eq!(paceline(&["compare", "--runs", "0"]).code, 2);
}

#[test]
fn until_goes_on_until_the_interval_is_narrow() {
    let until = |share: &str| {
        let more = ["--runs", "6", "--until", share];
        json(&[&QUICK[..], &more].concat())["summary"].clone()
    };
    assert_eq!(until("100%")[0]["runs"], 6);
    assert_eq!(until("0.1"), until("10%"));
    for (share, said) in
        [("2", "did you mean 2%?"), ("0.001%", "0.01% to 100%"), ("x", "such as 1% or 0.01")]
    {
        let refused = paceline(&["compare", "--until", share]);
        assert_eq!(refused.code, 2, "{share}");
        assert!(refused.err.contains(said), "{share}: {}", refused.err);
    }
    for row in until("10%").as_array().expect("rows") {
        let runs = number(&row["runs"]);
        assert!(runs > 6.0, "{row}");
        for path in ["/utilization", "/queue_delay_ms/p95"] {
            let of = row.pointer(path).expect(path);
            let (low, high) = (&of["median_interval"][0], &of["median_interval"][1]);
            let half = (number(high) - number(low)) / 2.0;
            assert!(half <= 0.1 * number(&of["median"]) || runs == 200.0, "{row}");
        }
    }
}

#[test]
fn pages_show_the_runs_around_their_medians() {
    let folder = Folder::new("runs-page");
    let page = |runs: &str| {
        let out = folder.path(runs);
        let arguments = ["compare", "--duration", "3s", "--schemes", "abc,cubic+codel", "-q"];
        let traces = ["--trace", "lte-driving", "--trace", "12Mbps", "--runs", runs, "-o", &out];
        assert_eq!(paceline(&[&arguments[..], &traces].concat()).code, 0);
        let read = |name: &str| std::fs::read_to_string(format!("{out}/{name}")).expect(name);
        [read("compare.html"), read("scatter.svg"), read("timeseries-lte-driving.svg")]
    };
    let [several, scatter, series] = page("4");
    assert!(several.contains("medians of the runs") && several.contains("start ms"));
    assert!(scatter.contains("region of the 90 % nearest"), "a region");
    assert!(series.contains("throughput of 90 % of the runs"), "a band");
    let [single, scatter, series] = page("1");
    assert!(!single.contains("medians") && !single.contains("start ms"));
    assert!(!scatter.contains("region") && !series.contains("90 %"));
}

#[test]
fn scenarios_have_runs_by_a_key_or_an_option() {
    let folder = Folder::new("runs-scenario");
    let text = |runs: &str| {
        format!(
            "name = \"s\"\nduration = \"3s\"\n{runs}[[link]]\nname = \"l\"\ntrace = \"lte-driving\"\n\
             [[flow]]\nscheme = \"cubic\"\n"
        )
    };
    let one = folder.write("one.toml", text("").as_bytes());
    let four = folder.write("four.toml", text("runs = 4\nspread = \"trace\"\n").as_bytes());
    let single = json(&["run", &one, "--json"]);
    assert!(single["runs"].is_null() && single["digest"].is_string());
    let several = json(&["run", &four, "--json"]);
    assert_eq!(several["runs"].as_array().map(Vec::len), Some(4));
    assert_eq!(several["runs"][0]["outcome"]["digest"], single["digest"]);
    assert!(number(&several["links"][0]["utilization"]["median"]) > 0.0);
    assert!(number(&several["flows"][0]["goodput_mbps"]["p5"]) > 0.0);
    assert_eq!(json(&["run", &one, "--json", "--runs", "4", "--spread", "trace"]), several);
    assert_eq!(json(&["run", &four, "--json", "--runs", "1"]), single);
    let out = folder.path("out");
    let shown = paceline(&["run", &four, "-o", &out]);
    assert!(shown.code == 0 && shown.out.contains("4 runs"), "{}{}", shown.out, shown.err);
    let page = std::fs::read_to_string(format!("{out}/run.html")).expect("a page");
    assert!(page.contains("in each of 4 runs") && page.contains("throughput of 90 % of the runs"));
    assert!(page.contains("digest of run 1"));
    // The tables of links and flows have ranges.
    let flows = page.find(">RTT mean ms<").expect("a table of flows");
    let row = page[flows..].split("</tr>").nth(1).expect("a row");
    assert!(row.matches('-').count() >= 4 && row.contains(" ("), "{row}");
}

#[test]
fn media_and_contests_have_ranges() {
    let medium = json(&["medium", "--duration", "1s", "--runs", "6", "--json"]);
    assert!(number(&medium["throughput_mbps"]["p5"]) < number(&medium["throughput_mbps"]["p95"]));
    let one = json(&["medium", "--duration", "1s", "--json"]);
    assert!(number(&medium["throughput_mbps"]["p5"]) <= number(&one["throughput_mbps"]));
    let arguments =
        ["contest", "--entries", "cubic,abc", "--duration", "3s", "--json", "--runs", "6"];
    let contest = json(&arguments);
    for attempt in contest["attempts"].as_array().expect("attempts") {
        if attempt["kind"] == "scheme" {
            assert_eq!(
                attempt["throughput_mbps"],
                attempt["over_runs"]["throughput_mbps"]["median"]
            );
            assert_eq!(attempt["power"], attempt["over_runs"]["power"]["median"]);
        }
    }
}
