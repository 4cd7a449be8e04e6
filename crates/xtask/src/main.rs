//! `cargo run -p paceline-xtask -- COMMAND`: the commands of the Makefile's recipes.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use paceline_xtask::{api, licenses};

const USAGE: &str = "\
usage: paceline-xtask COMMAND
  api FOLDER FILE      writes the public items to FILE from the JSON of rustdoc in FOLDER (`make api`)
  documents FOLDER [--summaries]
                       writes the documents that are made from sources and measured figures to FOLDER, with
                       --summaries also their summaries to docs (`make docs`)
  licenses CRATE FILE [--target TRIPLE] [--features FEATURES]
                       writes the licences of the packages that are linked into a crate to FILE
";

fn run(args: &[&str]) -> Result<String, String> {
    match args {
        ["api", folder, file] => {
            api::write(Path::new(folder), Path::new(file))?;
            Ok(format!("wrote {file}\n"))
        }
        ["licenses", name, file, options @ ..] => {
            let (mut target, mut features) = (None, "");
            for pair in options.chunks(2) {
                match pair {
                    ["--target", triple] => target = Some((*triple).to_string()),
                    ["--features", several] => features = several,
                    _ => return Err(USAGE.to_string()),
                }
            }
            let target = target.map_or_else(licenses::host, Ok)?;
            let features: Vec<&str> = features.split(',').filter(|one| !one.is_empty()).collect();
            let text = licenses::written(&licenses::linked(name, &target, &features)?)?;
            std::fs::write(file, text).map_err(|error| format!("{file}: {error}"))?;
            Ok(format!("wrote {file}\n"))
        }
        #[cfg(feature = "documents")]
        ["documents", folder, summaries @ ..]
            if !folder.starts_with('-') && matches!(summaries, [] | ["--summaries"]) =>
        {
            let root = paceline_xtask::tree::root();
            paceline_reproduce::pages::write_pages(&root, Path::new(folder))?;
            if !summaries.is_empty() {
                paceline_reproduce::pages::write_summaries(&root)?;
            }
            Ok(format!("wrote {folder}\n"))
        }
        [.., "--help" | "-h"] => Ok(USAGE.to_string()),
        _ => Err(USAGE.to_string()),
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    // A closed pipe is no error, because the files are written anyway.
    match run(&args) {
        Ok(text) => {
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {}", error.trim_end());
            ExitCode::FAILURE
        }
    }
}
