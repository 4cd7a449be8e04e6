//! The pages of schemes: the text of the registry and of each scheme's module, and a run of it
//! alone on a common trace; and the table of all schemes in `docs/schemes.md`.

use std::fs;
use std::path::Path;

use paceline_cc::params::{NO_UNIT, ParamInfo};
use paceline_report::{RunView, time_series_svg};
use paceline_requests::compare::Comparison;
use paceline_schemes::Scheme;
use paceline_sim::scenario::{self, Capacity, check_scheme};

use crate::experiments::view;
use paceline_tasks::Record;

/// Trace of the run on each page.
const TRACE: &str = "lte-driving";

/// Heading of the parameters in each module's documentation; the table is inserted below it.
const PARAMETERS: &str = "## Parameters\n";

/// Folder of the schemes' modules, relative to the root of the source tree.
const MODULES: &str = "crates/schemes/src";

/// Returns the folder of a scheme's module below [`MODULES`].
fn module_folder(name: &str) -> String {
    name.replace('-', "_")
}

/// Returns the page of a scheme without the results of its run: summary, source, halves, and the
/// documentation of its module with the table of its parameters.
///
/// # Errors
/// The module cannot be read, has no documentation, or has no heading of parameters.
pub fn text(root: &Path, scheme: &Scheme) -> Result<String, String> {
    let Scheme { name, summary, source, .. } = scheme;
    let path = root.join(MODULES).join(module_folder(name)).join("mod.rs");
    let module =
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let about = documentation(&module);
    if about.is_empty() {
        return Err(format!("{}: no `//!` lines at its beginning", path.display()));
    }
    let Some((before, after)) = about.split_once(PARAMETERS) else {
        return Err(format!("{}: no `# Parameters` among its `//!` lines", path.display()));
    };
    Ok(format!(
        "# {name}\n\n{summary}\n\n- Source: {source}\n- Halves: {}\n\n{before}{PARAMETERS}{}\n{}\n",
        scheme.halves().join(", "),
        parameters(&(scheme.params)()),
        after.trim_start(),
    ))
}

/// Returns the table of all schemes, with links to their pages in `schemes`.
pub fn overview(schemes: &[Scheme]) -> String {
    format!(
        "# Schemes\n\nEvery scheme that the program knows, from its registry. Each page has a plot of the \
         scheme alone on the same trace.\n\n{}",
        table(schemes, |name| format!("schemes/{name}.md"))
    )
}

/// Returns the table of all schemes, with links to their modules: docs/schemes.md.
pub fn summary(schemes: &[Scheme]) -> String {
    format!(
        "# Schemes\n\nEvery scheme that the program knows, from its registry. `paceline schemes NAME` lists a \
         scheme's parameters.\n`make docs` writes a page for each into `out/docs/schemes`: the documentation of its \
         module, its parameters, and a plot of\nit alone on a common trace. The page of `make site` shows them under \
         *Documents*.\n\n{}",
        table(schemes, |name| format!("../{MODULES}/{}/mod.rs", module_folder(name)))
    )
}

fn table(schemes: &[Scheme], link: impl Fn(&str) -> String) -> String {
    let mut text =
        String::from("| name | summary | halves | source |\n| --- | --- | --- | --- |\n");
    for scheme in schemes {
        let (name, halves) = (scheme.name, scheme.halves().join(", "));
        let (summary, source) = (cell(scheme.summary), cell(scheme.source));
        text += &format!("| [`{name}`]({}) | {summary} | {halves} | {source} |\n", link(name));
    }
    text
}

/// Run of a scheme alone on the common trace.
#[derive(Clone, Debug)]
pub struct SingleSchemeRun {
    /// End of its page: the plot, its figures, and the command that repeats the run.
    pub text: String,
    /// The plot as SVG.
    pub svg: String,
}

/// Runs a scheme alone on the common trace, with `paceline compare`'s defaults.
///
/// # Errors
/// The scheme cannot be run.
pub fn alone(scheme: &Scheme) -> Result<SingleSchemeRun, String> {
    let name = scheme.name;
    let failed = |error: String| format!("{name} on {TRACE}: {error}");
    let spec = check_scheme(name).map_err(|error| failed(error.to_string()))?;
    let trace = paceline_trace::load(TRACE).map_err(|error| failed(error.to_string()))?;
    let comparison = Comparison {
        bin: Some(scenario::Record::BIN),
        ..Comparison::new(TRACE, Capacity::trace(trace), spec)
    };
    let outcome =
        paceline_sim::run(&comparison.scenario()).map_err(|error| failed(error.to_string()))?;
    let run = view(name, TRACE, "link", &Record::from(&outcome));
    Ok(SingleSchemeRun { text: figures(name, &comparison, &run), svg: time_series_svg(&[run]) })
}

