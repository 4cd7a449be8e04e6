//! Writes the list of the public items of `cc`, `schemes`, `flow`, `path`, `wifi`, `scenario` and `sim` from
//! rustdoc's JSON output; `make api` runs both. Each item has a line with the first sentence of its
//! documentation. Constants, type aliases, macros and the contents of modules below the second
//! level are listed by name. Items at a crate's root are not listed again in their module.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

const CRATES: [&str; 7] = ["cc", "schemes", "flow", "path", "wifi", "scenario", "sim"];

/// The kinds of items: rustdoc's name and the name on the page, in the page's order.
const KINDS: [(&str, &str); 8] = [
    ("trait", "trait"),
    ("struct", "struct"),
    ("enum", "enum"),
    ("function", "fn"),
    ("type_alias", "type"),
    ("macro", "macro"),
    ("constant", "const"),
    ("static", "static"),
];

/// Number of [`KINDS`] whose items have a line each.
const DESCRIBED: usize = 4;

struct Item<'a> {
    kind: usize,
    name: &'a str,
    docs: &'a str,
    id: u64,
}

struct Module<'a> {
    name: &'a str,
    value: &'a Value,
}

/// Returns the first sentence of a documentation, on one line and without links.
fn sentence(docs: &str) -> String {
    let paragraph = docs.split("\n\n").next().unwrap_or("").replace('\n', " ");
    let mut text = match paragraph.find(". ") {
        Some(end) => paragraph[..end].to_string(),
        None => paragraph.trim_end_matches(['.', ':']).to_string(),
    };
    // [`name`](target) and [`name`] both become `name`.
    while let Some((from, to)) = text.find("](").and_then(|from| {
        let end = text[from..].find(')')?;
        Some((from, from + end + 1))
    }) {
        text.replace_range(from..to, "]");
    }
    text.replace("[`", "`").replace("`]", "`")
}

/// Returns the public content of a module: items, modules, and the names of re-exported crates.
fn contents<'a>(index: &'a Value, module: &'a Value) -> (Vec<Item<'a>>, Vec<Module<'a>>) {
    let (mut items, mut modules) = (Vec::new(), Vec::new());
    let ids = module["inner"]["module"]["items"].as_array().map_or(&[][..], Vec::as_slice);
    for id in ids {
        let mut value = &index[id.to_string()];
        let mut name = value["name"].as_str().unwrap_or("");
        let mut docs = value["docs"].as_str().unwrap_or("");
        let mut id = id.as_u64().unwrap_or(u64::MAX);
        let used = &value["inner"]["use"];
        if used.is_object() {
            name = used["name"].as_str().unwrap_or("");
            id = used["id"].as_u64().unwrap_or(u64::MAX);
            value = &index[id.to_string()];
            if docs.is_empty() {
                docs = value["docs"].as_str().unwrap_or("");
            }
        }
        if value["inner"]["module"].is_object() {
            if !value["inner"]["module"]["is_crate"].as_bool().unwrap_or(false) {
                modules.push(Module { name, value });
            }
        } else if let Some(kind) =
            KINDS.iter().position(|(kind, _)| value["inner"].get(kind).is_some())
        {
            items.push(Item { kind, name, docs, id });
        }
    }
    items.sort_by_key(|item| (item.kind, item.name));
    modules.sort_by_key(|module| module.name);
    (items, modules)
}

/// Returns the names of the items in a module and its modules.
fn names(index: &Value, prefix: &str, module: &Value) -> Vec<String> {
    let (items, modules) = contents(index, module);
    let mut all: Vec<String> =
        items.iter().map(|item| format!("`{prefix}{}`", item.name)).collect();
    for inner in modules {
        all.extend(names(index, &format!("{prefix}{}::", inner.name), inner.value));
    }
    all
}

/// The page's part about one crate.
struct Page<'a> {
    text: String,
    index: &'a Value,
    /// Items that were listed already.
    listed: BTreeSet<u64>,
}

impl Page<'_> {
    fn module(&mut self, path: &str, module: &Value, is_root: bool) {
        let (mut items, modules) = contents(self.index, module);
        items.retain(|item| self.listed.insert(item.id));
        // `load_with` needs no line beside `load`.
        let all: Vec<&str> = items.iter().map(|item| item.name).collect();
        items.retain(|item| {
            let shorter = item.name.strip_suffix("_with");
            !shorter.is_some_and(|shorter| all.contains(&shorter))
        });
        if !items.is_empty() || !modules.is_empty() {
            let says = sentence(module["docs"].as_str().unwrap_or(""));
            let heading = if is_root { "\n##" } else { "###" };
            let _ = writeln!(self.text, "{heading} {path}\n{says}.");
        }
        for (kind, (_, word)) in KINDS.iter().enumerate() {
            let alike: Vec<&Item<'_>> = items.iter().filter(|item| item.kind == kind).collect();
            if kind < DESCRIBED {
                for Item { name, docs, .. } in alike {
                    let longer = format!("{name}_with");
                    let longer = match all.contains(&longer.as_str()) {
                        true => format!(", `{longer}`"),
                        false => String::new(),
                    };
                    let _ = writeln!(self.text, "- {word} `{name}`{longer}: {}", sentence(docs));
                }
            } else if !alike.is_empty() {
                let names: Vec<String> =
                    alike.iter().map(|item| format!("`{}`", item.name)).collect();
                let _ = writeln!(self.text, "- {word} {}", names.join(", "));
            }
        }
        for inner in modules {
            if is_root {
                self.module(&format!("{path}::{}", inner.name), inner.value, false);
            } else {
                let all = names(self.index, "", inner.value).join(", ");
                let _ = writeln!(self.text, "- mod `{}`: {all}", inner.name);
            }
        }
    }
}

/// Writes the list to `target` from the JSON files of rustdoc in `folder`.
///
/// # Errors
/// A file cannot be read, parsed or written.
pub fn write(folder: &Path, target: &Path) -> Result<(), String> {
    let mut text = String::from(
        "# What is public\n\nThe items of `cc`, `schemes`, `flow`, `path`, `wifi`, `scenario` and `sim` that other crates can use; \
         methods and fields are in the\ndocumentation (`cargo doc`). Written by `make api`.\n",
    );
    for name in CRATES {
        let file = folder.join(format!("paceline_{name}.json"));
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let json = std::fs::read_to_string(&file).map_err(|error| failed(&error))?;
        let docs: Value = serde_json::from_str(&json).map_err(|error| failed(&error))?;
        let index = &docs["index"];
        let mut page = Page { text: String::new(), index, listed: BTreeSet::new() };
        page.module(&format!("paceline_{name}"), &index[docs["root"].to_string()], true);
        text += &page.text;
    }
    std::fs::write(target, text).map_err(|error| format!("{}: {error}", target.display()))
}
