//! Reads the file of a tunnel for `paceline tunnel up NAME` (docs/tunnel.md, "One command").

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};

use paceline_cc::Span;
use paceline_cc::spec::nearest;
use paceline_transfer::tunnel::setup::{SetupOptions, Translate, check_name};
use paceline_transfer::tunnel::{ClientListOptions, Prefix};
use paceline_transfer::udp::MOST_LOOPS;
use paceline_transfer::udp::{any_address, check_form};
use serde::Deserialize;
use toml::Spanned;

use crate::args;
use crate::commands::transfer_end::processors;
use crate::mistake::Mistake;
use crate::output::{self, Error};
use crate::registries;

/// Folder of tunnels' files.
const FOLDER: &str = "/etc/paceline";
/// Largest file in bytes.
const LARGEST: u64 = 1 << 20;
/// Longest name of a device in bytes.
const LONGEST_DEVICE: usize = 15;
/// Largest packet between the ends in bytes; the default of the other commands, too.
const MTU: u16 = 1500;
const TIMEOUT: Span = Span::from_secs(10);
const KEEPALIVE: Span = Span::from_secs(25);
/// Port of a server if its address names none.
const PORT: u16 = 5312;

/// A tunnel as its file describes it.
pub(super) struct TunnelFile {
    pub(super) role: Role,
    pub(super) key_file: PathBuf,
    pub(super) device: String,
    /// Empty if the server assigns them.
    pub(super) addresses: Vec<Prefix>,
    pub(super) routes: Vec<Prefix>,
    pub(super) mtu: u16,
    pub(super) timeout: Span,
    pub(super) setup: SetupOptions,
}

/// Which end of the tunnel this is, and the settings that only this end has.
pub(super) enum Role {
    Client { server: String, scheme: String, keepalive: Span },
    Server { listen: SocketAddr, clients: Option<ClientListOptions>, loops: NonZeroUsize },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    tunnel: Spanned<Table>,
}

#[derive(Copy, Clone, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum RoleName {
    Client,
    Server,
}

