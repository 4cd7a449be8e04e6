//! Reads keys from a file, standard input, `$PACELINE_KEY`, or an argument.
//!
//! A server needs its keys (`paceline key new`). A client needs a key string: its own
//! (`paceline key new --for`), or the one that all clients share, which is also in the file of the
//! server's keys.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use clap::Args;
use paceline_os::capability;
use paceline_wire::ClientPublic;
use paceline_wire::key::{Identity, Key, KeyError};

use crate::output::{self, Error};

/// Environment variable that holds a key.
const VARIABLE: &str = "PACELINE_KEY";
/// Published keys for measurements over loopback, which only programs on this machine can reach.
/// They protect nothing.
const LOOPBACK: &str = "paceline identity 1\n\
    WPZkPIuVCAoh9RZEnctJNX32LcXd3DsFs8VXC0JyoN0CYMwUjNHz5ku5Vg8SuDiumFcEDlNPzRfN9N2w0imIRQksmt88dDkaKSIXTDGAO_nLdXT6wa1M5mAdowQLD3A26sY_";
/// Largest file of keys in bytes.
const LONGEST: u64 = 4096;

/// Options for the key with which a client shows that it may connect.
#[derive(Args)]
#[command(next_help_heading = "Keys")]
pub(crate) struct ClientKey {
    /// A file with this client's own key (`paceline key new --for`), with the key string that the
    /// server has printed, or with the server's keys; - is standard input. Other users must not be
    /// able to read it. Without it and --key, the key is in the environment, in $PACELINE_KEY. An
    /// end that listens (`send --listen`) needs the server's keys, and creates the file if there is
    /// none
    #[arg(long, value_name = "FILE", conflicts_with = "key")]
    key_file: Option<PathBuf>,
    /// The key string itself. All users of this machine see it in the list of processes, and shells keep it: prefer
    /// --key-file
    #[arg(long, value_name = "STRING", value_parser = key)]
    key: Option<Key>,
}

/// Options for the keys by which a server recognizes its clients.
#[derive(Args)]
#[command(next_help_heading = "Keys")]
pub(crate) struct ServerKeys {
    /// A file with this server's keys, as `paceline key new` writes it; - is standard input. If
    /// there is none, the server creates it and prints its key string once;
    /// `paceline key show FILE` prints it again. Other users must not be able to read it. Without
    /// this option, the keys are in $PACELINE_KEY, or the server makes new ones, which end with
    /// this program. With --from the file holds a client's key, as for `paceline send`
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Former name of --key-file
    #[arg(long, value_name = "FILE", conflicts_with = "key_file", hide = true)]
    identity: Option<PathBuf>,
}

/// A server's keys, and whether this start made them: then it has to print their key string.
pub(crate) struct FoundKeys {
    pub(crate) identity: Identity,
    pub(crate) is_new: bool,
}

fn key(text: &str) -> Result<Key, String> {
    Key::parse(without_word(text)).map_err(|error| error.to_string())
}

/// Returns the key string of a line that `paceline recv` prints: `key pl1-...`.
fn without_word(line: &str) -> &str {
    let line = line.trim();
    line.strip_prefix("key ").unwrap_or(line).trim_start()
}

fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// The content of a file of keys.
pub(crate) enum KeyText {
    /// A server's keys.
    Identity(Identity),
    /// A key string.
    Key(Key),
}

impl KeyText {
    fn parse(text: &str) -> Result<KeyText, KeyError> {
        let text = text.trim();
        if text.starts_with("paceline") {
            return Identity::parse(text).map(KeyText::Identity);
        }
        Key::parse(without_word(text)).map(KeyText::Key)
    }

    /// Reads a file, or standard input.
    pub(crate) fn read(path: &Path) -> Result<KeyText, Error> {
        if is_standard_input(path) {
            let mut bytes = Vec::new();
            io::stdin().lock().take(LONGEST).read_to_end(&mut bytes).map_err(|error| {
                Error::Usage(format!("standard input: no key can be read: {error}"))
            })?;
            return KeyText::of(&bytes, "standard input");
        }
        let name = path.display().to_string();
        let cannot = |error: io::Error| Error::Usage(format!("{name}: cannot be read: {error}"));
        let file = File::open(path).map_err(cannot)?;
        check_readers(&file, path)?;
        let mut bytes = Vec::new();
        file.take(LONGEST).read_to_end(&mut bytes).map_err(cannot)?;
        KeyText::of(&bytes, &name)
    }

