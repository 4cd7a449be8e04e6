//! Files in which a server lists its clients: one line per client, with its name, its public key
//! and, for tunnels, the networks whose addresses it may use.
//!
//! ```text
//! # who     key                                                    networks inside
//! laptop    plc-1Zb0...                                            10.77.0.2, fd77::2
//! office    plc-x9Qe...                                            10.77.0.3, 192.168.4.0/24
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use paceline_os::RealTimeError;
use paceline_wire::{Admission, AdmittedClient, ClientPublic, Handout, MOST_NETWORKS, Prefix};

/// Maximum length of the file in bytes.
const LONGEST: u64 = 4 << 20;
/// Maximum length of a client's name in characters.
const LONGEST_NAME: usize = 64;

/// A client as a file lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedClient {
    /// Its name, for people to read: letters, digits, `.`, `_`, `-` and `@`.
    pub name: String,
    /// The public half of its key.
    pub key: ClientPublic,
    /// The networks that belong to it, in the file's order. A single address is a prefix of full
    /// length.
    pub networks: Vec<Prefix>,
}

/// All clients that a file lists, in its order. No two have a name, a key or an address in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientsFile {
    /// The clients.
    pub clients: Vec<ListedClient>,
}

impl fmt::Display for ListedClient {
    /// Writes the client as a line of a file, without a line break.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.key)?;
        for (index, Prefix { address, bits }) in self.networks.iter().enumerate() {
            f.write_str(if index == 0 { " " } else { "," })?;
            match *bits == longest_bits(address) {
                true => write!(f, "{address}")?,
                false => write!(f, "{address}/{bits}")?,
            }
        }
        Ok(())
    }
}

fn longest_bits(address: &std::net::IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Returns true if some address lies in both networks.
pub fn overlap(one: &Prefix, other: &Prefix) -> bool {
    one.contains(other.address) || other.contains(one.address)
}

/// Returns why `name` cannot be the name of a client; `None` if it can.
pub fn name_error(name: &str) -> Option<String> {
    if name.starts_with("plc-") {
        return Some("the name comes first, then the key: NAME plc-KEY".into());
    }
    let is_good = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '@');
    let good = !name.is_empty()
        && name.chars().count() <= LONGEST_NAME
        && name.chars().all(is_good)
        && !name.starts_with('-');
    (!good).then(|| {
        format!(
            "the name {name:?}: expected 1 to {LONGEST_NAME} letters, digits and . _ - @, not - at the beginning"
        )
    })
}

impl ListedClient {
    /// Reads a line. Returns `None` for an empty line and for a comment.
    ///
    /// # Errors
    /// The mistake in the line, in words.
    fn parse(line: &str) -> Result<Option<ListedClient>, String> {
        let line = line.split_once('#').map_or(line, |(before, _)| before);
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { return Ok(None) };
        if let Some(error) = name_error(name) {
            return Err(error);
        }
        let key = words.next().ok_or_else(|| format!("{name}: no key; expected NAME plc-KEY"))?;
        let key = ClientPublic::parse(key).map_err(|error| format!("{name}: {error}"))?;
        let mut networks = Vec::new();
        for text in words.flat_map(|word| word.split(',')).filter(|text| !text.is_empty()) {
            let network =
                Prefix::parse(text).map_err(|error| format!("{name}: {text:?}: {error}"))?;
            if network.base() != network.address {
                return Err(format!(
                    "{name}: {text}: this is an address within a network; for the network say {}/{}, for the address \
                     alone {}",
                    network.base(),
                    network.bits,
                    network.address
                ));
            }
            networks.push(network);
        }
        if networks.len() > MOST_NETWORKS {
            return Err(format!(
                "{name}: {} networks: expected {MOST_NETWORKS} at most",
                networks.len()
            ));
        }
        Ok(Some(ListedClient { name: name.into(), key, networks }))
    }
}

