//! Requests of the page, answered by its code outside of a browser.

use paceline_requests::compare::Comparison;
use paceline_sim::Names;
use paceline_sim::cc::Span;
use paceline_sim::runs::Runs;
use paceline_web::Api;
use serde_json::{Value, json};

fn ask(api: &mut Api, request: &Value) -> Value {
    serde_json::from_str(&api.call(request.to_string().as_bytes())).expect("JSON")
}

fn begin(flows: &[(&str, bool)]) -> Value {
    let flows: Vec<Value> =
        flows.iter().map(|(scheme, on)| json!({ "scheme": scheme, "on": on })).collect();
    json!({ "method": "play", "rate_mbps": 12, "rtt_ms": 100, "buffer": 250, "queue": "droptail",
            "flows": flows })
}

#[test]
fn a_live_run_is_watched_and_changed() {
    let mut api = Api::default();
    let layout = ask(&mut api, &begin(&[("remy", true), ("abc", true), ("cubic", false)]));
    let (link, flow) = (layout["link"].as_array(), layout["flow"].as_array());
    let (link, flow) = (link.expect("columns").len(), flow.expect("columns").len());
    let width = link + 3 * flow;
    let rows = api.advance(5.0, 0.01).to_vec();
    assert_eq!(rows.len(), 501 * width);
    // The bandwidth-delay product of 12 Mbit/s and 100 ms, which the flows fill together.
    let last = &rows[500 * width..];
    assert_eq!((last[0], last[2], last[3]), (5.0, 100.0, 12.0));
    assert!(last[link] + last[link + flow] > 80.0, "{last:?}");
    assert_eq!(last[link + 2 * flow], 0.0);
    let status = ask(&mut api, &json!({ "method": "status" }));
    assert!(status["flows"][1]["accelerated"].as_u64() > Some(100), "{status}");
    let uses = |status: &Value| -> u64 {
        let uses = status["flows"][0]["rules"].as_array().expect("a table of rules");
        uses.iter().filter_map(Value::as_u64).sum()
    };
    assert!(uses(&status) > 100);
    // Uses are reported once.
    assert_eq!(uses(&ask(&mut api, &json!({ "method": "status" }))), 0);
    let rules = ask(&mut api, &json!({ "method": "rules", "flow": 0 }));
    let rules = rules["rules"].as_array().expect("rules");
    assert_eq!(rules.len(), status["flows"][0]["rules"].as_array().expect("uses").len());
    for change in [
        json!({ "method": "change", "rate_mbps": 3, "rtt_ms": 20, "buffer": 0 }),
        json!({ "method": "flow", "flow": 2, "on": true, "scheme": "cubic[beta=0.8]" }),
        json!({ "method": "flow", "flow": 0, "on": false, "scheme": "remy" }),
    ] {
        assert_eq!(ask(&mut api, &change), json!({}));
    }
    assert_eq!(api.advance(9.0, 0.5).len(), 8 * width);
    let status = ask(&mut api, &json!({ "method": "status" }));
    assert_eq!(status["flows"][0]["on"], false);
    assert_eq!(status["flows"][2]["scheme"], "cubic[beta=0.8]");
    assert!(status["flows"][2]["goodput_bytes"].as_u64() > Some(100_000), "{status}");
}

#[test]
fn a_comparison_is_that_of_the_command() {
    let mut api = Api::default();
    let file: String = (0..2000).map(|ms| format!("{}\n", 3 * ms + 1)).collect();
    let progress = ask(
        &mut api,
        &json!({
            "method": "compare", "schemes": "abc,cubic+codel", "duration": "5s", "warmup": "1s",
            "rtt": "100ms", "buffer": "250", "flows": 2, "seed": 7, "runs": 3, "spread": "1s",
            "traces": [{ "name": "lte-driving" }, { "name": "my <b>.trace", "text": file }],
        }),
    );
    assert_eq!((&progress["runs"], &progress["done"]), (&json!(12), &json!(0)), "{progress}");
    assert_eq!(
        (&progress["pairs"], &progress["next"]),
        (&json!(4), &json!("abc on lte-driving, run 1"))
    );
    // Before the first run the table is empty.
    let none = ask(&mut api, &json!({ "method": "compare-result" }));
    assert_eq!((&none["json"]["runs"], &none["error"]), (&json!([]), &Value::Null), "{none}");
    for done in 1..=12 {
        assert_eq!(ask(&mut api, &json!({ "method": "compare-next" }))["done"], done);
        if done == 4 {
            // Every scheme has run once on every trace, so there is a result to show.
            let first = ask(&mut api, &json!({ "method": "compare-result" }));
            let runs: Vec<&Value> = first["json"]["summary"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|row| &row["runs"])
                .collect();
            assert_eq!(runs, [&json!(1); 4]);
        }
    }
    let end = ask(&mut api, &json!({ "method": "compare-result" }));
    let runs = end["json"]["runs"].as_array().expect("runs");
    let trace = paceline_trace::load("lte-driving").expect("built in");
    let capacity = paceline_sim::scenario::Capacity::trace(trace);
    let names = paceline_remy::names();
    let own = Comparison {
        flows: 2,
        duration: Span::from_secs(5),
        warmup: Span::from_secs(1),
        seed: 7,
        runs: Runs::new(3),
        bin: Some(Span::from_millis(100)),
        ..Comparison::new("lte-driving", capacity, names.check_scheme("abc").expect("legal"))
    };
    for (at, row) in runs.iter().take(3).enumerate() {
        let (run, scenario) = own.run_number(at as u32 + 1);
        let outcome = paceline_requests::run(&scenario, &Names::default()).expect("runs");
        assert_eq!(*row, serde_json::to_value(own.row_of(run, &outcome)).expect("JSON"));
    }
    assert_eq!(end["json"]["summary"][0]["runs"], 3);
    assert_eq!(end["json"]["ratios"].as_array().map(Vec::len), Some(4));
    assert_eq!(runs[11]["trace"], "my <b>.trace");
    let text = end.to_string();
    assert!(end["figures"].as_array().is_some_and(|figures| figures.len() == 3));
    assert!(end["page"].as_str().is_some_and(|page| page.starts_with("<!DOCTYPE html>")));
    assert!(text.contains("my &lt;b&gt;.trace"), "names of files are escaped");
    assert!(!end["table"].as_str().unwrap_or("<b>").contains("<b>"));
}

