//! `paceline cleanup`: ends programs and restores settings that emulators left behind when all
//! their processes were killed.

use std::env::temp_dir;

use clap::Args;
use paceline_emulator::shell::cleanup::{CleanupReport, cleanup};

use crate::output::{self, Error};

#[derive(Args)]
#[command(after_help = "\
An emulator cleans up after itself, even if one of its processes is killed. If all of them were
killed at once, run this command as the same user and in the same network: it puts forwarding and
firewall rules back as they were, and kills all that was started inside and still runs, also what
has gone to the background there (tmux, ssh-agent): every process in such an emulator's network, and
those of this user whose environment names it. It does not touch emulators that still run, nor
other users' processes outside of such a network. It also removes the temporary folders of Linux
guests whose command was killed.

Examples:
  paceline cleanup
  sudo paceline cleanup --quiet")]
pub(crate) struct Cleanup {
    /// Do not report what was done
    #[arg(short, long)]
    quiet: bool,
}

impl Cleanup {
    pub(crate) fn run(self) -> Result<(), Error> {
        let CleanupReport { undone, problems, killed, running, elsewhere, others } =
            cleanup().map_err(|error| Error::Message(error.to_string()))?;
        let (folders, failed) = match paceline_guest::remove_leftovers() {
            Ok(folders) => (folders, Ok(())),
            Err(error) => {
                let place = temp_dir();
                let text = format!("{}: the folders of Linux guests: {error}", place.display());
                (Vec::new(), Err(Error::Message(text)))
            }
        };
        let failed = match problems.is_empty() {
            true => failed,
            false => Err(Error::Message(format!("not undone: {}", problems.join("; ")))),
        };
        if self.quiet {
            return failed;
        }
        folders.iter().for_each(|folder| output::note(&format!("removed: {}", folder.display())));
        undone.iter().for_each(|what| output::note(&format!("put back: {what}")));
        killed.iter().for_each(|who| output::note(&format!("killed: {who}")));
        if running > 0 {
            output::note(&format!("left alone: {running} emulations that still run"));
        }
        if elsewhere > 0 {
            output::note(&format!(
                "not undone: {elsewhere} emulations of another network namespace; run this there"
            ));
        }
        if others > 0 {
            output::note(&format!(
                "left alone: {others} processes of other users that name an emulator that has ended; run this as \
                 these users"
            ));
        }
        if failed.is_ok() && undone.is_empty() && killed.is_empty() && folders.is_empty() {
            output::note("nothing was left behind here");
        }
        failed
    }
}
