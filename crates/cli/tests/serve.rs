//! `paceline serve`: serves files of the page and nothing else, whatever the request.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::paceline;
use paceline_testing::Folder;

/// A running server, which is ended when this value is dropped.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(folder: &str) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_paceline"))
            .args(["serve", "--port", "0", "--site", folder])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
        Server { address: address.expect("an address").to_string(), child }
    }

    /// Sends these bytes. Returns the server's answer.
    fn say(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        // The server may refuse before it has read all.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, path: &str) -> String {
        self.say(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn site(name: &str) -> Folder {
    let folder = Folder::new(name);
    std::fs::create_dir_all(folder.path("site/assets")).expect("folders");
    folder.write("site/index.html", b"<!doctype html>the page");
    folder.write("site/assets/a b.wasm", b"\0asm");
    folder.write("secret", b"secret");
    std::os::unix::fs::symlink(folder.path("secret"), folder.path("site/link")).expect("a link");
    folder
}

#[test]
fn files_are_served_and_nothing_else() {
    let folder = site("serve-files");
    let server = Server::start(&folder.path("site"));
    let page = server.get("/");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("the page"), "{page}");
    assert!(page.contains("Content-Length: 23\r\n") && page.contains("text/html"), "{page}");
    assert!(page.contains("default-src 'self'"), "{page}");
    assert_eq!(server.get("/index.html?x=1"), page);
    let wasm = server.get("/assets/a%20b.wasm");
    assert!(wasm.contains("application/wasm") && wasm.ends_with("\0asm"), "{wasm}");
    let head = server.say(b"HEAD / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    assert!(head.contains("Content-Length: 23") && head.ends_with("\r\n\r\n"), "{head}");
    for path in [
        "/../secret",
        "/assets/../../secret",
        "/%2e%2e/secret",
        "/..%2fsecret",
        "/link",
        "/assets/..%5c..%5csecret",
        "/assets/",
        "/none",
        "//etc/passwd",
    ] {
        let answer = server.get(path);
        let status = &answer[9..12];
        assert!(["403", "404"].contains(&status), "{path}: {answer}");
        assert!(!answer.ends_with("secret") && !answer.contains("root:"), "{path}");
    }
}

#[test]
fn compressed_files_and_hashed_names() {
    let folder = site("serve-coded");
    let name = "site/assets/index-60W3RJFU.js";
    folder.write(name, b"plain");
    folder.write(&format!("{name}.br"), b"brotli");
    folder.write(&format!("{name}.gz"), b"gzip");
    let server = Server::start(&folder.path("site"));
    let get = |path: &str, accepted: &str| {
        let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n");
        server.say(format!("{head}Accept-Encoding: {accepted}\r\n\r\n").as_bytes())
    };
    let path = "/assets/index-60W3RJFU.js";
    for (accepted, coding, body) in [
        ("gzip, deflate, br, zstd", "Content-Encoding: br\r\n", "brotli"),
        ("gzip", "Content-Encoding: gzip\r\n", "gzip"),
        ("br;q=0", "", "plain"),
    ] {
        let answer = get(path, accepted);
        assert!(
            answer.contains(coding) && answer.ends_with(&format!("\r\n\r\n{body}")),
            "{answer}"
        );
        assert_eq!(answer.contains("Content-Encoding"), !coding.is_empty(), "{answer}");
        assert!(answer.contains("text/javascript") && answer.contains("Vary: Accept-Encoding"));
        assert!(answer.contains("max-age=31536000, immutable"), "{answer}");
    }
    let page = get("/", "br");
    assert!(page.contains("Cache-Control: no-cache\r\n") && !page.contains("Vary"), "{page}");
    // A name without a hash may get other content; a link could lead out of the folder.
    for plain in ["readings.js", "one-readings.js"] {
        folder.write(&format!("site/assets/{plain}"), b"plain");
        let link = folder.path(&format!("site/assets/{plain}.br"));
        std::os::unix::fs::symlink(folder.path("secret"), link).expect("a link");
        let answer = get(&format!("/assets/{plain}"), "br");
        assert!(answer.contains("no-cache") && answer.ends_with("plain"), "{answer}");
    }
    // A coded file of an earlier build is not sent.
    let day = Duration::from_secs(86_400);
    let coded = std::fs::File::options().write(true).open(folder.path(&format!("{name}.br")));
    let coded = coded.expect("a file");
    let modified = coded.metadata().and_then(|seen| seen.modified()).expect("a time");
    coded.set_modified(modified - day).expect("another time");
    assert_eq!(get(path, "br").rsplit("\r\n").next(), Some("plain"));
}

#[test]
fn a_folder_has_a_slash_at_the_end_of_its_address() {
    let folder = site("serve-folder");
    for name in ["book", "a b"] {
        std::fs::create_dir_all(folder.path(&format!("site/{name}"))).expect("folders");
        folder.write(&format!("site/{name}/index.html"), b"the book");
    }
    let server = Server::start(&folder.path("site"));
    for (path, location) in [("/book", "./book/"), ("//book", "./book/"), ("/a%20b", "./a%20b/")] {
        let answer = server.get(path);
        assert!(answer.starts_with("HTTP/1.1 301 Moved Permanently\r\n"), "{answer}");
        assert!(answer.contains(&format!("\r\nLocation: {location}\r\n")), "{answer}");
    }
    assert!(server.get("/book/").ends_with("\r\n\r\nthe book"));
    // A folder without a page is none.
    assert!(server.get("/assets").starts_with("HTTP/1.1 404"));
}

#[test]
fn bad_requests_are_refused_and_the_server_goes_on() {
    let folder = site("serve-bad");
    let server = Server::start(&folder.path("site"));
    let status = |bytes: &[u8]| server.say(bytes).get(9..12).unwrap_or_default().to_string();
    assert_eq!(status(b"\x16\x03\x01\x02\x00 TLS\r\n\r\n"), "400");
    assert_eq!(status(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"), "405");
    assert_eq!(status(b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"), "403");
    assert_eq!(status(b"GET / HTTP/1.1\r\nHost: a"), "400");
    assert_eq!(status(b""), "");
    let long = [b"GET /".as_slice(), &[b'a'; 100_000], b" HTTP/1.1\r\n\r\n"].concat();
    assert_eq!(status(&long), "431");
    let body = [b"POST / HTTP/1.1\r\n\r\n".as_slice(), &[b'a'; 500_000]].concat();
    assert_eq!(status(&body), "405");
    // Many silent connections do not keep other ones out for long.
    let silent: Vec<TcpStream> =
        (0..20).map(|_| TcpStream::connect(&server.address).expect("a connection")).collect();
    assert!(server.get("/").ends_with("the page"));
    drop(silent);
}

#[test]
fn too_many_connections_are_told_so() {
    let folder = site("serve-many");
    let server = Server::start(&folder.path("site"));
    let silent: Vec<TcpStream> =
        (0..64).map(|_| TcpStream::connect(&server.address).expect("a connection")).collect();
    let answer = server.get("/");
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.ends_with("too many connections are open; try again\n"), "{answer}");
    drop(silent);
    // The server notices the end of these connections one after the other.
    let again = (0..3000).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        server.get("/").ends_with("the page")
    });
    assert!(again);
}

#[test]
fn a_missing_page_is_a_wrong_argument() {
    let folder = Folder::new("serve-none");
    let seen = paceline(&["serve", "--site", &folder.path("none")]);
    assert_eq!(seen.code, 2, "{}", seen.err);
    assert!(seen.out.is_empty() && seen.err.contains("make site"), "{}", seen.err);
}
