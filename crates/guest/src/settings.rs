//! Settings of a flow's Linux hosts.

use paceline_cc::Spec;

/// Longest name of a congestion control, in bytes (`TCP_CA_NAME_MAX` without the zero).
const LONGEST_SCHEME: usize = 15;

/// Longest value of a setting, in bytes.
const LONGEST_VALUE: usize = 200;

/// Settings of a flow's hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostSettings {
    /// Congestion control, as the kernel names it, or the path of a C file.
    pub(crate) scheme: String,
    /// Parameters of its module: names and values.
    pub(crate) parameters: Vec<(String, String)>,
    /// Root qdisc of the device; `None` for the kernel's default.
    pub(crate) qdisc: Option<String>,
    /// Names and values of sysctls, on both hosts.
    pub(crate) sysctls: Vec<(String, String)>,
    /// MTU of the devices in bytes; `None` for the scenario's packet size.
    pub(crate) mtu: Option<u16>,
    /// Name of the hosts, if the flow shares them with others.
    pub(crate) host: Option<String>,
}

impl HostSettings {
    /// Returns the value of a sysctl; of several, the last one.
    pub(crate) fn sysctl(&self, name: &str) -> Option<&str> {
        self.sysctls.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// Reads the settings of hosts from a scheme's parameters. With `is_module`, names that are no setting of hosts are
/// parameters of the module.
pub(crate) fn settings(spec: &Spec, is_module: bool) -> Result<HostSettings, String> {
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
            "host" if is_word(value) => settings.host = Some(value.clone()),
            "host" => return Err(wrong("a name, such as phone")),
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
            _ if is_module => settings.parameters.push(parameter(name, value)?),
            _ => {
                return Err(format!(
                    "a Linux host has no setting `{name}`; it has qdisc, mtu, ecn, host, and sysctls \
                     such as net.ipv4.tcp_ecn"
                ));
            }
        }
    }
    Ok(settings)
}

/// Checks a module parameter, whose name and value become a part of the module's arguments.
fn parameter(name: &str, value: &str) -> Result<(String, String), String> {
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    // The kernel divides arguments at spaces, and /init the arguments of several modules at `;`.
    let is_value = !value.is_empty() && !value.contains([' ', ';', '"', '\\']);
    match is_name && is_value {
        true => Ok((name.into(), value.into())),
        false => Err(format!(
            "`{name}={value}`: expected a module parameter: a name of letters, digits and `_`, and a value without \
             spaces, quotes and `;`"
        )),
    }
}