fn figures(name: &str, comparison: &Comparison, run: &RunView) -> String {
    let delay = run.queue_delay_ms;
    format!(
        "\n## Alone on a link\n\n\
         One flow for {} over the synthetic trace `{TRACE}`; RTT without queue {}, buffer {}.\n\n\
         ![{name}: capacity, throughput and queueing delay over time]({name}.svg)\n\n\
         | capacity, Mbit/s | throughput, Mbit/s | utilisation, % | queueing delay, mean, ms | 95th percentile, ms |\n\
         | --- | --- | --- | --- | --- |\n\
         | {:.2} | {:.2} | {:.1} | {:.1} | {:.1} |\n\n\
         The same again, the plot as `out/timeseries-{TRACE}.svg`:\n\n\
         ```console\n$ paceline compare --trace {TRACE} --schemes {name} -o out\n```\n",
        comparison.duration,
        comparison.rtt,
        comparison.buffer,
        run.capacity_mbps,
        run.throughput_mbps,
        100.0 * run.utilization,
        delay.mean,
        delay.p95,
    )
}

/// Returns the documentation at the beginning of a module, with its headings one level lower and
/// its links to items as plain code.
fn documentation(module: &str) -> String {
    let mut fenced = false;
    let lines = module.lines().map_while(|line| line.strip_prefix("//!")).map(|line| {
        let line = line.strip_prefix(' ').unwrap_or(line);
        fenced ^= line.starts_with("```");
        match line.starts_with('#') && !fenced {
            true => format!("#{line}"),
            false if fenced => line.to_string(),
            false => without_links(line),
        }
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_string()
}

/// Turns links to items into plain code, because only rustdoc can resolve them.
fn without_links(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::new();
    while let Some((before, link)) = rest.split_once("[`") {
        plain += before;
        match link.split_once("`]") {
            Some((item, after)) if !after.starts_with('(') => {
                let item = item.trim_start_matches("crate::");
                plain += &format!("`{}`", item.trim_start_matches("super::"));
                rest = after;
            }
            // A link whose text differs from the item's path.
            Some((name, after))
                if after.starts_with("(crate::") || after.starts_with("(super::") =>
            {
                plain += &format!("`{name}`");
                rest = after.split_once(')').map_or("", |(_, rest)| rest);
            }
            _ => {
                plain += "[`";
                rest = link;
            }
        }
    }
    plain + rest
}

fn parameters(infos: &[ParamInfo]) -> String {
    if infos.is_empty() {
        return "\nIt has none.\n".into();
    }
    let mut text = String::from(
        "\n| name | unit | default | range | source | meaning |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for info in infos {
        let ParamInfo { name, unit, default, source, doc, .. } = info;
        let range = &info.allowed();
        let unit = if *unit == NO_UNIT { "" } else { *unit };
        let (default, range, source, doc) = (cell(default), cell(range), cell(source), cell(doc));
        text += &format!("| `{name}` | {unit} | `{default}` | {range} | {source} | {doc} |\n");
    }
    text
}

/// Returns text in a form that a table's cell may contain.
fn cell(text: &str) -> String {
    without_links(text).split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_becomes_markdown() {
        let module = "//! Title: see\n//! [`Signals::FATES`].\n//!\n//! # What it does\n//! As\n\
                      //! [`crate::xcp`], `abc[t=1]`, [`site`](https://example.org), \
                      [`b`](crate::b::B)'s, [`open\n\
                      //! ```\n//! # [`not a heading`]\n//! ```\n\nmod law;\n//! not the module's\n";
        assert_eq!(
            documentation(module),
            "Title: see\n`Signals::FATES`.\n\n## What it does\nAs\n\
             `xcp`, `abc[t=1]`, [`site`](https://example.org), `b`'s, [`open\n\
             ```\n# [`not a heading`]\n```"
        );
    }

    #[test]
    fn cells_stay_in_their_column() {
        assert_eq!(cell("true|false"), "true\\|false");
        assert_eq!(cell(" of\n two  lines"), "of two lines");
    }
}
