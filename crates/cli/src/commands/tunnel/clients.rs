//! `paceline tunnel clients`: makes, lists and revokes the keys of a tunnel's clients.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use paceline_transfer::clients_file::{ClientsFile, ListedClient, name_error, overlap};
use paceline_transfer::tunnel::{PeerStatus, Prefix, RunningTunnel, free_addresses, network_error};
use serde::Serialize;

use super::status::span;
use crate::keys::{self, KeyText};
use crate::output::{self, Error};
use crate::table::Grid;

/// Make, list and revoke keys of a tunnel's clients
///
/// Each client has its own key, and the addresses that it may use inside. The server's list has a
/// line for each: its name, the public half of its key (plc-...), and its networks.
/// `tunnel server --clients FILE` admits the listed clients; if it is running, these commands make
/// it read the list again.
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  paceline tunnel clients add ada --key-file server.key --clients clients -o ada.key
  paceline tunnel clients list --clients clients
  paceline tunnel clients revoke ada --clients clients")]
pub(crate) enum Clients {
    Add(Add),
    List(List),
    Revoke(Revoke),
}

/// Make a client's key and list the client
///
/// Without --address the client gets the first free address of each of the server's networks. The
/// server sends a client its single addresses, so the client then needs no --address.
#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline tunnel clients add ada --key-file server.key --clients clients -o ada.key
  paceline tunnel clients add site --key-file server.key --clients clients -o site.key \\
    --address 10.77.0.9 --address 192.168.4.0/24")]
pub(crate) struct Add {
    /// The client's name: letters, digits and . _ - @
    #[arg(value_name = "NAME")]
    name: String,
    /// The server's keys (`paceline key new`), or the key string that its clients share
    #[arg(long, value_name = "FILE")]
    key_file: PathBuf,
    /// The server's list of clients; created if there is none
    #[arg(long, value_name = "FILE")]
    clients: PathBuf,
    /// The new file for the client's key, which only you can read; an existing file is never
    /// replaced
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// An address of the client inside, or a network behind it, as 10.77.0.2 or 192.168.4.0/24; may
    /// be given several times
    #[arg(long, value_name = "ADDR[/BITS]", value_parser = Prefix::parse)]
    address: Vec<Prefix>,
    /// The server's addresses, as in its --address; free addresses are taken from their networks.
    /// Not needed while the server runs, nor with --address
    #[arg(long, value_name = "ADDR/BITS", value_parser = Prefix::parse)]
    server_address: Vec<Prefix>,
}

/// Show the listed clients, and their state at a running server
#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline tunnel clients list --clients /etc/paceline/clients
  paceline tunnel clients list --clients /etc/paceline/clients --json")]
pub(crate) struct List {
    /// The server's list of clients
    #[arg(long, value_name = "FILE")]
    clients: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Remove clients from the list; a running server ends their connections
#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline tunnel clients revoke ada --clients /etc/paceline/clients")]
pub(crate) struct Revoke {
    /// The client's name; several may be given
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// The server's list of clients
    #[arg(long, value_name = "FILE")]
    clients: PathBuf,
}

/// Document of `list --json`.
#[derive(Serialize)]
struct Document {
    running: bool,
    clients: Vec<ClientRow>,
}

#[derive(Serialize)]
struct ClientRow {
    name: String,
    key: String,
    addresses: Vec<String>,
    connected: bool,
    remote: Option<String>,
    heard_s: Option<f64>,
}

impl Clients {
    pub(crate) fn run(&self) -> Result<(), Error> {
        match self {
            Clients::Add(add) => add.run(),
            Clients::List(list) => list.run(),
            Clients::Revoke(revoke) => revoke.run(),
        }
    }
}

/// Returns the running server that uses this list.
fn server_of(path: &Path) -> Option<RunningTunnel> {
    let full = path.canonicalize().ok()?.display().to_string();
    let uses = |one: &RunningTunnel| one.status.clients_file.as_deref() == Some(&full);
    RunningTunnel::all().into_iter().find(uses)
}

/// Makes the server that uses this list read it again. Prints a note if there is none.
fn tell_server(path: &Path) -> Result<(), Error> {
    match server_of(path) {
        Some(server) => server.reload().map_err(|error| {
            Error::Message(format!("the running server does not take the list: {error}"))
        }),
        None => {
            output::note(&format!(
                "no running server uses {}: it counts when one starts with --clients, or gets SIGHUP",
                path.display()
            ));
            Ok(())
        }
    }
}

/// The list of clients under an exclusive lock, so that other commands cannot change it meanwhile.
struct LockedList {
    path: PathBuf,
    text: String,
    file: ClientsFile,
    /// Permissions of the file, which its replacement gets, too.
    mode: u32,
    /// The folder, which is locked as long as it is open.
    folder: File,
}

impl LockedList {
    /// Locks and reads a list. Fails without `make` if there is none.
    fn open(path: &Path, make: bool) -> Result<LockedList, Error> {
        // Replaces the file itself, not a link to it.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let name = path.display();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let cannot = |error: io::Error| {
            Error::Usage(format!("{}: cannot be locked: {error}", folder.display()))
        };
        let folder = File::open(folder).map_err(cannot)?;
        folder.lock().map_err(cannot)?;
        let (text, mode) = match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && make => {
                ("# name key networks inside: see docs/tunnel.md\n".to_string(), 0o600)
            }
            about => {
                let mode = about.map_or(0o600, |about| about.mode() & 0o777);
                let bytes = output::read(&path, 4_000_000)?;
                let text = String::from_utf8(bytes)
                    .map_err(|_| Error::Usage(format!("{name}: no text, so no list of clients")))?;
                (text, mode)
            }
        };
        let file = parse(&path, &text)?;
        Ok(LockedList { path, text, file, mode, folder })
    }

    /// Replaces the list. A reader sees either the former list or this one, also after a power cut.
    fn write(&self, text: &str) -> Result<(), Error> {
        // Checks that servers can read it.
        parse(&self.path, text)?;
        let new = self.path.with_extension(format!("new-{}", std::process::id()));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(self.mode)
            .open(&new)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&new, &self.path))
            .and_then(|()| self.folder.sync_all());
        written.map_err(|source| {
            let _ = fs::remove_file(&new);
            Error::Io { path: Some(self.path.clone()), source }
        })
    }
}

