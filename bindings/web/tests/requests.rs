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
    // Of ABC's packets all but those of its handshake are marked.
    let of_abc = |what: &str| status["flows"][1][what].as_u64().expect("a count");
    let marked = of_abc("accelerated") + of_abc("braked");
    assert!(of_abc("accelerated") > 50 && of_abc("braked") > 50, "{status}");
    assert!((marked..=marked + 3).contains(&of_abc("departed")), "{status}");
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
        assert_eq!(ask(&mut api, &change), json!({ "time_ns": 5_000_000_000_u64 }));
    }
    assert_eq!(api.advance(9.0, 0.5).len(), 8 * width);
    let status = ask(&mut api, &json!({ "method": "status" }));
    assert_eq!(status["flows"][0]["on"], false);
    assert_eq!(status["flows"][2]["scheme"], "cubic[beta=0.8]");
    assert!(status["flows"][2]["goodput_bytes"].as_u64() > Some(100_000), "{status}");
}

/// Runs for `seconds` with rows every 10 ms; returns the last row as its links' and flows' columns.
fn last_row(api: &mut Api, layout: &Value, seconds: f64) -> (Vec<f64>, Vec<Vec<f64>>) {
    let columns = |part: &str| layout[part].as_array().expect("columns").len();
    let (link, flow) = (columns("link"), columns("flow"));
    let width = link + flow * layout["flows"].as_u64().expect("flows") as usize;
    let rows = api.advance(seconds, 0.01);
    let row = &rows[rows.len() - width..];
    (row[..link].to_vec(), row[link..].chunks(flow).map(<[f64]>::to_vec).collect())
}

/// The plot shows packets in flight as the bandwidth-delay product and the queue, also if RTTs
/// differ.
#[test]
fn packets_in_flight_are_the_product_and_the_queue() {
    for (extra, flows) in [(0.0, 1), (0.0, 4), (100.0, 2)] {
        let mut api = Api::default();
        let mut request = begin(&vec![("newreno", true); flows]);
        request["flows"][flows - 1]["extra_ms"] = json!(extra);
        let layout = ask(&mut api, &request);
        let mut errors = Vec::new();
        for step in 0..100 {
            let (link, flows) = last_row(&mut api, &layout, 30.0 + f64::from(step) / 2.0);
            let total: f64 = flows.iter().map(|flow| flow[0]).sum();
            let (queue, ideal) = (link[1], link[2]);
            if queue > 20.0 {
                errors.push((total - ideal - queue).abs() / total);
            }
        }
        errors.sort_by(f64::total_cmp);
        assert!(errors.len() > 40, "a queue is there most of the time: {}", errors.len());
        assert!(errors[errors.len() / 2] < 0.05, "extra {extra} ms: {errors:?}");
    }
}

#[test]
fn flows_have_rtts_of_their_own_loss_and_a_second_link() {
    let mut api = Api::default();
    let mut request = begin(&[("newreno", true), ("newreno", true)]);
    request["flows"][1]["extra_ms"] = json!(150);
    let layout = ask(&mut api, &request);
    let (_, flows) = last_row(&mut api, &layout, 60.0);
    // RTTs of 100 and 250 ms in an empty network; the longer one gets less.
    assert!(flows[1][6] - flows[0][6] > 100.0, "{flows:?}");
    assert!(flows[0][5] > 1.3 * flows[1][5], "{flows:?}");

    let mut request = begin(&[("newreno", true)]);
    request["loss"] = json!(0.02);
    let layout = ask(&mut api, &request);
    let (_, flows) = last_row(&mut api, &layout, 60.0);
    let share = flows[0][7] / (flows[0][5] + flows[0][7]);
    assert!((0.01..0.03).contains(&share), "{share}");

    // A parking lot: flow 1 passes both links, flows 2 and 3 one each.
    let mut request = begin(&[("newreno", true), ("newreno", true), ("newreno", true)]);
    request["second_mbps"] = json!(6);
    request["flows"][1]["via"] = json!("first");
    request["flows"][2]["via"] = json!("second");
    let layout = ask(&mut api, &request);
    let (link, flows) = last_row(&mut api, &layout, 30.0);
    let mbps = |packets: f64| packets * 1500.0 * 8e-6 / 30.0;
    assert!((10.0..12.1).contains(&mbps(flows[0][5] + flows[1][5])), "{flows:?}");
    assert!((5.0..6.05).contains(&mbps(flows[0][5] + flows[2][5])), "{flows:?}");
    // The slowest link has 6 Mbit/s, which are 50 packets in 100 ms.
    assert_eq!((link[2], link[3]), (50.0, 6.0));
    ask(&mut api, &json!({ "method": "change", "second_mbps": 3 }));
    assert_eq!(last_row(&mut api, &layout, 31.0).0[3], 3.0);

    for (key, value, words) in [
        ("loss", json!(0.7), "random loss"),
        ("loss", json!(-1), "random loss"),
        ("second_mbps", json!(0), "above zero"),
    ] {
        let mut request = begin(&[("cubic", true)]);
        request[key] = value;
        let answer = ask(&mut api, &request);
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(words)), "{answer}");
    }
    for (key, value, words) in
        [("extra_ms", json!(1e9), "additional RTT"), ("via", json!("second"), "second link")]
    {
        let mut request = begin(&[("cubic", true)]);
        request["flows"][0][key] = value;
        let answer = ask(&mut api, &request);
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(words)), "{answer}");
    }
}

