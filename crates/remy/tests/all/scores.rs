//! Compares scores of published tables with those of the published program, and with those of the
//! trainer's core.

use std::sync::Arc;

use crate::support;
use paceline_cc::{Rate, Span};
use paceline_flow::Amount;
use paceline_remy::evaluate::{Contender, Local, evaluate, evaluate_by};
use paceline_remy::spec::{Scale, Specification, Specimen};
use paceline_remy::train::Settings;
use paceline_remy::{Network, eval};
use paceline_schemes::remy::{Action, RemyParams, RuleTable, RuleTree};
use paceline_sim::runs::Spread;

/// The rows with eight senders, whose scores vary little between runs: 1000 s instead of 10,000 s,
/// so the tolerance is .03. `paceline remy eval` runs all rows at full length: docs/remy.md.
#[test]
fn published_tables_score_as_published() {
    let Some(folder) = support::reference() else { return };
    let text = std::fs::read_to_string(folder.join("reference/remy_reference_summary.csv"))
        .expect("the summary");
    let mut lines = text.lines();
    let heads: Vec<&str> = lines.next().expect("a heading").split(',').collect();
    let mut rows = 0;
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |name: &str| cells[heads.iter().position(|head| *head == name).expect(name)];
        if cell("nsrc") != "8" {
            continue;
        }
        let name = cell("table");
        let path = folder.join(format!("remycc/RemyCC-{name}.dna"));
        let table = Arc::new(paceline_remy::load(path).expect("a table").table);
        let params = RemyParams { as_published: true, ..RemyParams::default() };
        let senders = Contender::Table { table, params };
        let number = |name: &str| cell(name).parse::<f64>().expect("a number");
        let rate = Rate::from_mbps(number("link_mbps"));
        let network =
            Network::new(rate, Span::from_millis(150)).with(|network| network.senders = 8);
        let duration = Span::from_secs(1000);
        let ours = eval(
            name,
            &network,
            number("link_ppt_pkts_per_ms"),
            &senders,
            duration,
            &[1],
            Spread::default(),
        );
        let ours = ours.expect("runs");
        let score = number("normalized_score_per_sender");
        assert!((ours.normalized_score_per_sender - score).abs() < 0.03, "{score}: {ours:?}");
        assert!((ours.delay_ms / number("mean_delay_ms") - 1.0).abs() < 0.02, "{ours:?}");
        rows += 1;
    }
    assert_eq!(rows, 4);
}

#[test]
fn specifications_are_read() {
    let example = "duration = \"20s\"\n[networks]\n\
        link = { from = \"1Mbps\", to = \"100Mbps\", steps = 3, scale = \"logarithmic\" }\n\
        rtt = \"150ms\"\nsenders = { from = 1, to = 16, scale = \"random\" }\n\
        on = \"5s\"\noff = \"5s\"\nloss = \"1%\"\ndraws = 4\n[objective]\ndelta = 0.1\n";
    let specification = Specification::parse(example).expect("sane");
    assert_eq!(specification.senders.scale, Scale::Random);
    assert_eq!((specification.objective.alpha, specification.objective.delta), (1.0, 0.1));
    let specimens = specification.specimens(1);
    assert_eq!(specimens.len(), 12);
    let rates: Vec<f64> = specimens
        .iter()
        .map(|one| one.network.packets_per_ms(one.duration).expect("a link"))
        .collect();
    for (rate, wanted) in rates.iter().step_by(4).zip([0.1, 1.0, 10.0]) {
        assert!((rate / wanted - 1.0).abs() < 1e-6, "{rates:?}");
    }
    let senders = |seed| -> Vec<u32> {
        specification.specimens(seed).iter().map(|one| one.network.senders).collect()
    };
    assert_eq!(senders(1), senders(1));
    assert_ne!(senders(1), senders(2));
    assert!(senders(1).iter().all(|count| (1..=16).contains(count)));
    assert_eq!(Specification::general_purpose().specimens(1).len(), 36);
}

