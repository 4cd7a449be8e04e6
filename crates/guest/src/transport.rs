//! Names of Linux hosts: `linux:cubic`, `linux:bbr[qdisc=fq]+codel`.

use paceline_cc::{SchemeSpec, Spec};
use paceline_sim::{CustomTransport, TransportEnds, TransportSetup};

use crate::build::BuiltGuest;
use crate::error::Error;

/// Family of scheme names: the part before the colon in `linux:cubic`.
pub const FAMILY: &str = "linux";
/// Longest name of a congestion control, in bytes (`TCP_CA_NAME_MAX` without the zero).
const LONGEST_SCHEME: usize = 15;
/// Longest value of a setting, in bytes.
const LONGEST_VALUE: usize = 200;

/// Settings of a flow's hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostSettings {
    /// Congestion control, as the kernel names it, or the path of a C file.
    pub(crate) scheme: String,
    /// Root qdisc of the device; `None` for the kernel's default.
    pub(crate) qdisc: Option<String>,
    /// Names and values of sysctls, on both hosts.
    pub(crate) sysctls: Vec<(String, String)>,
    /// MTU of the devices in bytes; `None` for the scenario's packet size.
    pub(crate) mtu: Option<u16>,
}

/// Parses the part after `linux:` of a transport's name: `cubic`,
/// `bbr[qdisc=fq,net.ipv4.tcp_ecn=1]+codel`, or `./mine.c`, which is compiled as a module.
/// Settings: `qdisc`, `mtu`, `ecn` (`true` lets TCP negotiate it), and sysctls, which have a dot in
/// their names. `files` finds the guest when a run begins.
///
/// # Errors
/// The text is not valid; the error says why.
pub fn transport(
    text: &str,
    files: impl Fn() -> Result<BuiltGuest, Error> + Send + Sync + 'static,
) -> Result<CustomTransport, String> {
    // A file's name has letters that a scheme's name cannot have.
    let (name, rest) = text.split_at(text.find(['[', '+']).unwrap_or(text.len()));
    let is_file = name.contains('/') || name.ends_with(".c");
    let written = if is_file { format!("file{rest}") } else { text.to_string() };
    let spec = SchemeSpec::parse(&written).map_err(|error| error.to_string())?;
    let mut settings = settings(&spec.sender)?;
    if is_file {
        settings.scheme = name.to_string();
    }
    let label = match is_file {
        true => format!("{FAMILY}:{name}{rest}"),
        false => format!("{FAMILY}:{spec}"),
    };
    let make = move |setup: &TransportSetup| make(&files, &settings, setup);
    let make = move |setup: &TransportSetup| make(setup).map_err(|error| error.to_string());
    Ok(CustomTransport::new(label, make).with_queue(spec.queue))
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn make(
    files: &dyn Fn() -> Result<BuiltGuest, Error>,
    settings: &HostSettings,
    setup: &TransportSetup,
) -> Result<TransportEnds, Error> {
    crate::end::ends(&files()?, settings, setup)
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn make(
    _files: &dyn Fn() -> Result<BuiltGuest, Error>,
    _settings: &HostSettings,
    _setup: &TransportSetup,
) -> Result<TransportEnds, Error> {
    Err(Error::Unusable(
        "Linux guests run on Linux on x86-64 only; take one of Paceline's own schemes here".into(),
    ))
}

/// Reads the settings of hosts from a scheme's parameters.
fn settings(spec: &Spec) -> Result<HostSettings, String> {
    let is_word = |text: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        !text.is_empty() && text.chars().all(allowed)
    };
    if !is_word(&spec.name) || spec.name.len() > LONGEST_SCHEME {
        return Err(format!("`{}` cannot be the name of a congestion control of Linux", spec.name));
    }
    let mut settings = HostSettings { scheme: spec.name.clone(), ..HostSettings::default() };
    for (name, value) in &spec.args {
        if value.len() > LONGEST_VALUE || value.chars().any(char::is_control) {
            return Err(format!("`{name}`: the value is too long, or has control characters"));
        }
        let wrong = |wanted: &str| format!("`{name}={value}`: expected {wanted}");
        match name.as_str() {
            "qdisc" if is_word(value) => settings.qdisc = Some(value.clone()),
            "qdisc" => return Err(wrong("the name of a queueing discipline, such as fq")),
            "mtu" => {
                let mtu = value.parse().map_err(|_| wrong("a number of bytes, such as 1500"))?;
                settings.mtu = Some(mtu);
            }
            "ecn" => {
                let mode = match value.as_str() {
                    "true" => "1",
                    "false" => "0",
                    _ => return Err(wrong("true or false")),
                };
                settings.sysctls.push(("net.ipv4.tcp_ecn".into(), mode.into()));
            }
            sysctl if sysctl.contains('.') && is_word(sysctl) && !sysctl.contains("..") => {
                settings.sysctls.push((sysctl.into(), value.clone()));
            }
            _ => {
                return Err(format!(
                    "a Linux host has no setting `{name}`; it has qdisc, mtu, ecn, and sysctls such \
                     as net.ipv4.tcp_ecn"
                ));
            }
        }
    }
    Ok(settings)
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
        let made = read("./mine.c[qdisc=fq]+codel").expect("a transport");
        assert_eq!(made.label(), "linux:./mine.c[qdisc=fq]+codel");
        let spec = Spec::parse("cubic[mtu=9000,ecn=false,a.b=1]").expect("a spec");
        let settings = settings(&spec).expect("settings");
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
            ("cubic bbr", "not a scheme"),
            ("sixteen-letters-x", "congestion control"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}
