//! Counts packets at links, and writes the figures at the end.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use paceline_cc::Time;

use super::account::{EmulationReport, LinkTotals, MeasuredPackets};
use super::page::{self, PageFacts};
use super::watched::WatchedElement;
use crate::{Direction, LiveEvent, Observer, Summary};

/// The place of the [`EmulationReport`] after the run.
pub type SharedReport = Arc<Mutex<Option<EmulationReport>>>;

/// An [`Observer`] that counts packets at links.
#[derive(Debug, Default)]
pub struct ReportObserver {
    links: Vec<(WatchedElement, LinkTotals)>,
    /// Packets after the warm-up, of the ways up and down.
    measured: [MeasuredPackets; 2],
    json: Option<(PathBuf, File)>,
    report: Option<(PathBuf, PageFacts)>,
    warmup: Time,
    found: SharedReport,
}

impl ReportObserver {
    /// Creates an observer of these links.
    pub fn new(links: Vec<WatchedElement>) -> ReportObserver {
        let links = links.into_iter().map(|link| (link, LinkTotals::default())).collect();
        ReportObserver { links, ..ReportObserver::default() }
    }

    /// Leaves out what happens at links before `warmup`.
    #[must_use]
    pub fn with_warmup(self, warmup: Time) -> ReportObserver {
        ReportObserver { warmup, ..self }
    }

    /// Writes the report as JSON to the file `path`, too. Until the end, the file has `"complete": false` alone.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn with_json(mut self, path: &Path) -> io::Result<ReportObserver> {
        let mut file = File::create(path)?;
        // Pipes and devices get the report alone.
        if file.metadata()?.is_file() {
            writeln!(
                file,
                "{{ \"schema_version\": {}, \"complete\": false }}",
                paceline_report::SCHEMA_VERSION
            )?;
        }
        self.json = Some((path.into(), file));
        Ok(self)
    }

    /// Writes a page, plots and the JSON into a folder, too, which is made if need be.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn with_report(mut self, folder: &Path, facts: PageFacts) -> io::Result<ReportObserver> {
        std::fs::create_dir_all(folder)?;
        self.report = Some((folder.into(), facts));
        Ok(self)
    }

    /// Returns the place of the report.
    pub fn found(&self) -> SharedReport {
        Arc::clone(&self.found)
    }
}

impl Observer for ReportObserver {
    fn name(&self) -> String {
        "summary".into()
    }

    #[inline]
    fn on_event(&mut self, event: &LiveEvent<'_>) -> io::Result<()> {
        if event.event.time >= self.warmup {
            let [up, down] = &mut self.measured;
            if event.direction == Direction::Up { up } else { down }.event(event);
        }
        for (watched, tally) in &mut self.links {
            if watched.is_of(event) {
                tally.event(&event.event, watched.bytes(&event.event), self.warmup);
                break;
            }
        }
        Ok(())
    }

    fn finish(&mut self, summary: &Summary) -> io::Result<()> {
        let account = EmulationReport::new(summary, &self.links, self.measured, self.warmup);
        let json = self.json.take().map(|(path, mut file)| {
            let mut text = serde_json::to_string_pretty(&account).map_err(io::Error::other)?;
            text.push('\n');
            let rewind = |file: &mut File| match file.metadata()?.is_file() {
                true => file.rewind().and_then(|()| file.set_len(0)),
                false => Ok(()),
            };
            rewind(&mut file).and_then(|()| file.write_all(text.as_bytes())).map_err(named(&path))
        });
        let report = self
            .report
            .take()
            .map(|(folder, facts)| page::write(&folder, &facts, &account).map_err(named(&folder)));
        if let Ok(mut place) = self.found.lock() {
            *place = Some(account);
        }
        json.unwrap_or(Ok(())).and(report.unwrap_or(Ok(())))
    }
}

/// Adds the file's name to an error: there may be two files.
fn named(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
