//! The table of built-in schemes, and tables to which users add schemes.

use paceline_cc::registry::{Registry, find};
use paceline_cc::{Halves, Spec, SpecError};

use crate::scheme::Scheme;
use crate::scheme_entry::{SchemeEntry, on_host};

/// Every built-in scheme, by name. Each scheme is a folder, and a line here.
pub static SCHEMES: &[Scheme] = &[
    crate::abc::SCHEME,
    crate::bbr3::SCHEME,
    crate::bbr::SCHEME,
    crate::c2tcp::SCHEME,
    crate::compound::SCHEME,
    crate::copa::SCHEME,
    crate::cubic::SCHEME,
    crate::dctcp::SCHEME,
    crate::gcc::SCHEME,
    crate::ledbat::SCHEME,
    crate::nada::SCHEME,
    crate::newreno::SCHEME,
    crate::prague::SCHEME,
    crate::rcp::SCHEME,
    crate::remy::SCHEME,
    crate::scream::SCHEME,
    crate::sprout::SCHEME,
    crate::sprout_ewma::SCHEME,
    crate::vcp::SCHEME,
    crate::vegas::SCHEME,
    crate::verus::SCHEME,
    crate::vivace::SCHEME,
    crate::xcp::SCHEME,
    crate::xcpb::SCHEME,
    crate::xcpw::SCHEME,
];

/// Schemes by name: the built-in ones, and those that a user adds.
///
/// ```
/// use paceline_cc::Spec;
/// use paceline_schemes::{SchemeEntry, registry};
///
/// let mut schemes = registry::builtin();
/// // Cubic without its early end of slow start, by a name of its own.
/// let calm = SchemeEntry::new("calm", |_| registry::build(&Spec::parse("cubic[hystart=off]")?));
/// schemes.add(calm)?;
/// let spec = Spec::parse("calm")?;
/// assert!(schemes.find(&spec.name)?.build(&spec).is_ok());
/// assert!(schemes.find("clam").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Schemes = Registry<SchemeEntry>;

/// Returns the built-in schemes, in the order of [`SCHEMES`], as a table to which users can add.
pub fn builtin() -> Schemes {
    Registry::of(SCHEMES.iter().map(SchemeEntry::from))
}

/// Makes the built-in scheme that `spec` names, with its parameters set.
///
/// # Errors
/// If the name or a parameter is unknown, or a value is wrong.
pub fn build(spec: &Spec) -> Result<Halves, SpecError> {
    on_host(spec, find(SCHEMES, &spec.name)?.build)
}

#[cfg(test)]
mod tests {
    use paceline_cc::SchemeSpec;

    use super::*;
    use crate::scheme_entry::KNOWN_ELSEWHERE;
    use paceline_cc::registry::AddError;

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
    fn variants_build_set_something_and_are_documented() {
        for scheme in SCHEMES {
            let infos = (scheme.params)();
            let Some(variant) = infos.iter().find(|info| info.name == "variant") else { continue };
            let names: Vec<&str> = variant.kind.split('|').collect();
            assert_eq!(variant.default, names[0], "{}", scheme.name);
            assert!(names.len() > 1, "{}", scheme.name);
            for name in &names {
                let text = format!("{}[variant={name}]", scheme.name);
                assert!(try_build(&text).is_ok(), "{text}");
                assert!(variant.doc.contains(&format!("`{name}`")), "{text}");
                let sets = infos.iter().any(|info| info.default != info.default_in(Some(name)));
                assert_eq!(sets, *name != names[0], "{text}: only the first is the default");
            }
        }
    }