#[test]
fn a_recorded_session_has_the_digest_of_the_live_run() {
    let changes = [
        json!({ "method": "change", "rate_mbps": 3 }),
        json!({ "method": "flow", "flow": 1, "on": true, "scheme": "bbr" }),
        json!({ "method": "change", "rtt_ms": 40, "buffer": 30 }),
    ];
    let mut live = Api::default();
    ask(&mut live, &begin(&[("cubic", true), ("vegas", false)]));
    let (mut at, mut script) = (0.0, Vec::new());
    for change in &changes {
        // As a browser's frames divide time, with packets watched for the picture.
        for _ in 0..50 {
            at += 0.016_683;
            live.advance(at, 0.0123);
            ask(&mut live, &json!({ "method": "packets", "on": true }));
        }
        script.push((ask(&mut live, change)["time_ns"].as_u64().expect("a time"), change));
    }
    live.advance(5.0, 0.01);
    let status = ask(&mut live, &json!({ "method": "status" }));

    let mut replay = Api::default();
    ask(&mut replay, &begin(&[("cubic", true), ("vegas", false)]));
    for (time, change) in script {
        ask(&mut replay, &json!({ "method": "advance", "time_ns": time }));
        assert_eq!(ask(&mut replay, change)["time_ns"], time);
    }
    ask(&mut replay, &json!({ "method": "advance", "time_ns": status["time_ns"] }));
    let end = ask(&mut replay, &json!({ "method": "status" }));
    assert_eq!(end["digest"], status["digest"]);
    let far = ask(&mut replay, &json!({ "method": "advance", "time_ns": u64::MAX }));
    assert!(far["error"].as_str().is_some_and(|error| error.contains("86400 s")), "{far}");
}

#[test]
fn events_of_packets_are_passed_on_while_they_are_watched() {
    let mut api = Api::default();
    ask(&mut api, &begin(&[("cubic", true)]));
    api.advance(0.05, 0.01);
    let packets = |api: &mut Api, on: bool| ask(api, &json!({ "method": "packets", "on": on }));
    assert_eq!(packets(&mut api, true)["events"], json!([]));
    api.advance(1.0, 0.01);
    let answer = packets(&mut api, false);
    let columns = answer["columns"].as_array().expect("columns").len();
    let numbers: Vec<f64> =
        answer["events"].as_array().expect("events").iter().filter_map(Value::as_f64).collect();
    let events: Vec<&[f64]> = numbers.chunks(columns).collect();
    let of = |kind: f64| events.iter().filter(|event| event[1] == kind).count();
    assert!(of(0.0) > 100 && of(1.0) > 100, "{} and {}", of(0.0), of(1.0));
    // A packet of 1500 bytes takes 1 ms at 12 Mbit/s; that of the handshake is shorter.
    let short = events.iter().filter(|event| event[1] == 1.0 && event[5] < 0.000_99).count();
    assert!(short <= 1, "{short} packets took less than a millisecond");
    api.advance(2.0, 0.01);
    assert_eq!(packets(&mut api, false)["events"], json!([]));
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

#[test]
fn errors_name_what_the_page_offers() {
    let mut api = Api::default();
    let error = |api: &mut Api, request: &Value| {
        ask(api, request)["error"].as_str().expect("an error").to_string()
    };
    let routers = error(&mut api, &begin(&[("abc", true), ("xcp", true)]));
    assert!(routers.contains("switch one of the two flows off"), "{routers}");
    assert!(!routers.contains("router ="), "{routers}");
    let unknown = error(&mut api, &begin(&[("cubik", true)]));
    assert!(unknown.contains("did you mean `cubic`") && !unknown.contains("paceline"), "{unknown}");
    let linux = error(&mut api, &begin(&[("htcp", true)]));
    assert!(linux.contains("take `linux:htcp`"), "{linux}");
    let mut request = begin(&[("cubic", true)]);
    request["trace"] = json!({ "name": "lte-driving" });
    ask(&mut api, &request);
    let fixed = error(&mut api, &json!({ "method": "change", "rate_mbps": 3 }));
    assert!(fixed.contains("choose a constant rate"), "{fixed}");
}

#[test]
fn a_scenario_file_has_the_page_of_the_command() {
    let mut api = Api::default();
    let text = |duration: &str| {
        format!(
            "name = \"two <b>\"\nduration = \"{duration}\"\n[[link]]\nname = \"link\"\nrate = \"12Mbps\"\n\
             [[flow]]\nscheme = \"cubic\"\nrtt = \"100ms\"\n"
        )
    };
    let run = |api: &mut Api, text: &str, page: bool| {
        ask(api, &json!({ "method": "run", "file": "two.toml", "text": text, "page": page }))
    };
    let answer = run(&mut api, &text("5s"), true);
    assert_eq!(answer["error"], Value::Null, "{answer}");
    let page = answer["page"].as_str().expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("two &lt;b&gt;"));
    // The recording for the page does not change the run.
    assert_eq!(run(&mut api, &text("5s"), false)["digest"], answer["digest"]);
    // Several runs have medians, and run 1 is the scenario itself.
    let three = format!("runs = 3\n{}", text("5s"));
    let several = run(&mut api, &three, true);
    assert_eq!((&several["runs"], &several["digest"]), (&json!(3), &answer["digest"]));
    let page = several["page"].as_str().expect("a page");
    assert!(page.contains("in each of 3 runs") && page.contains("digest of"), "{page}");
    assert_eq!(run(&mut api, &three, false)["runs"], 1);
    let many = run(&mut api, &format!("runs = 100\n{}", text("100s")), true);
    assert!(many["error"].as_str().is_some_and(|error| error.contains("lower its")), "{many}");
    let long = run(&mut api, &text("3600s"), true);
    assert!(long["error"].as_str().is_some_and(|error| error.contains("600s")), "{long}");
}

