//! Completions know the names of schemes and traces.

use std::process::Command;

use crate::common::paceline;
use paceline_testing::{Folder, Need, skip, this_test};

/// Returns what a shell prints; `None` if it is not there.
fn printed(shell: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(shell).args(arguments).output().ok()?;
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && error.is_empty(), "{shell} {arguments:?}: {error}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn script(folder: &Folder, shell: &str) -> String {
    let seen = paceline(&["completions", shell]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    let is_left =
        ["PACELINE_SCHEMES", "PACELINE_TRACES"].iter().any(|value| seen.out.contains(value));
    assert!(!is_left, "{shell}: a value in the place of names is left");
    folder.write(&format!("paceline.{shell}"), seen.out.as_bytes())
}

#[test]
fn bash_completes_schemes_in_lists_traces_and_files() {
    let folder = Folder::new("completions-bash");
    let script = script(&folder, "bash");
    folder.write("link.csv", b"");
    // The words of the line, the last of which is completed.
    let completed = |words: &str| {
        let line = format!(
            "source {script}; cd {}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _paceline paceline \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; echo \"${{COMPREPLY[*]}}\"",
            folder.path("")
        );
        printed("bash", &["--norc", "-c", &line])
    };
    let Some(one) = completed("paceline compare --schemes cub") else {
        skip(Need::Programs, &this_test(), "no bash");
        return;
    };
    assert_eq!(one.trim(), "cubic");
    for (words, expected) in [
        ("paceline compare --schemes abc,bbr3,verus,cub", "abc,bbr3,verus,cubic"),
        ("paceline send --scheme spro", "sprout sprout-ewma"),
        ("paceline compare --trace lte-dri", "lte-driving lte-driving.up"),
        ("paceline link --up umts-dri", "umts-driving umts-driving.up"),
        ("paceline compare --trace link", "link.csv"),
    ] {
        let found = completed(words).expect("bash");
        assert_eq!(found.trim(), expected, "{words}");
    }
}

#[test]
fn fish_completes_schemes_in_lists_and_traces() {
    let folder = Folder::new("completions-fish");
    let script = script(&folder, "fish");
    let completed = |line: &str| {
        printed("fish", &["--no-config", "-c", &format!("source {script}; complete -C '{line}'")])
    };
    let Some(one) = completed("paceline compare --schemes abc,cub") else {
        skip(Need::Programs, &this_test(), "no fish: install the package fish");
        return;
    };
    assert!(one.lines().any(|line| line.split('\t').next() == Some("abc,cubic")), "{one}");
    let traces = completed("paceline compare --trace lte-dri").expect("fish");
    assert!(traces.lines().any(|line| line.split('\t').next() == Some("lte-driving")), "{traces}");
}

#[test]
fn zsh_has_the_names_and_reads_the_script() {
    let folder = Folder::new("completions-zsh");
    let script = script(&folder, "zsh");
    let text = std::fs::read_to_string(&script).expect("the script");
    assert!(text.starts_with("#compdef paceline\n"));
    for said in
        [":LIST:_paceline_schemes", ":NAME|FILE|RATE:_paceline_traces", "_values -s , scheme"]
    {
        assert!(text.contains(said), "{said}");
    }
    if printed("zsh", &["-n", &script]).is_none() {
        skip(Need::Programs, &this_test(), "no zsh: install the package zsh");
    }
}
