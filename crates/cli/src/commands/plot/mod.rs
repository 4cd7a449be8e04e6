//! `paceline plot`: figures of saved results.

mod saved;
mod series_file;

use std::path::{Path, PathBuf};

use clap::Args;
use paceline_report::{Layout, NamedFigures, compare_figures, scenario_figures};

use self::saved::Saved;
use crate::figure::FigureArgs;
use crate::output::{self, Error};

pub(crate) use series_file::FILE as SERIES_FILE;

/// Largest file of a result in bytes.
const LARGEST: u64 = 1 << 30;
/// Results in the folders of `compare -o` and `run -o`.
const IN_FOLDERS: [&str; 2] = ["compare.json", "run.json"];

/// Make a figure of a saved result: PDF, SVG or PNG
///
/// The result is the JSON that `paceline compare` or `paceline run` prints with --json, or the folder that they write with
/// -o. Nothing is simulated again.
#[derive(Args)]
#[command(after_help = "\
Figures of `compare`: sweep, with several RTTs or buffers; tradeoff; bars, with several traces;
series, with `compare -o DIR`.
Figures of `run`: link NAME, for each link; tradeoff; flows; state NAME, inner values of a flow.

Examples:
  paceline compare -o results
  paceline plot results -o tradeoff.pdf --width 3.5in
  paceline plot results --figure series -o series.svg --font 'Times New Roman'
  paceline plot results/compare.json --list")]
pub(crate) struct Plot {
    /// The result: a JSON file, or a folder with compare.json or run.json
    result: PathBuf,
    /// The figure's file: its name ends with .pdf, .svg or .png
    #[arg(short, long, value_name = "FILE", required_unless_present = "list")]
    output: Option<PathBuf>,
    /// The figure; without it, the first of --list
    #[arg(long, value_name = "NAME")]
    figure: Option<String>,
    /// List the figures of this result
    #[arg(long)]
    list: bool,
    /// Do not show the name of the written file
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    look: FigureArgs,
}

impl Plot {
    pub(crate) fn run(self) -> Result<(), Error> {
        if let Some(path) = &self.output {
            self.look.check(path)?;
        }
        let result = in_folder(&self.result)?;
        let name = result.display().to_string();
        let bytes = output::read(&result, LARGEST).map_err(|error| match error {
            Error::Usage(text) if !result.exists() => {
                let result = "`paceline compare -o results` writes a result, results/compare.json";
                Error::Usage(format!("{text}; {result}"))
            }
            error => error,
        })?;
        let saved = saved::read(&bytes, &result)
            .map_err(|problem| Error::Usage(format!("{name}: {problem}")))?;
        let figures = figures(&saved, &self.look.layout()?);
        let names: Vec<&str> = figures.iter().map(|(name, _)| name.as_str()).collect();
        if self.list {
            return output::print(&(names.join("\n") + "\n"));
        }
        let figure = match &self.figure {
            None => figures.first(),
            Some(wanted) => figures.iter().find(|(name, _)| name == wanted),
        };
        let Some((_, figure)) = figure else {
            let wanted = self.figure.as_deref().unwrap_or("figure");
            let series = match saved.has_series() {
                true => String::new(),
                false => format!("; {}", saved.how_to_get_series()),
            };
            return Err(Error::Usage(format!(
                "{name}: there is no figure `{wanted}`; there are {}{series}",
                names.join(", ")
            )));
        };
        match &self.output {
            Some(path) => self.look.write(figure, &saved::made(&bytes), path, self.quiet),
            None => Ok(()),
        }
    }
}

/// Returns the file of the result: `path` itself, or the result that the folder at `path` has.
fn in_folder(path: &Path) -> Result<PathBuf, Error> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let found: Vec<PathBuf> =
        IN_FOLDERS.iter().map(|name| path.join(name)).filter(|file| file.is_file()).collect();
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(Error::Usage(format!(
            "{}: no {} is in this folder; `paceline compare -o DIR` and `paceline run FILE -o DIR` write one",
            path.display(),
            IN_FOLDERS.join(" or ")
        ))),
        _ => Err(Error::Usage(format!(
            "{}: {} are in this folder; name one of these files",
            path.display(),
            IN_FOLDERS.join(" and ")
        ))),
    }
}

fn figures(saved: &Saved, layout: &Layout) -> NamedFigures {
    match saved {
        Saved::Compare { views } => compare_figures(views, layout),
        Saved::Run { links, flows } => scenario_figures(links, flows, layout),
    }
}
