//! Attacks by a client with a valid key on `paceline recv` and `paceline tunnel server`: they may
//! harm only this client.

#[allow(dead_code, reason = "what is printed is not looked at here")]
mod common;
#[path = "common/alone.rs"]
mod network;
#[path = "common/raw_client.rs"]
mod raw_client;
#[path = "common/receiver.rs"]
mod receiver;

use std::path::Path;

use network::{alone, lines, text};
use paceline_cc::Stream;
use paceline_testing::Folder;
use paceline_wire::Offer;
use paceline_wire::records::{Content, Entry, FileHash, Record, Transfer};
use raw_client::{RawClient, datagrams, shake, stream};
use receiver::{Receiver, file};

/// A receiver into `into/`, and a file beside that folder, which must not change.
struct Scene {
    folder: Folder,
    receiver: Receiver,
    path: String,
    content: Vec<u8>,
}

impl Scene {
    fn new(name: &str, more: &[&str]) -> Scene {
        let folder = Folder::new(name);
        let into = folder.path("into/");
        let (path, content) = file(&folder, "honest", 20_000);
        let receiver = Receiver::start(&[&["-o", &into, "--loops", "1"], more].concat());
        Scene { folder, receiver, path, content }
    }

    fn connect(&self) -> RawClient {
        shake(&self.receiver.at, &self.receiver.key, stream()).expect("it is admitted")
    }

    /// Sends these bytes over a new connection, and closes it.
    fn attack(&self, bytes: &[u8]) {
        let mut client = self.connect();
        client.send_stream(bytes);
        client.close();
    }

    /// Asserts that an honest sender's file arrives, and that only the receiver's folder has
    /// changed.
    fn assert_unharmed(&self) {
        let (at, key) = (&self.receiver.at, &self.receiver.key);
        let seen = common::paceline(&["send", &self.path, at, "--key", key, "--timeout", "60s"]);
        assert_eq!(seen.code, 0, "an honest sender: {}", seen.err);
        assert!(std::fs::read(&self.path).expect("the file") == self.content);
        assert_eq!(names(&self.folder.path("")), ["honest", "into"]);
    }
}

fn names(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.expect("an entry").file_name().to_string_lossy().into_owned()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

/// Appends all paths below a folder, except the receiver's own folder of transfers.
fn below(folder: &Path, into: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder").flatten() {
        let path = entry.path();
        if path.file_name().is_some_and(|name| name == ".paceline") {
            continue;
        }
        let about = path.symlink_metadata().expect("an entry");
        if about.is_dir() {
            below(&path, into);
        }
        into.push(path);
    }
}

fn transfer(entries: u32) -> Record<'static> {
    Record::Transfer(Transfer { id: [7; 32], resumable: false, entries, bytes: None })
}

fn entry<'a>(number: u32, path: &'a [u8], content: Content<'a>) -> Record<'a> {
    let is_top_level = !path.contains(&b'/');
    Record::Entry(Entry { number, is_top_level, mode: Some(0o777), mtime: None, path, content })
}

const FILE: Content<'static> = Content::File { size: None, offset: 0 };

fn bytes_of(records: &[Record<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    records.iter().for_each(|record| record.write(&mut bytes));
    bytes
}

/// Returns the records of a complete file of this name.
fn whole<'a>(number: u32, path: &'a [u8]) -> [Record<'a>; 3] {
    let mut hash = FileHash::default();
    hash.update(b"hostile");
    let piece = Record::Piece { number, bytes: b"hostile" };
    [entry(number, path, FILE), piece, Record::Close { number, whole: Some(hash.whole()) }]
}