fn parse(path: &Path, text: &str) -> Result<ClientsFile, Error> {
    ClientsFile::parse(text)
        .map_err(|(line, error)| Error::Usage(format!("{}, line {line}: {error}", path.display())))
}

impl Add {
    fn run(&self) -> Result<(), Error> {
        if let Some(error) = name_error(&self.name) {
            return Err(Error::Usage(error));
        }
        let key = KeyText::read(&self.key_file)?;
        let running = server_of(&self.clients);
        let list = LockedList::open(&self.clients, true)?;
        if list.file.named(&self.name).is_some() {
            return Err(Error::Usage(format!(
                "{}: {} is listed: revoke it first, or choose another name",
                self.clients.display(),
                self.name
            )));
        }
        let networks = self.networks(&list.file, running.as_ref())?;
        let public = keys::make_for_client(&key.key().without_client(), &self.output)?;
        let client = ListedClient { name: self.name.clone(), key: public, networks };
        let separator = if list.text.is_empty() || list.text.ends_with('\n') { "" } else { "\n" };
        let written = list.write(&format!("{}{separator}{client}\n", list.text));
        let taken = written.and_then(|()| {
            // A line that the server refuses would keep it from starting again.
            tell_server(&self.clients).inspect_err(|_| {
                let _ = list.write(&list.text);
            })
        });
        taken.inspect_err(|_| {
            let _ = fs::remove_file(&self.output);
        })?;
        drop(list);
        output::print(&format!("{client}\n"))
    }

    /// Returns the client's networks: those that the user names, or free addresses.
    fn networks(
        &self,
        file: &ClientsFile,
        running: Option<&RunningTunnel>,
    ) -> Result<Vec<Prefix>, Error> {
        let mut server = self.server_address.clone();
        if server.is_empty() {
            let texts = running.map_or(&[][..], |running| &running.status.addresses);
            server = texts.iter().filter_map(|text| Prefix::parse(text).ok()).collect();
        }
        if !self.address.is_empty() {
            for network in &self.address {
                if let Some(error) = network_error(network, &server) {
                    return Err(Error::Usage(format!("--address: {error}")));
                }
                let listed = |client: &&ListedClient| {
                    client.networks.iter().any(|other| overlap(other, network))
                };
                if let Some(client) = file.clients.iter().find(listed) {
                    return Err(Error::Usage(format!(
                        "--address {network}: {} has it; an address belongs to one client",
                        client.name
                    )));
                }
            }
            return Ok(self.address.clone());
        }
        if server.is_empty() {
            return Err(Error::Usage(
                "no running server uses this list, so its networks are not known: name the client's addresses with \
                 --address, or the server's with --server-address"
                    .into(),
            ));
        }
        free_addresses(file, &server).map_err(Error::Usage)
    }
}

impl List {
    fn run(&self) -> Result<(), Error> {
        let file =
            ClientsFile::read(&self.clients).map_err(|error| Error::Usage(error.to_string()))?;
        let running = server_of(&self.clients);
        let peers = running.as_ref().map_or(&[][..], |running| &running.status.peers);
        let row = |client: &ListedClient| {
            let key = client.key.to_string();
            let known = peers.iter().find(|peer| peer.key.as_ref() == Some(&key));
            let known = known.cloned().unwrap_or_else(PeerStatus::default);
            let addresses = client.networks.iter().map(Prefix::to_string).collect();
            let PeerStatus { connected, remote, heard_s, .. } = known;
            ClientRow { name: client.name.clone(), key, addresses, connected, remote, heard_s }
        };
        let rows: Vec<ClientRow> = file.clients.iter().map(row).collect();
        if self.json {
            return output::print_json(&Document { running: running.is_some(), clients: rows });
        }
        let mut grid = Grid::after(6, &["name", "inside", "connected", "from", "last seen", "key"]);
        for row in rows {
            let connected = match (&running, row.connected) {
                (None, _) => "no server runs",
                (_, true) => "yes",
                (_, false) => "no",
            };
            let seen = row.heard_s.map_or("-".into(), |heard| format!("{} ago", span(heard)));
            let from = row.remote.unwrap_or_else(|| "-".into());
            let inside = row.addresses.join(" ");
            grid.row(vec![row.name, inside, connected.into(), from, seen, row.key]);
        }
        output::print(&grid.text())
    }
}

impl Revoke {
    fn run(&self) -> Result<(), Error> {
        let list = LockedList::open(&self.clients, false)?;
        for name in &self.names {
            if list.file.named(name).is_none() {
                return Err(Error::Usage(format!(
                    "{}: no client is called {name}: `paceline tunnel clients list` shows their names",
                    self.clients.display()
                )));
            }
        }
        let is_revoked = |line: &&str| {
            let line = line.split_once('#').map_or(*line, |(before, _)| before);
            let name = line.split_whitespace().next();
            name.is_some_and(|name| self.names.iter().any(|revoked| revoked == name))
        };
        let kept = list.text.lines().filter(|line| !is_revoked(line));
        let text: String = kept.map(|line| format!("{line}\n")).collect();
        list.write(&text)?;
        drop(list);
        tell_server(&self.clients)
    }
}
