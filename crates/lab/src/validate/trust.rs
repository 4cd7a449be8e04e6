//! One figure of trust for each world with which the simulator is compared: the share of rows inside
//! the spread. README.md has the table.

use super::case::{ComparedFigure, Counts};
use super::page::section;

/// Comment lines in README.md between which the table stands.
const MARKS: [&str; 2] = ["<!-- trust: made by make docs -->", "<!-- end of trust -->"];

/// A document with rows that were measured on a real machine: the world, the file, and the heading
/// of the column with the verdicts, whose cells begin with `yes` or `no`.
const DOCUMENTS: [(&str, &str, &str); 2] = [
    ("Linux' own TCP behind `paceline link`", "docs/gap.md", "inside"),
    ("Paceline's programs in Linux' kernel", "docs/kernel.md", "within the bound"),
];

/// Rows of a world, and how many of them are inside.
struct World {
    name: String,
    source: &'static str,
    rows: usize,
    inside: usize,
}

/// Returns README.md with its table made anew. `read` returns a file of the source tree by its path.
///
/// # Errors
/// A file cannot be read, has no table with the verdicts, or README.md has no place for this table.
pub fn readme_with_trust(
    rows: &[ComparedFigure],
    read: &dyn Fn(&str) -> Result<String, String>,
) -> Result<String, String> {
    let readme = read("README.md")?;
    let missing = |mark: &str| format!("README.md: there is no line `{mark}`");
    let [begin, end] = MARKS;
    let (before, rest) = readme.split_once(begin).ok_or_else(|| missing(begin))?;
    let (_, after) = rest.split_once(end).ok_or_else(|| missing(end))?;
    Ok(format!("{before}{begin}\n\n{}\n{end}{after}", table(rows, read)?))
}

fn table(
    rows: &[ComparedFigure],
    read: &dyn Fn(&str) -> Result<String, String>,
) -> Result<String, String> {
    let mut worlds: Vec<World> = Vec::new();
    for row in rows {
        let name = section(&row.peer);
        if !worlds.iter().any(|world| world.name == name) {
            let own: Vec<ComparedFigure> =
                rows.iter().filter(|row| section(&row.peer) == name).cloned().collect();
            let counts = Counts::of(&own);
            worlds.push(World {
                name: name.into(),
                source: "docs/validation.md",
                rows: counts.checks - counts.unmeasured,
                inside: counts.agree + counts.within_spread,
            });
        }
    }
    for (name, source, column) in DOCUMENTS {
        let (rows, inside) = verdicts(&read(source)?, column)
            .ok_or_else(|| format!("{source}: there is no table with a column `{column}`"))?;
        worlds.push(World { name: name.into(), source, rows, inside });
    }
    let line = |world: &World| {
        let World { name, source, rows, inside } = world;
        let percent = 100.0 * *inside as f64 / (*rows).max(1) as f64;
        format!("| {name} | {rows} | {inside} | {percent:.0} % | [rows]({source}) |\n")
    };
    let lines: String = worlds.iter().map(line).collect();
    Ok(format!(
        "| compared with | rows | inside the bound or the spread | share | |\n\
         | --- | --- | --- | --- | --- |\n{lines}"
    ))
}

/// Returns the number of rows of the first table with this column, and how many of their cells in
/// it begin with `yes`; `None` if there is no such table.
fn verdicts(document: &str, column: &str) -> Option<(usize, usize)> {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect()
    };
    let mut lines = document.lines();
    let at = lines.by_ref().find_map(|line| {
        cells(line).iter().position(|cell| cell == column).filter(|_| line.starts_with('|'))
    })?;
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    let verdicts: Vec<bool> =
        rows.filter_map(|line| Some(cells(line).get(at)?.starts_with("yes"))).collect();
    Some((verdicts.len(), verdicts.iter().filter(|is_inside| **is_inside).count()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::validate::read_record;

    #[test]
    fn readme_has_the_table_of_the_measured_rows() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let read = |name: &str| {
            std::fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"))
        };
        let rows = read_record(root).unwrap_or_else(|error| panic!("{error}"));
        let made = readme_with_trust(&rows, &read).unwrap_or_else(|error| panic!("{error}"));
        assert!(read("README.md") == Ok(made), "make README.md anew: make docs");
    }

    #[test]
    fn verdicts_are_counted_in_the_first_table_with_the_column() {
        let document = "text\n| a | b |\n| --- | --- |\n| no | yes |\n\n| x | inside |\n\
                        | --- | --- |\n| 1 | yes |\n| 2 | no: used |\n| 3 | yes, late |\n\n| x | inside |\n";
        assert_eq!(verdicts(document, "inside"), Some((3, 2)));
        assert_eq!(verdicts(document, "c"), None);
    }
}
