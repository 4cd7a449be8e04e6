//! Reports of tests that cannot run on this machine.

use std::fs::OpenOptions;
use std::io::{Write, stderr};

/// Requirement of a test, as `PACELINE_REQUIRE` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// `traces`: recorded traces, in the folder in `PACELINE_TRACES`.
    Traces,
    /// `reference`: reference files, in the folder in `PACELINE_REFERENCE`.
    Reference,
    /// `net`: permission to make network namespaces and devices in them.
    Net,
    /// `programs`: programs of the system, such as ping, nft or iptables.
    Programs,
    /// `kernel`: a feature that this kernel lacks or forbids.
    Kernel,
    /// `python`: Python with venv and the packages of its tests (`tests/python.sh`).
    Python,
    /// `browser`: Node.js, Rust's target for WebAssembly and Chromium, for the tests of the page
    /// (`tests/site.sh`).
    Browser,
    /// `packetdrill`: packetdrill's scripts, in the folder in `PACELINE_PACKETDRILL`.
    Packetdrill,
    /// `linux`: a built Linux guest (`paceline linux build`), in the folder in `PACELINE_LINUX`.
    Linux,
}

impl Need {
    /// All requirements.
    pub const ALL: [Need; 9] = [
        Need::Traces,
        Need::Reference,
        Need::Net,
        Need::Programs,
        Need::Kernel,
        Need::Python,
        Need::Browser,
        Need::Packetdrill,
        Need::Linux,
    ];

    /// Returns its word in `PACELINE_REQUIRE` and in lists of skipped tests.
    pub const fn word(self) -> &'static str {
        match self {
            Need::Traces => "traces",
            Need::Reference => "reference",
            Need::Net => "net",
            Need::Programs => "programs",
            Need::Kernel => "kernel",
            Need::Python => "python",
            Need::Browser => "browser",
            Need::Packetdrill => "packetdrill",
            Need::Linux => "linux",
        }
    }
}

/// Reports that `test`, or the part of it that `why` describes, is skipped because `need` is
/// missing.
///
/// # Panics
///
/// If `PACELINE_REQUIRE` has the need's word or an unknown word, or if the file in `PACELINE_SKIPS`
/// cannot be written. The test then fails.
pub fn skip(need: Need, test: &str, why: &str) {
    let text = format!("SKIPPED {test}: {why}");
    if let Some(list) = std::env::var_os("PACELINE_REQUIRE") {
        let required = required(&list.to_string_lossy());
        let required = required.unwrap_or_else(|problem| panic!("{problem}"));
        assert!(!required.contains(&need), "PACELINE_REQUIRE has `{}`: {text}", need.word());
    }
    // A failed write of this report does not fail the test.
    let _ = writeln!(stderr(), "{text}");
    if let Some(path) = std::env::var_os("PACELINE_SKIPS") {
        let line = format!("{}\t{test}\t{}\n", need.word(), why.replace(['\n', '\t'], " "));
        // A single write, so that lines of tests that run side by side do not mix.
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// Returns the name of the test that this thread runs: the test harness names its threads after
/// tests.
pub fn this_test() -> String {
    std::thread::current().name().unwrap_or("a test").to_string()
}

fn required(list: &str) -> Result<Vec<Need>, String> {
    let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
    let need = |word: &str| {
        let found = Need::ALL.into_iter().find(|need| need.word() == word);
        found.ok_or_else(|| {
            let known = Need::ALL.map(Need::word).join(", ");
            format!("PACELINE_REQUIRE has `{word}`; it may have {known}, separated by commas")
        })
    };
    words.map(need).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_needs_are_a_list_of_words() {
        assert_eq!(required(""), Ok(vec![]));
        assert_eq!(required("net, traces,"), Ok(vec![Need::Net, Need::Traces]));
        let problem = required("net,trace").expect_err("no such word");
        assert!(problem.contains("`trace`") && problem.contains("traces, reference"), "{problem}");
    }

    #[test]
    fn a_test_knows_its_name() {
        // With a single thread, the harness runs tests in its main thread.
        let name = this_test();
        assert!(["skips::tests::a_test_knows_its_name", "main"].contains(&name.as_str()), "{name}");
    }
}