impl ClientsFile {
    /// Reads a file. Refuses a file that users other than its owner may write to, because whoever
    /// can add a line can connect.
    ///
    /// # Errors
    /// Names the file, the line, the mistake and the remedy.
    pub fn read(path: &Path) -> Result<ClientsFile, RealTimeError> {
        let place = path.display().to_string();
        let fail = |text: String| RealTimeError::Message(format!("{place}{text}"));
        let cannot = |error| fail(format!(": cannot be read: {error}"));
        let file = File::open(path).map_err(cannot)?;
        let about = file.metadata().map_err(cannot)?;
        if about.is_file() && about.mode() & 0o022 != 0 {
            return Err(fail(format!(
                ": other users may write to this list of clients (mode {:04o}): `chmod go-w {place}`",
                about.mode() & 0o777
            )));
        }
        let mut bytes = Vec::new();
        file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(cannot)?;
        if bytes.len() as u64 > LONGEST {
            return Err(fail(format!(": longer than {LONGEST} bytes: no list of clients")));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| fail(": no text, so no list of clients".into()))?;
        ClientsFile::parse(&text).map_err(|(line, error)| fail(format!(", line {line}: {error}")))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// The number of the line, counted from 1, and the mistake in it.
    pub fn parse(text: &str) -> Result<ClientsFile, (usize, String)> {
        let mut clients = Vec::new();
        let (mut names, mut keys) = (BTreeMap::new(), BTreeMap::new());
        let mut networks = Networks::default();
        for (number, line) in (1..).zip(text.lines()) {
            let parsed = ListedClient::parse(line).map_err(|error| (number, error))?;
            let Some(client) = parsed else { continue };
            let name = &client.name;
            if let Some(first) = names.insert(name.clone(), number) {
                return Err((number, format!("{name}: line {first} has this name, too")));
            }
            if let Some(first) = keys.insert(client.key, number) {
                let text = "each client needs a key of its own (`paceline key new --for SERVER.key -o FILE`)";
                return Err((number, format!("{name}: line {first} has this key, too; {text}")));
            }
            for network in &client.networks {
                if let Some((other, line)) = networks.insert(*network, number) {
                    let text = format!("{name}: {network} overlaps with {other} in line {line}");
                    return Err((number, format!("{text}; an address belongs to one client")));
                }
            }
            clients.push(client);
        }
        Ok(ClientsFile { clients })
    }

    /// Returns the client named `name`.
    pub fn named(&self, name: &str) -> Option<&ListedClient> {
        self.clients.iter().find(|client| client.name == name)
    }

    /// Returns the list in the form that a server of `paceline-wire` takes. `handout` gives what
    /// the server hands out to each client.
    pub fn admission(&self, handout: impl Fn(&ListedClient) -> Handout) -> Admission {
        let admitted = self.clients.iter().map(|client| AdmittedClient {
            key: client.key,
            name: client.name.clone(),
            handout: handout(client),
        });
        admitted.collect()
    }
}

/// Networks without a common address, each with its client's line number, ordered by first address.
#[derive(Default)]
struct Networks(BTreeMap<std::net::IpAddr, (Prefix, usize)>);

impl Networks {
    /// Adds a network, unless it overlaps with one in the set. Returns that network, which stays.
    fn insert(&mut self, network: Prefix, line: usize) -> Option<(Prefix, usize)> {
        // Two networks are equal, nested or disjoint. So among the networks that begin before this
        // one, only the nearest can contain it; and if this one contains any, it contains the
        // nearest that begins after it.
        let before = self.0.range(..=network.base()).next_back();
        let after = self.0.range(network.base()..).next();
        let mut near = before.into_iter().chain(after).map(|(_, found)| *found);
        if let Some(found) = near.find(|(other, _)| overlap(other, &network)) {
            return Some(found);
        }
        self.0.insert(network.base(), (network, line));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 2] = ["first", "second"];

    /// Returns a random key.
    fn key() -> ClientPublic {
        let identity = paceline_wire::key::Identity::generate().expect("random numbers");
        identity.key().for_new_client().expect("random numbers").1
    }

