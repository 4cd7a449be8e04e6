//! Finds the program of `paceline kernel` that implements a scheme of the simulator, and its
//! options.

use std::path::Path;
use std::sync::Arc;

use paceline_cc::{SchemeSpec, Span, Spec};
use paceline_kernel::{C2tcpLimits, RemyTable};
use paceline_kernel::{Options, PROGRAMS, Program};
use paceline_schemes::c2tcp::{Base, C2tcpParams};
use paceline_schemes::remy::{Per, RemyParams, RuleTable};

use crate::output::Error;

/// A program, and the options with which to load it.
pub(crate) struct ProgramChoice {
    pub(crate) program: &'static Program,
    pub(crate) options: Options,
}

/// Returns the simulator's scheme for a program that the user names, perhaps with parameters and a
/// queue: `remy[file=a.dna]+codel`.
pub(crate) fn scheme(text: &str) -> Result<String, String> {
    let mut scheme = SchemeSpec::parse(text).map_err(|error| error.to_string())?;
    let program = paceline_kernel::find(&scheme.sender.name).map_err(|error| error.to_string())?;
    let mut sender = Spec::parse(program.scheme).map_err(|error| error.to_string())?;
    sender.args.append(&mut scheme.sender.args);
    scheme.sender = sender;
    Ok(scheme.to_string())
}

/// Returns the program that implements this scheme, if there is one: the scheme's parameters are
/// those fixed in the program and its options.
pub(crate) fn chosen(scheme: &Spec) -> Result<Option<ProgramChoice>, Error> {
    for program in &PROGRAMS {
        let own = own_scheme(program)?;
        if own.name != scheme.name || !scheme.args.starts_with(&own.args) {
            continue;
        }
        let more = &scheme.args[own.args.len()..];
        let chooses = |name: &str| match program.name {
            "remy" => ["table", "file", "resolution"].contains(&name),
            "c2tcp" => ["base", "target", "interval", "floor"].contains(&name),
            _ => false,
        };
        if more.iter().all(|(name, _)| chooses(name)) {
            return Ok(Some(ProgramChoice { program, options: options(program, scheme)? }));
        }
    }
    Ok(None)
}

/// The simulator's scheme of a program.
pub(super) fn own_scheme(program: &Program) -> Result<Spec, Error> {
    Spec::parse(program.scheme).map_err(|error| Error::Usage(error.to_string()))
}

/// The options of a program that is this scheme.
pub(super) fn options(program: &Program, scheme: &Spec) -> Result<Options, Error> {
    let mut table = None;
    let mut c2tcp = None;
    if program.name == "c2tcp" {
        let params: C2tcpParams =
            scheme.params().map_err(|error| Error::Usage(error.to_string()))?;
        c2tcp = Some(params);
    }
    if program.name == "remy" {
        let params: RemyParams =
            scheme.params().map_err(|error| Error::Usage(error.to_string()))?;
        debug_assert_eq!(params.per, Per::Packet, "as the program's scheme says");
        let file = (!params.file.is_empty()).then(|| Path::new(&params.file));
        table = Some(self::table(Some(&params.table), file, params.resolution)?);
    }
    Ok(Options::with(|options| {
        options.table = table;
        if let Some(C2tcpParams { target, interval, floor, base, .. }) = c2tcp {
            options.over_reno = base == Base::NewReno;
            options.c2tcp_limits = C2tcpLimits { target, interval, floor };
        }
    }))
}

/// Returns the built-in table of this name, or the file's, in the kernel's form.
pub(super) fn table(
    name: Option<&str>,
    file: Option<&Path>,
    resolution: Span,
) -> Result<(String, RemyTable), Error> {
    let place = match file {
        Some(file) => file.display().to_string(),
        None => name.unwrap_or("starter").to_string(),
    };
    let rules: Arc<RuleTable> = match file {
        Some(file) => {
            let loaded = paceline_remy::load(file);
            Arc::new(loaded.map_err(|error| Error::Usage(error.to_string()))?.table)
        }
        None => crate::commands::remy::built_in(&place)?,
    };
    let table = RemyTable::new(&rules, resolution);
    let table = table.map_err(|error| Error::Usage(format!("{place}: {error}")))?;
    let stem = file.and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
    Ok((stem.unwrap_or(place), table))
}
