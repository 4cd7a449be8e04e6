//! Published files: read and written without loss, and errors in broken files.

use crate::support;
use paceline_cc::Span;
use paceline_remy::{Dna, DnaError, Readable, load, parse};
use paceline_schemes::remy::{Action, Domain, Rule, RuleTable, RuleTree, Signal};

fn starter() -> RuleTree {
    let tables = paceline_remy::tables();
    tables.find("starter").expect("built in").table().expect("sane").tree()
}

#[test]
fn published_files_are_written_as_they_were_read() {
    let Some(folder) = support::reference() else { return };
    let files = support::files(&folder.join("remycc"));
    assert!(files.len() >= 29, "{} files", files.len());
    for path in files {
        let bytes = std::fs::read(&path).expect("readable");
        let dna = Dna::read(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(dna.write().as_ref(), Ok(&bytes), "{}", path.display());
        // Every rule and every end survives the readable form too, and so do the other fields.
        let loaded = load(&path).expect("a table");
        assert!(loaded.table.has_grid(), "{}", path.display());
        let readable = loaded.readable();
        let toml = parse(readable.to_toml().as_bytes(), "toml").expect("its own form");
        let json = parse(readable.to_json().expect("finite").as_bytes(), "json").expect("its form");
        for again in [toml, json] {
            assert!(again.table == loaded.table, "{}", path.display());
            assert_eq!(again.dna.others(), dna.others());
        }
    }
}

#[test]
fn shapes_of_the_published_tables() {
    let Some(folder) = support::reference() else { return };
    // Rules, divisions, nested boxes, and empty boxes.
    let shapes = [
        ("2013-delta0.1", (162, 23, 7, 12)),
        ("2013-delta1", (190, 27, 9, 24)),
        ("2013-delta10", (197, 28, 9, 76)),
        ("2014-100x", (91, 6, 3, 0)),
    ];
    for (name, shape) in shapes {
        let path = folder.join(format!("remycc/RemyCC-{name}.dna"));
        let table = load(path).expect("a table").table;
        let tree = table.tree();
        let empty = table.rules().iter().filter(|rule| rule.domain.is_empty()).count();
        assert_eq!((tree.rules(), tree.splits(), tree.depth(), empty), shape, "{name}");
    }
}

#[test]
fn unknown_fields_are_kept() {
    let mut bytes = Dna::of(&starter()).write().expect("published signals");
    // Field 81 of kind 1 (a double), field 900 of kind 0 and field 6 of kind 2.
    bytes.extend([0x89, 5, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0xa0, 0x38, 7, 0x32, 2, 1, 2]);
    let dna = Dna::read(&bytes).expect("a table");
    assert_eq!(dna.write(), Ok(bytes));
    assert_eq!(dna.others().len(), 17);
}

#[test]
fn broken_files_are_told_with_the_rule() {
    let bytes = Dna::of(&starter()).write().expect("published signals");
    let error = |bytes: &[u8]| match parse(bytes, "dna") {
        Ok(_) => panic!("{} of the bytes are a table", bytes.len()),
        Err(error) => error.to_string(),
    };
    assert_eq!(Dna::read(&[]), Err(DnaError::Empty));
    // Truncated at any byte, the file is not a table, and the error says where.
    for end in 1..bytes.len() {
        let told = error(&bytes[..end]);
        let gap = told.contains("no rule is for a memory of") && told.contains("rtt_ratio");
        assert!(gap || told.contains("rule "), "{end}: {told}");
    }
    // In rule 2, the time between packets becomes NaN: its last double.
    let mut second = Dna::of(&starter()).write().expect("published signals");
    let place = second.windows(8).position(|eight| eight == 0.25f64.to_le_bytes()).expect("there");
    second[place..place + 8].copy_from_slice(&f64::NAN.to_le_bytes());
    assert!(error(&second).contains("at rule 2, in a rule"), "{}", error(&second));
    // A tree of another kind, and endlessly nested boxes.
    assert_eq!(Dna::read(&[0xd2, 5, 0]), Err(DnaError::FinTree));
    let mut deep = vec![0x1a, 0];
    for _ in 0..200 {
        let mut around = vec![0x12];
        let mut length = deep.len();
        while length >= 128 {
            around.push((length % 128) as u8 | 128);
            length /= 128;
        }
        around.push(length as u8);
        around.extend(&deep);
        deep = around;
    }
    assert!(error(&deep).contains("deep"));
}

#[test]
fn readable_tables_survive_and_mistakes_are_told() {
    let readable = Readable::of(&starter(), "a \"table\"\nof two lines");
    let text = readable.to_toml();
    assert_eq!(Readable::from_toml(&text), Ok(readable.clone()));
    assert_eq!(readable.tree(), Ok(starter()));
    let error = |from: &str, to: &str| {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from} is not there");
        match parse(changed.as_bytes(), "toml") {
            Ok(_) => panic!("{to} is accepted"),
            Err(error) => error.to_string(),
        }
    };
    assert!(error("paceline-remy 1", "paceline-remy 9").contains("this version reads"));
    assert!(error("at = \"1.1\"", "at = \"1.7\"").contains("the next child here is 1, not 7"));
    assert!(error("at = \"1.1\"", "at = \"9.1\"").contains("there is no child 9"));
    assert!(error("at = \"2\"", "at = \"0.0\"").contains("cannot be divided"));
    assert!(error("r = 0.25", "r = -1.0").contains("box 4, at \"1.1\""));
    assert!(error("rtt_ratio = 1.1", "rtt_rate = 1.1").contains("there is no signal `rtt_rate`"));
    assert!(error("m = 1.0, b = 8", "b = 8").contains("missing field `m`"));
    let resolution = |text: &str| error("about = ", &format!("resolution = \"{text}\"\nabout = "));
    assert!(resolution("1min").contains("the most is 1s"));
    assert!(resolution("fine").contains("resolution = \"fine\": "));
    let timer = |text: &str| error("about = ", &format!("timer = \"{text}\"\nabout = "));
    assert!(timer("1us").contains("timer = \"1us\": the least is 1ms"));
    assert!(timer("1min").contains("the most is 1s"));
    assert!(timer("20ms").contains("no box uses ack_gap"));
}