/// Address translation: on or off, or the interface for it.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected true, false or the name of an interface")]
enum Nat {
    Switch(bool),
    Interface(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Table {
    role: Spanned<RoleName>,
    key_file: Spanned<PathBuf>,
    device: Option<Spanned<String>>,
    #[serde(default)]
    address: Vec<Spanned<String>>,
    #[serde(default)]
    routes: Vec<Spanned<String>>,
    mtu: Option<Spanned<i64>>,
    timeout: Option<Spanned<String>>,
    keepalive: Option<Spanned<String>>,
    server: Option<Spanned<String>>,
    scheme: Option<Spanned<String>>,
    default_route: Option<Spanned<bool>>,
    #[serde(default)]
    dns: Vec<Spanned<String>>,
    kill_switch: Option<Spanned<bool>>,
    #[serde(default)]
    allow: Vec<Spanned<String>>,
    listen: Option<Spanned<String>>,
    nat: Option<Spanned<Nat>>,
    clients: Option<Spanned<PathBuf>>,
    #[serde(default)]
    client_routes: Vec<Spanned<String>>,
    loops: Option<Spanned<i64>>,
}

/// Returns the path of a tunnel's file, and the tunnel's name. `name` is a path, or the name of a
/// file in `/etc/paceline`.
pub(super) fn find(name: &str) -> Result<(PathBuf, String), Error> {
    let (path, name) = match name.contains('/') || name.ends_with(".toml") {
        true => {
            let path = PathBuf::from(name);
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            (path, stem.unwrap_or_default())
        }
        false => (Path::new(FOLDER).join(format!("{name}.toml")), name.to_string()),
    };
    check_name(&name).map_err(Error::Usage)?;
    Ok((path, name))
}

/// Reads the file of the tunnel `name`.
pub(super) fn read(name: &str) -> Result<TunnelFile, Error> {
    let (path, name) = find(name)?;
    let file = path.display().to_string();
    let bytes = output::read(&path, LARGEST).map_err(|error| match error {
        Error::Usage(message) if !path.exists() => {
            Error::Usage(format!("{message}; docs/tunnel.md shows such a file"))
        }
        error => error,
    })?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Error::Usage(format!("{file}: cannot be read: the file of a tunnel is text in UTF-8"))
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    Reader { file: &file, text: &text }.read(&name, folder)
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn mistake(&self, span: Range<usize>, message: &str, help: Option<&str>) -> Error {
        Mistake { file: self.file, text: self.text, span, message, help }.error()
    }

    fn wrong<V>(&self, at: &Spanned<V>, message: impl AsRef<str>, help: &str) -> Error {
        self.mistake(at.span(), message.as_ref(), Some(help))
    }

    /// Returns an error for a mistake that the TOML reader has found. Suggests the nearest word for
    /// an unknown one.
    fn unreadable(&self, error: &toml::de::Error) -> Error {
        let message = error.message().trim_end().replace('\n', "; ");
        let mut words = message.split('`').skip(1).step_by(2);
        let help = if message.starts_with("unknown") {
            let near = words.next().and_then(|wrong| nearest(wrong, words));
            near.map(|near| format!("did you mean `{near}`?"))
        } else if message == "missing field `tunnel`" {
            Some("begin the file with a line [tunnel]".into())
        } else if message == "missing field `role`" {
            Some("say which end this is: role = \"client\" or role = \"server\"".into())
        } else if message == "missing field `key-file`" {
            Some(
                "name the file of the key: key-file = \"NAME.key\"; `paceline key new` makes one"
                    .into(),
            )
        } else if message.ends_with("expected a string") {
            Some("put it in quotes".into())
        } else if message.ends_with("expected a sequence") {
            Some("put it between [ and ], as [\"10.77.0.2/24\"]".into())
        } else if message.ends_with("expected a boolean") {
            Some("write true or false, without quotes".into())
        } else {
            None
        };
        self.mistake(error.span().unwrap_or(0..0), &message, help.as_deref())
    }

    fn prefixes(&self, texts: &[Spanned<String>]) -> Result<Vec<Prefix>, Error> {
        let read = |text: &Spanned<String>| {
            Prefix::parse(text.get_ref()).map_err(|help| {
                self.wrong(text, format!("{:?} is no network", text.get_ref()), &help)
            })
        };
        texts.iter().map(read).collect()
    }

    /// Fails if the file has a key that only the other end may have.
    fn only_for<V>(&self, key: &str, role: &str, value: Option<&Spanned<V>>) -> Result<(), Error> {
        value.map_or(Ok(()), |value| {
            let message = format!("`{key}` is only for role = \"{role}\"");
            Err(self.wrong(value, message, "remove the line, or change the role"))
        })
    }

    fn read(&self, name: &str, folder: &Path) -> Result<TunnelFile, Error> {
        let document: Document =
            toml::from_str(self.text).map_err(|error| self.unreadable(&error))?;
        let place = Spanned::new(document.tunnel.span(), ());
        let table = document.tunnel.into_inner();
        let addresses = self.prefixes(&table.address)?;
        if addresses.is_empty() && *table.role.get_ref() == RoleName::Server {
            let help = "give the device an address inside: address = [\"10.77.0.1/24\"]";
            return Err(self.wrong(&place, "missing field `address`", help));
        }
        let routes = self.prefixes(&table.routes)?;
        if let Some((text, _)) = table.routes.iter().zip(&routes).find(|(_, route)| route.bits == 0)
        {
            let help =
                "write default-route = true: it keeps the tunnel's own packets out of the tunnel";
            return Err(self.wrong(text, "a route to everything", help));
        }
        let device = self.device(name, &table)?;
        let role = match table.role.get_ref() {
            RoleName::Client => self.client(&table, &place)?,
            RoleName::Server => self.server(&table, folder)?,
        };
        let setup = SetupOptions {
            name: name.into(),
            device: device.clone(),
            default_route: table.default_route.as_ref().is_some_and(|it| *it.get_ref()),
            name_servers: self.name_servers(&table)?,
            kill_switch: self.kill_switch(&table)?,
            translate: match table.nat.map(Spanned::into_inner) {
                None | Some(Nat::Switch(false)) => None,
                Some(Nat::Switch(true)) => {
                    Some(Translate { networks: addresses.clone(), outer: None })
                }
                Some(Nat::Interface(outer)) => {
                    Some(Translate { networks: addresses.clone(), outer: Some(outer) })
                }
            },
        };
        let mtu = match &table.mtu {
            None => MTU,
            Some(mtu) => {
                u16::try_from(*mtu.get_ref()).ok().filter(|mtu| *mtu >= 1280).ok_or_else(|| {
                    self.wrong(mtu, "no size of packets", "write bytes from 1280 to 65535")
                })?
            }
        };
        let timeout = match &table.timeout {
            None => TIMEOUT,
            Some(text) => args::length(text.get_ref())
                .map_err(|error| self.wrong(text, error, "write a time, as \"10s\""))?,
        };
        let key_file = folder.join(table.key_file.get_ref());
        Ok(TunnelFile { role, key_file, device, addresses, routes, mtu, timeout, setup })
    }

    fn device(&self, name: &str, table: &Table) -> Result<String, Error> {
        let help = "name it with device = \"...\": 15 bytes at most, without / and blanks";
        let fits = |device: &str| {
            let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"/:%".contains(&byte);
            (1..=LONGEST_DEVICE).contains(&device.len()) && device.bytes().all(is_plain)
        };
        match &table.device {
            Some(device) if fits(device.get_ref()) => Ok(device.get_ref().clone()),
            Some(device) => Err(self.wrong(device, "no name of a device", help)),
            None if fits(name) => Ok(name.into()),
            None => Err(Error::Usage(format!(
                "{}: the tunnel's name is too long to be the device's, too; {help}",
                self.file
            ))),
        }
    }

    fn client(&self, table: &Table, place: &Spanned<()>) -> Result<Role, Error> {
        self.only_for("listen", "server", table.listen.as_ref())?;
        self.only_for("nat", "server", table.nat.as_ref())?;
        self.only_for("clients", "server", table.clients.as_ref())?;
        self.only_for("client-routes", "server", table.client_routes.first())?;
        self.only_for("loops", "server", table.loops.as_ref())?;
        let Some(server) = &table.server else {
            let help = "name the server: server = \"host:5312\"";
            return Err(self.wrong(place, "missing field `server`", help));
        };
        let text = server.get_ref();
        if check_form(text).is_err() {
            let help = "write host:port, as \"192.0.2.1:5312\" or \"[2001:db8::1]:5312\"";
            return Err(self.wrong(server, "the server has no port", help));
        }
        let scheme = table.scheme.as_ref().map_or("sprout", |scheme| scheme.get_ref());
        let built = registries::build(scheme).map(drop);
        if let (Err(error), Some(at)) = (built, &table.scheme) {
            return Err(self.wrong(at, error.to_string(), "`paceline schemes` lists all schemes"));
        }
        let keepalive = match &table.keepalive {
            None => KEEPALIVE,
            Some(text) => args::keepalive(text.get_ref())
                .map_err(|error| self.wrong(text, error, "write a time, as \"25s\""))?,
        };
        Ok(Role::Client { server: text.clone(), scheme: scheme.into(), keepalive })
    }

    fn server(&self, table: &Table, folder: &Path) -> Result<Role, Error> {
        self.only_for("server", "client", table.server.as_ref())?;
        self.only_for("scheme", "client", table.scheme.as_ref())?;
        self.only_for("keepalive", "client", table.keepalive.as_ref())?;
        self.only_for("default-route", "client", table.default_route.as_ref())?;
        self.only_for("dns", "client", table.dns.first())?;
        self.only_for("kill-switch", "client", table.kill_switch.as_ref())?;
        self.only_for("allow", "client", table.allow.first())?;
        let listen = match &table.listen {
            None => any_address(PORT),
            Some(text) => text.get_ref().parse().map_err(|_| {
                let help = "write an address and a port, as \"0.0.0.0:5312\" or \"[::]:5312\"";
                self.wrong(text, "no address to listen at", help)
            })?,
        };
        let routes = self.prefixes(&table.client_routes)?;
        let clients = match (&table.clients, table.client_routes.first()) {
            (None, Some(at)) => {
                let help = "add clients = \"FILE\": routes are handed out to listed clients only";
                return Err(self.wrong(at, "`client-routes` without a list of clients", help));
            }
            (clients, _) => clients.as_ref().map(|clients| {
                let path = folder.join(clients.get_ref());
                ClientListOptions { path, routes }
            }),
        };
        let loops = match &table.loops {
            None => processors(),
            Some(at) => {
                let count = usize::try_from(*at.get_ref()).ok().and_then(NonZeroUsize::new);
                count.filter(|count| count.get() <= MOST_LOOPS).ok_or_else(|| {
                    let help = format!("write a number from 1 to {MOST_LOOPS}");
                    self.wrong(at, "no number of event loops", &help)
                })?
            }
        };
        Ok(Role::Server { listen, clients, loops })
    }

    fn name_servers(&self, table: &Table) -> Result<Vec<IpAddr>, Error> {
        let read = |text: &Spanned<String>| {
            let help = "write the address of a name server, as \"10.77.0.1\"";
            text.get_ref().parse().map_err(|_| self.wrong(text, "no address", help))
        };
        // Programs read at most three name servers (resolv.conf(5)).
        match table.dns.get(3) {
            Some(fourth) => {
                Err(self.wrong(fourth, "more than three name servers", "name three at most"))
            }
            None => table.dns.iter().map(read).collect(),
        }
    }

    /// Returns the networks that the kill switch allows; `None` without a kill switch.
    fn kill_switch(&self, table: &Table) -> Result<Option<Vec<Prefix>>, Error> {
        let allowed = self.prefixes(&table.allow)?;
        let Some(switch) = table.kill_switch.as_ref().filter(|switch| *switch.get_ref()) else {
            return match table.allow.first() {
                Some(at) => Err(self.wrong(
                    at,
                    "`allow` without a kill switch",
                    "add kill-switch = true, or remove the line: without a kill switch nothing is blocked",
                )),
                None => Ok(None),
            };
        };
        if !table.default_route.as_ref().is_some_and(|it| *it.get_ref()) {
            let help = "add default-route = true: else nothing would reach the Internet at all";
            return Err(self.wrong(switch, "a kill switch without the default route", help));
        }
        if let Some(server) = &table.server
            && server.get_ref().parse::<SocketAddr>().is_err()
        {
            let help = "write the server's address, as \"192.0.2.1:5312\": the kill switch blocks name servers while no \
                        tunnel runs";
            return Err(self.wrong(server, "a kill switch, and a server that has a name", help));
        }
        Ok(Some(allowed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: &str = "[tunnel]\nrole = \"client\"\nserver = \"192.0.2.1:5312\"\nkey-file = \"office.key\"\n\
                          address = [\"10.77.0.2/24\", \"fd77::2/64\"]\n";
    const SERVER: &str = "[tunnel]\nrole = \"server\"\nkey-file = \"/etc/paceline/server.key\"\n\
                          address = [\"10.77.0.1/24\"]\n";

    fn parse(text: &str) -> Result<TunnelFile, String> {
        let reader = Reader { file: "office.toml", text };
        reader.read("office", Path::new("/etc/paceline")).map_err(|error| error.to_string())
    }

    #[test]
    fn files_of_both_ends_are_read() {
        let more = "default-route = true\ndns = [\"10.77.0.1\"]\nkill-switch = true\nallow = [\"192.168.1.0/24\"]\nmtu = 1400\n\
                    scheme = \"cubic\"\ntimeout = \"20s\"\nkeepalive = \"0s\"\ndevice = \"vpn0\"\nroutes = [\"192.0.2.0/24\"]\n";
        let client = parse(&format!("{CLIENT}{more}")).expect("a client");
        assert!(matches!(&client.role, Role::Client { server, scheme, keepalive }
            if server == "192.0.2.1:5312" && scheme == "cubic" && keepalive.is_zero()));
        assert_eq!(client.key_file, Path::new("/etc/paceline/office.key"));
        assert_eq!((client.mtu, client.timeout), (1400, Span::from_secs(20)));
        assert_eq!((client.device.as_str(), client.addresses.len()), ("vpn0", 2));
        assert_eq!(client.setup.kill_switch.map(|allowed| allowed.len()), Some(1));
        assert!(client.setup.default_route && client.setup.name_servers.len() == 1);
        let server =
            parse(&format!("{SERVER}listen = \"0.0.0.0:99\"\nnat = \"eth0\"\nloops = 3\n"))
                .expect("a server");
        assert!(matches!(server.role, Role::Server { listen, clients: None, loops }
            if listen.port() == 99 && loops.get() == 3));
        assert_eq!(server.device, "office");
        assert_eq!(server.setup.translate.and_then(|it| it.outer).as_deref(), Some("eth0"));
        assert!(
            parse(&format!("{SERVER}nat = false\n")).expect("a server").setup.translate.is_none()
        );
    }

    #[test]
    fn a_servers_list_lies_beside_its_file_and_its_clients_need_no_address() {
        let more = "clients = \"clients\"\nclient-routes = [\"192.168.4.0/24\"]\n";
        let server = parse(&format!("{SERVER}{more}")).expect("a server");
        let Role::Server { clients: Some(list), .. } = server.role else {
            panic!("a server with a list")
        };
        assert_eq!(list.path, Path::new("/etc/paceline/clients"));
        assert_eq!(list.routes.len(), 1);
        let more = "default-route = true\nkill-switch = true\n";
        let without: String = CLIENT.lines().take(4).map(|line| format!("{line}\n")).collect();
        let client = parse(&format!("{without}{more}")).expect("a client");
        assert!(client.addresses.is_empty() && client.setup.kill_switch.is_some());
    }

    #[test]
    fn the_examples_of_the_package_are_read() {
        let client = include_str!("../../../../../packaging/systemd/tunnel.toml.example");
        assert!(parse(client).expect("a client").setup.default_route);
        let server = include_str!("../../../../../packaging/systemd/tunnel-server.toml.example");
        let Role::Server { clients, .. } = parse(server).expect("a server").role else {
            panic!("a server")
        };
        assert!(clients.is_some());
    }

    #[test]
    fn mistakes_are_told_with_their_line_and_a_remedy() {
        let client = |more: &str| format!("{CLIENT}{more}\n");
        for (text, line, message, help) in [
            (client("kill-swich = true"), 6, "unknown field `kill-swich`", "`kill-switch`"),
            (client("mtu = 100"), 6, "no size of packets", "from 1280 to 65535"),
            (client("mtu = \"1500\""), 6, "invalid type", ""),
            (client("default-route = \"yes\""), 6, "invalid type", "write true or false"),
            (
                client("routes = [\"0.0.0.0/0\"]"),
                6,
                "a route to everything",
                "default-route = true",
            ),
            (client("routes = [\"10.0.0/8\"]"), 6, "\"10.0.0/8\" is no network", "as 10.77.0.1/24"),
            (client("dns = [\"dns.example\"]"), 6, "no address", "10.77.0.1"),
            (client("dns = \"10.77.0.1\""), 6, "invalid type", "between [ and ]"),
            (client("kill-switch = true"), 6, "without the default route", "default-route = true"),
            (client("allow = [\"10.0.0.0/8\"]"), 6, "`allow` without", "kill-switch = true"),
            (client("listen = \"0.0.0.0:1\""), 6, "only for role = \"server\"", "remove the line"),
            (client("scheme = \"cubik\""), 6, "cubik", "paceline schemes"),
            (client("timeout = \"ten\""), 6, "", "\"10s\""),
            (client("keepalive = \"1ms\""), 6, "expected 1s to 600s", "\"25s\""),
            (
                client("device = \"much-too-long-for-a-device\""),
                6,
                "no name of a device",
                "15 bytes",
            ),
            (CLIENT.replace(":5312", ""), 3, "the server has no port", "host:port"),
            (CLIENT.replace("client", "cliemt"), 2, "unknown variant", "did you mean `client`?"),
            (SERVER.replace("[tunnel]", "[tunel]"), 1, "unknown field `tunel`", "`tunnel`"),
            (
                format!("{SERVER}dns = [\"10.0.0.1\"]\n"),
                5,
                "only for role = \"client\"",
                "remove the line",
            ),
            (format!("{SERVER}listen = \"eth0\"\n"), 5, "no address to listen at", "0.0.0.0:5312"),
            (format!("{SERVER}loops = 0\n"), 5, "no number of event loops", "from 1 to 64"),
            (client("loops = 2"), 6, "only for role = \"server\"", "remove the line"),
            (client("clients = \"clients\""), 6, "only for role = \"server\"", "remove the line"),
            (
                format!("{SERVER}client-routes = [\"10.0.0.0/8\"]\n"),
                5,
                "`client-routes` without",
                "clients = ",
            ),
            (format!("{SERVER}nat = 5\n"), 5, "true, false or the name of an interface", ""),
        ] {
            let error = parse(&text).err().unwrap_or_else(|| panic!("a mistake in {text}"));
            assert!(error.contains(&format!("office.toml:{line}:")), "{error}");
            assert!(error.contains(message) && error.contains(help), "{message}, {help}: {error}");
        }
        let named =
            CLIENT.replace("192.0.2.1", "host") + "default-route = true\nkill-switch = true\n";
        let error = parse(&named).err().expect("a mistake");
        assert!(
            error.contains("office.toml:3:") && error.contains("write the server's address"),
            "{error}"
        );
        for (missing, help) in
            [("role", "which end"), ("key-file", "paceline key new"), ("address", "10.77.0.1/24")]
        {
            let text: String = SERVER
                .lines()
                .filter(|line| !line.starts_with(missing))
                .map(|line| format!("{line}\n"))
                .collect();
            let error = parse(&text).err().expect("a mistake");
            assert!(
                error.contains(&format!("missing field `{missing}`")) && error.contains(help),
                "{error}"
            );
        }
    }

    #[test]
    fn a_tunnel_is_named_by_its_file() {
        for (text, path, name) in [
            ("office", "/etc/paceline/office.toml", "office"),
            ("./home.toml", "./home.toml", "home"),
            ("/srv/a/b", "/srv/a/b", "b"),
        ] {
            assert_eq!(find(text).expect("a name"), (PathBuf::from(path), name.to_string()));
        }
        assert!(find("../..").is_err() && find("a b").is_err());
    }
}
