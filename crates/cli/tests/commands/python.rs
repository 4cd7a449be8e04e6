//! Controllers in Python on the command line: how commands are handed to the Python package. The package's own tests
//! run them.

use std::process::Command;

use paceline_testing::Folder;

/// Runs the program in a folder whose `bin` has the only interpreter. Returns status and both outputs.
fn run(folder: &Folder, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_paceline"))
        .args(arguments)
        .env("PATH", folder.path("bin"))
        .current_dir(folder.path(""))
        .output()
        .expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Puts a script into the folder as `python3`. Another process writes it: a file that this one has open for writing
/// while another test forks could not be executed.
fn interpreter(folder: &Folder, script: &str) {
    let line =
        "mkdir -p bin && printf '#!/bin/sh\\n%s\\n' \"$1\" > bin/python3 && chmod 755 bin/python3";
    let status = Command::new("sh")
        .args(["-c", line, "sh", script])
        .current_dir(folder.path(""))
        .status()
        .expect("sh starts");
    assert!(status.success());
}

#[test]
fn the_command_is_handed_to_the_package() {
    let folder = Folder::new("python-handed");
    folder.write("mine.py", b"");
    let version = env!("CARGO_PKG_VERSION");
    interpreter(&folder, &format!("case $1 in -c) echo {version};; *) echo \"$@\"; exit 7;; esac"));
    let scenario = "[[flow]]\nscheme = \"./mine.py\"\n";
    folder.write("one.toml", scenario.as_bytes());
    for line in [
        &["compare", "--schemes", "./mine.py:Mine+codel,cubic", "--rtt", "1ms,2ms", "-o", "out"][..],
        &["compare", "--schemes=package.module:Mine"],
        &["evaluate", "mine.py", "--quick"],
        &["run", "one.toml", "--series", "s.csv"],
    ] {
        let (status, out, err) = run(&folder, line);
        assert_eq!(status, Some(7), "{line:?}: {err}");
        assert_eq!(out.trim(), format!("-m paceline {}", line.join(" ")));
    }
}

#[test]
fn a_missing_file_or_package_is_named_with_the_remedy() {
    let folder = Folder::new("python-missing");
    folder.write("mine.py", b"");
    let compare = |scheme: &'static str| ["compare", "--schemes", scheme];
    let refused = |line: &[&str], words: &[&str]| {
        let (status, out, err) = run(&folder, line);
        assert_eq!((status, out.as_str()), (Some(2), ""), "{err}");
        words.iter().for_each(|word| assert!(err.contains(word), "{word}: {err}"));
    };
    refused(&compare("./no-such.py:Mine"), &["./no-such.py: there is no such file"]);
    refused(&compare("./mine.py"), &["there is no Python", "make wheel"]);
    interpreter(&folder, "echo \"ModuleNotFoundError: No module named 'paceline'\" >&2; exit 1");
    let words = ["./mine.py: a controller in Python needs", "No module named 'paceline'"];
    refused(&compare("./mine.py"), &words);
    interpreter(&folder, "echo 0.0.1");
    refused(&compare("./mine.py"), &["python3 has version 0.0.1"]);
    // A Linux host and a text with a colon elsewhere are no classes.
    let (status, _, err) = run(&folder, &["compare", "--schemes", "linux:nothing"]);
    assert!(status == Some(2) && !err.contains("Python"), "{err}");
}
