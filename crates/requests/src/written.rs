//! The text form of links, schemes and times in comparisons, on the command line and in Python.

use paceline_cc::params::rate_as_others_write;
use paceline_cc::spec::split_list;
use paceline_cc::{ParamValue, Rate, SchemeSpec, Span};
use paceline_path::BufferSize;
use paceline_sim::Names;
use paceline_sim::runs::Spread;
use paceline_sim::scenario::{self, Capacity, FASTEST, SchemeChoice, Workload};

/// Longest run: a week.
pub const LONGEST: Span = Span::from_secs(7 * 24 * 3600);

/// Parses a time above zero and up to a week.
///
/// # Errors
/// The text is invalid; the error says why.
pub fn length(text: &str) -> Result<Span, String> {
    let span = Span::read(text.trim())?;
    if span.is_zero() || span > LONGEST {
        return Err("expected a time above zero and up to 168h".into());
    }
    Ok(span)
}

/// Parses a round-trip time of up to an hour.
///
/// # Errors
/// The text is invalid; the error says why.
pub fn rtt(text: &str) -> Result<Span, String> {
    let span = Span::read(text.trim())?;
    if span > Span::from_secs(3600) { Err("expected a time up to 1h".into()) } else { Ok(span) }
}

/// Parses the length of a bin: at least a millisecond, because shorter bins hold at most one
/// packet.
///
/// # Errors
/// The text is invalid; the error says why.
pub fn bin(text: &str) -> Result<Span, String> {
    let span = length(text)?;
    if span < Span::from_millis(1) { Err("expected 1ms or more".into()) } else { Ok(span) }
}

/// Parses the spread of the runs' starts: a time, or `trace`.
///
/// # Errors
/// The text is invalid; the error says why.
pub fn spread(text: &str) -> Result<Spread, String> {
    Spread::read(text)
}

/// Reads the key of a scenario's flow that describes its application: `video = { fps = 30 }`, or `video` for a
/// table with all defaults.
///
/// # Errors
/// The text is invalid; the error says why.
pub fn workload(text: &str) -> Result<Workload, String> {
    const EXPECTED: &str =
        "expected one key of a scenario's flow: bytes, limited, on_off, video or audio";
    let text = text.trim();
    if text.lines().count() != 1 {
        return Err(EXPECTED.into());
    }
    let has_value = text.contains('=');
    let key = if has_value { text.to_string() } else { format!("{text} = {{}}") };
    let file = format!(
        "duration = \"1s\"\n[[link]]\nname = \"l\"\nrate = \"1Mbps\"\n[[flow]]\nscheme = \"cubic\"\n{key}\n"
    );
    let read = scenario::parse("workload", &file, None);
    let scenario = read.map_err(|error| {
        if !has_value {
            return EXPECTED.to_string();
        }
        let help = error.help.map_or_else(String::new, |help| format!("; {help}"));
        format!("{}{help}", error.message)
    })?;
    match scenario.flows.first().map(|flow| &flow.workload) {
        None | Some(Workload::Bulk | Workload::Supplied) => Err(EXPECTED.into()),
        Some(workload) => Ok(workload.clone()),
    }
}

/// Parses a buffer size: packets, `64kB`, `50ms`, `1bdp`, `inf`, `sojourn=50ms`.
///
/// # Errors
/// The text is invalid; the error says why.
pub fn buffer(text: &str) -> Result<BufferSize, String> {
    BufferSize::parse(text)
}

/// Parses a rate such as `12Mbps`.
///
/// # Errors
/// The text is invalid; the error says why.
pub fn rate(text: &str) -> Result<Rate, String> {
    let rate = Rate::read(text.trim())?;
    if rate.as_bps() == 0 {
        Err("expected a rate above zero".into())
    } else if rate > FASTEST {
        Err(format!("expected a rate up to {FASTEST}"))
    } else {
        Ok(rate)
    }
}

/// A list of schemes, separated by commas outside brackets; `all` is every scheme.
#[derive(Clone, Debug)]
pub struct Schemes(pub Vec<SchemeSpec>);

/// Parses a list of schemes of `names` and checks that each can be built.
///
/// # Errors
/// The text is invalid; the error says why.
pub fn schemes(text: &str, names: &Names) -> Result<Schemes, String> {
    let mut specs = Vec::new();
    for part in split_list(text).map_err(|error| error.to_string())? {
        if part == "all" {
            specs.extend(names.schemes.names().filter_map(|name| names.check_scheme(name).ok()));
        } else {
            specs.push(names.check_scheme(part).map_err(|error| error.to_string())?);
        }
    }
    if specs.is_empty() { Err("expected at least one scheme".into()) } else { Ok(Schemes(specs)) }
}

/// The schemes of a comparison, as [`schemes`] parses them. For `all`, schemes that need more than
/// their name get the registry's parameters for comparisons, and a note that says so.
#[derive(Clone, Debug)]
pub struct ComparedSchemes(pub Vec<(SchemeChoice, Option<String>)>);

/// Parses the schemes of a comparison, with the schemes and queues of `names`; `all` stands for
/// every scheme of `names`.
///
/// # Errors
/// The text is invalid; the error says why.
pub fn compared(text: &str, names: &Names) -> Result<ComparedSchemes, String> {
    let mut all = Vec::new();
    let parts = split_list(text).map_err(|error| error.to_string())?;
    for part in parts.into_iter().flat_map(|part| names.expand(part)) {
        if part != "all" {
            let scheme = names.read_scheme(&part).map_err(|error| error.to_string())?;
            all.push((scheme, None));
            continue;
        }
        for scheme in &names.schemes {
            let written = scheme.bulk.map_or(&*scheme.name, |setting| setting.spec);
            // Leave out a scheme that needs more than its name, such as a file.
            let Ok(spec) = names.check_scheme(written) else { continue };
            all.push((spec.into(), scheme.bulk.map(|setting| setting.reason.to_string())));
        }
    }
    if all.is_empty() {
        Err("expected at least one scheme".into())
    } else {
        Ok(ComparedSchemes(all))
    }
}

/// Parses a link's capacity; returns it with its name: a rate, a built-in trace, or a file.
///
/// # Errors
/// The text is invalid; the error says why.
pub fn capacity(text: &str) -> Result<(String, Capacity), String> {
    let number = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.'));
    let is_rate = number
        && (text.ends_with("bps")
            || text.ends_with("bit/s")
            || text.parse::<f64>().is_ok()
            || rate_as_others_write(text).is_some());
    let is_file = std::path::Path::new(text).exists();
    if number && text.contains(',') && !is_file {
        return Err(format!(
            "{text}: one link is expected; write each with its option, such as --trace 12Mbps --trace \
             24Mbps"
        ));
    }
    if is_rate && !is_file {
        let rate = rate(text).map_err(|problem| format!("{text}: {problem}"))?;
        return Ok((text.to_string(), Capacity::Constant(rate)));
    }
    let trace = paceline_trace::load(text).map_err(|error| error.to_string())?;
    Ok((trace.name().to_string(), Capacity::trace(trace)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_is_a_key_of_a_flow() {
        assert!(matches!(workload("video"), Ok(Workload::Video(_))));
        assert!(
            matches!(workload(" video = { fps = 15 } "), Ok(Workload::Video(video)) if video.fps == 15.0)
        );
        assert_eq!(workload("bytes = 1000"), Ok(Workload::Bytes(1000)));
        for wrong in ["", "rtt", "vidoe", "on_off", "bytes = 1\nrtt = \"1s\"", "rtt = \"1s\""] {
            assert!(workload(wrong).is_err(), "{wrong}");
        }
    }
}
