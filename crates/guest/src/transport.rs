//! Names of Linux hosts: `linux:cubic`, `linux:bbr[qdisc=fq]+codel`.

use std::sync::Arc;

use paceline_cc::{SchemeSpec, Spec};
use paceline_sim::{CustomTransport, TransportEnds, TransportSetup};

use crate::build::{BuiltGuest, OWN, find_module, is_file, short};
use crate::error::Error;
use crate::settings::{HostSettings, settings};

/// Family of scheme names: the part before the colon in `linux:cubic`.
pub const FAMILY: &str = "linux";

/// Parses the part after `linux:` of a transport's name: `cubic`,
/// `bbr[qdisc=fq,net.ipv4.tcp_ecn=1]+codel`, or `./mine.c`, which is compiled as a module.
/// Settings: `qdisc`, `mtu`, `ecn` (`true` lets TCP negotiate it), sysctls, which have a dot in
/// their names, and `host`: flows of a scenario with equal `host` share a pair of hosts. Other names are
/// parameters of a module. `files` finds the guest when a run begins.
///
/// # Errors
/// The text is not valid; the error says why.
pub fn transport(
    text: &str,
    files: impl Fn() -> Result<BuiltGuest, Error> + Send + Sync + 'static,
) -> Result<CustomTransport, String> {
    let (settings, label, queue) = parse(text)?;
    let files = Arc::new(files);
    let host = settings.host.clone();
    let find = Arc::clone(&files);
    let make = move |setup: &TransportSetup| {
        let ends = make_all(&*find, &[(settings.clone(), setup.clone())]);
        let ends = ends.map_err(|error| error.to_string())?.pop();
        ends.ok_or_else(|| "a flow without ends".to_string())
    };
    let made = CustomTransport::new(label, make)
        .with_queue(queue)
        .with_programs()
        .with_bytes()
        .with_probe();
    let Some(host) = host else { return Ok(made) };
    Ok(made.with_hosts(host, move |flows| {
        let read = |(label, setup): &(String, TransportSetup)| {
            let text = label.split_once(':').map_or(label.as_str(), |(_, text)| text);
            Ok((parse(text)?.0, setup.clone()))
        };
        let flows = flows.iter().map(read).collect::<Result<Vec<_>, String>>()?;
        make_all(&*files, &flows).map_err(|error| error.to_string())
    }))
}

/// Returns the settings of a transport, its label, and its queue.
fn parse(text: &str) -> Result<(HostSettings, String, Option<Spec>), String> {
    // A file's name has letters that a scheme's name cannot have.
    let (name, rest) = text.split_at(name_of(text).len());
    let is_file = is_file(name);
    let written = if is_file { format!("file{rest}") } else { text.to_string() };
    let spec = SchemeSpec::parse(&written).map_err(|error| error.to_string())?;
    let mut settings = settings(&spec.sender, is_file || OWN.contains(&name))?;
    if is_file {
        settings.scheme = name.to_string();
    }
    let label = match is_file {
        true => format!("{FAMILY}:{name}{rest}"),
        false => format!("{FAMILY}:{spec}"),
    };
    Ok((settings, label, spec.queue))
}

/// Returns the part of a name before its settings and its queue.
fn name_of(text: &str) -> &str {
    text.split(['[', '+']).next().unwrap_or(text)
}

/// Returns a description of a guest for results of hosts whose transports have these labels: its
/// release, the hashes of its files, and those of the modules that the hosts load, which are
/// compiled if they are not yet.
///
/// # Errors
/// The guest does not have a congestion control, or its module cannot be compiled.
pub fn describe<'a>(
    guest: &BuiltGuest,
    labels: impl IntoIterator<Item = &'a str>,
) -> Result<String, Error> {
    let mut text = guest.describe();
    let mut described = Vec::new();
    for label in labels {
        let name = label.split_once(':').map_or(label, |(_, text)| text);
        let (settings, ..) = parse(name).map_err(Error::Unusable)?;
        let HostSettings { scheme, parameters, .. } = settings;
        let module = find_module(guest, &scheme, &parameters)
            .map_err(|error| Error::Unusable(error.to_string()))?;
        let Some(module) = module else { continue };
        let described_module = (module.scheme.clone(), module.sha256.clone());
        if !described.contains(&described_module) {
            text += &format!(", module {} {}", module.scheme, short(&module.sha256));
            described.push(described_module);
        }
    }
    Ok(text)
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn make_all(
    files: &dyn Fn() -> Result<BuiltGuest, Error>,
    flows: &[(HostSettings, TransportSetup)],
) -> Result<Vec<TransportEnds>, Error> {
    crate::end::ends(&files()?, flows)
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn make_all(
    _files: &dyn Fn() -> Result<BuiltGuest, Error>,
    _flows: &[(HostSettings, TransportSetup)],
) -> Result<Vec<TransportEnds>, Error> {
    Err(Error::Unusable(
        "Linux guests run on Linux on x86-64 only; take one of Paceline's own schemes here".into(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<CustomTransport, String> {
        transport(text, || Err(Error::Unusable("no guest".into())))
    }

    #[test]
    fn schemes_have_settings_and_queues() {
        let made = read("bbr[qdisc=fq,ecn=true,net.ipv4.tcp_rmem=4096 131072 6291456]+codel");
        let made = made.expect("a transport");
        assert_eq!(made.queue().map(ToString::to_string).as_deref(), Some("codel"));
        assert!(made.label().starts_with("linux:bbr[qdisc=fq,"), "{}", made.label());
        let (of_module, ..) = parse("c2tcp[target=50ms,qdisc=fq]").expect("settings");
        assert_eq!(of_module.parameters, [("target".into(), "50ms".into())]);
        let (of_file, ..) = parse("./mine.c[beta=7,mtu=1400]").expect("settings");
        assert_eq!(of_file.parameters, [("beta".into(), "7".into())]);
        let made = read("./mine.c[qdisc=fq]+codel").expect("a transport");
        assert_eq!(made.label(), "linux:./mine.c[qdisc=fq]+codel");
        let spec = Spec::parse("cubic[mtu=9000,ecn=false,a.b=1]").expect("a spec");
        let settings = settings(&spec, false).expect("settings");
        assert_eq!((settings.mtu, settings.scheme.as_str()), (Some(9000), "cubic"));
        let sysctls = [("net.ipv4.tcp_ecn", "0"), ("a.b", "1")];
        assert_eq!(settings.sysctls, sysctls.map(|(name, value)| (name.into(), value.into())));
    }

    #[test]
    fn what_no_host_has_is_refused() {
        for (text, problem) in [
            ("", "not a scheme"),
            ("cubic[window=3]", "no setting `window`"),
            ("cubic[ecn=maybe]", "true or false"),
            ("cubic[mtu=huge]", "a number of bytes"),
            ("cubic[qdisc=a b]", "queueing discipline"),
            ("cubic[a..b=1]", "no setting"),
            ("cubic[host=]", "a name"),
            ("cubic bbr", "not a scheme"),
            ("sixteen-letters-x", "congestion control"),
            ("./mine.c[beta=1 2]", "a module parameter"),
            ("./mine.c[be-ta=1]", "a module parameter"),
            ("remy[table=a;b]", "a module parameter"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}
