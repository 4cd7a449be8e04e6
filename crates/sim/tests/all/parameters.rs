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
        for info in &infos {
            for value in &info.edges.inside {
                let Some(message) = refusal(&names, &name, info.name, value) else {
                    accepted += 1;
                    continue;
                };
                // It is refused only because of its relation to another parameter, which the list of parameters and the
                // message name.
                let text = format!("{name}[{}={value}]", info.name);
                assert!(!message.contains(&info.range), "{text}: {message}");
                let is_named = infos.iter().any(|other| {
                    !other.condition.is_empty()
                        && message.contains(other.condition)
                        && (other.name == info.name || other.condition.contains(info.name))
                });
                assert!(is_named, "{text}: {message}");
                related.push(text);
            }
        }
    }
    let few = related.len() * 20 < accepted;
    assert!(accepted > 150 && few, "{accepted} accepted, refused: {related:?}");
}

/// A value that contradicts the default of another parameter: the message quotes the value as written, and names both
/// parameters.
#[test]
fn messages_about_two_parameters_name_what_is_written() {
    let names = Names::default();
    for (text, message) in [
        (
            "gcc[min_rate=400kbps]",
            "`gcc[min_rate=400kbps]`: initial_rate is 300kbps by default, and must be from min_rate to max_rate; write it, too",
        ),
        ("gcc[min_rate=40Mbps]", "max_rate is 30Mbps by default, and must be at least min_rate"),
        (
            "gcc[initial_rate=50Mbps]",
            "`gcc[initial_rate=50Mbps]`: must be from min_rate to max_rate",
        ),
        (
            "gcc[min_feedback=1s]",
            "max_feedback is 250ms by default, and must be at least min_feedback",
        ),
        ("nada[rmin=2Mbps]", "rmax is 1500kbps by default, and must be at least rmin"),
        ("scream[min_rate=40Mbps]", "max_rate is 30Mbps by default, and must be at least min_rate"),
        (
            "scream[qdelay_target_lo=1s]",
            "qdelay_target_hi is 400ms by default, and must be at least qdelay_target_lo",
        ),
        (
            "scream[overhead_min=4]",
            "overhead_max is 3 by default, and must be at least overhead_min",
        ),
        ("vegas[alpha=5]", "beta is 4 by default, and must be at least alpha"),
        ("verus[refit=1ms]", "`verus[refit=1ms]`: must be at least epoch"),
        ("xcpb[kappa=0]", "`xcpb[kappa=0]`: must be above 0 with detect=average, the default"),
        (
            "abc[token_limit=4,variant=authors]",
            "token0 is 5 by default, and must be at most token_limit",
        ),
        ("cubic+red[min=20p]", "max is 15p by default, and must be at least min, in the same unit"),
        ("cubic+red[min=5kB]", "max is 15p by default, and must be at least min, in the same unit"),
        ("cubic+abc_dual[counters=5]", "k is 10 by default, and must be at most counters"),
    ] {
        let error = names.check_scheme(text).err().unwrap_or_else(|| panic!("{text} is accepted"));
        let error = error.to_string();
        assert!(error.contains(message) && !error.contains("=]"), "{text}: {error}");
    }
    for (name, infos) in all(&names) {
        for info in &infos {
            for value in info.edges.inside.iter().chain(&info.edges.outside) {
                let message = refusal(&names, &name, info.name, value).unwrap_or_default();
                assert!(!message.contains("=]"), "{message}");
            }
        }
    }
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
