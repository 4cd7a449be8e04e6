//! Finds the program of `paceline kernel` that implements a scheme of the simulator, and its
//! options.

use paceline_cc::{SchemeSpec, Spec};
use paceline_kernel::{Options, PROGRAMS, Program};

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
        let known = Options::parameters(program);
        if more.iter().all(|(name, _)| known.contains(&name.as_str())) {
            return Ok(Some(ProgramChoice { program, options: options(program, more)? }));
        }
    }
    Ok(None)
}

/// The simulator's scheme of a program.
fn own_scheme(program: &Program) -> Result<Spec, Error> {
    Spec::parse(program.scheme).map_err(|error| Error::Usage(error.to_string()))
}

/// Returns the options that a program has with these parameters of its scheme.
pub(super) fn options(
    program: &Program,
    parameters: &[(String, String)],
) -> Result<Options, Error> {
    let options = Options::of_parameters(program, parameters, &paceline_remy::tables());
    options.map_err(|error| Error::Usage(error.to_string()))
}
