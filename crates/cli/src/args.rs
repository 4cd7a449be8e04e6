//! Reads values of the command line.

use std::net::Ipv6Addr;
use std::path::Path;
use std::time::Duration;

use paceline_cc::{Halves, ParamValue, SchemeSpec, Span, Spec, SpecError};
use paceline_requests::written;
pub(crate) use paceline_requests::written::{
    ComparedSchemes, Schemes, bin, buffer, length, rate, rtt,
};
use paceline_sim::runs::MAX_SEED;
use paceline_sim::scenario::Capacity;
use paceline_trace::Delays;
use paceline_transfer::udp::check_form;
use paceline_wire::LONGEST_IDLE;

use crate::output::{self, Error};
use crate::registries;
pub(crate) use crate::registries::{compared, schemes};

/// Reads a seed.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    let seed = text.trim().parse().ok().filter(|seed| *seed <= MAX_SEED);
    seed.ok_or_else(|| format!("expected a whole number from 0 to {MAX_SEED}"))
}

/// Reads a time such as `100ms`.
pub(crate) fn span(text: &str) -> Result<Span, String> {
    Span::read(text.trim())
}

/// Reads a link's capacity with its name: a rate, a built-in trace, or a file. Warns about a file that was probably meant
/// otherwise.
pub(crate) fn capacity(text: &str) -> Result<(String, Capacity), String> {
    let (name, capacity) = written::capacity(text)?;
    if let Capacity::Trace { trace, .. } = &capacity
        && let Some(warning) = paceline_trace::warning(trace)
    {
        output::note(&format!("warning: {warning}"));
    }
    Ok((name, capacity))
}

/// Splits a list of links at its commas. A file that has commas in its name is one link.
pub(crate) fn listed(text: &str) -> Vec<&str> {
    match Path::new(text).exists() {
        true => vec![text],
        false => text.split(',').map(str::trim).collect(),
    }
}

/// Reads an amount of data in bytes, above zero: `20GB`, `1.5GiB`, `4096`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    const EXPECTED: &str = "expected a size such as 20GB, 500MiB or 4096 (bytes)";
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let value: f64 = number.parse().map_err(|_| EXPECTED.to_string())?;
    let factor = match unit.trim() {
        "" | "B" => 1,
        "kB" | "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        unit => {
            return Err(format!(
                "unknown unit `{unit}`; use B, kB, MB, GB, TB, KiB, MiB, GiB or TiB"
            ));
        }
    };
    // Whole numbers are exact; a fraction is rounded down to bytes.
    let bytes = match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(factor),
        Err(_) => Some((value * factor as f64) as u64),
    };
    match bytes {
        Some(0) => Err("expected a size above zero".into()),
        Some(bytes) if value * (factor as f64) < u64::MAX as f64 => Ok(bytes),
        _ => Err("this is more than a disk can have".into()),
    }
}

/// Reads the interval at which an idle tunnel sends keepalives: 1 s to 10 minutes, or 0 for none.
pub(crate) fn keepalive(text: &str) -> Result<Span, String> {
    let span = span(text)?;
    let allowed = span.is_zero() || (Span::from_secs(1)..=LONGEST_IDLE).contains(&span);
    if allowed { Ok(span) } else { Err("expected 1s to 600s, or 0s".into()) }
}

/// Reads a scheme for sending over UDP. Returns its halves, and its text for the other end, which
/// reads no files and needs none to build its half.
pub(crate) fn sender(text: &str) -> Result<(Halves, String), String> {
    if let Ok(SchemeSpec { sender, queue: Some(queue) }) = SchemeSpec::parse(text) {
        return Err(format!(
            "a sender has no queue, the path has: write {sender} without +{queue}"
        ));
    }
    let build = || {
        let mut spec = Spec::parse(text)?;
        let halves = registries::names().build_scheme(&spec)?;
        if spec.name == "remy" {
            let with_file = spec.args.len();
            spec.args.retain(|(name, _)| name != "file");
            if spec.args.len() < with_file && halves.reporter.is_some() {
                // Receivers of all tables that read marks are alike, so the other end builds its
                // half from a built-in table.
                spec.args.retain(|(name, _)| name != "table");
                spec.args.push(("table".into(), "cellular-marks".into()));
            }
        }
        Ok((halves, spec.to_string()))
    };
    build().map_err(|error: SpecError| error.to_string())
}

/// Reads a probability from 0 to 1: `1%` or `0.01`. Refuses `1`, which netem's users mean as 1 %.
pub(crate) fn probability(text: &str) -> Result<f64, String> {
    share(text, "a probability")
}

/// Reads a share from 0 to 1, as [`probability`]; `what` names it in messages.
pub(crate) fn share(text: &str, what: &str) -> Result<f64, String> {
    let has_unit = text.trim().ends_with('%');
    match f64::read(text.trim()) {
        Ok(1.0) if !has_unit => Err("write 1% or 0.01 for one percent, 100% for all".into()),
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        Ok(number) if (1.0..=100.0).contains(&number) => {
            Err(format!("expected {what} from 0 to 1; did you mean {number}%?"))
        }
        _ => Err(format!("expected {what} such as 1% or 0.01")),
    }
}

