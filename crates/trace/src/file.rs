//! Traces from files and to files: the only part of the crate that uses the file system.

use crate::synthetic::{
    DEFAULT_SEED, default_length, delay_target, names, nearest, synthetic, synthetic_delays,
};
use crate::{Delays, FileKind, MAX_OPPORTUNITIES, Trace, TraceError, csv, mahimahi};
use paceline_cc::Span;
use std::fs::File;
use std::io::Read;

/// Size of the largest file that can be a valid trace: eleven digits and a newline for each entry.
const MAX_BYTES: u64 = 12 * MAX_OPPORTUNITIES as u64;

/// Returns the trace of a built-in name (with the default seed and length), or of a file.
///
/// A built-in name wins over a file of the same name; `./name` is always a file.
///
/// # Errors
/// As [`load_file`]; if there is no such file, the error suggests the built-in names.
pub fn load(path_or_name: &str) -> Result<Trace, TraceError> {
    match default_length(path_or_name) {
        Some(length) => synthetic(path_or_name, DEFAULT_SEED, length),
        None => load_file(path_or_name),
    }
}

/// Returns the trace in a file: a CSV of rates if its name ends in `.csv`, Mahimahi's format
/// otherwise.
///
/// # Errors
/// A file that cannot be read or is too large, and all errors of [`csv::parse`] and
/// [`mahimahi::parse`].
pub fn load_file(path: &str) -> Result<Trace, TraceError> {
    parse(path, &read(path)?)
}

/// Shortest time without an opportunity that is worth a warning at the beginning of a lap.
const LATE_BEGIN: Span = Span::from_secs(1);

/// Returns a warning about a valid trace whose file was probably meant otherwise: a CSV file whose times may be seconds,
/// or a recording whose times do not begin at zero, which gives a link that stands still until then in each lap.
pub fn warning(trace: &Trace) -> Option<String> {
    csv::short_lap(trace).or_else(|| late_begin(trace))
}

fn late_begin(trace: &Trace) -> Option<String> {
    let first = Span::from_millis((*trace.opportunities().first()?).into());
    let is_late = first >= LATE_BEGIN && first > trace.period() / 2 && first < trace.period();
    is_late.then(|| {
        format!(
            "{}: nothing before {:.1} s; subtract the first time if the recording begins there",
            trace.name(),
            first.as_secs_f64()
        )
    })
}

/// Returns the trace in the bytes of a file of this name: see [`load_file`].
///
/// # Errors
/// A file that is too large, and all errors of [`csv::parse`] and [`mahimahi::parse`].
pub fn parse(name: &str, bytes: &[u8]) -> Result<Trace, TraceError> {
    if bytes.len() as u64 > MAX_BYTES {
        return Err(too_large(name));
    }
    let parsed =
        if csv::is_csv(name) { csv::parse(name, bytes) } else { mahimahi::parse(name, bytes) };
    parsed.map_err(|error| of_its_kind(error, bytes))
}

/// Returns an error that says what a file looks like that is no trace; `error` if it looks like nothing known.
fn of_its_kind(error: TraceError, bytes: &[u8]) -> TraceError {
    let Some(kind) = FileKind::of(bytes) else { return error };
    let remedy = match kind.command() {
        Some(command) => format!("`{command} {}` reads it", error.file),
        None => "name a text file with a line for each opportunity, or a .csv file of time_ms,mbps"
            .into(),
    };
    TraceError::new(&error.file, format!("this is {}, not a trace", kind.words()), remedy)
}

/// Returns the delays of a built-in name, `leo`, or the recording in a file: rows
/// `time_ms,delay_ms` if its name ends in `.csv`, a line for each 10 ms otherwise.
///
/// # Errors
/// A file that cannot be read or is too large, and all errors of [`Delays::parse`] and
/// [`Delays::parse_csv`].
pub fn load_delays(path: &str) -> Result<Delays, TraceError> {
    if delay_target(path).is_some() {
        let length = default_length(path).unwrap_or_default();
        return synthetic_delays(path, DEFAULT_SEED, length);
    }
    let bytes = read(path).map_err(|error| match std::fs::exists(path) {
        Ok(false) => TraceError::new(path, "no such file", "name a recording of delays, or leo"),
        _ => error,
    })?;
    if csv::is_csv(path) { Delays::parse_csv(path, &bytes) } else { Delays::parse(path, &bytes) }
}

/// Writes a trace: as a CSV of rates over bins of 100 ms if the path ends in `.csv`, in
/// Mahimahi's format otherwise.
///
/// # Errors
/// A file that cannot be written.
pub fn save(trace: &Trace, path: &str) -> Result<(), TraceError> {
    let text = if csv::is_csv(path) {
        csv::write(trace, paceline_cc::Span::from_millis(100))
    } else {
        mahimahi::write(trace)
    };
    std::fs::write(path, text).map_err(|error| {
        TraceError::new(path, format!("cannot be written: {error}"), "check folder and permissions")
    })
}

fn read(path: &str) -> Result<Vec<u8>, TraceError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) if bytes.len() as u64 > MAX_BYTES => Err(too_large(path)),
        Ok(_) => Ok(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(not_found(path)),
        Err(error) => Err(TraceError::new(
            path,
            format!("cannot be read: {error}"),
            "check that it is a file, and its permissions",
        )),
    }
}

fn too_large(path: &str) -> TraceError {
    let problem = format!("larger than {} MB", MAX_BYTES / 1_000_000);
    TraceError::new(path, problem, "use a shorter trace: it repeats by itself")
}