    #[test]
    fn mistaken_variants_give_errors() {
        let message = |text: &str| try_build(text).err().map(|e| e.to_string()).unwrap_or_default();
        let unknown = message("copa[variant=papers]");
        assert!(unknown.contains("authors, paper, mvfst (did you mean `paper`?)"), "{unknown}");
        let two = message("copa[variant=paper,variant=mvfst]");
        assert!(two.contains("`variant=paper` is written as well"), "{two}");
        assert_eq!(message("copa[variant=paper,variant=paper]"), "");
        let none = message("verus[variant=paper]");
        assert!(none.contains("`verus` has no parameter `variant`"), "{none}");
    }

    #[test]
    fn switches_override_their_variant_in_any_order() {
        use paceline_cc::Params;

        use crate::copa::{CopaParams, Speed};
        for text in ["copa[variant=paper,velocity=mvfst]", "copa[velocity=mvfst,variant=paper]"] {
            let spec = Spec::parse(text).expect(text);
            let paper = CopaParams::variant("paper").expect("a variant");
            assert_eq!(spec.params(), Ok(CopaParams { velocity: Speed::Mvfst, ..paper }));
        }
    }

    #[test]
    fn no_two_schemes_look_alike() {
        for (at, one) in SCHEMES.iter().enumerate() {
            for other in &SCHEMES[at + 1..] {
                let (a, b) = (one.plot_style, other.plot_style);
                let names = (one.name, other.name);
                assert!((a.hue, a.dash) != (b.hue, b.dash), "lines of {names:?}");
                assert!((a.hue, a.shape) != (b.hue, b.shape), "points of {names:?}");
                assert!((a.dash, a.shape) != (b.dash, b.shape), "{names:?} without colours");
                assert!(a.dash != crate::Dash::DashDot, "{names:?}: this dash is for variants");
            }
        }
    }

    #[test]
    fn settings_for_bulk_data_build_and_say_why() {
        for scheme in SCHEMES {
            let Some(setting) = scheme.bulk else { continue };
            assert!(try_build(setting.spec).is_ok(), "{}", setting.spec);
            let more = setting.spec.strip_prefix(scheme.name);
            assert!(more.is_some_and(|more| !more.is_empty()) && !setting.reason.is_empty());
        }
    }

    #[test]
    fn unknown_names_give_errors_with_the_nearest() {
        let message = |text: &str| try_build(text).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(message("cubci").contains("did you mean `cubic`"));
        assert!(message("reno").contains("did you mean `newreno`"));
        assert!(message("PCC").contains("did you mean `vivace`"));
        assert!(KNOWN_ELSEWHERE.iter().all(|(theirs, ours)| {
            find(SCHEMES, ours).is_ok() && find(SCHEMES, theirs).is_err()
        }));
        assert!(message("abc[etta=1]").contains("did you mean `eta`"));
        assert!(message("abc[eta=two]").contains("abc[eta=two]"));
    }

    #[test]
    fn users_add_schemes_to_those_that_are_built_in() {
        let mut schemes = builtin();
        let mine = || SchemeEntry::new(String::from("mine"), |_| try_build("newreno"));
        assert_eq!(schemes.add(mine().summary("NewReno").source("here")), Ok(()));
        assert!(schemes.add(mine()).is_err());
        // Users cannot write this name.
        let name = "my scheme";
        let illegal = AddError::IllegalName { kind: "scheme", name: name.to_string() };
        assert_eq!(schemes.add(SchemeEntry::new(name, |_| try_build("newreno"))), Err(illegal));
        let spec = Spec::parse("mine[pacing=linux]").expect("legal");
        assert!(schemes.find(&spec.name).is_ok_and(|scheme| scheme.build(&spec).is_ok()));
        let error = schemes.find("mien").err().map(|error| error.to_string());
        assert!(
            error.is_some_and(|error| error.contains("unknown scheme `mien` (did you mean `mine`"))
        );
        for scheme in SCHEMES {
            let found = schemes.get(scheme.name).expect("built in");
            assert_eq!(found.params(), (scheme.params)());
        }
        assert!(builtin().names().eq(SCHEMES.iter().map(|scheme| scheme.name)));
    }
}
