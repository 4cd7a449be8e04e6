//! Specifications of networks: values, lists, ranges, and errors with a remedy.

use std::sync::Arc;

use paceline_cc::{Rate, Span};
use paceline_flow::{Amount, On};
use paceline_remy::spec::{Specification, Specimen};
use paceline_remy::{Network, score};
use paceline_schemes::remy::RemyParams;
use paceline_sim::scenario::{CustomScheme, SchemeChoice};

const WHOLE: &str =
    "[networks]\nlink = \"10Mbps\"\nrtt = \"150ms\"\nsenders = 2\non = \"5s\"\noff = \"5s\"\n";

/// Returns the specification with this line in place of the one with the same key, or in addition.
fn with(line: &str) -> String {
    let key = line.split('=').next().unwrap_or_default().trim();
    let lines = WHOLE.lines().filter(|old| !old.starts_with(&format!("{key} =")));
    lines.map(|line| line.to_string() + "\n").collect::<String>() + line + "\n"
}

fn specimens(line: &str) -> Vec<Specimen> {
    Specification::parse(&with(line)).unwrap_or_else(|error| panic!("{line}: {error}")).specimens(1)
}

fn error(line: &str) -> String {
    Specification::parse(&with(line)).expect_err(line).to_string()
}

fn megabits(specimens: &[Specimen]) -> Vec<f64> {
    let rate = |one: &Specimen| one.network.packets_per_ms(one.duration).expect("a link");
    specimens.iter().map(|one| (rate(one) * 1e7).round() / 1e6).collect()
}

#[test]
fn values_are_listed_or_lie_in_steps() {
    let list = specimens("link = [\"10Mbps\", \"20Mbps\", \"30Mbps\"]");
    assert_eq!(megabits(&list), [10.0, 20.0, 30.0]);
    let step = specimens("link = { from = \"10Mbps\", to = \"20Mbps\", step = \"4Mbps\" }");
    assert_eq!(megabits(&step), [10.0, 14.0, 18.0]);
    // Decimal fractions whose sum is rounded.
    let fine = specimens("loss = { from = 0.1, to = 0.3, step = 0.1 }");
    assert_eq!(fine.len(), 3);
    for scale in ["log", "logarithmic"] {
        let line = format!(
            "link = {{ from = \"1Mbps\", to = \"100Mbps\", steps = 3, scale = \"{scale}\" }}"
        );
        assert_eq!(megabits(&specimens(&line)), [1.0, 10.0, 100.0]);
    }
    let drawn = "link = { values = [\"1Mbps\", \"5Mbps\"], scale = \"random\" }\ndraws = 40";
    let drawn = megabits(&specimens(drawn));
    let ones = drawn.iter().filter(|rate| **rate == 1.0).count();
    assert!(drawn.len() == 40 && (8..32).contains(&ones), "{drawn:?}");
}

#[test]
fn buffers_have_lists_and_ranges() {
    let words = |line: &str| -> Vec<String> {
        let all = specimens(line);
        all.iter().map(|one| one.network.buffer.to_string()).collect()
    };
    let bdp = "buffer = { from = \"0.25bdp\", to = \"4bdp\", steps = 3, scale = \"log\" }";
    assert_eq!(words(bdp), ["0.25bdp", "1bdp", "4bdp"]);
    assert_eq!(words("buffer = [50, \"1bdp\", \"inf\"]"), ["50p", "1bdp", "inf"]);
    let time = "buffer = { from = \"20ms\", to = \"60ms\", step = \"20ms\" }";
    assert_eq!(words(time), ["20ms", "40ms", "60ms"]);
    let packets = "buffer = { from = 10, to = 1000, scale = \"random-log\" }\ndraws = 30";
    let packets = words(packets);
    let small = packets.iter().filter(|size| size.len() < 4).count();
    assert!((5..25).contains(&small), "{packets:?}");
    for (line, problem) in [
        ("buffer = { from = 10, to = \"1bdp\", steps = 2 }", "both ends of a range have one unit"),
        ("buffer = { from = \"1bdp\", to = \"inf\", steps = 2 }", "inf is not in bdp"),
        ("buffer = { from = \"inf\", to = \"inf\", steps = 2 }", "write a list"),
        ("buffer = { to = \"1bdp\", steps = 2 }", "a range needs from"),
    ] {
        assert!(error(line).contains("line 7: networks.buffer: "), "{line}: {}", error(line));
        assert!(error(line).contains(problem), "{line}: {}", error(line));
    }
}

