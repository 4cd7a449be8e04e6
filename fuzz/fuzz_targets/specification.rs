//! Specifications of trainings: no panic, no more networks than allowed, and a first table with a
//! rule for each memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_remy::spec::Specification;
use paceline_remy::train::Settings;
use paceline_schemes::remy::RuleTable;

fuzz_target!(|text: &str| {
    let specification = Specification::parse(text);
    let settings = Settings::parse(text);
    let (Ok(specification), Ok(settings)) = (specification, settings) else { return };
    let networks = specification.specimens(1);
    assert!(!networks.is_empty() && networks.len() <= 100_000);
    let table = RuleTable::new(settings.first()).expect("one rule");
    assert!(table.gap().is_none());
});