    fn of(bytes: &[u8], place: &str) -> Result<KeyText, Error> {
        let read = KeyText::parse(&String::from_utf8_lossy(bytes));
        read.map_err(|error| Error::Usage(format!("{place}: {error}")))
    }

    /// Returns the key in the environment, if there is one.
    fn of_environment() -> Result<Option<KeyText>, Error> {
        match std::env::var_os(VARIABLE).filter(|text| !text.is_empty()) {
            Some(text) => {
                KeyText::of(OsStr::as_encoded_bytes(&text), &format!("${VARIABLE}")).map(Some)
            }
            None => Ok(None),
        }
    }

    /// Returns the text that may be printed: the public half of a client's own key, or the key
    /// string that clients need.
    pub(crate) fn shown(&self) -> String {
        let key = self.key();
        key.client().map_or_else(|| key.to_string(), |client| client.to_string())
    }

    pub(crate) fn key(&self) -> &Key {
        match self {
            KeyText::Identity(identity) => identity.key(),
            KeyText::Key(key) => key,
        }
    }

    pub(crate) fn into_identity(self, place: &str) -> Result<Identity, Error> {
        match self {
            KeyText::Identity(identity) => Ok(identity),
            KeyText::Key(_) => Err(Error::Usage(format!(
                "{place}: this is the key string for clients; a server needs the file that `paceline key new` writes"
            ))),
        }
    }
}

/// Refuses a file that other users may read or write, as ssh does. A file with another owner is
/// refused only if all users may: systemd's credentials belong to root, and one further user may
/// read them.
fn check_readers(file: &File, path: &Path) -> Result<(), Error> {
    let Ok(about) = file.metadata() else { return Ok(()) };
    let own = about.uid() == capability::user();
    let others = about.mode() & if own { 0o077 } else { 0o007 };
    if about.is_file() && others != 0 {
        return Err(Error::Usage(format!(
            "{0}: other users can read or change this key (mode {1:04o}). Run: chmod 600 {0}. If someone may have \
             read it, make a new key: paceline key new",
            path.display(),
            about.mode() & 0o777
        )));
    }
    Ok(())
}

/// Makes a server's keys, and writes them into a new file that only this user can read.
pub(crate) fn make(path: &Path) -> Result<Identity, Error> {
    let identity = generate()?;
    write_new(path, &identity.to_text())?;
    Ok(identity)
}

/// Makes the key of a new client of the server that has `key`, and writes it into a new file that
/// only this user can read. Returns the key's public half, which the server lists.
pub(crate) fn make_for_client(key: &Key, path: &Path) -> Result<ClientPublic, Error> {
    let (key, public) = for_new_client(key)?;
    write_new(path, &format!("{key}\n"))?;
    Ok(public)
}

fn for_new_client(key: &Key) -> Result<(Key, ClientPublic), Error> {
    key.for_new_client().map_err(|error| Error::Message(error.to_string()))
}

/// Writes a secret into a new file that only this user can read. Fails if the file exists, and
/// leaves it as it is.
fn write_new(path: &Path, text: &str) -> Result<(), Error> {
    let fail = |source| Error::Io { path: Some(path.to_path_buf()), source };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(
        |error| match error.kind() {
            io::ErrorKind::AlreadyExists => fail(io::Error::new(
                error.kind(),
                "there is a file of this name, which stays as it is",
            )),
            _ => fail(error),
        },
    )?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if let Err(error) = written {
        let _ = std::fs::remove_file(path);
        return Err(fail(error));
    }
    Ok(())
}

fn generate() -> Result<Identity, Error> {
    Identity::generate().map_err(|error| Error::Message(error.to_string()))
}

/// Returns true if there are addresses, and all of them are loopback addresses.
fn are_loopback(addresses: &[SocketAddr]) -> bool {
    let is_loopback = |at: &SocketAddr| at.ip().to_canonical().is_loopback();
    !addresses.is_empty() && addresses.iter().all(is_loopback)
}

fn loopback_identity() -> Result<Identity, Error> {
    Identity::parse(LOOPBACK).map_err(|error| Error::Message(error.to_string()))
}

impl ClientKey {
    /// Finds the key for a measurement: as [`ClientKey::find`], but without a named key and with a
    /// receiver on this machine it is the published key for loopback.
    pub(crate) fn find_for_measurement(&self, to: &[SocketAddr]) -> Result<Key, Error> {
        let is_named = self.key.is_some() || self.key_file.is_some();
        if !is_named && are_loopback(to) && KeyText::of_environment()?.is_none() {
            return Ok(loopback_identity()?.key().clone());
        }
        self.find()
    }