/// Errors found by an outside review of the trainer, and similar ones.
#[test]
fn what_is_refused_is_named_with_key_line_and_remedy() {
    for (line, place, problem) in [
        (
            "link = [10, 20, 30]",
            "line 6: networks.link: value 1 of the list, 10",
            "a rate needs a unit",
        ),
        (
            "link = { from = \"10Mbps\", to = \"20Mbps\", scale = \"lin\" }",
            "line 6: networks.link",
            "there is no scale \"lin\"; there are \"linear\", \"log\"",
        ),
        (
            "senders = { from = 4, to = 1, steps = 2 }",
            "line 6: networks.senders",
            "from = 1, to = 4",
        ),
        (
            "senders = { from = 4, to = 1, scale = \"random\" }",
            "networks.senders",
            "is above to = 1",
        ),
        ("rtt = { from = \"1ms\", to = \"2ms\", step = 4 }", "networks.rtt", "a time needs a unit"),
        (
            "rtt = { from = \"1ms\", to = \"2ms\", step = \"0s\" }",
            "networks.rtt",
            "is not above zero",
        ),
        (
            "rtt = { from = \"1ms\", to = \"2ms\", step = \"1ms\", scale = \"log\" }",
            "networks.rtt",
            "write steps = 3",
        ),
        ("rtt = { from = \"1ms\", to = \"2ms\", stpes = 4 }", "networks.rtt", "no key `stpes`"),
        ("rtt = { from = \"1ms\", to = \"2ms\", steps = 2.5 }", "networks.rtt", "no whole number"),
        ("rtt = { from = \"1ms\", to = \"2ms\", steps = 0 }", "networks.rtt", "not 1 to 10000"),
        ("rtt = { to = \"2ms\", steps = 2 }", "networks.rtt", "a range needs from"),
        ("rtt = []", "networks.rtt", "1 to 10000 values, not 0"),
        (
            "rtt = { values = [\"1ms\"], scale = \"log\" }",
            "networks.rtt",
            "scale = \"random\", or none",
        ),
        ("rtt = true", "networks.rtt", "expected one value, a list of values or a range"),
        ("jitter = 1", "networks.jitter", "a time needs a unit"),
        ("delayed_acks = 0", "networks.delayed_acks", "0 is too little: write 1 or more"),
        ("resolution = \"1min\"", "networks.resolution", "60s is too much: write \"1s\" or less"),
        ("queue = \"codle\"", "line 7: networks.queue", "did you mean `codel`"),
        ("trace_start = \"random\"", "networks.trace_start", "there are no traces"),
        ("starts = -1", "networks.starts", "time"),
    ] {
        let error = error(line);
        assert!(error.contains(place) && error.contains(problem), "{line}: {error}");
    }
    for (line, problem) in [
        ("duration = 100", "line 1: duration: 100: expected a time with its unit"),
        ("duration = { packets = 0 }", "is not from 1 to 1e12"),
        ("duration = { packet = 10 }", "no key `packet`: write { packets"),
        ("duration = { packets = 9, least = \"2s\", most = \"1s\" }", "is above most"),
    ] {
        let text = format!("{line}\n{WHOLE}");
        let error = Specification::parse(&text).expect_err(line).to_string();
        assert!(error.contains(problem), "{line}: {error}");
    }
    let text = format!(
        "duration = {{ packets = 9 }}\n{}",
        WHOLE.replace("link = \"10Mbps\"", "traces = \"leo\"")
    );
    let error = Specification::parse(&text).expect_err("no rate").to_string();
    assert!(error.contains("a number of packets needs rates"), "{error}");
}

