//! Tables of results for files: the fields of JSON as columns, as CSV (RFC 4180) and Parquet.

use std::fmt;
use std::path::Path;

use paceline_sweep::{Column, Table, Values, write_parquet};
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::csv;
use crate::names::command_line;
use crate::output::Error;

/// Length of lists of numbers that become columns of their own: ranges. Other lists are one cell.
const RANGE_VALUES: usize = 2;

/// A value of a cell.
#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Whole(i64),
    Number(f64),
    Text(String),
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Whole(number) => write!(f, "{number}"),
            Cell::Number(number) => write!(f, "{number}"),
            Cell::Text(text) => f.write_str(text),
        }
    }
}

/// A table for a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sheet(Table);

/// A value of JSON whose fields keep their order.
enum Node {
    Null,
    Scalar(Cell),
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
                Ok(Node::Scalar(Cell::Text(value.to_string())))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
                // Seeds may be above the largest whole number of a column; a text keeps all digits.
                let cell = i64::try_from(value);
                Ok(Node::Scalar(cell.map_or_else(|_| Cell::Text(value.to_string()), Cell::Whole)))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
                Ok(Node::Scalar(Cell::Whole(value)))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
                Ok(Node::Scalar(Cell::Number(value)))
            }

            fn visit_str<E>(self, value: &str) -> Result<Node, E> {
                Ok(Node::Scalar(Cell::Text(value.into())))
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

/// Cells of a row with the names of their columns.
type Cells = Vec<(String, Option<Cell>)>;

/// Adds the cells of a node: columns, named by the path of fields with dots, and their values.
/// Leaves out lists of objects and of lists, such as time series.
fn flatten(name: &str, node: Node, cells: &mut Cells) {
    let below = |part: &str| {
        if name.is_empty() { part.to_string() } else { format!("{name}.{part}") }
    };
    match node {
        Node::Null => cells.push((name.into(), None)),
        Node::Scalar(cell) => cells.push((name.into(), Some(cell))),
        Node::Object(fields) => {
            fields.into_iter().filter(|(part, _)| part != "series").for_each(|(part, node)| {
                flatten(&below(&part), node, cells);
            });
        }
        Node::List(list) => {
            let scalars: Option<Vec<Option<Cell>>> = list
                .into_iter()
                .map(|node| match node {
                    Node::Scalar(cell) => Some(Some(cell)),
                    Node::Null => Some(None),
                    Node::List(_) | Node::Object(_) => None,
                })
                .collect();
            let Some(scalars) = scalars else { return };
            let is_text = |cell: &Option<Cell>| matches!(cell, Some(Cell::Text(_)));
            if scalars.len() == RANGE_VALUES && !scalars.iter().any(is_text) {
                let cell = |(at, cell): (usize, Option<Cell>)| (below(&at.to_string()), cell);
                cells.extend(scalars.into_iter().enumerate().map(cell));
            } else {
                let texts: Vec<String> = scalars
                    .into_iter()
                    .map(|cell| cell.map_or_else(String::new, |cell| cell.to_string()))
                    .collect();
                cells.push((name.into(), Some(Cell::Text(texts.join(" ")))));
            }
        }
    }
}

impl Sheet {
    /// Returns rows as a table: a column for each field that some row has, in the order of JSON.
    pub(crate) fn of_rows<R: Serialize>(rows: &[R]) -> Result<Sheet, Error> {
        let failed =
            |error: serde_json::Error| Error::Message(format!("the table is no JSON: {error}"));
        let mut columns: Vec<String> = Vec::new();
        let mut table: Vec<Cells> = Vec::new();
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
        // Where some rows have an object and others `null`, the object's fields are the columns.
        let is_object = |name: &String| {
            let is_field = |field: &str| {
                field.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.'))
            };
            columns.iter().any(|field| is_field(field))
        };
        let is_empty = |name: &String| {
            !table.iter().flatten().any(|(known, cell)| known == name && cell.is_some())
        };
        let objects: Vec<bool> =
            columns.iter().map(|name| is_object(name) && is_empty(name)).collect();
        let mut objects = objects.into_iter();
        columns.retain(|_| !objects.next().unwrap_or_default());
        let column = |name: String| {
            let cell = |cells: &Cells| {
                let found = cells.iter().find(|(known, _)| *known == name);
                found.and_then(|(_, cell)| cell.clone())
            };
            let values = values(table.iter().map(cell).collect());
            Column { name, values }
        };
        Ok(Sheet(Table { columns: columns.into_iter().map(column).collect() }))
    }

    /// Returns a table that has its columns already.
    pub(crate) fn of_table(table: Table) -> Sheet {
        Sheet(table)
    }

    /// Returns the table as CSV.
    pub(crate) fn to_csv(&self) -> String {
        let columns = &self.0.columns;
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let mut text = csv::line(&names);
        let rows = columns.first().map_or(0, |column| column.values.len());
        for row in 0..rows {
            let cells = columns.iter().map(|column| text_of(&column.values, row));
            text += &csv::line(&cells.collect::<Vec<_>>());
        }
        text
    }

    /// Writes the table into a Parquet file, with the command in the file's metadata.
    pub(crate) fn write_parquet(&self, path: &Path) -> Result<(), Error> {
        let command = command_line();
        let facts = [("command".to_string(), command)];
        write_parquet(path, &self.0, &facts).map_err(|error| {
            Error::Message(format!("{}: cannot be written: {error}", path.display()))
        })
    }
}

/// Returns the text of a value; empty if there is none.
fn text_of(values: &Values, row: usize) -> String {
    fn text<T: ToString>(value: Option<&Option<T>>) -> String {
        value.and_then(Option::as_ref).map_or_else(String::new, T::to_string)
    }
    match values {
        Values::Whole(values) => text(values.get(row)),
        Values::Number(values) => text(values.get(row)),
        Values::Text(values) => text(values.get(row)),
    }
}

/// Returns cells as the values of a column: whole numbers, numbers, or texts if neither holds them all.
fn values(cells: Vec<Option<Cell>>) -> Values {
    let all = |is: fn(&Cell) -> bool| cells.iter().flatten().all(is);
    if all(|cell| matches!(cell, Cell::Whole(_))) && cells.iter().any(Option::is_some) {
        let whole = |cell: Option<Cell>| match cell? {
            Cell::Whole(number) => Some(number),
            Cell::Number(_) | Cell::Text(_) => None,
        };
        return Values::Whole(cells.into_iter().map(whole).collect());
    }
    if all(|cell| !matches!(cell, Cell::Text(_))) {
        let number = |cell: Option<Cell>| match cell? {
            Cell::Whole(number) => Some(number as f64),
            Cell::Number(number) => Some(number),
            Cell::Text(_) => None,
        };
        return Values::Number(cells.into_iter().map(number).collect());
    }
    Values::Text(cells.into_iter().map(|cell| cell.map(|cell| cell.to_string())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_sweep::read_parquet;

    #[test]
    fn columns_are_fields_in_their_order_and_rows_may_lack_some() {
        let rows = [
            serde_json::json!({"a": "x", "delay": {"p95": 1.5, "mean": null}, "runs": [{"b": 1}]}),
            serde_json::json!({"a": "y, \"z\"\n", "delay": {"p50": 2}, "range": [1, 2.25]}),
        ];
        let text = Sheet::of_rows(&rows).expect("a table").to_csv();
        let read = csv::parse(&text).expect("a table");
        // `json!` sorts the fields of each object. A new column stands behind its neighbour.
        assert_eq!(read[0], ["a", "delay.p50", "range.0", "range.1", "delay.mean", "delay.p95"]);
        assert_eq!(read[1], ["x", "", "", "", "", "1.5"]);
        assert_eq!(read[2], ["y, \"z\"\n", "2", "1", "2.25", "", ""]);
        assert_eq!(Sheet::of_rows::<u8>(&[]).expect("a table").to_csv(), "\n");
    }

    #[test]
    fn an_object_that_some_rows_lack_has_no_column_of_its_own() {
        let rows = [
            serde_json::json!({"a": 1, "delay": null, "delays": null}),
            serde_json::json!({"a": 2, "delay": {"p50": null, "p95": 3}, "delays": null}),
        ];
        let text = Sheet::of_rows(&rows).expect("a table").to_csv();
        assert_eq!(text, "a,delay.p50,delay.p95,delays\n1,,,\n2,,3,\n");
    }

    #[test]
    fn lists_of_texts_are_one_cell_whatever_their_length() {
        let rows = [
            serde_json::json!({"halves": ["sender"]}),
            serde_json::json!({"halves": ["sender", "router"]}),
        ];
        let text = Sheet::of_rows(&rows).expect("a table").to_csv();
        assert_eq!(text, "halves\nsender\nsender router\n");
    }

    #[test]
    fn columns_of_parquet_files_have_types() {
        let rows = [
            serde_json::json!({"name": "x", "count": 1, "delay": 2, "seed": u64::MAX, "none": null}),
            serde_json::json!({"name": "y", "count": null, "delay": 2.5, "seed": 7, "none": null}),
        ];
        let name = format!("paceline-sheet-{}.parquet", std::process::id());
        let path = std::env::temp_dir().join(name);
        Sheet::of_rows(&rows).expect("a table").write_parquet(&path).expect("written");
        let (table, facts) = read_parquet(&path).expect("read");
        std::fs::remove_file(&path).expect("removed");
        let column = |name: &str| {
            let found = table.columns.iter().find(|column| column.name == name);
            found.expect(name).values.clone()
        };
        assert_eq!(column("count"), Values::Whole(vec![Some(1), None]));
        assert_eq!(column("delay"), Values::Number(vec![Some(2.0), Some(2.5)]));
        assert_eq!(column("none"), Values::Number(vec![None, None]));
        let seeds = [u64::MAX, 7].map(|seed| Some(seed.to_string()));
        assert_eq!(column("seed"), Values::Text(seeds.to_vec()));
        assert_eq!(facts[0].0, "command");
    }
}
