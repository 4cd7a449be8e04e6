//! Keys, addresses and folders for transfers whose ends are killed and started again.
#![allow(dead_code, reason = "each test program uses a part")]

use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::common;
use crate::receiver::{Receiver, program};
use paceline_testing::Folder;

/// Size of the large file in these tests in bytes; at [`RATE`] it takes some seconds.
pub(crate) const LENGTH: usize = 12_000_000;
pub(crate) const RATE: &str = "16Mbps";

/// Number of places made so far.
static PLACES: AtomicU32 = AtomicU32::new(0);

/// Keys in files, a free address, and the receiver's folder, so that a new end can replace one that
/// has ended.
pub(crate) struct Place {
    pub(crate) folder: Folder,
    /// Folder for received files, with a slash at its end.
    pub(crate) into: String,
    /// File with the keys of the end that listens.
    pub(crate) server: String,
    /// The key string of that end.
    pub(crate) key: String,
    /// File with a client's key.
    pub(crate) client: String,
    pub(crate) at: String,
}

impl Place {
    pub(crate) fn new(name: &str) -> Place {
        let folder = Folder::new(name);
        let (server, into) = (folder.path("server.key"), folder.path("into/"));
        let made = common::paceline(&["key", "new", "-o", &server]);
        assert_eq!(made.code, 0, "{}", made.err);
        let key = made.out.trim().to_string();
        // An address of its own, since the port is free only until another test takes it.
        let number = PLACES.fetch_add(1, Ordering::Relaxed) % 250 + 1;
        let [.., third, fourth] = std::process::id().to_be_bytes();
        let own = format!("127.{number}.{third}.{}:0", fourth.clamp(1, 254));
        let socket = std::net::UdpSocket::bind(own).expect("an address");
        let at = socket.local_addr().expect("an address").to_string();
        let client = folder.path("client.key");
        let place = Place { folder, into, server, key, client, at };
        place.client_key("client.key");
        place
    }

    /// Makes the key of a further client. Returns its file and its public half.
    pub(crate) fn client_key(&self, name: &str) -> (String, String) {
        let file = self.folder.path(name);
        let made = common::paceline(&["key", "new", "--for", &self.server, "-o", &file]);
        assert_eq!(made.code, 0, "{}", made.err);
        (file, made.out.trim().to_string())
    }

    /// Starts a receiver at this place. The port may still be in use by a receiver that was just
    /// killed.
    pub(crate) fn receiver(&self, more: &[&str]) -> Receiver {
        let arguments =
            ["recv", "--listen", &self.at, "--key-file", &self.server, "-o", &self.into];
        let all = [&arguments, more].concat();
        Receiver::listening(program(&all).spawn().expect("the program starts"), &self.key)
    }

    /// Writes a list of clients: names and public halves of keys. Returns its file.
    pub(crate) fn list(&self, clients: &[(&str, &str)]) -> String {
        let lines: String = clients.iter().map(|(name, key)| format!("{name} {key}\n")).collect();
        let list = self.folder.write("clients", lines.as_bytes());
        let mut set = Command::new("chmod");
        assert!(set.args(["644", &list]).status().expect("chmod").success());
        list
    }

    /// Returns the bytes of files that are staged.
    pub(crate) fn staged(&self) -> u64 {
        fn sum(path: &Path) -> u64 {
            let entries = path.read_dir().into_iter().flatten().flatten();
            entries
                .map(|entry| match entry.metadata() {
                    Ok(about) if about.is_dir() => sum(&entry.path()),
                    Ok(about) if entry.file_name() != "journal" => about.len(),
                    _ => 0,
                })
                .sum()
        }
        sum(&Path::new(&self.into).join(".paceline"))
    }

    /// Waits until the receiver has staged this many bytes, 100 s at most.
    pub(crate) fn wait_for_staged(&self, bytes: u64) {
        let end = Instant::now() + Duration::from_secs(100);
        while self.staged() < bytes {
            assert!(Instant::now() < end, "only {} bytes are staged", self.staged());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns the files in the receiver's folder that have names.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.into).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name != ".paceline").collect();
        names.sort();
        names
    }

    /// Returns true if a file of the receiver's folder has this content.
    pub(crate) fn is_whole(&self, name: &str, content: &[u8]) -> bool {
        std::fs::read(format!("{}{name}", self.into)).is_ok_and(|found| found == content)
    }
}

/// Kills a program without warning it.
pub(crate) fn kill_9(child: &mut Child) {
    child.kill().expect("killed");
    child.wait().expect("a status");
}
