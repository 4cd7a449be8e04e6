//! Scenario files at the limits of what they may say, and what error messages say to write, are valid.

use paceline_sim::run;
use paceline_sim::scenario;

use super::scenario_errors::{DURATION, RATE, SCHEME, VALID};

/// What messages say to write makes a valid file.
#[test]
fn remedies_make_valid_files() {
    let reads = |change: (&str, &str)| {
        let text = VALID.replace(change.0, change.1);
        scenario::parse("s.toml", &text, None).map(|_| ()).map_err(|error| error.to_string())
    };
    for settings in [
        "audio = { packets_per_s = 50 }",
        "audio = { rate = \"510kbps\", packets_per_s = 100 }",
        "audio = { rate = \"1kbps\", packets_per_s = 1000 }",
        "limited = { rate = \"1Mbps\", message = 1500 }",
        "limited = { rate = \"1bps\", message = 1 }",
        "data = { loss = 0.01, burst = 5 }",
        "data = { loss = 1 }",
    ] {
        let with = format!("{SCHEME}\n{settings}");
        assert_eq!(reads((SCHEME, &with)), Ok(()), "{settings}");
    }
    for wifi in
        ["contenders = 3, contender_gap = \"2ms\"", "contenders = 0, contender_airtime = \"2ms\""]
    {
        let with = format!("wifi = {{ mcs = 7, {wifi} }}");
        assert_eq!(reads((RATE, &with)), Ok(()), "{wifi}");
    }
}

#[test]
fn what_is_allowed_at_most_can_run() {
    let run_with = |part: &str, instead: &str| {
        let text = VALID.replace(part, instead).replace(DURATION, "duration = \"200ms\"");
        let scenario = scenario::parse("s.toml", &text, None).expect(instead);
        run(&scenario).expect("runs");
    };
    run_with(SCHEME, "scheme = \"cubic\"\ncount = 5000");
    run_with(
        SCHEME,
        "scheme = \"cubic\"\ncount = 2000\ndata = { loss = 0.1 }\nacks = { loss = 0.1 }",
    );
    run_with(SCHEME, "scheme = \"cubic\"\narrivals = { per_second = 20000, bytes = 1e12 }");
    run_with(SCHEME, "scheme = \"cubic[initial_window=10000]\"\nrtt = \"0s\"");
    run_with(SCHEME, "scheme = \"cubic\"\nrtt = \"100000h\"");
    run_with(SCHEME, "scheme = \"gcc\"\nvideo = { fps = 1000, key_every = 1, lag = \"0s\" }");
    run_with(SCHEME, "scheme = \"gcc\"\nvideo = { fps = 0.1, min = \"0bps\", key_every = 0 }");
    run_with(SCHEME, "scheme = \"cubic\"\nlimited = { rate = \"8Mbps\", message = 1 }");
    run_with(SCHEME, "scheme = \"cubic\"\non_off = { on = \"1ms\", off = \"0s\" }");
    run_with(SCHEME, "scheme = \"cubic\"\non_off = { on_bytes = 1.0, off = \"0s\" }\nrtt = \"0s\"");
    run_with(SCHEME, "scheme = \"cubic\"\ndata = { duplicate = 1.0, reorder = 1.0 }");
    run_with(SCHEME, "scheme = \"cubic\"\ndata = { jitter = \"100000h\", overtake = true }");
    run_with(RATE, "rate = \"1bps\"\nbuffer = \"inf\"");
    run_with(RATE, "rate = \"1000Gbps\"\nbuffer = 9223372036854775807");
    run_with(
        RATE,
        "schedule = [{ at = \"0s\", rate = \"1000Gbps\" }, { at = \"1ns\", rate = \"0bps\" }]\nperiod = \"2ns\"",
    );
    run_with(RATE, "trace = \"lte-driving\"\nopportunity = 1000000\nbuffer = \"inf\"");
}
