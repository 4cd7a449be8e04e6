//! `paceline medium`.

use crate::common::paceline;

fn json(arguments: &[&str]) -> serde_json::Value {
    let seen = paceline(&[&["medium", "--json", "--duration", "5s"], arguments].concat());
    assert_eq!(seen.code, 0, "{}", seen.err);
    serde_json::from_str(&seen.out).expect("JSON")
}

#[test]
fn json_has_its_fields_and_repeats() {
    let flags = ["--stations", "5", "--rate", "11Mbps", "--packet", "1300", "--direction", "up"];
    let more = ["--preamble", "long", "--seed", "1"];
    let flags = [&flags[..], &more[..]].concat();
    let one = json(&flags);
    let keys: Vec<_> = one.as_object().expect("an object").keys().cloned().collect();
    // There are four figures, and the version of the JSON's fields.
    assert_eq!(keys.len(), 5, "{keys:?}");
    assert_eq!(one["per_station_mbps"].as_array().map(Vec::len), Some(5));
    let throughput = one["throughput_mbps"].as_f64().expect("a number");
    assert!((throughput - 5.85).abs() < 0.15, "{throughput}");
    assert!(one["jain"].as_f64().expect("a number") > 0.9);
    assert_eq!(one, json(&flags));
    assert_ne!(one, json(&[&flags[..8], &["--seed", "2"]].concat()));
}

#[test]
fn both_directions_list_downloads_first() {
    let both = json(&["--stations", "3", "--direction", "both"]);
    let rates: Vec<f64> = both["per_station_mbps"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|rate| rate.as_f64().expect("a number"))
        .collect();
    assert_eq!(rates.len(), 6);
    assert!(rates[0] < 0.6 * rates[3]);
}

#[test]
fn rates_of_ofdm_are_those_of_802_11g() {
    let fast = json(&["--rate", "54Mbps", "--stations", "1"])["throughput_mbps"].as_f64();
    assert!((fast.expect("a number") - 28.4).abs() < 0.5);
    let old =
        json(&["--rate", "54Mbps", "--stations", "1", "--phy", "b"])["throughput_mbps"].as_f64();
    assert!((old.expect("a number") - 9.8).abs() < 0.2);
}

#[test]
fn mistakes_name_a_remedy() {
    for (arguments, remedy) in [
        (vec!["--rate", "54Mbps", "--packet", "0"], "1..=2296"),
        (vec!["--rate", "54Mbps", "--packet", "2297"], "1..=2296"),
        (vec!["--rate", "10Mbps"], "--phy b"),
        (vec!["--rates", "11Mbps,54Mbps"], "--phy b"),
        (vec!["--phy", "g", "--rate", "11Mbps"], "--phy b"),
        (vec!["--duration", "0s"], "above zero"),
        (vec!["--stations", "0"], "1..=500"),
    ] {
        let seen = paceline(&[&["medium"], &arguments[..]].concat());
        assert_eq!(seen.code, 2, "{}", seen.err);
        assert!(seen.err.contains(remedy), "{}", seen.err);
    }
}

#[test]
fn ampdus_carry_most_of_the_rate() {
    let throughput = |flags: &[&str]| {
        json(&[&["--stations", "2"], flags].concat())["throughput_mbps"].as_f64().expect("a number")
    };
    let (many, single) =
        (throughput(&["--mcs", "7"]), throughput(&["--mcs", "7", "--max-frames", "1"]));
    assert!((45.0..65.0).contains(&many) && single < 0.6 * many, "{many} {single}");
    let two = json(&["--mcs", "7,0"]);
    assert_eq!(two["per_station_mbps"].as_array().map(Vec::len), Some(2));
    assert_eq!(paceline(&["medium", "--mcs", "16"]).code, 2);
    assert_eq!(paceline(&["medium", "--mcs", "7", "--rate", "11Mbps"]).code, 2);
}
