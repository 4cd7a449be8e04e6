//! Output of `paceline kernel load`: how connections come to use the program, and what else it
//! needs.

use paceline_kernel::Program;

/// Returns the next steps after a program was loaded, one in each line.
pub(super) fn steps(program: &Program) -> Vec<String> {
    let name = program.name;
    let ends = if program.needs_both_ends() {
        "in the network namespaces of both ends, before they connect"
    } else {
        "in the sender's network namespace"
    };
    let mut steps = vec![format!(
        "choose it {ends}: `sysctl net.ipv4.tcp_congestion_control={name}` for all connections, or \
         `ip route change ROUTE congctl {name}` for one route"
    )];
    if program.needs_both_ends() {
        steps.push(format!(
            "`iperf3 -C {name}` does not do: it chooses after ECN was agreed on, and measures Cubic"
        ));
        let router = if program.accelerates { "abc" } else { "abc[proxied=true]" };
        steps.push(format!(
            "put an ABC router on the path: `paceline router DEVICE --queue '{router}'`, or \
             `paceline link --up-queue '{router}'`"
        ));
        steps.push(format!(
            "look at `fallbacks` in `paceline kernel stats {name}`: so many connections use Cubic"
        ));
    } else {
        steps.push(format!("see its sockets: `sudo paceline kernel watch {name}`"));
    }
    steps
}

/// Returns a warning about the devices that a loaded program lacks, if no device marks its packets
/// as accelerates.
pub(super) fn missing_device(program: &Program, devices: &[String]) -> Option<String> {
    let name = program.name;
    (program.accelerates && devices.is_empty()).then(|| {
        format!(
            "no device sends the packets of `{name}` as accelerates: it hears only brakes and stays at \
             its smallest window; `sudo paceline kernel accelerate DEVICE` for the device that \
             leads to the router"
        )
    })
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

#[cfg(test)]
mod tests {
    use paceline_kernel::find;

    use super::*;

    #[test]
    fn a_loaded_program_says_how_it_is_chosen() {
        let abc = find("abc").expect("a program");
        let text = steps(abc).join("\n");
        for word in ["both ends", "sysctl net.ipv4.tcp_congestion_control=abc", "router", "stats"] {
            assert!(text.contains(word), "{text}");
        }
        let c2tcp = find("c2tcp").expect("a program");
        let text = steps(c2tcp).join("\n");
        assert!(text.contains("sender's") && !text.contains("router"), "{text}");
    }

    #[test]
    fn abc_without_a_device_is_warned_of() {
        let abc = find("abc").expect("a program");
        assert!(missing_device(abc, &[]).is_some_and(|text| text.contains("kernel accelerate")));
        assert_eq!(missing_device(abc, &["eth0".into()]), None);
        assert_eq!(missing_device(find("abc_ecn").expect("a program"), &[]), None);
    }

    #[test]
    fn fallbacks_are_loud() {
        let abc = find("abc").expect("a program");
        assert_eq!(fallbacks(abc, &[("sockets", 3), ("fallbacks", 0)]), None);
        let text = fallbacks(abc, &[("sockets", 0), ("fallbacks", 2)]).expect("a warning");
        assert!(text.starts_with("2 of 2 connections with `abc` fell back to Cubic"), "{text}");
    }
}