#[test]
fn slow_links_are_simulated_for_longer() {
    let text = format!(
        "duration = {{ packets = 10000, most = \"50s\" }}\n{}",
        WHOLE.replace("\"10Mbps\"", "[\"1Mbps\", \"10Mbps\", \"100Mbps\"]")
    );
    let specification = Specification::parse(&text).expect("a specification");
    let lengths: Vec<f64> =
        specification.specimens(1).iter().map(|one| one.duration.as_secs_f64()).collect();
    assert_eq!(lengths, [50.0, 10.0, 1.0]);
}

#[test]
fn clocks_are_coarse_where_acknowledgements_are_disturbed() {
    let resolution = |line: &str| specimens(line)[0].resolution;
    for line in ["jitter = \"10us\"", "delayed_acks = true", "ack_aggregation = [\"0s\", \"2ms\"]"]
    {
        assert_eq!(resolution(line), Span::from_millis(1), "{line}");
    }
    for line in ["jitter = \"0s\"", "delayed_acks = false", "queue = \"codel\"", "loss = 0.01"] {
        assert_eq!(resolution(line), Span::ZERO, "{line}");
    }
    assert_eq!(resolution("resolution = \"20us\"\njitter = \"1ms\""), Span::from_micros(20));
}

fn throughput(network: &Network, scheme: &SchemeChoice) -> f64 {
    let senders = score::run(network, scheme, Span::from_secs(60), 1).expect("runs");
    senders.iter().map(score::SenderFigures::raw_throughput).sum()
}

/// The table divides its rules at an RTT ratio that occurs only in networks without jitter.
#[test]
fn jitter_takes_its_throughput_from_a_table_and_a_coarser_clock_gives_it_back() {
    let network = |jitter: Span| {
        Network::new(Rate::from_mbps(15.0), Span::from_millis(150)).with(|network| {
            (network.on, network.off) = (On::Time(Amount::Fixed(1e6)), Amount::Fixed(0.0));
            network.jitter = jitter;
        })
    };
    let named = paceline_remy::tables();
    let table = named.find("general-delta1").expect("built in").table().expect("sane");
    let scheme = |resolution: Span| {
        let params = RemyParams { as_published: true, resolution, ..RemyParams::default() };
        let halves = paceline_schemes::remy::halves(params, Arc::clone(&table), None);
        SchemeChoice::from(CustomScheme::new("remy", halves))
    };
    let (fine, coarse) = (scheme(Span::from_nanos(10)), scheme(Span::from_millis(1)));
    let still = throughput(&network(Span::ZERO), &fine);
    let disturbed = throughput(&network(Span::from_millis(1)), &fine);
    let mended = throughput(&network(Span::from_millis(1)), &coarse);
    assert!(disturbed < 0.6 * still && mended > 0.9 * still, "{still} {disturbed} {mended}");
}

#[test]
fn acknowledgements_are_delayed_and_come_in_slots() {
    let plain = Network::new(Rate::from_mbps(10.0), Span::from_millis(40)).with(|network| {
        network.senders = 1;
        (network.on, network.off) = (On::Time(Amount::Fixed(1e6)), Amount::Fixed(0.0));
    });
    let scheme: SchemeChoice = "vegas".parse().expect("built in");
    let full = throughput(&plain, &scheme);
    let delayed = plain.clone().with(|network| network.acked_packets = 4);
    let slots = plain.clone().with(|network| network.ack_slot = Span::from_millis(20));
    for network in [&delayed, &slots] {
        let rate = throughput(network, &scheme);
        assert!(rate > 0.5 * full && rate != full, "{network}: {rate} {full}");
    }
    assert!(delayed.to_string().ends_with("4 packets per acknowledgement"), "{delayed}");
    assert!(slots.to_string().ends_with("acknowledgements every 20ms"), "{slots}");
}

