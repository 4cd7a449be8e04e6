//! Files of results: `-o` writes what the name of its file says, and `--csv` a table.

use std::path::{Path, PathBuf};

use clap::Args;
use paceline_export::Format;
use serde::Serialize;

use crate::figure::FigureArgs;
use crate::made::Made;
use crate::output::{self, Error};
use crate::sheet::Sheet;

/// A kind of result that `-o` can write.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A folder for a page, figures and JSON.
    Folder,
    /// A figure: .pdf, .svg or .png.
    Figure,
    /// A table: .csv or .parquet.
    Table,
    /// The whole result: .json.
    Json,
}

impl Kind {
    /// All kinds.
    pub(crate) const ALL: [Kind; 4] = [Kind::Folder, Kind::Figure, Kind::Table, Kind::Json];

    fn words(self) -> &'static str {
        match self {
            Kind::Folder => "a folder",
            Kind::Figure => "a figure (.pdf, .svg, .png)",
            Kind::Table => "a table (.csv, .parquet)",
            Kind::Json => "the whole result (.json)",
        }
    }

    /// Returns the kind that a name says. A folder that exists stays one, whatever its name.
    pub(crate) fn of_name(path: &Path) -> Option<Kind> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
        if path.is_dir() || path.to_string_lossy().ends_with('/') {
            return Some(Kind::Folder);
        }
        match extension.to_ascii_lowercase().as_str() {
            "csv" | "parquet" => Some(Kind::Table),
            "json" => Some(Kind::Json),
            _ if Format::of_name(path).is_some() => Some(Kind::Figure),
            _ => output::is_folder_name(path).is_ok().then_some(Kind::Folder),
        }
    }

    /// Returns true if the path of `-o` is that of a folder.
    pub(crate) fn is_folder(path: &Path) -> bool {
        Kind::of_name(path) == Some(Kind::Folder)
    }

    /// Returns the kind that the path of `-o` asks for, one of `possible`. Checks, before anything
    /// runs, that it can be written, and makes the folder.
    pub(crate) fn prepare(path: &Path, possible: &[Kind]) -> Result<Kind, Error> {
        if is_standard_output(Some(path)) {
            return Err(Error::Usage(
                "-o -: the name of a file or folder says what -o writes; --csv - writes the table to standard output, \
                 --json the whole result"
                    .into(),
            ));
        }
        let Some(kind) = Kind::of_name(path).filter(|kind| possible.contains(kind)) else {
            let can: Vec<&str> = possible.iter().map(|kind| kind.words()).collect();
            return Err(Error::Usage(format!(
                "{}: -o writes {} here, by the name of the file",
                path.display(),
                can.join(" or ")
            )));
        };
        match kind {
            Kind::Folder => output::make_folder(path)?,
            Kind::Figure => FigureArgs::default().check(path)?,
            Kind::Table | Kind::Json => output::has_folder(path)?,
        }
        Ok(kind)
    }
}

/// Endings of names of files that programs open by them.
const FORMATS: [&str; 17] = [
    "csv", "tsv", "parquet", "xlsx", "json", "xml", "toml", "yaml", "html", "md", "pdf", "svg",
    "png", "jpg", "eps", "zip", "gz",
];

/// Checks, before anything runs, that the name of a file is not that of another format than `endings`, the first of
/// which are those to take; `what` is what the option writes. A name with an ending of no known format is the user's
/// choice.
pub(crate) fn check_name(
    path: &Path,
    option: &str,
    what: &str,
    endings: &[&str],
) -> Result<(), Error> {
    let extension = path.extension().map(|it| it.to_string_lossy().to_ascii_lowercase());
    let is_other = |it: &str| FORMATS.contains(&it) && !endings.contains(&it);
    match extension.as_deref().filter(|it| is_other(it)) {
        None => Ok(()),
        Some(_) => Err(Error::Usage(format!(
            "{}: {option} writes {what} here: give the file a name that ends with .{}",
            path.display(),
            endings.join(" or .")
        ))),
    }
}