#[test]
fn one_run_is_what_there_was_and_too_many_are_refused() {
    let mut api = Api::default();
    let request = |runs: u32, spread: &str, duration: &str| {
        json!({
            "method": "compare", "schemes": "cubic", "duration": duration, "warmup": "0s",
            "rtt": "100ms", "buffer": "250", "flows": 1, "seed": 1, "runs": runs, "spread": spread,
            "traces": [{ "name": "12Mbps" }],
        })
    };
    assert_eq!(ask(&mut api, &request(1, "trace", "2s"))["runs"], 1);
    assert_eq!(ask(&mut api, &json!({ "method": "compare-next" }))["done"], 1);
    let end = ask(&mut api, &json!({ "method": "compare-result" }));
    let run = &end["json"]["runs"][0];
    assert_eq!((&run["run"], &run["seed"]), (&json!(1), &json!(1)));
    assert_eq!(run["start_ms"], 0.0);
    for (runs, spread, duration, words) in [
        (0, "1s", "2s", "runs: expected 1 to 1000, not 0"),
        (2, "wide", "2s", "spread `wide`"),
        (1001, "1s", "2s", "runs: expected 1 to 1000, not 1001"),
        (1000, "1s", "600s", "together"),
    ] {
        let answer = ask(&mut api, &request(runs, spread, duration));
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(words)), "{answer}");
    }
}

#[test]
fn what_cannot_be_asked_is_refused_in_words() {
    let mut api = Api::default();
    let error = |api: &mut Api, request: &Value| {
        ask(api, request)["error"].as_str().expect("an error").to_string()
    };
    for text in ["", "{", "[]", "{\"method\":\"no-such\"}", "\u{0}"] {
        assert!(api.call(text.as_bytes()).contains("error"), "{text}");
    }
    assert!(api.call(b"\xff\xfe").contains("error"));
    assert!(api.advance(10.0, 0.1).is_empty());
    for method in ["status", "compare-next", "compare-result", "claim-next", "claim-end"] {
        error(&mut api, &json!({ "method": method }));
    }
    assert!(error(&mut api, &begin(&[("nothing", true)])).contains("nothing"));
    assert!(error(&mut api, &begin(&[("cubic+codel", true)])).contains("queue"));
    assert!(error(&mut api, &begin(&[("cubic", true); 9])).contains("at most 8"));
    assert!(error(&mut api, &begin(&[("abc", true), ("xcp", true)])).contains("router"));
    ask(&mut api, &begin(&[("abc", true), ("xcp", false)]));
    for change in [
        json!({ "method": "change", "rate_mbps": -1 }),
        json!({ "method": "change", "rate_mbps": 1e12 }),
        json!({ "method": "change", "rtt_ms": 0 }),
        json!({ "method": "flow", "flow": 7, "on": true, "scheme": "abc" }),
        json!({ "method": "flow", "flow": 7, "on": false, "scheme": "abc" }),
        json!({ "method": "flow", "flow": 1, "on": true, "scheme": "xcp" }),
        json!({ "method": "rules", "flow": 9 }),
        json!({ "method": "claim", "id": "Z9" }),
        json!({ "method": "run", "file": "a.toml", "text": "duration = 5" }),
    ] {
        error(&mut api, &change);
    }
    for (seconds, every) in [(f64::NAN, 0.1), (-1.0, 0.1), (f64::INFINITY, 0.1), (0.0, 0.0)] {
        assert!(api.advance(seconds, every).is_empty());
    }
    assert!(!api.advance(1.0, f64::MIN_POSITIVE).is_empty());
}