/// Port of `paceline recv`, used for addresses without a port.
pub(crate) const DEFAULT_PORT: u16 = 5311;

/// Adds the default port to an address without one: `host` becomes `host:5311`, `2001:db8::1`
/// becomes `[2001:db8::1]:5311`.
pub(crate) fn with_port(address: &str) -> String {
    match address.parse::<Ipv6Addr>() {
        Ok(six) => format!("[{six}]:{DEFAULT_PORT}"),
        Err(_) if !address.is_empty() && (!address.contains(':') || address.ends_with(']')) => {
            format!("{address}:{DEFAULT_PORT}")
        }
        Err(_) => address.to_string(),
    }
}

/// Reads the host and the port of another machine. Does not look the host up.
pub(crate) fn host_and_port(text: &str) -> Result<String, String> {
    check_form(text).map(|()| text.to_string())
}

/// Reads a recording of delays.
pub(crate) fn delays(text: &str) -> Result<Delays, String> {
    paceline_trace::load_delays(text).map_err(|error| error.to_string())
}

/// Checks that the path of an option is a folder; `what` says which folder the option expects.
pub(crate) fn folder(option: &str, path: Option<&Path>, what: &str) -> Result<(), Error> {
    match path {
        Some(path) if !path.is_dir() => Err(Error::Usage(format!(
            "{}: not a folder; {option} wants one {what}",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Returns seconds as a wall-clock duration.
pub(crate) fn wall(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a table with one rule that reads these signals into a file. Returns whether its
    /// receiver reports marks, and the scheme's text for the other end.
    fn offered(signals: &str) -> (bool, String) {
        let name = format!("paceline-args-{}-{}.toml", std::process::id(), signals.len());
        let file = std::env::temp_dir().join(name);
        let ends = |end: &str| signals.replace('"', "").replace(',', &format!(" = {end},"));
        let table = format!(
            "format = \"paceline-remy 1\"\n[[box]]\nat = \"\"\naxes = [{signals}]\n\
             lower = {{ {} = 0.0 }}\nupper = {{ {} = 1e5 }}\nrule = {{ m = 1.0, b = 1, r = 1.0 }}\n",
            ends("0.0"),
            ends("1e5"),
        );
        std::fs::write(&file, table).expect("a temporary file");
        let told = sender(&format!("remy[file={},per=packet]", file.display()));
        std::fs::remove_file(&file).expect("the file");
        let (halves, told) = told.expect("a scheme");
        (halves.reporter.is_some(), told)
    }

    #[test]
    fn sizes_have_units_of_bytes_and_are_above_zero() {
        for (text, bytes) in [
            ("4096", 4096),
            ("1B", 1),
            ("20GB", 20_000_000_000),
            ("1.5 GiB", 3 << 29),
            ("500MiB", 500 << 20),
            (" 2TB ", 2_000_000_000_000),
            ("9007199254740993", 9_007_199_254_740_993),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for (text, said) in [
            ("0", "above zero"),
            ("0.1", "above zero"),
            ("0GB", "above zero"),
            ("", "expected a size"),
            ("GB", "expected a size"),
            ("1.2.3MB", "expected a size"),
            ("-5GB", "expected a size"),
            ("much", "expected a size"),
            ("5Gb", "unknown unit `Gb`"),
            ("10ms", "unknown unit `ms`"),
            ("99999999TB", "more than a disk"),
            ("99999999999999999999", "more than a disk"),
            ("99999999999999999999.5TB", "more than a disk"),
        ] {
            let error = size(text).expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn addresses_without_a_port_have_the_usual_one() {
        for (text, whole) in [
            ("host", "host:5311"),
            ("192.0.2.1", "192.0.2.1:5311"),
            ("host:4433", "host:4433"),
            ("2001:db8::1", "[2001:db8::1]:5311"),
            ("[2001:db8::1]", "[2001:db8::1]:5311"),
            ("[2001:db8::1]:4433", "[2001:db8::1]:4433"),
            ("", ""),
        ] {
            assert_eq!(with_port(text), whole);
        }
    }

    #[test]
    fn probabilities_are_shares_or_percentages() {
        assert_eq!((probability("1%"), probability(" 0.25 ")), (Ok(0.01), Ok(0.25)));
        assert_eq!((probability("0"), probability("100%")), (Ok(0.0), Ok(1.0)));
        let error = probability("5").expect_err("more than 1");
        assert!(error.contains("did you mean 5%?"), "{error}");
        let error = probability("1").expect_err("1 % or all");
        assert!(error.contains("1% or 0.01"), "{error}");
        for text in ["", "much", "-1%", "200%", "1ms", "1.0"] {
            assert!(probability(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_other_end_of_a_table_in_a_file_needs_no_file() {
        assert_eq!(offered("\"rtt_ratio\""), (false, "remy[per=packet]".into()));
        let marks = offered("\"rtt_ratio\",\"accel_share\"");
        assert_eq!(marks, (true, "remy[per=packet,table=cellular-marks]".into()));
        // The other end can build its half from this text, and the half echoes marks.
        assert!(sender(&marks.1).is_ok_and(|(halves, _)| halves.reporter.is_some()));
    }
}