/// As [`check_name`], for an option that writes to files only: also checks that the name is not `-`, which is standard
/// output elsewhere.
pub(crate) fn check_file_name(
    path: &Path,
    option: &str,
    what: &str,
    endings: &[&str],
) -> Result<(), Error> {
    if is_standard_output(Some(path)) {
        return Err(Error::Usage(format!(
            "{option} -: this names a file here, not standard output; write ./- for a file of this name"
        )));
    }
    check_name(path, option, what, endings)
}

/// Checks, before anything runs, that the file of an option for a table, such as `--csv`, can be written.
pub(crate) fn prepare_table(option: &str, path: Option<&Path>) -> Result<(), Error> {
    let Some(path) = path else { return Ok(()) };
    check_name(path, option, "a table", &["csv", "parquet"])?;
    output::has_folder(path)
}

/// Returns true if a table goes to standard output.
pub(crate) fn is_standard_output(path: Option<&Path>) -> bool {
    path == Some(Path::new("-"))
}

/// Checks, before anything runs, that at most one option writes to standard output: `--json`, if `json` is true, or one of
/// `options`, with the file that each names. Returns true if one of these replaces the tables there.
pub(crate) fn replaces_tables(
    json: bool,
    options: &[(&str, Option<&Path>)],
) -> Result<bool, Error> {
    let mut printed = options.iter().filter(|(_, path)| is_standard_output(*path));
    let Some((first, _)) = printed.next() else { return Ok(false) };
    let second = match printed.next() {
        Some((option, _)) => format!("{option} -"),
        None if json => "--json".into(),
        None => return Ok(true),
    };
    Err(Error::Usage(format!(
        "{first} - and {second}: standard output takes one of them: write {first} FILE"
    )))
}

/// Writes rows into a file that the user named: Parquet if its name ends with .parquet, else CSV;
/// `-` is standard output.
pub(crate) fn write_rows<R: Serialize>(path: &Path, rows: &[R], quiet: bool) -> Result<(), Error> {
    write_sheet(path, &Sheet::of_rows(rows)?, quiet)
}

/// Writes a table as [`write_rows`] does.
pub(crate) fn write_sheet(path: &Path, sheet: &Sheet, quiet: bool) -> Result<(), Error> {
    if is_standard_output(Some(path)) {
        return output::print(&sheet.to_csv());
    }
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet")) {
        sheet.write_parquet(path)?;
        if !quiet {
            output::note(&format!("wrote {}", path.display()));
        }
        return Ok(());
    }
    match quiet {
        true => output::write_file(path, sheet.to_csv().as_bytes()),
        false => output::write_named(path, sheet.to_csv().as_bytes()),
    }
}

/// Returns how the result in this JSON file was made; `None` if there is no file, or no command has saved it.
pub(crate) fn former(path: &Path) -> Option<Made> {
    let document = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    Made::of_document(&document)
}

/// Writes a whole result into a JSON file.
pub(crate) fn write_json<D: Serialize>(
    path: &Path,
    document: &D,
    seed: Option<u64>,
    quiet: bool,
) -> Result<(), Error> {
    let text = output::to_saved_json(document, seed)?;
    match quiet {
        true => output::write_file(path, text.as_bytes()),
        false => output::write_named(path, text.as_bytes()),
    }
}

/// Writes the table that `--csv` names, and the table or JSON that `-o` names. `rows` are the
/// table's, `document` is the JSON's, which keeps how it was made, with the seed if there is one.
pub(crate) fn write_both<R: Serialize, D: Serialize>(
    output: Option<(&Path, Kind)>,
    csv: Option<&Path>,
    rows: &[R],
    (document, seed): (&D, Option<u64>),
    quiet: bool,
) -> Result<(), Error> {
    let table = csv.map_or(Ok(()), |path| write_rows(path, rows, quiet));
    let written = match output {
        Some((path, Kind::Table)) => write_rows(path, rows, quiet),
        Some((path, Kind::Json)) => write_json(path, document, seed, quiet),
        Some((_, Kind::Folder | Kind::Figure)) | None => Ok(()),
    };
    table.and(written)
}

/// Returns the path of `-o` with the kind of result that it asks for, after [`Kind::prepare`].
pub(crate) fn prepare<'a>(
    output: Option<&'a Path>,
    possible: &[Kind],
) -> Result<Option<(&'a Path, Kind)>, Error> {
    output.map(|path| Ok((path, Kind::prepare(path, possible)?))).transpose()
}

