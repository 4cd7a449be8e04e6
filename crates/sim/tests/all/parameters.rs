//! Parameters of all schemes and queues: each states its unit, range and source, and the program
//! accepts exactly that range.

use paceline_cc::ParamInfo;
use paceline_cc::params::VARIANT;
use paceline_cc::registry::Entry as _;
use paceline_sim::Names;

/// Returns every scheme and every queue in the user's notation, with its parameters.
fn all(names: &Names) -> Vec<(String, Vec<ParamInfo>)> {
    let schemes = names.schemes.iter().map(|scheme| (scheme.name().to_string(), scheme.params()));
    let queues = names.queues.iter();
    let queues = queues.map(|queue| (format!("cubic+{}", queue.name()), queue.params()));
    schemes.chain(queues).collect()
}

/// Returns the error for `value`; `None` if it is accepted.
fn refusal(names: &Names, name: &str, param: &str, value: &str) -> Option<String> {
    let checked = names.check_scheme(&format!("{name}[{param}={value}]"));
    checked.err().map(|error| error.to_string())
}

#[test]
fn every_parameter_states_its_unit_range_and_source() {
    let names = Names::default();
    let mut count = 0;
    for (name, infos) in all(&names) {
        for info in infos {
            let ParamInfo { name: param, unit, range, source, doc, .. } = &info;
            let stated = [*unit, range.as_str(), *source, doc.as_str()];
            assert!(stated.iter().all(|text| !text.trim().is_empty()), "{name}: {info:?}");
            assert!(!source.contains("unknown"), "{name}[{param}]");
            count += 1;
        }
    }
    assert!(count > 200, "{count} parameters");
}

#[test]
fn values_next_to_a_range_are_refused_with_its_name_and_range() {
    let names = Names::default();
    let mut count = 0;
    for (name, infos) in all(&names) {
        for info in infos {
            for value in &info.edges.outside {
                let text = format!("{name}[{}={value}]", info.name);
                let message = refusal(&names, &name, info.name, value);
                let message = message.unwrap_or_else(|| panic!("{text} is accepted"));
                let written = format!("[{}={value}]", info.name);
                assert!(message.contains(&written), "{text}: {message}");
                assert!(message.contains(&info.range), "{text}: {message}");
                count += 1;
            }
        }
    }
    assert!(count > 150, "{count} values");
}

#[test]
fn values_at_the_edges_of_a_range_are_accepted() {
    let names = Names::default();
    let (mut accepted, mut related) = (0, Vec::new());
    for (name, infos) in all(&names) {
        for info in infos {
            for value in &info.edges.inside {
                let Some(message) = refusal(&names, &name, info.name, value) else {
                    accepted += 1;
                    continue;
                };
                // It is refused only because of its relation to another parameter.
                let text = format!("{name}[{}={value}]", info.name);
                assert!(!message.contains(&info.range), "{text}: {message}");
                related.push(text);
            }
        }
    }
    let few = related.len() * 20 < accepted;
    assert!(accepted > 150 && few, "{accepted} accepted, refused: {related:?}");
}

#[test]
fn defaults_and_variants_are_inside_of_their_ranges() {
    let names = Names::default();
    for (name, infos) in all(&names) {
        for info in &infos {
            let defaults = std::iter::once(&info.default);
            let of_variants = info.in_variants.iter().map(|(_, default)| default);
            for value in defaults.chain(of_variants) {
                let message = refusal(&names, &name, info.name, value);
                let refused = message.is_some_and(|message| message.contains(&info.range));
                assert!(!refused, "{name}[{}={value}]", info.name);
            }
        }
        let variants = infos.iter().filter(|info| info.name == VARIANT);
        for variant in variants.flat_map(|info| info.kind.split('|')) {
            let message = refusal(&names, &name, VARIANT, variant);
            assert_eq!(message, None, "{name}[{VARIANT}={variant}]");
        }
    }
}