#[test]
fn hostile_names_lead_nowhere() {
    let scene = Scene::new("hostile-names", &[]);
    let (planted, long) = (scene.folder.path("planted"), vec![b'x'; 300]);
    let longer = vec![b'y'; 5000];
    let deep = b"d/".repeat(2000);
    let names: [&[u8]; 26] = [
        b"../planted",
        b"../../planted",
        planted.as_bytes(),
        b"..",
        b".",
        b"",
        b"/",
        b"a/../../planted",
        b"./planted",
        b"honest/../../planted",
        b".bashrc",
        b"-rf",
        b"x\ny",
        b"\x1b[2Jx",
        b"\0",
        b"a\0b",
        b"\xff\xfe",
        b"con",
        "cod\u{202e}gpj.exe".as_bytes(),
        b"zero\xe2\x80\x8bwidth",
        &long,
        &longer,
        &deep,
        b".paceline",
        b".paceline/x",
        b"remy[file=/etc/passwd]",
    ];
    for name in names {
        scene.attack(&bytes_of(&[&[transfer(1)], &whole(1, name)[..], &[Record::End]].concat()));
    }
    // Links out of the folder, and then files through them.
    for target in [&b".."[..], b"../honest", planted.as_bytes(), b"/etc", b"."] {
        let link = entry(1, b"link", Content::Symlink { target });
        let none = paceline_wire::records::Whole::of_nothing();
        let close = Record::Close { number: 1, whole: Some(none) };
        for name in [&b"link/planted"[..], b"link/honest", b"link"] {
            let records =
                [&[transfer(2), link, close], &whole(2, name)[..], &[Record::End]].concat();
            scene.attack(&bytes_of(&records));
        }
        let hard = [transfer(2), entry(1, b"hard", Content::HardLink { target: 9 }), Record::End];
        scene.attack(&bytes_of(&hard));
    }
    scene.assert_unharmed();
    let mut found = Vec::new();
    below(Path::new(&scene.folder.path("into")), &mut found);
    for path in &found {
        let text = path.to_string_lossy().into_owned();
        assert!(!text.contains(char::is_control) && !text.contains('\u{202e}'), "{text:?}");
        let name = path.file_name().expect("a name").to_string_lossy();
        assert!(!name.starts_with('.') && !name.starts_with('-'), "{text}");
    }
    assert!(!found.is_empty(), "harmless names are kept");
    let root = std::fs::canonicalize(scene.folder.path("into")).expect("the folder");
    for path in found.iter().filter_map(|path| std::fs::canonicalize(path).ok()) {
        assert!(path.starts_with(&root), "{} leads out of the folder", path.display());
    }
}

#[test]
fn streams_that_are_no_files_end_and_are_not_kept() {
    let scene = Scene::new("hostile-streams", &[]);
    let mut random = Stream::new(1, "hostile");
    let mut noise =
        |length: usize| -> Vec<u8> { (0..length).map(|_| random.next_u64() as u8).collect() };
    let good = whole(1, b"kept");
    let [begin, piece, close] = good;
    let wrong = Record::Close {
        number: 1,
        whole: Some(paceline_wire::records::Whole { length: 7, hash: [1; 32] }),
    };
    let short = Record::Close {
        number: 1,
        whole: Some(paceline_wire::records::Whole { length: 6, hash: [1; 32] }),
    };
    let offset = entry(1, b"kept", Content::File { size: Some(7), offset: 7 });
    let beyond = entry(1, b"kept", Content::File { size: Some(7), offset: u64::MAX - 1 });
    let mut attacks = vec![
        noise(100_000),
        vec![0; 100_000],
        vec![0xff; 5000],
        // Entries, pieces and ends without the records that have to precede them.
        bytes_of(&[begin, piece, close]),
        bytes_of(&[transfer(1), piece, close]),
        bytes_of(&[transfer(1), close, Record::End]),
        bytes_of(&[transfer(1), Record::End]),
        bytes_of(&[transfer(1), transfer(1)]),
        // Records that are mixed, repeated or hidden.
        bytes_of(&[transfer(2), begin, entry(2, b"other", FILE), piece, close]),
        bytes_of(&[transfer(2), begin, begin]),
        bytes_of(&[transfer(u32::MAX), begin, piece, wrong, Record::End]),
        bytes_of(&[transfer(1), begin, piece, short, Record::End]),
        bytes_of(&[transfer(1), offset, close, Record::End]),
        bytes_of(&[transfer(1), beyond, piece, close, Record::End]),
    ];
    // A record that claims a length of 4 GiB, and a good one whose end is missing.
    let mut giant = bytes_of(&[transfer(1), begin]);
    giant.extend([2, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]);
    giant.extend(noise(50_000));
    attacks.push(giant);
    let all = bytes_of(&[transfer(1), begin, piece, close]);
    attacks.extend([20, 60, all.len() - 1].map(|cut| all[..cut].to_vec()));
    for bytes in &attacks {
        scene.attack(bytes);
    }
    scene.assert_unharmed();
    let mut found = Vec::new();
    below(Path::new(&scene.folder.path("into")), &mut found);
    let names: Vec<_> = found.iter().filter_map(|path| path.file_name()).collect();
    assert_eq!(names, ["honest"], "nothing is kept that is not whole");
}

