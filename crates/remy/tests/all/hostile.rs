//! Manipulated files of tables: reading them gives an error or a table, never a panic.

use paceline_cc::Stream;
use paceline_remy::spec::Specification;
use paceline_remy::train::Settings;
use paceline_remy::{Dna, Readable, parse};
use paceline_schemes::remy::{Action, Domain, Memory, Rule, RuleTable, RuleTree, SIGNALS, Signal};

fn starter() -> RuleTree {
    let tables = paceline_remy::tables();
    tables.find("starter").expect("built in").table().expect("sane").tree()
}

/// Changes, removes, adds or repeats some bytes.
fn mutate(bytes: &mut Vec<u8>, random: &mut Stream) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len().max(1) as u64) as usize;
        match random.below(4) {
            0 if at < bytes.len() => bytes[at] = random.below(256) as u8,
            1 if at < bytes.len() => drop(bytes.remove(at)),
            2 => bytes.insert(at.min(bytes.len()), random.below(256) as u8),
            _ => {
                let part: Vec<u8> = bytes[at.min(bytes.len())..].iter().take(40).copied().collect();
                let to = random.below(bytes.len() as u64 + 1) as usize;
                bytes.splice(to..to, part);
            }
        }
    }
}

#[test]
fn tampered_files_give_an_error_or_a_table() {
    let readable = Readable::of(&starter(), "a table");
    let json = readable.to_json().expect("finite").into_bytes();
    let files = [
        ("dna", Dna::of(&starter()).write().expect("published signals")),
        ("toml", readable.to_toml().into_bytes()),
        ("json", json),
    ];
    let mut random = Stream::new(1, "hostile");
    for (extension, bytes) in files {
        let (mut tables, mut errors) = (0, 0);
        for _ in 0..4000 {
            let mut bytes = bytes.clone();
            mutate(&mut bytes, &mut random);
            match parse(&bytes, extension) {
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    errors += 1;
                }
                Ok(loaded) => {
                    // A table with a signal of Paceline cannot be written.
                    let Ok(written) = loaded.dna.write() else { continue };
                    assert_eq!(Dna::read(&written).expect("its own bytes").write(), Ok(written));
                    let _ = loaded.table.rule_for(&Memory { values: [f64::INFINITY; SIGNALS] });
                    tables += 1;
                }
            }
        }
        assert!(tables > 20 && errors > 100, "{extension}: {tables} tables, {errors} errors");
    }
}

/// Thousands of overlapping boxes, one inside another or side by side, take only time and memory in
/// proportion to their number.
#[test]
fn many_overlapping_boxes_take_bounded_time() {
    let mut children = Vec::new();
    for number in 0..20_000u32 {
        let end = f64::from(number + 1);
        // Ends on four axes, so that a grid would have very many cells.
        let mut domain = Domain::WHOLE;
        for signal in Signal::ALL.into_iter().take(4).filter(|_| number < 25) {
            domain = domain.between(signal, 0.0, end);
        }
        let action = Action::new(1.0, 1, 1.0);
        children.push(RuleTree::Leaf(Rule { domain, action }));
    }
    let tree = RuleTree::Inner { domain: Domain::WHOLE, children };
    let table = RuleTable::new(tree).expect("sane");
    assert!(!table.has_grid());
    assert_eq!(table.rule_for(&Memory::default()), Some(0));
    assert_eq!(table.rule_for(&Memory { values: [100.0; SIGNALS] }), Some(25));
}

#[test]
fn tampered_specifications_give_an_error_or_networks() {
    let text = include_str!("../../../../scenarios/remy/general-delta1.toml");
    let mut random = Stream::new(2, "hostile");
    let (mut read, mut errors) = (0, 0);
    for _ in 0..4000 {
        let mut bytes = text.as_bytes().to_vec();
        mutate(&mut bytes, &mut random);
        let text = String::from_utf8_lossy(&bytes);
        match (Specification::parse(&text), Settings::parse(&text)) {
            (Ok(specification), Ok(settings)) => {
                assert!(!specification.specimens(1).is_empty());
                assert_eq!(settings.first().rules(), 1);
                read += 1;
            }
            (Err(error), _) | (_, Err(error)) => {
                assert!(!error.to_string().is_empty());
                errors += 1;
            }
        }
    }
    assert!(read > 100 && errors > 100, "{read} {errors}");
}