#[test]
fn senders_start_at_their_own_times_and_are_judged_from_then_on() {
    let network = Network::new(Rate::from_mbps(10.0), Span::from_millis(40)).with(|network| {
        (network.on, network.off) = (On::Time(Amount::Fixed(1e6)), Amount::Fixed(0.0));
        network.starts = Span::from_secs(30);
    });
    let scheme: SchemeChoice = "vegas".parse().expect("built in");
    let senders = score::run(&network, &scheme, Span::from_secs(60), 1).expect("runs");
    let starts = [network.start_of(0, 1), network.start_of(1, 1)];
    assert_ne!(starts[0], starts[1]);
    for (sender, start) in senders.iter().zip(starts) {
        assert!((sender.on_s - (60.0 - start.as_secs_f64())).abs() < 0.1, "{start}: {sender:?}");
    }
    // The first sender has the link alone until the second starts, then half of it.
    let (first, last) = (starts.iter().min().expect("two"), starts.iter().max().expect("two"));
    let alone = last.as_secs_f64() - first.as_secs_f64();
    let shared = (60.0 - last.as_secs_f64()) / 2.0;
    let early = senders.iter().find(|one| one.share_s > shared + 0.5 * alone).expect("one");
    assert!((early.share_s - alone - shared).abs() < 0.01, "{early:?}");
}

#[test]
fn queues_are_named_and_recordings_begin_anywhere() {
    let queues = specimens("queue = [\"droptail\", \"codel\"]\nbuffer = \"1bdp\"");
    let words: Vec<String> = queues.iter().map(|one| one.network.to_string()).collect();
    assert!(words[0].ends_with("queue droptail") && words[1].ends_with("queue codel"), "{words:?}");
    let scheme: SchemeChoice = "cubic".parse().expect("built in");
    let delay = |one: &Specimen| {
        let senders = score::run(&one.network, &scheme, Span::from_secs(30), 1).expect("runs");
        senders[0].delay_ms
    };
    assert!(delay(&queues[1]) < delay(&queues[0]));
    let begun = |line: &str| {
        let text =
            WHOLE.replace("link = \"10Mbps\"", &format!("traces = [\"lte-driving\"]\n{line}"));
        let all = Specification::parse(&text).expect("a specification").specimens(1);
        let figures = score::run(&all[0].network, &scheme, Span::from_secs(9), 1).expect("runs");
        (figures, all[0].seed)
    };
    let beginning = begun("");
    assert_eq!(begun("trace_start = \"beginning\""), beginning);
    assert_ne!(begun("trace_start = \"random\"").0, beginning.0);
}

/// The networks of shipped specifications are those with which their tables were trained.
#[test]
fn shipped_networks_stay_as_they_were() {
    let text = include_str!("../../../../scenarios/remy/range-100x.toml");
    let all = Specification::parse(text).expect("shipped").specimens(7);
    let words = |one: &Specimen| format!("{} seed {}", one.network, one.seed);
    assert_eq!(
        [words(&all[0]), words(&all[all.len() - 1])],
        [
            "1 sender over 39210594bps, 150ms, on 1s, off 1s, buffer 5bdp seed 10235752506090023522",
            "2 senders over 230102589bps, 150ms, on 1s, off 1s, buffer 5bdp seed 5103381138846535572",
        ]
    );
}

/// The specification with these lines, and with an objective.
fn aimed(line: &str, objective: &str) -> Specification {
    let text = format!("{}[objective]\n{objective}\n", with(line));
    Specification::parse(&text).unwrap_or_else(|error| panic!("{line}: {error}"))
}

