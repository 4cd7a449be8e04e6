//! Flows whose ends are hosts of a family of transports: `host = "linux"`, `cc = "bbr"`, and their
//! settings.

use super::error::ScenarioError;
use super::flow::{FileFlow, audio_scheme};
use super::reader::{At, Place as _, Reader};
use crate::scenario::spec::SchemeChoice;

impl Reader<'_> {
    /// Returns the scheme of a flow: one by name, or that of its hosts.
    pub(super) fn ends(&self, written: &At<FileFlow>) -> Result<SchemeChoice, ScenarioError> {
        let file = &written.value;
        let Some(host) = &file.host else {
            let settings = [
                ("host_name", file.host_name.place()),
                ("cc", file.cc.place()),
                ("qdisc", file.qdisc.place()),
                ("mtu", file.mtu.place()),
                ("sysctls", file.sysctls.place()),
            ];
            if let Some((key, place)) = settings.into_iter().find(|(_, place)| place.is_some()) {
                let message = format!("{key} is a setting of hosts, and the flow has no host");
                return self.fail(&place, message, "write host = \"linux\"");
            }
            let Some(scheme) = &file.scheme else {
                if let Some(audio) = file.audio(self)? {
                    let made = self.names.read_scheme(&audio_scheme(&audio));
                    return made.map_err(|error| self.wrong(written, error));
                }
                let help = "write scheme = \"cubic\"";
                return self.fail(written, "missing field `scheme`", help);
            };
            let made = self.names.read_scheme(&scheme.value);
            return made.map_err(|error| self.wrong(scheme, error));
        };
        if let Some(scheme) = &file.scheme {
            let message = "the flow has a host, which has no scheme of Paceline's";
            return self.fail(scheme, message, "write cc in place of scheme");
        }
        let mut settings = Vec::new();
        settings.extend(file.host_name(self)?.map(|name| format!("host={name}")));
        settings.extend(file.qdisc(self)?.map(|qdisc| format!("qdisc={qdisc}")));
        settings.extend(file.mtu(self)?.map(|mtu| format!("mtu={mtu}")));
        for (name, value) in file.sysctls(self)?.iter().flat_map(|sysctls| &sysctls.0) {
            if format!("{name}{value}").contains([',', '[', ']', '=']) {
                let message = format!("sysctl {name} has one of , [ ] = in it");
                return self.fail(&file.sysctls, message, "write \"net.ipv4.tcp_ecn\" = 1");
            }
            settings.push(format!("{name}={value}"));
        }
        let cc = file.cc(self)?.unwrap_or_else(|| "cubic".into());
        let mut text = format!("{}:{cc}", host.value);
        if !settings.is_empty() {
            text += &format!("[{}]", settings.join(","));
        }
        if !self.names.transports.has(&host.value) {
            let message = format!("there are no hosts `{}` here", host.value);
            let help = "write scheme = \"cubic\", or host = \"linux\" for `paceline run`";
            return self.fail(host, message, help);
        }
        self.names.read_scheme(&text).map_err(|error| self.wrong(host, error))
    }

    /// Returns an error if a complete transport has settings of Paceline's own ends.
    pub(super) fn refuse_own_settings(
        &self,
        written: &At<FileFlow>,
        scheme: &SchemeChoice,
    ) -> Result<(), ScenarioError> {
        let file = &written.value;
        let own = [
            ("handshake", file.handshake.is_some()),
            ("ack_every", file.ack_every.is_some()),
            ("receive_window", file.receive_window.is_some()),
            ("ecn", file.ecn.is_some()),
            ("recovery", file.recovery.is_some()),
            ("timestamps", file.timestamps.is_some()),
            ("slow_start_after_idle", file.slow_start_after_idle.is_some()),
        ];
        let SchemeChoice::Transport(made) = scheme else { return Ok(()) };
        let Some((key, _)) = own.iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
        let message = format!("{key} is a setting of Paceline's own ends, not of {}", made.label());
        self.fail(written, message, "leave it out; hosts have sysctls")
    }
}
