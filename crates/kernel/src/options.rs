//! Options with which a program is loaded.

use paceline_cc::{ParamValue as _, Span};
use paceline_schemes::remy::RemyTables;

use crate::{C2tcpLimits, RemyTable};
use crate::{KernelError, Program};

/// Default resolution of `remy`: an RTT that exceeds the minimum RTT by at most 1 ms counts as the
/// minimum. Tables distinguish an empty queue from a queue of some nanoseconds, which no real clock
/// can.
pub const RESOLUTION: Span = Span::from_millis(1);

/// Options with which a program is loaded; each program reads only its own.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Table that `remy` follows, with its name; `None` for the built-in `starter`.
    pub table: Option<(String, RemyTable)>,
    /// Whether `c2tcp` uses NewReno's window instead of Cubic's.
    pub over_reno: bool,
    /// The target and the interval of `c2tcp`.
    pub c2tcp_limits: C2tcpLimits,
}

impl Options {
    /// Returns the default options after `change` has edited them.
    #[must_use]
    pub fn with(change: impl FnOnce(&mut Options)) -> Options {
        let mut options = Options::default();
        change(&mut options);
        options
    }

    /// Returns the options of this program with its defaults filled in.
    pub(crate) fn of(&self, program: &Program) -> Result<Options, KernelError> {
        let mut options = self.clone();
        if program.name == "remy" && options.table.is_none() {
            options.table = Some(starter()?);
        }
        Ok(options)
    }

    /// Returns the options of this program as words, which [`list`](crate::list) shows for a loaded
    /// program.
    ///
    /// # Errors
    /// None, unless the built-in table is broken.
    pub fn words(&self, program: &Program) -> Result<Vec<String>, KernelError> {
        let options = self.of(program)?;
        Ok(match (program.name, &options.table) {
            ("remy", Some((name, table))) => {
                // File names of the BPF file system cannot have dots.
                let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
                let name: String = name.chars().map(plain).take(80).collect();
                vec![format!("table={name}"), format!("digest={:08x}", digest(table))]
            }
            ("c2tcp", _) => c2tcp_words(&options),
            _ => Vec::new(),
        })
    }
}

/// What differs from the default of `c2tcp`.
fn c2tcp_words(options: &Options) -> Vec<String> {
    let (limits, default) = (options.c2tcp_limits, C2tcpLimits::default());
    // The BPF file system takes no dots.
    let plain = |text: String| text.replace('.', "_");
    let mut words = Vec::new();
    if options.over_reno {
        words.push("over=newreno".into());
    }
    if limits.target != default.target {
        words.push(format!("target={}", plain(limits.target.show())));
    }
    if limits.interval != default.interval {
        words.push(format!("interval={}", plain(limits.interval.show())));
    }
    if limits.floor != default.floor {
        words.push(format!("floor={}", limits.floor));
    }
    words
}

fn starter() -> Result<(String, RemyTable), KernelError> {
    let broken = |error: &dyn std::fmt::Display| KernelError::Message(format!("starter: {error}"));
    let tables = RemyTables::builtin();
    let Some(named) = tables.find("starter") else { return Err(broken(&"there is no such table")) };
    let table = named.table().map_err(|error| broken(&error))?;
    let table = RemyTable::new(&table, RESOLUTION).map_err(|error| broken(&error))?;
    Ok((named.name.clone(), table))
}

/// Hash of a table (FNV-1a), which distinguishes tables of equal name.
fn digest(table: &RemyTable) -> u32 {
    let actions = table.action_words().into_iter().flatten();
    let words = table.shape().into_iter().chain(table.end_words()).chain(table.cell_words());
    words
        .chain(actions)
        .flat_map(u64::to_le_bytes)
        .fold(0x811c_9dc5, |digest: u32, byte| (digest ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