#[test]
fn a_timer_survives_the_readable_forms_and_keeps_a_table_out_of_the_others() {
    let silent = Domain::WHOLE.between(Signal::AckGap, 50.0, 1e6);
    let rules = [
        Rule { domain: silent, action: Action::of_rate(0.0, 1, 1.0, 0.0) },
        Rule { domain: Domain::WHOLE, action: Action::of_rate(1.0, 4, 1.05, 0.0) },
    ];
    let timer = Span::from_millis(20);
    let table = RuleTable::flat(rules).expect("a table").with_timer(timer);
    let readable = Readable::of_table(&table, "about outages");
    let toml = readable.to_toml();
    assert!(toml.contains("\ntimer = \"20ms\"\n"), "{toml}");
    let json = readable.to_json().expect("finite");
    for (text, extension) in [(&toml, "toml"), (&json, "json")] {
        let read = parse(text.as_bytes(), extension).expect("a table");
        assert_eq!(read.table, table);
        assert_eq!(read.readable().timer, timer);
    }
    assert_ne!(table.clone().with_timer(Span::ZERO), table);
    assert!(paceline_remy::words::timer(&table).contains("after each 20ms without"));
}

#[test]
fn wide_tables_without_a_grid_are_looked_up_in_their_tree() {
    // Six axes with ten divisions each would have more than a million cells.
    let mut tree = starter();
    for signal in Signal::ALL.into_iter().filter(|signal| signal.is_published()) {
        for cut in 1..=10 {
            let rules = tree.rules();
            let leaf = tree.leaf_mut(rules - 1).expect("a leaf");
            let domain = *leaf.domain();
            let half = |lower, upper| {
                let mut half = leaf.clone();
                if let RuleTree::Leaf(rule) = &mut half {
                    rule.domain = domain.between(signal, lower, upper);
                }
                half
            };
            let cut = f64::from(cut) + 2.0;
            let axis = signal.index();
            let end = domain.upper[axis];
            let children = vec![half(domain.lower[axis], cut), half(cut, end)];
            *leaf = RuleTree::Inner { domain, children };
        }
    }
    let table = RuleTable::new(tree).expect("sane");
    assert!(!table.has_grid());
    assert_eq!(table.rule_for(&paceline_schemes::remy::Memory::default()), Some(0));
    let far = paceline_schemes::remy::Memory { values: [1e9; paceline_schemes::remy::SIGNALS] };
    assert_eq!(table.rule_for(&far), Some(table.rules().len() - 1));
    assert!(Domain::WHOLE.contains(&Default::default()));
}

#[test]
fn a_table_with_marks_is_readable_and_not_published() {
    let share = |lower, upper| Domain::WHOLE.between(Signal::AccelShare, lower, upper);
    let rule = |domain, increment| Rule { domain, action: Action::new(1.0, increment, 1.0) };
    let rules = [rule(share(0.0, 0.25), -1), rule(share(0.25, 163_840.0), 1)];
    let readable = Readable::of(&RuleTable::flat(rules).expect("a table").tree(), "marks");
    for (text, form) in
        [(readable.to_toml(), "toml"), (readable.to_json().expect("finite ends"), "json")]
    {
        let loaded = parse(text.as_bytes(), form).expect(form);
        assert!(loaded.table.hears_marks() && loaded.table.rules().len() == 2);
        let error = loaded.dna.write().expect_err("our own signal").to_string();
        assert!(error.contains("accel_share") && error.contains(".toml"), "{error}");
    }
}

#[test]
fn a_table_on_the_rate_names_its_actions_and_is_not_published() {
    let queue = |lower, upper| Domain::WHOLE.between(Signal::QueueEwma, lower, upper);
    let rule = |domain, queue_ms| Rule { domain, action: Action::of_rate(1.25, 4, 1.5, queue_ms) };
    let rules = [rule(queue(0.0, 20.0), 10.0), rule(queue(20.0, 163_840.0), -5.5)];
    let table = RuleTable::flat(rules).expect("a table");
    let readable = Readable::of(&table.tree(), "two rules");
    let text = readable.to_toml();
    assert!(text.contains("actions = \"rate\"") && text.contains("t = -5.5"), "{text}");
    for (text, form) in [(text.clone(), "toml"), (readable.to_json().expect("finite ends"), "json")]
    {
        let loaded = parse(text.as_bytes(), form).expect(form);
        assert_eq!(loaded.table, table);
        assert_eq!(loaded.readable().to_toml().as_bytes(), readable.to_toml().as_bytes());
        let error = loaded.dna.write().expect_err("actions of our own").to_string();
        assert!(error.contains("delivery rate") && error.contains(".toml"), "{error}");
    }
    let error = |from: &str, to: &str| {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from} is not there");
        parse(changed.as_bytes(), "toml").expect_err(to).to_string()
    };
    assert!(error("\"rate\"\n", "\"rates\"\n").contains("write \"window\" or \"rate\""));
    assert!(error("actions = \"rate\"\n", "").contains("only rules of a table with actions"));
    assert!(error("t = -5.5", "t = inf").contains("t = inf have to be finite"));
}
