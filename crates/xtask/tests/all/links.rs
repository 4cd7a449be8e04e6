//! Links in documents lead to existing files and headings, and paths of the source tree in documents
//! exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use paceline_xtask::tree::root;

/// Returns the documents of the source tree: those at its root, and all below `docs`.
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() && path.starts_with(root().join("docs")) {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 20, "{found:?}");
    found
}

/// Returns the text outside of code, line by line.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut fenced = false;
    let lines = text.lines().enumerate().filter(|(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    });
    // Parts with an odd index stand between backticks.
    let plain = |line: &str| line.split('`').step_by(2).collect::<Vec<_>>().join("code");
    lines.map(|(at, line)| (at + 1, plain(line))).collect()
}

/// Returns the targets of a line's links: `[text](target)`.
fn targets(line: &str) -> Vec<&str> {
    line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()).collect()
}

/// Returns the anchors of a document's headings, as web pages have them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.collect::<String>().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut dead = Vec::new();
    for path in documents() {
        let text = fs::read_to_string(&path).expect("text");
        for (line, text) in prose(&text) {
            for target in targets(&text) {
                if target.contains("://") || target.starts_with("mailto:") {
                    continue;
                }
                let (file, heading) = target.split_once('#').unwrap_or((target, ""));
                let file = match file {
                    "" => path.clone(),
                    file => path.parent().map_or_else(root, PathBuf::from).join(file),
                };
                let leads = match heading {
                    "" => file.exists(),
                    heading => {
                        fs::read_to_string(&file).is_ok_and(|text| anchors(&text).contains(heading))
                    }
                };
                if !leads {
                    dead.push(format!("{}, line {line}: {target}", path.display()));
                }
            }
        }
    }
    assert!(dead.is_empty(), "links that lead nowhere:\n{}", dead.join("\n"));
}

#[test]
fn paths_of_the_tree_exist() {
    const FOLDERS: [&str; 9] = [
        "crates/",
        "bindings/",
        "docs/",
        "examples/",
        "fuzz/",
        "packaging/",
        "scenarios/",
        "site/",
        "tests/",
    ];
    let mut missing = Vec::new();
    // The changelog names files of its time.
    let is_current = |path: &PathBuf| !path.ends_with("CHANGELOG.md");
    for path in documents().into_iter().filter(is_current) {
        let text = fs::read_to_string(&path).expect("text");
        for code in text.split('`').skip(1).step_by(2) {
            let is_path = FOLDERS.iter().any(|start| code.starts_with(start));
            if !is_path || code.contains(['*', '<', ' ', '\n']) || code.contains("...") {
                continue;
            }
            let names: Vec<String> = match (code.split_once('{'), code.split_once('}')) {
                (Some((before, names)), Some((_, after))) => {
                    let names = names.split('}').next().unwrap_or("");
                    names.split(',').map(|name| format!("{before}{name}{after}")).collect()
                }
                _ => vec![code.to_string()],
            };
            let absent = names.into_iter().filter(|name| !root().join(name).exists());
            missing.extend(absent.map(|name| format!("{}: {name}", path.display())));
        }
    }
    assert!(missing.is_empty(), "paths that are not there:\n{}", missing.join("\n"));
}

#[test]
fn targets_and_anchors_are_found() {
    let text = "[a](b.md#c-d), `[no](x)` [e](f)\n```\n[no](y)\n```\n## C `d`: e!\n";
    let found: Vec<String> = prose(text)
        .iter()
        .flat_map(|(_, line)| targets(line).into_iter().map(String::from).collect::<Vec<_>>())
        .collect();
    assert_eq!(found, ["b.md#c-d", "f"]);
    assert!(anchors(text).contains("c-d-e"));
}
