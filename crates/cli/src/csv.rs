//! Tables as CSV files (RFC 4180): the fields of JSON as columns.

use std::fmt;
use std::path::Path;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::output::{self, Error};

/// Longest list of numbers that becomes columns of its own; longer ones are one cell.
const LONGEST_IN_COLUMNS: usize = 2;

/// A value of JSON whose fields keep their order.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Null,
    Scalar(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Node;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_unit<E>(self) -> Result<Node, E> {
                Ok(Node::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
                Ok(Node::Scalar(value.to_string()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
                Ok(Node::Scalar(value.to_string()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
                Ok(Node::Scalar(value.to_string()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
                Ok(Node::Scalar(value.to_string()))
            }

            fn visit_str<E>(self, value: &str) -> Result<Node, E> {
                Ok(Node::Scalar(value.into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
                let mut nodes = Vec::new();
                while let Some(node) = list.next_element()? {
                    nodes.push(node);
                }
                Ok(Node::List(nodes))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Node::Object(fields))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// Adds the cells of a node: columns, named by the path of fields with dots, and their values.
/// Leaves out lists of objects and of lists, such as time series.
fn flatten(name: &str, node: Node, cells: &mut Vec<(String, String)>) {
    let below = |part: &str| {
        if name.is_empty() { part.to_string() } else { format!("{name}.{part}") }
    };
    match node {
        Node::Null => cells.push((name.into(), String::new())),
        Node::Scalar(text) => cells.push((name.into(), text)),
        Node::Object(fields) => {
            fields.into_iter().filter(|(part, _)| part != "series").for_each(|(part, node)| {
                flatten(&below(&part), node, cells);
            });
        }
        Node::List(list) => {
            let scalars: Option<Vec<String>> = list
                .into_iter()
                .map(|node| match node {
                    Node::Scalar(text) => Some(text),
                    Node::Null => Some(String::new()),
                    Node::List(_) | Node::Object(_) => None,
                })
                .collect();
            let Some(scalars) = scalars else { return };
            if scalars.len() == LONGEST_IN_COLUMNS {
                let cell = |(at, text): (usize, String)| (below(&at.to_string()), text);
                cells.extend(scalars.into_iter().enumerate().map(cell));
            } else {
                cells.push((name.into(), scalars.join(" ")));
            }
        }
    }
}

/// Returns rows as a CSV table: a column for each field that some row has, in the order of JSON.
pub(crate) fn of_rows<R: Serialize>(rows: &[R]) -> Result<String, Error> {
    let failed =
        |error: serde_json::Error| Error::Message(format!("the table is no JSON: {error}"));
    let mut columns: Vec<String> = Vec::new();
    let mut table: Vec<Vec<(String, String)>> = Vec::new();
    for row in rows {
        let json = serde_json::to_string(row).map_err(failed)?;
        let mut cells = Vec::new();
        flatten("", serde_json::from_str(&json).map_err(failed)?, &mut cells);
        let mut last = 0;
        for (name, _) in &cells {
            last = match columns.iter().position(|column| column == name) {
                Some(at) => at + 1,
                None => {
                    // Behind the column that stands before it in this row.
                    columns.insert(last, name.clone());
                    last + 1
                }
            };
        }
        table.push(cells);
    }
    let row = |cells: Vec<(String, String)>| -> Vec<String> {
        let of = |column: &String| cells.iter().find(|(name, _)| name == column);
        columns
            .iter()
            .map(|column| of(column).map_or_else(String::new, |it| it.1.clone()))
            .collect()
    };
    let rows: Vec<Vec<String>> = table.into_iter().map(row).collect();
    let mut text = line(&columns);
    rows.iter().for_each(|row| text += &line(row));
    Ok(text)
}

/// Returns cells as a line; quotes those with commas, quotes or line breaks.
pub(crate) fn line<T: AsRef<str>>(cells: &[T]) -> String {
    let quoted: Vec<String> = cells
        .iter()
        .map(|cell| {
            let cell = cell.as_ref();
            match cell.contains([',', '"', '\n', '\r']) {
                true => format!("\"{}\"", cell.replace('"', "\"\"")),
                false => cell.to_string(),
            }
        })
        .collect();
    quoted.join(",") + "\n"
}

/// Splits a table into rows of cells.
///
/// # Errors
/// A quote is not closed.
pub(crate) fn parse(text: &str) -> Result<Vec<Vec<String>>, String> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let (mut is_quoted, mut letters) = (false, text.chars().peekable());
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !is_quoted && letters.peek() == Some(&'\n') => {}
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            letter => cell.push(letter),
        }
    }
    if is_quoted {
        return Err(format!("row {}: a quote is not closed", rows.len() + 1));
    }
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        rows.push(row);
    }
    Ok(rows)
}

/// Returns true if this CSV file is standard output.
pub(crate) fn is_standard_output(path: Option<&Path>) -> bool {
    path == Some(Path::new("-"))
}

/// Writes rows into a CSV file that the user named; `-` is standard output.
pub(crate) fn write_rows<R: Serialize>(path: &Path, rows: &[R], quiet: bool) -> Result<(), Error> {
    let text = of_rows(rows)?;
    match is_standard_output(Some(path)) {
        true => output::print(&text),
        false if quiet => output::write_file(path, text.as_bytes()),
        false => output::write_named(path, text.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_fields_in_their_order_and_rows_may_lack_some() {
        let rows = [
            serde_json::json!({"a": "x", "delay": {"p95": 1.5, "mean": null}, "runs": [{"b": 1}]}),
            serde_json::json!({"a": "y, \"z\"\n", "delay": {"p50": 2}, "range": [1, 2.25]}),
        ];
        let text = of_rows(&rows).expect("a table");
        let read = parse(&text).expect("a table");
        // `json!` sorts the fields of each object. A new column stands behind its neighbour.
        assert_eq!(read[0], ["a", "delay.p50", "range.0", "range.1", "delay.mean", "delay.p95"]);
        assert_eq!(read[1], ["x", "", "", "", "", "1.5"]);
        assert_eq!(read[2], ["y, \"z\"\n", "2", "1", "2.25", "", ""]);
    }

    #[test]
    fn tables_without_rows_and_open_quotes() {
        assert_eq!(of_rows::<u8>(&[]).expect("a table"), "\n");
        assert_eq!(parse("").expect("nothing"), Vec::<Vec<String>>::new());
        assert_eq!(parse("a,b\r\n1,\"2\r\n\"").expect("rows")[1], ["1", "2\r\n"]);
        assert!(parse("a\n\"b").expect_err("an open quote").starts_with("row 2"));
    }
}