#[test]
fn traces_parking_lots_and_other_senders_are_read() {
    let read = |lines: &str| {
        let text = format!("[networks]\nrtt = \"100ms\"\noff = \"200ms\"\n{lines}");
        Specification::parse(&text).expect(lines).specimens(1)
    };
    let cellular =
        read("traces = [\"lte-driving\", \"umts-driving\"]\nsenders = 4\non_icsi = \"16kB\"");
    let words: Vec<String> = cellular.iter().map(|one| one.network.to_string()).collect();
    assert_eq!(words.len(), 2);
    assert!(words[0].contains("lte-driving") && words[1].contains("umts-driving"), "{words:?}");
    assert!(words[0].contains("ICSI's flow lengths + 16000 bytes"), "{words:?}");
    let lot = read(
        "link = \"10Mbps\"\nsecond_link = { from = \"10Mbps\", to = \"100Mbps\", steps = 2 }\n\
         senders = 3\non_bytes = \"100kB\"",
    );
    assert!(lot.len() == 2 && lot.iter().all(|one| one.network.second.is_some()));
    let aware = read(
        "link = \"10Mbps\"\nsenders = 2\non = \"5s\"\n\
         others = { scheme = \"newreno\", senders = { from = 0, to = 2, steps = 3 } }",
    );
    let own: Vec<u32> = aware.iter().map(|one| one.network.own()).collect();
    assert_eq!(own, [2, 1, 1]);
    let drawn = read(
        "link = { from = \"1Mbps\", to = \"100Mbps\", scale = \"random-logarithmic\" }\ndraws = 200\n\
         senders = 1\non = \"5s\"\nrouter = \"abc[dt=20ms]\"",
    );
    assert!(drawn[0].network.to_string().ends_with("router abc[dt=20ms]"), "{}", drawn[0].network);
    let rate = |one: &Specimen| one.network.packets_per_ms(one.duration).expect("a link");
    let slow = drawn.iter().filter(|one| rate(one) < 1.0).count();
    assert!(drawn.iter().all(|one| (0.1..=10.0).contains(&rate(one))));
    assert!((80..=120).contains(&slow), "{slow} of 200 below 10 Mbit/s");
}

#[test]
fn mistakes_in_specifications_are_told() {
    let whole =
        "[networks]\nlink = \"10Mbps\"\nrtt = \"150ms\"\nsenders = 2\non = \"5s\"\noff = \"5s\"\n";
    let error = |from: &str, to: &str| {
        let changed = whole.replacen(from, to, 1);
        assert_ne!(changed, whole);
        Specification::parse(&changed).expect_err("broken").to_string()
    };
    assert!(Specification::parse(whole).is_ok());
    assert!(error("\"10Mbps\"", "10").contains("line 2: networks.link: a rate needs a unit"));
    assert!(
        error("\"150ms\"", "\"0s\"")
            .contains("networks.rtt: \"0s\" is too little: write \"1us\" or more")
    );
    assert!(error("2", "0").contains("networks.senders"));
    assert!(error("2", "{ from = 1, to = 3 }").contains("needs steps"));
    assert!(error("2", "{ from = 1, to = 3, steps = 2, scale = \"random\" }").contains("draws"));
    assert!(error("off =", "of =").contains("of"));
    assert!(error("on =", "on_bytes =").contains("networks.on_bytes: expected bytes"));
    assert!(error("on = \"5s\"\n", "").contains("one of on, on_bytes and on_icsi"));
    assert!(error("off", "traces = [\"lte-driving\"]\noff").contains("one of link and traces"));
    assert!(error("link = \"10Mbps\"", "traces = [\"none\"]").contains("networks.traces: none"));
    let others = "others = { scheme = \"cubci\", senders = 1 }\noff";
    assert!(error("off", others).contains("did you mean `cubic`"));
    let both = "second_link = \"1Mbps\"\nothers = { scheme = \"cubic\", senders = 1 }\noff";
    assert!(error("off", both).contains("networks.others: with a second link"));
    assert!(error("off", "draws = 0\noff").contains("no networks"));
    assert!(
        error("off", "router = \"cubic\"\noff").contains("networks.router: scheme `cubic` has")
    );
    let marks = whole.to_owned() + "router = \"none\"\n[training]\nsignals = [\"accel_share\"]\n";
    let specification = Specification::parse(&marks).expect("sane");
    let problem = Settings::parse(&marks).expect("sane").check(&specification);
    assert!(problem.is_err_and(|error| error.to_string().contains("router = \"abc\"")));
    let others = |written: &str, objective: &str| {
        let text =
            format!("{whole}others = {{ {written}senders = 1 }}\n[objective]\n{objective}\n");
        Specification::parse(&text).expect_err("broken").to_string()
    };
    assert!(others("", "").contains("line 7: networks.others: write one of scheme"));
    assert!(others("trained = true, ", "").contains("objective.others_delta"));
    assert!(
        others("file = \"none.toml\", ", "").contains("line 7: networks.others.file: none.toml")
    );
    let objective = |line: &str| error("[networks]", &format!("[objective]\n{line}\n[networks]"));
    assert!(
        objective("others_delta = 1.0").contains("line 2: objective.others_delta: there are no")
    );
    assert!(objective("delta = -1.0").contains("line 2: objective.delta: it has to be"));
    assert!(objective("metric = \"speed\"").contains("unknown variant `speed`"));
    let times = "metric = \"completion_time\"";
    assert!(objective(times).contains("line 2: objective.metric: completion times need flows"));
    assert!(
        objective(&format!("{times}\nalpha = 2.0")).contains("line 3: objective.alpha: it has no")
    );
}

