//! Flows whose ends are hosts of a family of transports: `host = "linux"`, `cc = "bbr"`, and their settings.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::error::ScenarioError;
use super::reader::Reader;
use crate::scenario::spec::SchemeChoice;

/// A setting's value.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected text or a whole number")]
pub(super) enum Value {
    Number(i64),
    Text(String),
}

impl Value {
    fn text(&self) -> String {
        match self {
            Value::Number(number) => number.to_string(),
            Value::Text(text) => text.clone(),
        }
    }
}

/// The keys of a flow that say what its ends are.
pub(super) struct FlowEnds {
    pub(super) scheme: Option<Spanned<String>>,
    pub(super) host: Option<Spanned<String>>,
    pub(super) cc: Option<Spanned<String>>,
    pub(super) qdisc: Option<Spanned<String>>,
    pub(super) mtu: Option<Spanned<u16>>,
    pub(super) sysctls: Option<Spanned<BTreeMap<String, Value>>>,
}

impl Reader<'_> {
    /// The scheme of a flow at `place`: one by name, or that of its hosts.
    pub(super) fn ends(
        &self,
        place: &Spanned<()>,
        read: &FlowEnds,
    ) -> Result<SchemeChoice, ScenarioError> {
        let Some(host) = &read.host else {
            let settings = [
                read.cc.as_ref().map(|key| ("cc", key.span())),
                read.qdisc.as_ref().map(|key| ("qdisc", key.span())),
                read.mtu.as_ref().map(|key| ("mtu", key.span())),
                read.sysctls.as_ref().map(|key| ("sysctls", key.span())),
            ];
            if let Some((key, span)) = settings.into_iter().flatten().next() {
                let message = format!("{key} is a setting of hosts, and the flow has no host");
                return self.fail(&Spanned::new(span, ()), message, "write host = \"linux\"");
            }
            let Some(scheme) = &read.scheme else {
                let help = "write scheme = \"cubic\"";
                return self.fail(place, "missing field `scheme`", help);
            };
            let made = self.names.read_scheme(scheme.get_ref());
            return made.map_err(|error| self.wrong(scheme, error));
        };
        if let Some(scheme) = &read.scheme {
            let message = "the flow has a host, which has no scheme of Paceline's";
            return self.fail(scheme, message, "write cc in place of scheme");
        }
        let mut settings = Vec::new();
        settings.extend(read.qdisc.as_ref().map(|qdisc| format!("qdisc={}", qdisc.get_ref())));
        settings.extend(read.mtu.as_ref().map(|mtu| format!("mtu={}", mtu.get_ref())));
        if let Some(sysctls) = &read.sysctls {
            for (name, value) in sysctls.get_ref() {
                let value = value.text();
                if format!("{name}{value}").contains([',', '[', ']', '=']) {
                    let message = format!("sysctl {name} has one of , [ ] = in it");
                    return self.fail(sysctls, message, "write \"net.ipv4.tcp_ecn\" = 1");
                }
                settings.push(format!("{name}={value}"));
            }
        }
        let cc = read.cc.as_ref().map_or("cubic", |cc| cc.get_ref());
        let mut written = format!("{}:{cc}", host.get_ref());
        if !settings.is_empty() {
            written += &format!("[{}]", settings.join(","));
        }
        if !self.names.transports.has(host.get_ref()) {
            let message = format!("there are no hosts `{}` here", host.get_ref());
            let help = "write scheme = \"cubic\", or host = \"linux\" for `paceline run`";
            return self.fail(host, message, help);
        }
        self.names.read_scheme(&written).map_err(|error| self.wrong(host, error))
    }
}
