//! Stacks by name, for scenario files: `quinn:own-cubic`, `noq:bbr3`.

use std::sync::Arc;

use paceline_cc::{SchemeSpec, Spec};
use paceline_sim::Names;

use crate::noq::Noq;
use crate::quinn::Quinn;

/// Before the name of a stack's own congestion control.
const OWN: &str = "own-";

/// Adds the families `quinn:` and `noq:` to the names of transports: [`quinn_named`] and
/// [`noq_named`].
pub fn add_families(names: &mut Names) {
    names.transports.set("quinn", |text| {
        let transport = quinn_named(text)?.transport();
        Ok(if draws(text, "own-bbr") { transport.with_system_random() } else { transport })
    });
    names.transports.set("noq", |text| {
        let transport = noq_named(text)?.transport();
        Ok(if draws(text, "own-bbr3") { transport.with_system_random() } else { transport })
    });
}

/// Returns quinn with a congestion control of its own, `own-cubic`, `own-newreno` or `own-bbr`, or
/// with a scheme of Paceline, such as `bbr3`. `+codel` behind it sets the queue of links that name none.
///
/// # Errors
/// There is no such congestion control, or quinn cannot feed it.
pub fn quinn_named(text: &str) -> Result<Quinn, String> {
    use quinn_proto::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
    let label = format!("quinn:{text}");
    let (text, queue) = split(text)?;
    let stack = match text.strip_prefix(OWN) {
        Some("cubic") => Quinn::new(label, Arc::new(CubicConfig::default())),
        Some("newreno") => Quinn::new(label, Arc::new(NewRenoConfig::default())),
        Some("bbr") => Quinn::new(label, Arc::new(BbrConfig::default())),
        Some(_) => return Err(unknown("quinn", "own-cubic, own-newreno and own-bbr")),
        None => {
            let scheme = paceline_quinn::Scheme::parse(&text).map_err(|error| error.to_string())?;
            Quinn::new(label, Arc::new(scheme))
        }
    };
    Ok(stack.with_queue(queue))
}

/// Returns noq with a congestion control of its own, `own-cubic`, `own-newreno` or `own-bbr3`, or
/// with a scheme of Paceline, such as `bbr3`. `+codel` behind it sets the queue of links that name none.
///
/// # Errors
/// There is no such congestion control, or noq cannot feed it.
pub fn noq_named(text: &str) -> Result<Noq, String> {
    use noq_proto::congestion::{Bbr3Config, CubicConfig, NewRenoConfig};
    let label = format!("noq:{text}");
    let (text, queue) = split(text)?;
    let stack = match text.strip_prefix(OWN) {
        Some("cubic") => Noq::new(label, Arc::new(CubicConfig::default())),
        Some("newreno") => Noq::new(label, Arc::new(NewRenoConfig::default())),
        Some("bbr3") => Noq::new(label, Arc::new(Bbr3Config::default())),
        Some(_) => return Err(unknown("noq", "own-cubic, own-newreno and own-bbr3")),
        None => {
            let scheme = paceline_noq::Scheme::parse(&text).map_err(|error| error.to_string())?;
            Noq::new(label, Arc::new(scheme))
        }
    };
    Ok(stack.with_queue(queue))
}

/// Splits `bbr3[probe=2]+codel` into the congestion control and the queue at the bottleneck.
fn split(text: &str) -> Result<(String, Option<Spec>), String> {
    let spec = SchemeSpec::parse(text).map_err(|error| error.to_string())?;
    Ok((spec.sender.to_string(), spec.queue))
}

/// Returns true if `text` names the stack's own congestion control `random`, which draws random
/// numbers from the system.
fn draws(text: &str, random: &str) -> bool {
    split(text).is_ok_and(|(name, _)| name == random)
}

fn unknown(stack: &str, own: &str) -> String {
    format!("{stack} has {own}, and all schemes that it can feed, such as bbr3")
}

#[cfg(test)]
mod tests {
    use paceline_sim::scenario::SchemeChoice;

    use super::*;

    #[test]
    fn stacks_are_found_by_name() {
        let mut names = Names::default();
        add_families(&mut names);
        for text in ["quinn:own-cubic", "quinn:own-bbr", "noq:own-bbr3", "noq:copa[mode=default]"] {
            let scheme = names.read_scheme(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(scheme.name(), text);
            let SchemeChoice::Transport(transport) = scheme else { panic!("{text}") };
            assert_eq!(transport.has_system_random(), text.contains("own-bbr"), "{text}");
        }
        for text in ["quinn:own-cubic+codel[target=10ms]", "noq:copa[mode=default]+codel"] {
            let scheme = names.read_scheme(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let queue = scheme.queue().map(|queue| queue.name.as_str());
            assert_eq!((scheme.name(), queue), (text, Some("codel")));
        }
        for (text, wanted) in [
            ("quinn:own-bbr3", "own-bbr"),
            ("quinn:own-", "own-bbr"),
            ("quinn:own-cubic[x=1]", "own-bbr"),
            ("noq:cubik", "cubic"),
        ] {
            let error = names.read_scheme(text).expect_err(text).to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }
}
