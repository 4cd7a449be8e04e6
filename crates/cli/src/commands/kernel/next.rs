//! Output of `paceline kernel load`: how connections come to use the program, and what else it
//! needs.

use paceline_kernel::Program;

/// How packets become accelerates.
const ACCELERATE: &str = "run `sudo paceline kernel accelerate DEVICE`, with the device that leads to the router, in its \
                          network namespace; inside of `paceline link` this device is `ingress`";

/// Returns the next steps after a program was loaded, one in each line. `devices` send its packets as accelerates already.
pub(super) fn steps(program: &Program, devices: &[String]) -> Vec<String> {
    let name = program.name;
    let ends = if program.needs_both_ends() {
        "in the network namespaces of both ends, before they connect"
    } else {
        "in the sender's network namespace"
    };
    let mut steps = Vec::new();
    if program.accelerates && devices.is_empty() {
        steps.push(format!(
            "{ACCELERATE}. Until then it gets only brakes and stays at its smallest window"
        ));
    }
    steps.push(format!(
        "choose it {ends}: `sysctl net.ipv4.tcp_congestion_control={name}` for all connections, or \
         `ip route change ROUTE congctl {name}` for one route"
    ));
    if program.needs_both_ends() {
        steps.push(format!(
            "`iperf3 -C {name}` measures Cubic: it chooses `{name}` after both ends have agreed on ECN"
        ));
        let router = if program.accelerates { "abc" } else { "abc[proxied=true]" };
        steps.push(format!(
            "put an ABC router on the path: `paceline router DEVICE --queue '{router}'`, or \
             `paceline link --up-queue '{router}'`"
        ));
        steps.push(format!(
            "`fallbacks` in `paceline kernel stats {name}` counts the connections that use Cubic instead"
        ));
    } else {
        steps.push(format!("see its sockets: `sudo paceline kernel watch {name}`"));
    }
    steps
}

/// Returns a warning that connections use Cubic instead of the program.
pub(super) fn fallbacks(program: &Program, counters: &[(&str, u64)]) -> Option<String> {
    let count = |name: &str| counters.iter().find(|it| it.0 == name).map_or(0, |it| it.1);
    let (fallbacks, sockets, name) = (count("fallbacks"), count("sockets"), program.name);
    (fallbacks > 0).then(|| {
        format!(
            "{fallbacks} of {} connections with `{name}` fell back to Cubic since it was loaded: \
             figures of them are Cubic's. The other end did not agree: choose `{name}` at both ends \
             before they connect, by `sysctl net.ipv4.tcp_congestion_control={name}`",
            fallbacks + sockets
        )
    })
}

/// Returns a warning that a program has got brakes alone, because its packets do not leave as
/// accelerates.
pub(super) fn only_brakes(program: &Program, counters: &[(&str, u64)]) -> Option<String> {
    let count = |name: &str| counters.iter().find(|it| it.0 == name).map_or(0, |it| it.1);
    let are_only = count("braked_bytes") > 0
        && count("accelerated_bytes") + count("packets_sent_as_accelerates") == 0;
    (program.accelerates && are_only).then(|| {
        let name = program.name;
        format!("`{name}` has got only brakes: no packet has left as an accelerate; {ACCELERATE}")
    })
}

#[cfg(test)]
mod tests {
    use paceline_kernel::{COUNTERS, find};

    use super::*;

    #[test]
    fn a_loaded_program_says_how_it_is_chosen() {
        let abc = find("abc").expect("a program");
        let text = steps(abc, &[]).join("\n");
        for word in ["both ends", "sysctl net.ipv4.tcp_congestion_control=abc", "router", "stats"] {
            assert!(text.contains(word), "{text}");
        }
        let c2tcp = find("c2tcp").expect("a program");
        let text = steps(c2tcp, &[]).join("\n");
        assert!(text.contains("sender's") && !text.contains("router"), "{text}");
    }

    /// The step is said once, and only if it is still to be done.
    #[test]
    fn the_device_of_accelerates_is_a_step_where_it_is_missing() {
        let said = |name: &str, devices: &[String]| {
            let text = steps(find(name).expect("a program"), devices).join("\n");
            text.matches("kernel accelerate").count()
        };
        assert_eq!(said("abc", &[]), 1);
        assert_eq!(said("abc", &["eth0".into()]), 0);
        assert_eq!(said("abc_ecn", &[]), 0);
    }

    /// The names are those of `stats`, which the warning once looked for with spaces: it never came.
    #[test]
    fn brakes_alone_are_loud() {
        let counted = |some: &[(&str, u64)]| {
            let value = |name| some.iter().find(|it| it.0 == name).map_or(0, |it| it.1);
            assert!(some.iter().all(|it| COUNTERS.contains(&it.0)), "{some:?}");
            COUNTERS.map(|name| (name, value(name)))
        };
        let abc = find("abc").expect("a program");
        let text = only_brakes(abc, &counted(&[("braked_bytes", 3000)]));
        assert!(text.is_some_and(|text| text.contains("kernel accelerate")));
        for counters in [
            &[("braked_bytes", 0)][..],
            &[("braked_bytes", 9), ("accelerated_bytes", 1)],
            &[("braked_bytes", 9), ("packets_sent_as_accelerates", 1)],
        ] {
            assert_eq!(only_brakes(abc, &counted(counters)), None);
        }
        let proxied = find("abc_ecn").expect("a program");
        assert_eq!(only_brakes(proxied, &counted(&[("braked_bytes", 9)])), None);
    }

    #[test]
    fn fallbacks_are_loud() {
        let abc = find("abc").expect("a program");
        assert_eq!(fallbacks(abc, &[("sockets", 3), ("fallbacks", 0)]), None);
        let text = fallbacks(abc, &[("sockets", 0), ("fallbacks", 2)]).expect("a warning");
        assert!(text.starts_with("2 of 2 connections with `abc` fell back to Cubic"), "{text}");
    }
}
