//! `paceline cleanup`: what emulators have left behind whose processes were all killed.

use clap::Args;
use paceline_live::shell::cleanup::{Cleaned, cleanup};

use crate::output::{self, Error};

#[derive(Args)]
#[command(after_help = "\
Run it as the user that ran the emulators, in the same network. It kills the programs that they
have left behind, and puts forwarding and firewall rules back. Emulators that still run are left
alone.")]
pub(crate) struct Cleanup {
    /// Do not say what was done
    #[arg(short, long)]
    quiet: bool,
}

impl Cleanup {
    pub(crate) fn run(self) -> Result<(), Error> {
        let Cleaned { undone, killed, running, elsewhere } =
            cleanup().map_err(|error| Error::Message(error.to_string()))?;
        if self.quiet {
            return Ok(());
        }
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
        if undone.is_empty() && killed.is_empty() {
            output::note("nothing was left behind here");
        }
        Ok(())
    }
}
