//! Schemes of other programs and papers that are not here, and what to use in their place.

/// Congestion controls of Linux' tree that are not here: other names, and Linux' name.
const LINUX: [(&[&str], &str); 12] = [
    (&["bic"], "bic"),
    (&["cdg"], "cdg"),
    (&["hstcp", "highspeed"], "highspeed"),
    (&["htcp", "h-tcp"], "htcp"),
    (&["hybla"], "hybla"),
    (&["illinois"], "illinois"),
    (&["lp"], "lp"),
    (&["nv"], "nv"),
    (&["scalable", "stcp"], "scalable"),
    (&["veno"], "veno"),
    (&["westwood", "westwoodplus"], "westwood"),
    (&["yeah"], "yeah"),
];

/// Schemes that neither Paceline nor Linux' tree has: their names, and the nearest that is here.
const NEAREST: [(&[&str], &str); 10] = [
    (&["allegro", "pcc-allegro"], "`vivace` is its successor"),
    (
        &["proteus", "pcc-proteus"],
        "`vivace`, on which it is built, and `ledbat`, which yields to others, are the nearest",
    ),
    (&["proprate"], "`sprout`, `verus` and `c2tcp` are for cellular links, too"),
    (
        &["excel", "exll", "cqic", "pbe-cc", "pbe"],
        "`sprout` and `verus` are for cellular links, too",
    ),
    (&["timely", "swift"], "`vegas` and `copa` act on delay, too, and `dctcp` is for data centres"),
    (&["fast", "fasttcp"], "`vegas` acts on delay, too"),
    (&["dcqcn", "d2tcp"], "`dctcp` acts on the same marks"),
    (&["hpcc", "powertcp"], "`xcp` and `rcp` have feedback of routers, too"),
    (&["indigo", "aurora", "orca", "sage", "astraea", "owl"], "`remy` is learned, too"),
    (&["salsify", "nimbus", "fillp"], "`copa`, `gcc` and `sprout` keep delays short, too"),
];

/// Returns what to use in place of a scheme that others have and that is not here. ns-3's and
/// Linux' prefixes may stand before the name: `TcpHtcp`, `tcp_htcp`.
pub fn instead_of(name: &str) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let plain = name.strip_prefix("tcp").unwrap_or(&name).trim_start_matches(['-', '_']);
    let named = |names: &[&str]| names.iter().any(|known| *known == name || *known == plain);
    if let Some((_, linux)) = LINUX.iter().find(|(names, _)| named(names)) {
        return Some(format!(
            "Linux has it: the commands compare, run and evaluate take `linux:{linux}`, with a guest of `paceline linux build`"
        ));
    }
    let nearest = NEAREST.iter().find(|(names, _)| named(names));
    nearest.map(|(_, instead)| format!("it is not here; {instead}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SCHEMES;

    #[test]
    fn no_name_hides_a_scheme_and_all_that_is_suggested_is_there() {
        let known: Vec<&str> = SCHEMES.iter().map(|scheme| scheme.name).collect();
        let all = LINUX.iter().chain(&NEAREST).flat_map(|(names, _)| *names);
        for name in all {
            assert!(!known.contains(name), "{name} is a scheme");
            assert!(instead_of(name).is_some(), "{name}");
        }
        for (names, instead) in NEAREST {
            let suggested: Vec<&str> = instead.split('`').skip(1).step_by(2).collect();
            assert!(!suggested.is_empty(), "{names:?}");
            for one in suggested {
                assert!(known.contains(&one), "{one}");
            }
        }
        assert_eq!(instead_of("TcpWestwoodPlus"), instead_of("westwood"));
        assert_eq!(instead_of("tcp_htcp"), instead_of("htcp"));
        assert_eq!(instead_of("cubic"), None);
        assert_eq!(instead_of("tcp"), None);
    }
}