#[test]
fn a_claim_at_full_length_can_be_reproduced() {
    let mut api = Api::default();
    // A06 needs no recording.
    let plan = ask(&mut api, &json!({ "method": "claim", "id": "A06", "full": true }));
    assert_eq!(plan["small"], true, "{plan}");
    let quick = ask(&mut api, &json!({ "method": "claim", "id": "A06" }));
    assert!(quick["cost"].as_f64() <= plan["cost"].as_f64(), "{quick} {plan}");
    assert_eq!(quick["paid"], 0.0);
    let next = ask(&mut api, &json!({ "method": "claim-next" }));
    assert!(next["paid"].as_f64() > Some(0.0) && next["done"] == 1, "{next}");
}

/// Opportunities every `gap` ms for 20 s, in Mahimahi's format.
fn recording(gap: usize) -> String {
    (0..20_000 / gap).map(|packet| format!("{}\n", packet * gap + 1)).collect()
}

#[test]
fn dropped_recordings_replace_synthetic_traces() {
    let mut api = Api::default();
    let (down, up) = ("Verizon-LTE-short.down", "Verizon-LTE-short.up");
    let file = |name: &str, text: String| json!({ "name": name, "text": text });
    let files = [file(down, recording(2)), file("README", "words".into())];
    let seen = ask(&mut api, &json!({ "method": "recordings", "files": files }));
    assert_eq!(
        (&seen["recordings"], &seen["other"]),
        (&json!([down]), &json!(["README"])),
        "{seen}"
    );
    assert!(seen["missing"].as_array().is_some_and(|names| names.len() == 11), "{seen}");
    // A recording that cannot be read is named, and the others stay.
    let bad = [file(up, "no trace".into())];
    let error = ask(&mut api, &json!({ "method": "recordings", "files": bad }));
    assert!(error["error"].as_str().is_some_and(|error| error.contains(up)), "{error}");
    let kept = ask(&mut api, &json!({ "method": "recordings", "files": [], "keep": true }));
    assert_eq!(kept["recordings"], json!([down]), "{kept}");
    // The uplink is missing.
    let claim = json!({ "method": "claim", "id": "A15" });
    let error = ask(&mut api, &claim);
    assert!(error["error"].as_str().is_some_and(|error| error.contains(up)), "{error}");
    let verdict = |api: &mut Api| {
        let plan = ask(api, &claim);
        for _ in 0..plan["tasks"].as_u64().expect("a number of tasks") {
            ask(api, &json!({ "method": "claim-next" }));
        }
        ask(api, &json!({ "method": "claim-end" }))
    };
    ask(&mut api, &json!({ "method": "recordings", "files": [file(up, recording(4))] }));
    let recorded = verdict(&mut api);
    assert!(recorded["judged"]["traces"].to_string().contains(up), "{recorded}");
    ask(&mut api, &json!({ "method": "recordings", "files": [] }));
    let synthetic = verdict(&mut api);
    assert!(!synthetic["judged"]["traces"].to_string().contains(up), "{synthetic}");
}