#[test]
fn rivals_come_beside_the_senders_in_a_share_of_the_networks() {
    let counts = |line: &str| -> Vec<(u32, u32)> {
        let all = specimens(line);
        all.iter().map(|one| (one.network.own(), one.network.senders)).collect()
    };
    assert_eq!(counts("others = \"cubic\""), [(2, 3)]);
    assert_eq!(counts("others = { scheme = \"cubic\", beside = [0, 4] }"), [(2, 2), (2, 6)]);
    assert_eq!(counts("others = { scheme = \"cubic\", senders = 1 }"), [(1, 2)]);
    let both = specimens("others = [\"cubic\", \"bbr3\"]");
    let words: Vec<String> = both.iter().map(|one| one.network.to_string()).collect();
    assert!(
        words[0].ends_with("1 of them cubic") && words[1].ends_with("1 of them bbr3"),
        "{words:?}"
    );
    let shared = counts("others = { scheme = \"cubic\", share = 0.25 }\ndraws = 400");
    let present = shared.iter().filter(|counts| **counts == (2, 3)).count();
    assert!((70..130).contains(&present), "{present} of 400");
    assert_eq!(shared.iter().filter(|counts| **counts == (2, 2)).count(), 400 - present);
    // Without other senders, a network equals one that never had any, and its senders are equal.
    let alone = specimens("others = { scheme = \"cubic\", share = 0 }");
    assert_eq!(alone[0].network.to_string(), specimens("draws = 1")[0].network.to_string());
    for (line, problem) in [
        ("others = \"cubci\"", "networks.others.scheme: unknown scheme `cubci`"),
        ("others = { scheme = \"cubic\", senders = 1, beside = 1 }", "write one of senders"),
        (
            "others = { scheme = \"cubic\", share = 2 }",
            "networks.others.share: 2 is too much: write 1 or less",
        ),
        ("others = { scheme = \"cubic\", share = [0, 1] }", "write one number from 0 to 1"),
        ("others = { schema = \"cubic\" }", "line 7: networks.others: unknown field `schema`"),
    ] {
        assert!(error(line).contains(problem), "{line}: {}", error(line));
    }
}

#[test]
fn traces_are_drawn_anew_from_the_model() {
    let text = WHOLE.replace("link = \"10Mbps\"", "traces = { model = \"lte-*\", draws = 8 }");
    let specification = Specification::parse(&format!("duration = \"5s\"\n{text}")).expect("sane");
    let words = |seed: u64| -> Vec<String> {
        specification.specimens(seed).iter().map(|one| one.network.to_string()).collect()
    };
    let (first, second) = (words(1), words(2));
    assert_eq!(first, words(1));
    assert!(first.len() == 8 && first.iter().all(|word| word.contains("over lte-")), "{first:?}");
    assert!(first.iter().zip(&second).all(|(one, other)| one != other), "{first:?} {second:?}");
    // The names are used in turn, each equally often.
    assert_eq!(first.iter().filter(|word| word.contains("lte-walking")).count(), 2, "{first:?}");
    // A single network equals the one among all: other machines request it by its index.
    let one = specification.specimen(2, 5);
    let all = specification.specimens(2);
    assert_eq!((one.network.to_string(), one.seed), (second[5].clone(), all[5].seed));
    let scheme: SchemeChoice = "vegas".parse().expect("built in");
    let run = |one: &Specimen| score::run(&one.network, &scheme, one.duration, one.seed);
    assert_eq!(run(&one).expect("runs"), run(&all[5]).expect("runs"));
    for (written, problem) in [
        ("{ model = \"lte\", draws = 8 }", "the model has no `lte`; there are: "),
        ("{ model = \"lte-*\" }", "draws is missing: write { model"),
        ("{ model = \"lte-*\", draws = 0 }", "draws = 0 is no number from 1"),
        ("{ model = \"lte-*\", draw = 8 }", "no key `draw`"),
        ("{ model = \"lte-*\", draws = 501 }", "write fewer draws or a shorter duration"),
    ] {
        let text = WHOLE.replace("link = \"10Mbps\"", &format!("traces = {written}"));
        let error = Specification::parse(&text).expect_err(written).to_string();
        assert!(error.contains("line 2: networks.traces: ") && error.contains(problem), "{error}");
    }
}