#[test]
fn a_table_is_evaluated_with_the_uses_of_its_rules() {
    let table = RuleTable::new(RuleTree::single(Action::new(1.0, 1, 3.0))).expect("sane");
    let table = Arc::new(table);
    let mut specification = Specification::general_purpose();
    specification.duration = Span::from_secs(5).into();
    let score = evaluate(&table, &specification, 1).expect("runs");
    assert_eq!(score.specimens.len(), 36);
    assert!((score.total - score.specimens.iter().sum::<f64>()).abs() < 1e-9);
    assert_eq!((score.uses.len(), score.simulated_s), (1, 180.0));
    // Each acknowledgement is a use, and so is the start of each connection.
    assert!(score.uses[0].count as f64 > 0.9 * score.packets, "{}", score.uses[0].count);
    // The same networks with the same seed: neither counting uses nor the number of threads changes
    // the score.
    let again = evaluate_by(&Local, &table, &specification, 1, false).expect("runs");
    assert_eq!(again.specimens, score.specimens);
    assert!(again.uses.is_empty());
    assert_ne!(evaluate(&table, &specification, 2).expect("runs").specimens, score.specimens);
}

/// A sender that was never on has neither throughput nor delay.
#[test]
fn means_are_over_the_senders_that_were_on() {
    let network = Network::new(Rate::from_mbps(10.0), Span::from_millis(50)).with(|network| {
        (network.senders, network.off) = (2, Amount::Exponential(4.0));
    });
    let contender =
        Contender::Scheme(paceline_sim::Names::default().read_scheme("cubic").expect("a scheme"));
    let (duration, seeds) = (Span::from_secs(4), [1, 2, 3, 4, 5, 6]);
    let mut idle = 0;
    let rates = seeds.map(|seed| {
        let senders = contender.run(&network, duration, seed).expect("runs");
        let on: Vec<_> = senders.iter().filter(|sender| sender.on_s > 0.0).collect();
        idle += senders.len() - on.len();
        let sum: f64 = on.iter().map(|sender| sender.raw_throughput()).sum();
        (!on.is_empty()).then(|| 10.0 * sum / on.len() as f64)
    });
    assert!(idle > 0, "no sender that was never on");
    let rates: Vec<f64> = rates.into_iter().flatten().collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let row = eval("cubic", &network, 1.0, &contender, duration, &seeds, Spread::default());
    let row = row.expect("runs");
    assert!((row.raw_throughput_mbps - mean).abs() < 1e-9, "{row:?}, {mean}");
}
