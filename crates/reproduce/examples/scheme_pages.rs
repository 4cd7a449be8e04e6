//! Writes the documents that are made from sources and measured figures into a folder; with `--summaries`
//! also their summaries into `docs`: `make docs`.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use paceline_reproduce::pages::{write_pages, write_summaries};

const USAGE: &str = "usage: scheme_pages <folder to write into> [--summaries]";

fn pages() -> Result<String, String> {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (folder, summaries) = match args.as_slice() {
        [folder] => (Path::new(folder), false),
        [folder, option] if option == "--summaries" => (Path::new(folder), true),
        _ => return Err(USAGE.into()),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    write_pages(&root, folder)?;
    if summaries {
        write_summaries(&root)?;
    }
    Ok(format!("wrote {}", folder.display()))
}

fn main() -> ExitCode {
    let (message, code) = match pages() {
        Ok(message) => (message, ExitCode::SUCCESS),
        Err(error) => (format!("error: {error}"), ExitCode::FAILURE),
    };
    // A closed standard error stops nothing: the files are written all the same.
    let _ = writeln!(std::io::stderr(), "{message}");
    code
}
