//! Errors in the words of the page, which has controls where scenario files and the command have keys
//! and options.

use paceline_cc::SpecError;
use paceline_sim::{BuildError, ChangeError};

/// Returns an error of a live run, with a remedy that the page offers.
pub(crate) fn of_change(error: &ChangeError) -> String {
    match error {
        ChangeError::Build(BuildError::Routers { flows, schemes, .. }) => format!(
            "{} ({}) and {} ({}) need different routers, and a link has one: switch one of the two \
             flows off, or choose another scheme for it",
            flows[0], schemes[0], flows[1], schemes[1]
        ),
        ChangeError::Build(BuildError::Spec(error)) => of_spec(error),
        ChangeError::FixedRate(_) => {
            "the link follows a trace, whose rate cannot be changed: choose a constant rate".into()
        }
        ChangeError::FixedBuffer(_) => {
            "this queue cannot change its limit while it runs: choose another queue, such as \
             droptail"
                .into()
        }
        _ => error.to_string(),
    }
}

/// Returns an error in the text of a scheme or queue.
pub(crate) fn of_spec(error: &SpecError) -> String {
    match error {
        SpecError::UnknownName { kind, name, near, instead } => {
            let near = near.as_ref().map(|near| format!("; did you mean `{near}`?"));
            let hint = instead.as_ref().map(|instead| format!("; {instead}")).or(near);
            format!(
                "unknown {kind} `{name}`{}; the lists of the page have all",
                hint.unwrap_or_default()
            )
        }
        _ => error.to_string(),
    }
}