#[test]
fn aims_count_quantiles_of_delay_and_packets_sent_in_vain() {
    let run = |specification: &Specification, scheme: &str| {
        let one = &specification.specimens(1)[0];
        let scheme: SchemeChoice = scheme.parse().expect("built in");
        score::run(&one.network, &scheme, Span::from_secs(30), 1).expect("runs")
    };
    let plain = run(&aimed("buffer = 40", ""), "cubic");
    assert!(plain.iter().all(|one| one.delay_quantile_ms == 0.0 && one.repeats == 0.0));
    let p95 = run(&aimed("buffer = 40", "delay = \"p95\""), "cubic");
    let median = run(&aimed("buffer = 40", "delay = \"median\""), "cubic");
    for ((plain, p95), median) in plain.iter().zip(&p95).zip(&median) {
        // What is measured does not affect the run.
        assert_eq!((plain.packets, plain.delay_ms), (p95.packets, p95.delay_ms));
        assert!(p95.delay_quantile_ms > p95.delay_ms, "{p95:?}");
        assert!((150.0..p95.delay_quantile_ms).contains(&median.delay_quantile_ms), "{median:?}");
    }
    // 2 % of the packets are lost and sent again.
    let lossy = run(&aimed("loss = 0.02", "repeats = 1"), "bbr3");
    for sender in &lossy {
        assert!((0.01..0.04).contains(&sender.repeats), "{sender:?}");
    }
    for (objective, problem) in [
        ("delay = \"p90\"", "unknown variant `p90`, expected one of `mean`"),
        ("worst = 0", "line 8: objective.worst: it is a share of the networks above 0"),
        ("worst = 1.5", "objective.worst"),
        ("repeats = -1", "objective.repeats: it has to be finite"),
    ] {
        let text = format!("{WHOLE}[objective]\n{objective}\n");
        let error = Specification::parse(&text).expect_err(objective).to_string();
        assert!(error.contains(problem), "{objective}: {error}");
    }
}

/// The second table of a pair is scored on the networks on which it was trained, also on those without
/// its own senders.
#[test]
fn either_kind_of_sender_may_be_alone_if_both_are_scored() {
    let own = |delta: &str| {
        let text = format!(
            "[networks]\nlink = \"4Mbps\"\nrtt = \"40ms\"\nsenders = 2\non = \"1s\"\noff = \"1s\"\n\
             others = {{ scheme = \"cubic\", senders = {{ from = 0, to = 2, steps = 3 }} }}\n{delta}"
        );
        let specification = Specification::parse(&text).expect("a specification");
        let own = |specimen: &paceline_remy::spec::Specimen| {
            let network = &specimen.network;
            network.senders - network.others.as_ref().map_or(0, |others| others.senders)
        };
        specification.specimens(1).iter().map(own).collect::<Vec<u32>>()
    };
    assert_eq!(own("[objective]\nothers_delta = 1.0\n"), [2, 1, 0]);
    assert_eq!(own(""), [2, 1, 1]);
}

#[test]
fn buffers_of_bytes_hold_a_packet() {
    let read = |buffer: &str| {
        Specification::parse(&format!(
            "[networks]\nlink = \"4Mbps\"\nrtt = \"40ms\"\nsenders = 2\non = \"1s\"\noff = \"1s\"\n\
             buffer = {buffer}\n"
        ))
    };
    for small in ["\"100B\"", "[\"64kB\", \"1249B\"]", "{ from = \"1B\", to = \"9kB\", steps = 2 }"]
    {
        let error = read(small).expect_err(small).to_string();
        assert!(error.contains("line 7: networks.buffer: "), "{error}");
        assert!(error.contains("write \"1250B\" or more"), "{error}");
    }
    assert!(read("[\"1250B\", \"1\", \"inf\"]").is_ok());
}