    #[test]
    fn lines_are_read_as_they_are_written() {
        let (one, two) = (key(), key());
        let text = format!(
            "# clients\n\n {} {one} 10.77.0.2, fd77::2 192.168.4.0/24,  # the first one\n{}\t{two}\r\n",
            KEYS[0], KEYS[1]
        );
        let file = ClientsFile::parse(&text).expect("a list");
        assert_eq!(file.clients.len(), 2);
        let first = file.named(KEYS[0]).expect("it is listed");
        assert_eq!((first.key, first.networks.len()), (one, 3));
        assert_eq!(first.to_string(), format!("first {one} 10.77.0.2,fd77::2,192.168.4.0/24"));
        assert_eq!(file.clients[1].to_string(), format!("second {two}"));
        let again: String = file.clients.iter().map(|client| format!("{client}\n")).collect();
        assert_eq!(ClientsFile::parse(&again), Ok(file.clone()));
        let admission = file.admission(|_| Handout::default());
        assert_eq!(admission.client(&two).map(|client| &*client.name), Some("second"));
        assert_eq!(admission.clients().count(), 2);
        assert_eq!(ClientsFile::parse(""), Ok(ClientsFile::default()));
    }

    #[test]
    fn mistakes_are_told_with_their_line_and_the_remedy() {
        let (one, two) = (key(), key());
        let secret = "pl2-AAAA";
        for (text, line, error) in [
            (format!("a {one}\nb"), 2, "b: no key; expected NAME plc-KEY"),
            (format!("{one} a"), 1, "the name comes first"),
            (format!("a/b {one}"), 1, "letters, digits"),
            (format!("-x {one}"), 1, "letters, digits"),
            (format!("{} {one}", "x".repeat(65)), 1, "letters, digits"),
            ("a hello".into(), 1, "begins with `plc-`"),
            (format!("a {secret}"), 1, "secret key string"),
            (format!("a {one}x"), 1, "incomplete or mistyped"),
            (format!("a {one}\n#\na {two}"), 3, "a: line 1 has this name"),
            (format!("a {one}\nb {one}"), 2, "b: line 1 has this key"),
            (format!("a {one} 10.0.0.1/24"), 1, "for the network say 10.0.0.0/24"),
            (format!("a {one} 10.0.0/24"), 1, "expected an address"),
            (format!("a {one} 10.0.0.0/33"), 1, "expected an address"),
            (
                format!("a {one} 10.0.0.0/24\nb {two} 10.0.0.9"),
                2,
                "overlaps with 10.0.0.0/24 in line 1",
            ),
            (format!("a {one} 10.0.0.9\nb {two} 10.0.0.0/24"), 2, "overlaps with 10.0.0.9"),
            (format!("a {one} ::/0\nb {two} 10.0.0.1,fd00::1"), 2, "fd00::1/128 overlaps"),
            (format!("a {one} 10.0.0.9,10.0.0.9"), 1, "overlaps"),
            (format!("a {one} {}", "10.0.0.1 ".repeat(9)), 1, "8 at most"),
        ] {
            let (at, said) = ClientsFile::parse(&text).expect_err(&text);
            assert!(at == line && said.contains(error), "{text}: line {at}: {said}");
        }
        // Adjacent networks do not overlap.
        let text = format!("a {one} 10.0.0.0/25,10.0.1.0/24\nb {two} 10.0.0.128/25,::/1");
        assert!(ClientsFile::parse(&text).is_ok());
    }

    #[test]
    fn a_list_that_others_may_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let path = std::env::temp_dir().join(format!("paceline-clients-{}", std::process::id()));
        std::fs::write(&path, format!("a {}\nb b\n", key())).expect("room");
        let mode = |mode| std::fs::Permissions::from_mode(mode);
        for (bits, error) in [(0o664, "chmod go-w"), (0o602, "chmod go-w"), (0o644, ", line 2: b:")]
        {
            std::fs::set_permissions(&path, mode(bits)).expect("our file");
            let said = ClientsFile::read(&path).expect_err("it is refused").to_string();
            assert!(said.contains(error) && said.contains("paceline-clients"), "{said}");
        }
        std::fs::remove_file(&path).expect("our file");
        let said = ClientsFile::read(&path).expect_err("it is gone").to_string();
        assert!(said.contains("cannot be read"), "{said}");
    }
}
