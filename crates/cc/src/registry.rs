//! The one table of schemes. A scheme is a folder under `schemes/` and a line here.

use std::sync::Arc;

use crate::control::Controller;
use crate::params::ParamInfo;
use crate::report::{AckPolicy, Reporter};
use crate::route::Router;
use crate::schemes;
use crate::spec::{Spec, SpecError, nearest};

/// What a driver tells a scheme when it makes a sender.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The largest packet, in bytes on the wire.
    pub mss: u32,
    /// The seed of the run, for schemes that draw random numbers.
    pub seed: u64,
    /// The number of the flow, to key the random stream with.
    pub flow: u32,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup { mss: 1500, seed: 1, flow: 0 }
    }
}

/// Makes senders' halves.
pub type MakeController = Arc<dyn Fn(&Setup) -> Box<dyn Controller> + Send + Sync>;
/// Makes receivers' halves.
pub type MakeReporter = Arc<dyn Fn() -> Box<dyn Reporter> + Send + Sync>;
/// Makes the network's halves.
pub type MakeRouter = Arc<dyn Fn() -> Box<dyn Router> + Send + Sync>;

/// A scheme with its parameters set: makes each of its halves as often as needed.
#[derive(Clone)]
pub struct Halves {
    /// The sender's half.
    pub controller: MakeController,
    /// The receiver's half, if the scheme has one.
    pub reporter: Option<MakeReporter>,
    /// The network's half, if the scheme has one.
    pub router: Option<MakeRouter>,
    /// How its receivers acknowledge unless the user says otherwise.
    pub ack: AckPolicy,
    /// True if routers know its packets as ABC's.
    pub abc: bool,
    /// True if what is lost is sent again, as TCP does.
    pub reliable: bool,
}

impl Halves {
    /// A scheme that consists of a sender only, over TCP's delayed acknowledgements.
    pub fn sender<C: Controller + 'static>(
        make: impl Fn(&Setup) -> C + Send + Sync + 'static,
    ) -> Halves {
        Halves {
            controller: Arc::new(move |setup| Box::new(make(setup))),
            reporter: None,
            router: None,
            ack: AckPolicy::DELAYED,
            abc: false,
            reliable: true,
        }
    }
}

/// A line of the registry.
pub struct Scheme {
    /// The name by which users call it.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// The paper or RFC.
    pub source: &'static str,
    /// Its parameters with their defaults.
    pub params: fn() -> Vec<ParamInfo>,
    /// Makes it from what the user wrote.
    pub build: fn(&Spec) -> Result<Halves, SpecError>,
}

impl Scheme {
    /// The names of its halves: `sender`, `receiver`, `router`.
    pub fn halves(&self) -> Vec<&'static str> {
        let plain = Spec { name: self.name.to_string(), args: Vec::new() };
        let mut names = vec!["sender"];
        if let Ok(halves) = (self.build)(&plain) {
            names.extend(halves.reporter.map(|_| "receiver"));
            names.extend(halves.router.map(|_| "router"));
        }
        names
    }
}

/// Every scheme.
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
    schemes::sprout::SCHEME,
    schemes::sprout_ewma::SCHEME,
    schemes::vegas::SCHEME,
    schemes::verus::SCHEME,
    schemes::vivace::SCHEME,
    schemes::prague::SCHEME,
    schemes::rcp::SCHEME,
    schemes::vcp::SCHEME,
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
