//! CSV files (RFC 4180).

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let cells = ["a", "b, \"c\"\n", ""];
        assert_eq!(parse(&line(&cells)).expect("a row"), [cells]);
        assert_eq!(parse("").expect("nothing"), Vec::<Vec<String>>::new());
        assert_eq!(parse("a,b\r\n1,\"2\r\n\"").expect("rows")[1], ["1", "2\r\n"]);
        assert!(parse("a\n\"b").expect_err("an open quote").starts_with("row 2"));
    }
}
