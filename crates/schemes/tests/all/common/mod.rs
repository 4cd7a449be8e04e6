//! The variants of the schemes for the fuzz tests.

use paceline_schemes::SCHEMES;

/// A scheme as a user writes it, and the number of seeds with which it runs.
pub(crate) struct Variant {
    pub(crate) text: String,
    pub(crate) seeds: u64,
}

/// Returns every scheme with its defaults, for `seeds` seeds; and with every other value of each
/// parameter that has a list of values (`a|b|c`, `true|false`), one changed at a time, for
/// `seeds_of_others`.
pub(crate) fn variants(seeds: u64, seeds_of_others: u64) -> Vec<Variant> {
    let mut all = Vec::new();
    for scheme in SCHEMES {
        all.push(Variant { text: scheme.name.to_string(), seeds });
        for param in (scheme.params)().iter().filter(|param| param.kind.contains('|')) {
            for value in param.kind.split('|').filter(|value| *value != param.default) {
                let text = format!("{}[{}={value}]", scheme.name, param.name);
                all.push(Variant { text, seeds: seeds_of_others });
            }
        }
    }
    assert!(all.len() > 2 * SCHEMES.len(), "the parameters' kinds no longer list their values");
    all
}