    /// Finds the key. If it is not a client's own, derives one for this process, so that the server
    /// recognizes the process when it connects again.
    pub(crate) fn find(&self) -> Result<Key, Error> {
        let key = self.read()?;
        if key.client().is_some() { Ok(key) } else { for_new_client(&key).map(|(key, _)| key) }
    }

    fn read(&self) -> Result<Key, Error> {
        match (&self.key, &self.key_file) {
            (Some(key), _) => Ok(key.clone()),
            (None, Some(path)) => Ok(KeyText::read(path)?.key().clone()),
            (None, None) => match KeyText::of_environment()? {
                Some(text) => Ok(text.key().clone()),
                None => Err(Error::Usage(format!(
                    "no key: --key-file FILE names a file with this client's key, or with the key string that the server has \
                     printed; \
                     ${VARIABLE} can hold it, too"
                ))),
            },
        }
    }

    /// Finds the keys of an end that listens: a server's keys in the file, or new ones.
    pub(crate) fn find_for_server(&self, quiet: bool) -> Result<FoundKeys, Error> {
        if self.key.is_some() {
            return Err(Error::Usage(
                "--key is a client's key string; an end that listens needs --key-file FILE with a server's keys \
                 (`paceline key new -o FILE`)"
                    .into(),
            ));
        }
        ServerKeys { key_file: self.key_file.clone(), identity: None }.find(quiet)
    }

    /// Returns true if the key is read from standard input.
    pub(crate) fn uses_standard_input(&self) -> bool {
        self.key.is_none() && self.key_file.as_deref().is_some_and(is_standard_input)
    }
}

impl ServerKeys {
    /// Finds the keys of a receiver that only measures: as [`ServerKeys::find`], but without named
    /// keys and on a loopback address they are the published keys for loopback.
    pub(crate) fn find_for_measurement(
        &self,
        quiet: bool,
        listen: SocketAddr,
    ) -> Result<FoundKeys, Error> {
        let is_named = self.key_file.is_some() || self.identity.is_some();
        if !is_named && are_loopback(&[listen]) && KeyText::of_environment()?.is_none() {
            return Ok(FoundKeys { identity: loopback_identity()?, is_new: false });
        }
        self.find(quiet)
    }

    /// Finds the key with which this end connects to a server.
    pub(crate) fn find_for_client(&self) -> Result<Key, Error> {
        let key_file = self.key_file.clone().or_else(|| self.identity.clone());
        ClientKey { key_file, key: None }.find()
    }

    /// Finds the keys, or makes new ones. With `quiet`, fails if it would have to make keys that no
    /// file keeps, since nothing would print their key string.
    pub(crate) fn find(&self, quiet: bool) -> Result<FoundKeys, Error> {
        if self.identity.is_some() {
            output::note("--identity is now called --key-file");
        }
        let known = |identity| FoundKeys { identity, is_new: false };
        let Some(path) = self.key_file.as_ref().or(self.identity.as_ref()) else {
            return match KeyText::of_environment()? {
                Some(text) => text.into_identity(&format!("${VARIABLE}")).map(known),
                None if quiet => Err(Error::Usage(
                    "--quiet prints no key, so no client could connect: make keys with `paceline key new -o FILE`, and \
                     name them with --key-file FILE"
                        .into(),
                )),
                None => Ok(FoundKeys { identity: generate()?, is_new: true }),
            };
        };
        if is_standard_input(path) || path.exists() {
            let place = path.display().to_string();
            return KeyText::read(path)?.into_identity(&place).map(known);
        }
        Ok(FoundKeys { identity: make(path)?, is_new: true })
    }
}

impl FoundKeys {
    /// Returns the line `key STRING` if this start has made the keys and `quiet` is off.
    pub(crate) fn line(&self, quiet: bool) -> Option<String> {
        (self.is_new && !quiet).then(|| format!("key {}\n", self.identity.key()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_keys_are_for_loopback_addresses_alone() {
        assert!(loopback_identity().is_ok());
        let all = |list: &[&str]| -> Vec<SocketAddr> {
            list.iter().map(|text| text.parse().expect("an address")).collect()
        };
        for local in [&["127.0.0.1:1"][..], &["[::1]:1", "127.8.0.1:1"], &["[::ffff:127.0.0.1]:1"]]
        {
            assert!(are_loopback(&all(local)), "{local:?}");
        }
        for other in [&[][..], &["0.0.0.0:1"], &["[::]:1"], &["127.0.0.1:1", "192.0.2.1:1"]] {
            assert!(!are_loopback(&all(other)), "{other:?}");
        }
    }
}