#[test]
fn files_that_are_begun_and_never_ended_hold_up_nobody() {
    let scene = Scene::new("hostile-unclosed", &[]);
    let begun = bytes_of(&[transfer(1), whole(1, b"begun")[0], whole(1, b"begun")[1]]);
    let mut clients = Vec::new();
    for _ in 0..40 {
        let mut client = scene.connect();
        assert!(client.send_stream(&begun), "it arrives");
        clients.push(client);
    }
    scene.assert_unharmed();
    // The receiver gives unfinished transfers up with their connections, and removes their files.
    for client in clients {
        client.close();
    }
    scene.assert_unharmed();
    let mut found = Vec::new();
    below(Path::new(&scene.folder.path("into")), &mut found);
    let names: Vec<_> = found.iter().filter_map(|path| path.file_name()).collect();
    assert!(names.iter().all(|name| name.to_string_lossy().starts_with("honest")), "{names:?}");
}

#[test]
fn handshakes_that_are_not_gone_on_with_leave_room_for_others() {
    let folder = Folder::new("hostile-half-open");
    let (path, _) = file(&folder, "honest", 20_000);
    let mut command =
        receiver::program(&["recv", "--listen", "[::]:0", "-o", "/dev/null", "--loops", "1"]);
    let receiver = Receiver::of(&mut command);
    let port = receiver.at.rsplit(':').next().expect("a port").to_string();
    // All half-open places that one address may have.
    let mut held = Vec::new();
    for _ in 0..32 {
        held.push(shake(&format!("127.0.0.1:{port}"), &receiver.key, stream()).expect("a place"));
    }
    // Another address is served immediately.
    let at = format!("[::1]:{port}");
    let seen = common::paceline(&["send", &path, &at, "--key", &receiver.key]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    // The first address is served when a first packet and an end have freed its places.
    held.into_iter().for_each(|client| drop(client.close()));
    let at = format!("127.0.0.1:{port}");
    let seen = common::paceline(&["send", &path, &at, "--key", &receiver.key, "--timeout", "60s"]);
    assert_eq!(seen.code, 0, "{}", seen.err);
}

#[test]
fn offers_of_what_there_is_not_are_refused_in_words() {
    let scene = Scene::new("hostile-offers", &[]);
    let refused = |offer: Offer| {
        shake(&scene.receiver.at, &scene.receiver.key, offer).err().expect("it is refused")
    };
    let scheme = |scheme: &str| refused(Offer { scheme: scheme.into(), ..stream() });
    for name in ["nonsense", "cubic[", "abc[dt=1e999s]", "remy[file=/etc/passwd]", &"x".repeat(400)]
    {
        let said = scheme(name);
        assert!(said.contains("the other end refuses"), "{name}: {said}");
        assert!(!said.contains("root:"), "{said}");
    }
    assert!(refused(Offer { back: "cubic".into(), ..stream() }).contains("only receives"));
    assert!(refused(datagrams()).contains("`paceline recv`"));
    assert!(refused(Offer { plaintext: true, ..stream() }).contains("--plaintext"));
    scene.assert_unharmed();
}

/// Returns the Internet checksum of IPv4 and ICMP.
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// Returns an echo request inside the tunnel.
fn echo_request(source: [u8; 4]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 28, 0, 1, 0x40, 0, 64, 1, 0, 0];
    packet.extend(source);
    packet.extend([10, 77, 0, 1]);
    let sum = checksum(&packet);
    packet[10..12].copy_from_slice(&sum);
    let mut echo = vec![8, 0, 0, 0, 0, 7, 0, 9];
    let sum = checksum(&echo);
    echo[2..4].copy_from_slice(&sum);
    packet.extend(echo);
    packet
}

