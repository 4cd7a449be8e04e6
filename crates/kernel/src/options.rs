//! Options with which a program is loaded.

use std::fmt::Display;
use std::path::Path;

use paceline_cc::{ParamValue as _, Spec};
use paceline_schemes::c2tcp::{Base, C2tcpParams};
use paceline_schemes::remy::{RemyParams, RemyTables};

use crate::{C2tcpLimits, RemyTable};
use crate::{KernelError, Program};

/// Options with which a program is loaded; each program reads only its own.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Table that `remy` follows, with its name; `None` for the built-in `general`.
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

    /// Returns the names of the parameters that [`Options::of_parameters`] reads for a program.
    pub fn parameters(program: &Program) -> &'static [&'static str] {
        match program.name {
            "remy" => &["table", "file", "resolution"],
            "c2tcp" => &["base", "target", "interval", "floor"],
            _ => &[],
        }
    }

    /// Returns the options that a program has as these parameters of its scheme in the simulator, in addition to those
    /// of [`Program::scheme`]. `tables` has the tables of `remy`.
    ///
    /// # Errors
    /// The program does not have the parameter, or the value is wrong.
    pub fn of_parameters(
        program: &Program,
        parameters: &[(String, String)],
        tables: &RemyTables,
    ) -> Result<Options, KernelError> {
        let wrong = |error: &dyn Display| KernelError::Message(error.to_string());
        let known = Options::parameters(program);
        let unknown = parameters.iter().find(|(name, _)| !known.contains(&name.as_str()));
        if let Some((name, _)) = unknown {
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            let text = format!("`{}` has no parameter `{name}`; it has {known}", program.name);
            return Err(KernelError::Message(text));
        }
        let mut scheme = Spec::parse(program.scheme).map_err(|error| wrong(&error))?;
        scheme.args.extend_from_slice(parameters);
        let mut options = Options::default();
        if program.name == "c2tcp" {
            let params: C2tcpParams = scheme.params().map_err(|error| wrong(&error))?;
            let C2tcpParams { target, interval, floor, base, .. } = params;
            options.over_reno = base == Base::NewReno;
            options.c2tcp_limits = C2tcpLimits { target, interval, floor };
        }
        if program.name == "remy" {
            let params: RemyParams = scheme.params().map_err(|error| wrong(&error))?;
            let rules = tables.table(&params, &scheme).map_err(|error| wrong(&error))?;
            let name = if params.file.is_empty() { &params.table } else { &params.file };
            let table = RemyTable::new(&rules, params.resolution)
                .map_err(|error| KernelError::Message(format!("{name}: {error}")))?;
            let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
            options.table = Some((stem.into_owned(), table));
        }
        Ok(options)
    }

    /// Returns the options of this program with its defaults filled in.
    pub(crate) fn of(&self, program: &Program) -> Result<Options, KernelError> {
        let mut options = self.clone();
        if program.name == "remy" && options.table.is_none() {
            options.table = Options::of_parameters(program, &[], &RemyTables::builtin())?.table;
        }
        Ok(options)
    }

    /// Returns the options of this program as words in alphabetical order. For a loaded program,
    /// [`options`](fn@crate::options) returns the same words in the same order.
    ///
    /// # Errors
    /// None, unless the built-in table is broken.
    pub fn words(&self, program: &Program) -> Result<Vec<String>, KernelError> {
        let options = self.of(program)?;
        let mut words = match (program.name, &options.table) {
            ("remy", Some((name, table))) => {
                // File names of the BPF file system cannot have dots.
                let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
                let name: String = name.chars().map(plain).take(80).collect();
                vec![format!("table={name}"), format!("digest={:08x}", digest(table))]
            }
            ("c2tcp", _) => c2tcp_words(&options),
            _ => Vec::new(),
        };
        words.sort();
        Ok(words)
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

/// Hash of a table (FNV-1a), which distinguishes tables of equal name.
fn digest(table: &RemyTable) -> u32 {
    let actions = table.action_words().as_flattened().iter().copied();
    let words = table.shape().into_iter().chain(table.end_words()).chain(table.cell_words());
    words
        .chain(actions)
        .flat_map(u64::to_le_bytes)
        .fold(0x811c_9dc5, |digest: u32, byte| (digest ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