/// Options of commands whose results are one table.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Outputs")]
pub(crate) struct TableFiles {
    /// Write the result; the name says what: .csv or .parquet for the table, .json for all of it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the table into this CSV or Parquet file, with the fields of JSON as columns; - for standard output, instead
    /// of tables
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

impl TableFiles {
    /// Checks, before anything runs, that the files can be written, and that `--csv` does not write to standard output
    /// beside `--json`.
    pub(crate) fn prepare(&self, json: bool) -> Result<(), Error> {
        self.wanted()?;
        prepare_table("--csv", self.csv.as_deref())?;
        replaces_tables(json, &[("--csv", self.csv.as_deref())]).map(|_| ())
    }

    /// Returns true if `--csv` writes to standard output, in place of tables.
    pub(crate) fn replaces_tables(&self) -> bool {
        is_standard_output(self.csv.as_deref())
    }

    fn wanted(&self) -> Result<Option<(&Path, Kind)>, Error> {
        prepare(self.output.as_deref(), &[Kind::Table, Kind::Json])
    }

    /// Writes the files.
    pub(crate) fn write<R: Serialize, D: Serialize>(
        &self,
        rows: &[R],
        document: (&D, Option<u64>),
        quiet: bool,
    ) -> Result<(), Error> {
        write_both(self.wanted()?, self.csv.as_deref(), rows, document, quiet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_written() {
        for (name, kind) in [
            ("fig.pdf", Some(Kind::Figure)),
            ("fig.SVG", Some(Kind::Figure)),
            ("t.csv", Some(Kind::Table)),
            ("a.b/t.Parquet", Some(Kind::Table)),
            ("r.json", Some(Kind::Json)),
            ("out", Some(Kind::Folder)),
            ("out.v2", Some(Kind::Folder)),
            ("t.csv/", Some(Kind::Folder)),
            ("page.html", None),
            ("page.md", None),
            ("-", None),
        ] {
            assert_eq!(Kind::of_name(Path::new(name)), kind, "{name}");
        }
    }

    #[test]
    fn standard_output_takes_one_document() {
        let (none, dash, file) = (None, Some(Path::new("-")), Some(Path::new("t.csv")));
        for (json, csv, series, expected) in [
            (false, none, none, Some(false)),
            (true, file, none, Some(false)),
            (false, dash, file, Some(true)),
            (false, none, dash, Some(true)),
            (false, dash, dash, None),
            (true, none, dash, None),
        ] {
            let found = replaces_tables(json, &[("--csv", csv), ("--series", series)]);
            assert_eq!(found.ok(), expected, "{json} {csv:?} {series:?}");
        }
        let error = replaces_tables(true, &[("--csv", dash)]).expect_err("two documents");
        assert_eq!(error.status(), 2);
        assert!(error.to_string().contains("--csv - and --json"), "{error}");
    }

    #[test]
    fn kinds_that_a_command_has_not_are_refused_with_those_that_it_has() {
        let error = Kind::prepare(Path::new("fig.pdf"), &[Kind::Table, Kind::Json]);
        let error = error.expect_err("no figure").to_string();
        assert!(error.contains("a table (.csv, .parquet) or the whole result (.json)"), "{error}");
        let error = Kind::prepare(Path::new("no/such/t.csv"), &Kind::ALL).expect_err("no folder");
        assert!(error.to_string().contains("there is no folder no/such"), "{error}");
        assert!(Kind::prepare(Path::new("t.html"), &Kind::ALL).is_err());
        let error = Kind::prepare(Path::new("-"), &Kind::ALL).expect_err("standard output");
        assert!(error.to_string().contains("--csv -"), "{error}");
        for (name, is_right) in [
            ("t.csv", true),
            ("t.PARQUET", true),
            ("t", true),
            ("t.dat", true),
            ("-", true),
            ("t.json", false),
            ("t.PDF", false),
        ] {
            let checked = prepare_table("--csv", Some(Path::new(name)));
            assert_eq!(checked.is_ok(), is_right, "{name}: {checked:?}");
        }
    }
}