/// Runs inside the network of the test below.
#[test]
#[allow(clippy::print_stdout, reason = "the test below reads it")]
fn hostile_inner_client() {
    let Ok(key) = std::env::var("PACELINE_HOSTILE_KEY") else { return };
    let connect = || shake("127.0.0.1:5312", key.trim(), datagrams()).expect("it is admitted");
    let mut client = connect();
    let good = echo_request([10, 77, 0, 3]);
    let changed = |at: usize, byte: u8| {
        let mut packet = good.clone();
        packet[at] = byte;
        packet
    };
    let mut six = vec![0x60, 0, 0, 0, 0, 0, 59, 64];
    six.extend([0xfd; 16]);
    six.extend([0xfd; 16]);
    let mut longer_six = six.clone();
    longer_six[4] = 0xff;
    let mut random = Stream::new(2, "inner");
    let mut packets = vec![
        good[..19].to_vec(), // a header that is cut
        changed(0, 0x44),    // a header shorter than the shortest
        changed(0, 0x4f),    // a header longer than the packet
        changed(2, 0xff),    // a length beyond the packet
        changed(3, 10),      // a length within the header
        changed(0, 0x05),    // an unknown version
        changed(0, 0xf5),
        six[..39].to_vec(),
        six,
        longer_six,
        echo_request([10, 77, 0, 1]),       // the server's own address
        echo_request([127, 0, 0, 1]),       // loopback
        echo_request([224, 0, 0, 1]),       // a group
        echo_request([255, 255, 255, 255]), // broadcast
        echo_request([0, 0, 0, 0]),         // the unspecified address
    ];
    for _ in 0..3000 {
        let length = 1 + random.below(1300) as usize;
        let mut packet: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
        // Most have a known IP version, so that some later check has to refuse them.
        match random.below(4) {
            0 => {}
            1 => packet[0] = 0x45,
            2 => packet[0] = 0x60,
            _ => {
                packet = good.clone();
                let at = random.below(28) as usize;
                packet[at] = random.next_u64() as u8;
            }
        }
        packets.push(packet);
    }
    for packet in packets {
        let sent = client.until(|client| client.connection.waiting_datagrams() < 8);
        assert!(sent, "the connection stands: {:?}", client.connection.ended());
        client.connection.write_long_datagram(&packet);
    }
    // The server still serves this client and another one.
    for (client, source) in [(&mut connect(), [10, 77, 0, 9]), (&mut client, [10, 77, 0, 3])] {
        client.heard.datagrams.clear();
        let mut asked = 0u32;
        let answered = client.until(|client| {
            if asked.is_multiple_of(50) {
                client.connection.write_datagram(&echo_request(source));
            }
            asked += 1;
            let is_reply = |packet: &Vec<u8>| {
                packet.get(16..21) == Some(&[source[0], source[1], source[2], source[3], 0])
            };
            client.heard.datagrams.iter().any(is_reply)
        });
        assert!(answered, "no answer to {source:?}: {:?}", client.connection.ended());
    }
    println!("served");
}

#[test]
fn malformed_packets_inside_a_tunnel_harm_nobody() {
    let script = r#"ip link set lo up
        (umask 077; "$P" key new -o $TMPDIR/server.key > $TMPDIR/key)
        "$P" tunnel server --listen 127.0.0.1:5312 --address 10.77.0.1/24 --address fd77::1/64 --device outer \
            --key-file $TMPDIR/server.key 2> $TMPDIR/server & S=$!
        for i in $(seq 3000); do grep -q "^listening at" $TMPDIR/server && break; sleep 0.1; done
        PACELINE_HOSTILE_KEY=$(cat $TMPDIR/key) timeout 250 $T --exact hostile_inner_client --nocapture > $TMPDIR/client 2>&1
        echo "client $?"; grep -c "^served" $TMPDIR/client
        kill $S; wait $S; echo "server $?"
        cat $TMPDIR/server $TMPDIR/client >&2; rm -f $TMPDIR/*; ip link set lo down"#;
    let test = std::env::current_exe().expect("this program");
    let script = format!("T={}\n{script}", test.display());
    let name = "malformed_packets_inside_a_tunnel_harm_nobody";
    let Some(output) = alone(name, &["ip", "unshare"], &script) else { return };
    assert_eq!(lines(&output), ["client 0", "1", "server 0"], "{}", text(&output.stderr));
}
