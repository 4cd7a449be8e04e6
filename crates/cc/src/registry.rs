//! The one table of schemes. A scheme is a folder under `schemes/` and a line here.

use crate::scheme::{Halves, Scheme};
use crate::schemes;
use crate::spec::{Spec, SpecError, nearest};

/// Every scheme, by name.
pub static SCHEMES: &[Scheme] = &[
    schemes::abc::SCHEME,
    schemes::bbr3::SCHEME,
    schemes::bbr::SCHEME,
    schemes::c2tcp::SCHEME,
    schemes::compound::SCHEME,
    schemes::copa::SCHEME,
    schemes::cubic::SCHEME,
    schemes::dctcp::SCHEME,
    schemes::gcc::SCHEME,
    schemes::ledbat::SCHEME,
    schemes::newreno::SCHEME,
    schemes::prague::SCHEME,
    schemes::rcp::SCHEME,
    schemes::sprout::SCHEME,
    schemes::sprout_ewma::SCHEME,
    schemes::vcp::SCHEME,
    schemes::vegas::SCHEME,
    schemes::verus::SCHEME,
    schemes::vivace::SCHEME,
    schemes::xcp::SCHEME,
    schemes::xcpb::SCHEME,
    schemes::xcpw::SCHEME,
];

/// The scheme that `spec` names, with its parameters set.
///
/// # Errors
/// An unknown name or parameter, or a value that does not fit.
pub fn build(spec: &Spec) -> Result<Halves, SpecError> {
    let scheme = SCHEMES.iter().find(|scheme| scheme.name == spec.name).ok_or_else(|| {
        SpecError::UnknownName {
            kind: "scheme",
            name: spec.name.clone(),
            near: nearest(&spec.name, SCHEMES.iter().map(|scheme| scheme.name)),
        }
    })?;
    (scheme.build)(spec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::SchemeSpec;

    fn try_build(text: &str) -> Result<Halves, SpecError> {
        build(&SchemeSpec::parse(text)?.sender)
    }

    #[test]
    fn every_scheme_builds_with_its_defaults_written_out() {
        for scheme in SCHEMES {
            let args = (scheme.params)();
            let written: Vec<_> =
                args.iter().map(|info| format!("{}={}", info.name, info.default)).collect();
            let text = format!("{}[{}]", scheme.name, written.join(","));
            assert!(try_build(&text).is_ok(), "{text}");
            assert!(args.iter().all(|info| !info.doc.is_empty()));
        }
    }

    #[test]
    fn unknown_names_are_told_with_the_nearest() {
        let message = |text: &str| try_build(text).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(message("cubci").contains("did you mean `cubic`"));
        assert!(message("abc[etta=1]").contains("did you mean `eta`"));
        assert!(message("abc[eta=two]").contains("abc[eta=two]"));
    }
}
