//! Keys of a scenario by path: `link.NAME.rate`, `flow.*.scheme`, `seed`.

use toml::{Table, Value};

/// Sets the key at `path` to `value`.
///
/// A path has the names of tables and the key, separated by dots. In a list of tables (`[[link]]`) the next name is
/// that of one of them, or `*` for all; it may be left out if there is only one. The key itself may be new, as
/// scenarios have defaults; the tables above it must be there.
///
/// # Errors
/// There is no such table; or the key is a table or a list of tables.
pub(crate) fn set(scenario: &mut Table, path: &str, value: &Value) -> Result<(), String> {
    let parts: Vec<&str> = path.split('.').collect();
    if parts.iter().any(|part| part.is_empty()) {
        return Err(format!("`{path}`: expected names separated by dots, such as link.*.rate"));
    }
    set_in(scenario, &parts, value).map_err(|problem| format!("`{path}`: {problem}"))
}

fn set_in(table: &mut Table, parts: &[&str], value: &Value) -> Result<(), String> {
    let (name, rest) = (parts[0], &parts[1..]);
    if rest.is_empty() {
        return match table.get(name) {
            Some(Value::Array(list)) if list.iter().any(Value::is_table) => {
                Err(format!("`{name}` is a list of tables; name a key within it"))
            }
            _ => {
                table.insert(name.into(), value.clone());
                Ok(())
            }
        };
    }
    match table.get_mut(name) {
        Some(Value::Table(inner)) => set_in(inner, rest, value),
        Some(Value::Array(list)) => set_in_list(name, list, rest, value),
        Some(_) => Err(format!("`{name}` has no keys within")),
        None => {
            Err(format!("the scenario has no table `{name}`; it has {}", listed(tables(table))))
        }
    }
}

fn set_in_list(
    name: &str,
    list: &mut [Value],
    parts: &[&str],
    value: &Value,
) -> Result<(), String> {
    let mut inner: Vec<&mut Table> = list.iter_mut().filter_map(Value::as_table_mut).collect();
    let names: Vec<String> =
        inner.iter().filter_map(|one| Some(one.get("name")?.as_str()?.to_string())).collect();
    let (first, rest) = (parts[0], &parts[1..]);
    if first == "*" && !rest.is_empty() {
        return inner.into_iter().try_for_each(|one| set_in(one, rest, value));
    }
    let is_named = |one: &&mut &mut Table| one.get("name").and_then(Value::as_str) == Some(first);
    if let Some(one) = inner.iter_mut().find(is_named).filter(|_| !rest.is_empty()) {
        return set_in(one, rest, value);
    }
    match &mut inner[..] {
        [only] => match only.contains_key(first) || rest.is_empty() || names.is_empty() {
            true => set_in(only, parts, value),
            false => Err(format!(
                "there is no {name} `{first}`, and the only {name}, `{}`, has no table `{first}`; if its name was meant, leave it out ({name}.{})",
                listed(names.into_iter()),
                rest.join("."),
            )),
        },
        several => Err(format!(
            "there are {} of `{name}` in the scenario: take {name}.*.{} for all, or name one ({})",
            several.len(),
            parts.join("."),
            listed(names.into_iter()),
        )),
    }
}

/// Returns the names of the tables and lists of tables within a table.
fn tables(table: &Table) -> impl Iterator<Item = String> + '_ {
    let inner = table.iter().filter(|(_, value)| value.is_table() || value.is_array());
    inner.map(|(name, _)| name.to_string())
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = names.collect();
    if all.is_empty() { "none".into() } else { all.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "duration = \"1s\"\n[[link]]\nname = \"a\"\n[[link]]\nname = \"b\"\nrate = \"1Mbps\"\n\
                       [[flow]]\nscheme = \"cubic\"\n";

    fn changed(path: &str) -> Result<Table, String> {
        let mut table: Table = TWO.parse().expect("TOML");
        set(&mut table, path, &Value::String("new".into())).map(|()| table)
    }

    #[test]
    fn keys_are_set_by_path() {
        assert_eq!(changed("duration").expect("set")["duration"].as_str(), Some("new"));
        assert_eq!(changed("link.b.rate").expect("set")["link"][1]["rate"].as_str(), Some("new"));
        let all = changed("link.*.rate").expect("set");
        assert!([0, 1].iter().all(|at| all["link"][*at]["rate"].as_str() == Some("new")));
        assert_eq!(changed("flow.scheme").expect("set")["flow"][0]["scheme"].as_str(), Some("new"));
        assert_eq!(changed("flow.*.rtt").expect("set")["flow"][0]["rtt"].as_str(), Some("new"));
    }

    #[test]
    fn a_wrong_name_of_the_only_table_is_told_from_a_table() {
        let one = "[[link]]\nname = \"link\"\nrate = \"1Mbps\"\n[link.loss]\nrate = 0.1\n";
        let set_at = |path: &str| {
            let mut table: Table = one.parse().expect("TOML");
            set(&mut table, path, &Value::String("new".into())).map(|()| table)
        };
        let error = set_at("link.lnk.rate").expect_err("no such link");
        let said = "there is no link `lnk`, and the only link, `link`, has no table `lnk`; if its name was meant, leave it out (link.rate)";
        assert!(error.contains(said), "{error}");
        let loss = set_at("link.loss.rate").expect("a table of the link");
        assert_eq!(loss["link"][0]["loss"]["rate"].as_str(), Some("new"));
    }

    #[test]
    fn wrong_paths_say_what_there_is() {
        for (path, said) in [
            (
                "link.rate",
                "there are 2 of `link` in the scenario: take link.*.rate for all, or name one (a, b)",
            ),
            ("link.c.rate", "name one (a, b)"),
            ("links.rate", "has no table `links`; it has flow, link"),
            ("duration.x", "`duration` has no keys within"),
            ("link", "`link` is a list of tables"),
            ("", "expected names"),
            ("link..rate", "expected names"),
        ] {
            let error = changed(path).expect_err(path);
            assert!(error.contains(said), "{path}: {error}");
        }
    }
}