/// Beginnings of the names of the recordings that come with Mahimahi, and the built-in trace that is modelled on one of
/// the same kind.
const MAHIMAHIS: [(&str, &str); 5] = [
    ("Verizon-LTE", "lte-driving"),
    ("Verizon-EVDO", "evdo-driving"),
    ("TMobile-UMTS", "umts-driving"),
    ("TMobile-LTE", "lte-driving"),
    ("ATT-LTE", "lte-driving"),
];

/// Words for kinds of links, and the built-in trace of this kind.
const KINDS: [(&str, &str); 9] = [
    ("4g", "lte-driving"),
    ("5g", "nr-driving"),
    ("nr", "nr-driving"),
    ("3g", "umts-driving"),
    ("umts", "umts-driving"),
    ("evdo", "evdo-driving"),
    ("starlink", "leo"),
    ("satellite", "leo"),
    ("cellular", "lte-driving"),
];

fn not_found(path: &str) -> TraceError {
    let list = names().collect::<Vec<_>>().join(", ");
    let file = path.rsplit('/').next().unwrap_or(path);
    let recording = MAHIMAHIS.iter().find(|(begin, _)| file.starts_with(begin));
    let kind = KINDS.iter().find(|(word, _)| path.eq_ignore_ascii_case(word));
    let remedy = if path.contains(',') {
        "name each trace with an option of its own: --trace A --trace B".into()
    } else if path.contains(['*', '?']) {
        "no file matches this pattern; name each file with an option of its own: --trace A --trace \
         B"
        .into()
    } else if let Some((_, like)) = recording {
        format!(
            "this recording comes with Mahimahi: git clone https://github.com/ravinet/mahimahi, and \
             name mahimahi/traces/{file}; or use the built-in {like}, which is modelled on such a \
             recording"
        )
    } else if path.to_ascii_lowercase().replace('-', "") == "wifi" {
        "no trace has what stations of a Wi-Fi channel do to each other; `paceline run` simulates \
         it, for example scenarios/wifi.toml"
            .into()
    } else if let Some(near) = kind.map(|(_, near)| *near).or_else(|| nearest(path)) {
        format!("did you mean the built-in {near}? Built in are: {list}")
    } else {
        format!("check the path, or use a built-in trace: {list}")
    };
    TraceError::new(path, "no such file, and no built-in trace of this name", remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_names_load() {
        let trace = load("lte-driving").expect("built in");
        assert_eq!(trace.period(), paceline_cc::Span::from_secs(140));
        assert_eq!(load("lte-driving.down"), Ok(trace));
    }

    #[test]
    fn missing_files_get_a_suggestion() {
        let error = load("lte-drivin").expect_err("no such file").to_string();
        assert!(error.contains("did you mean the built-in lte-driving?"), "{error}");
        let error = load("no/such/file").expect_err("no such file").to_string();
        assert!(error.contains("use a built-in trace: lte-driving,"), "{error}");
        for (name, said) in [
            (
                "Verizon-LTE-short.down",
                "mahimahi/traces/Verizon-LTE-short.down; or use the built-in lte",
            ),
            ("traces/ATT-LTE-driving.up", "comes with Mahimahi"),
            ("starlink", "did you mean the built-in leo?"),
            ("5G", "did you mean the built-in nr-driving?"),
            ("Wi-Fi", "scenarios/wifi.toml"),
            ("a.down,b.down", "--trace A --trace B"),
            ("*.down", "no file matches this pattern"),
        ] {
            let error = load(name).expect_err("no such file").to_string();
            assert!(error.contains(said), "{error}");
        }
        assert!(load("").is_err() && load(".").is_err() && load("a\0b").is_err());
    }

    #[test]
    fn traces_that_begin_late_are_told_of() {
        let of = |name: &str, text: &str| warning(&parse(name, text.as_bytes()).expect("valid"));
        let said = of("t", "100000\n100005\n100010\n").expect("100 s without an opportunity");
        let expected =
            "t: nothing before 100.0 s; subtract the first time if the recording begins there";
        assert_eq!(said, expected);
        let said = of("t.csv", "time_s,mbps\n100,5\n105,5\n").expect("100 s without a rate");
        assert!(said.starts_with("t.csv: nothing before 100.0 s"), "{said}");
        assert!(of("t.csv", "100,5\n105,5\n").expect("a short lap").contains("time_s,mbps"));
        // Outages of half a lap at most, and slow links, whose laps end with the first packet.
        for (name, text) in [("t", "5000\n10000\n"), ("t", "5\n8\n"), ("t", "2000\n2000\n")] {
            assert_eq!(of(name, text), None, "{text}");
        }
        assert_eq!(warning(&load("lte-driving").expect("built in")), None);
    }

    #[test]
    fn files_come_back() {
        let folder = std::env::temp_dir().join(format!("paceline-trace-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let trace = crate::constant(paceline_cc::Rate::from_mbps(18.0)).expect("valid");
        for name in ["a.trace", "a.csv"] {
            let path = folder.join(name).to_string_lossy().into_owned();
            let long = crate::steps(
                "x",
                &[(paceline_cc::Span::from_secs(1), paceline_cc::Rate::from_mbps(18.0))],
            );
            let long = long.expect("valid");
            save(&long, &path).expect("written");
            let back = load(&path).expect("read");
            assert_eq!((back.name(), back.mean_mbps()), (path.as_str(), trace.mean_mbps()));
        }
        let missing = folder.join("missing").join("x").to_string_lossy().into_owned();
        assert!(save(&trace, &missing).is_err());
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
