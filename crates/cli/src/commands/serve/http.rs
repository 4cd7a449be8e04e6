//! The part of HTTP that browsers need to read files: GET and HEAD of RFC 9110 and 9112.

use std::io::{self, BufRead, Write};

/// Longest line of a request in bytes, and most header lines.
const LONGEST_LINE: usize = 8192;
const MOST_HEADERS: usize = 100;

/// A request, with only the fields that this server needs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// True for HEAD, which asks for an answer without a body.
    pub(super) head_only: bool,
    /// The path, without a query, with percent signs decoded. Begins with `/`.
    pub(super) path: String,
    /// The host that the browser addresses.
    pub(super) host: Option<String>,
    /// Codings of the answer that the browser accepts.
    pub(super) accepted: Vec<Coding>,
}

/// A coding of a file, which `make site` has written beside the file.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Brotli,
    Gzip,
}

impl Coding {
    /// Codings from the smallest files to the largest.
    pub(super) const ALL: [Coding; 2] = [Coding::Brotli, Coding::Gzip];

    /// Returns its name in headers (RFC 9110 §8.4.1, RFC 7932 §13).
    fn name(self) -> &'static str {
        match self {
            Coding::Brotli => "br",
            Coding::Gzip => "gzip",
        }
    }

    /// Returns the ending of a file that has this coding, after the file's own name.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Coding::Brotli => "br",
            Coding::Gzip => "gz",
        }
    }

    /// Returns the codings in an Accept-Encoding header (RFC 9110 §12.5.3). A weight of zero
    /// refuses a coding; other weights do not matter, because the server prefers the smaller file.
    fn accepted(header: &str) -> Vec<Coding> {
        let is_accepted = |coding: &Coding| {
            header.split(',').any(|entry| {
                let mut words = entry.split(';').map(str::trim);
                let is_named = words.next().is_some_and(|n| n.eq_ignore_ascii_case(coding.name()));
                let is_refused = |word: &str| {
                    let weight = word.strip_prefix("q=").or_else(|| word.strip_prefix("Q="));
                    weight.is_some_and(|weight| weight.trim().parse() == Ok(0.0))
                };
                is_named && !words.any(is_refused)
            })
        };
        Coding::ALL.into_iter().filter(is_accepted).collect()
    }
}

/// What an answer says about its body.
pub(super) struct Headers<'a> {
    /// Media type.
    pub(super) kind: &'static str,
    /// The path of the request, which decides about the policy.
    pub(super) path: &'a str,
    pub(super) coding: Option<Coding>,
    /// Whether the body depends on the codings that the browser accepts.
    pub(super) varies: bool,
    /// Whether the file at this path never changes, because its name has a hash of its content.
    pub(super) is_immutable: bool,
    /// Where the browser finds what it asks for, if that is another path.
    pub(super) location: Option<String>,
}

impl Headers<'_> {
    /// Returns the headers of a text without a file.
    pub(super) fn of_text() -> Headers<'static> {
        let kind = "text/plain; charset=utf-8";
        let (path, coding, location) = ("", None, None);
        Headers { kind, path, coding, varies: false, is_immutable: false, location }
    }

    fn write(&self, length: usize) -> String {
        let Headers { kind, path, coding, varies, is_immutable, location } = self;
        let location = location.as_ref().map(|path| format!("Location: {path}\r\n"));
        let coding = coding.map(|coding| format!("Content-Encoding: {}\r\n", coding.name()));
        let vary = if *varies { "Vary: Accept-Encoding\r\n" } else { "" };
        let cache = match is_immutable {
            true => "public, max-age=31536000, immutable",
            false => "no-cache",
        };
        format!(
            "Content-Type: {kind}\r\nContent-Length: {length}\r\n{}{}{vary}\
             Cache-Control: {cache}\r\nContent-Security-Policy: {}\r\n{HEADERS}\r\n",
            location.unwrap_or_default(),
            coding.unwrap_or_default(),
            policy(path)
        )
    }
}

/// An answer without a file: its status and an explanation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal(pub(super) u16, pub(super) &'static str);

const BAD: Refusal = Refusal(400, "this is no HTTP request");

/// A folder whose path has no `/` at its end: links in its page would lead beside the folder.
pub(super) const FOLDER: Refusal = Refusal(301, "this is a folder: its address ends with /");

/// Returns the address of a folder, relative to the path without a `/` at its end.
pub(super) fn folder_address(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    let encoded = name.bytes().map(|byte| match byte {
        byte if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => char::from(byte).into(),
        byte => format!("%{byte:02X}"),
    });
    // A name with a colon alone would be a scheme (RFC 3986 §4.2).
    format!("./{}/", encoded.collect::<String>())
}

/// Reads a request. Returns `None` if the connection was closed before it.
///
/// # Errors
/// A refusal for a wrong request. A broken connection counts as closed.
pub(super) fn read(from: &mut impl BufRead) -> Result<Option<Request>, Refusal> {
    let Some(first) = line(from)? else { return Ok(None) };
    let mut words = first.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(BAD);
    };
    if !version.starts_with("HTTP/1.") {
        return Err(Refusal(505, "this server speaks HTTP/1.1"));
    }
    let mut host = None;
    let mut accepted = Vec::new();
    for count in 0.. {
        let header = line(from)?.ok_or(BAD)?;
        if header.is_empty() {
            break;
        }
        if count >= MOST_HEADERS {
            return Err(Refusal(431, "too many header lines"));
        }
        let (name, value) = header.split_once(':').ok_or(BAD)?;
        if name.eq_ignore_ascii_case("host") {
            host = Some(value.trim().to_string());
        } else if name.eq_ignore_ascii_case("accept-encoding") {
            accepted.extend(Coding::accepted(value));
        }
    }
    let head_only = match method {
        "GET" => false,
        "HEAD" => true,
        _ => return Err(Refusal(405, "this server has files to read: use GET")),
    };
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let path = decode(path).filter(|path| path.starts_with('/')).ok_or(BAD)?;
    Ok(Some(Request { head_only, path, host, accepted }))
}

/// Reads a line without its end. Returns `None` at the end of the connection.
fn line(from: &mut impl BufRead) -> Result<Option<String>, Refusal> {
    let mut bytes = Vec::new();
    loop {
        let (some, ended) = match from.fill_buf() {
            Ok([]) => break,
            Ok(buffer) => match buffer.iter().position(|byte| *byte == b'\n') {
                Some(at) => (buffer[..at].to_vec(), Some(at + 1)),
                None => (buffer.to_vec(), None),
            },
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        from.consume(ended.unwrap_or(some.len()));
        bytes.extend_from_slice(&some);
        if bytes.len() > LONGEST_LINE {
            return Err(Refusal(431, "a line of the request is too long"));
        }
        if ended.is_some() {
            if bytes.last() == Some(&b'\r') {
                bytes.pop();
            }
            return String::from_utf8(bytes).map(Some).map_err(|_| BAD);
        }
    }
    if bytes.is_empty() { Ok(None) } else { Err(BAD) }
}

/// Decodes the percent signs of a path. Returns `None` unless it is text without control
/// characters.
fn decode(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, tail) = rest.split_at_checked(2)?;
        let digit = |at: usize| char::from(digits[at]).to_digit(16);
        bytes.push((digit(0)? * 16 + digit(1)?) as u8);
        rest = tail;
    }
    String::from_utf8(bytes).ok().filter(|text| !text.chars().any(char::is_control))
}

/// Headers of every answer.
const HEADERS: &str = "X-Content-Type-Options: nosniff\r\n\
    Referrer-Policy: no-referrer\r\n\
    Connection: close\r\n";

/// Policy of the page: it loads nothing from other sites, and other sites cannot embed it.
const POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; \
    style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; frame-ancestors 'none'; \
    base-uri 'none'; form-action 'none'";

/// File of the page in which controllers in JavaScript run, and its policy: code from texts, no
/// network, an origin of its own, and only the page as its parent.
const SANDBOX: &str = "/sandbox.html";
const SANDBOX_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; \
    worker-src blob:; sandbox allow-scripts; frame-ancestors 'self'; base-uri 'none'; \
    form-action 'none'";

/// Folders whose pages have scripts of their own in them: mdBook's, which choose the theme, those of reports, and those
/// of rustdoc and pdoc.
const SCRIPTED: [&str; 3] = ["/book/", "/evaluations/", "/api/"];
const SCRIPTED_POLICY: &str = "default-src 'self'; script-src 'self' 'unsafe-inline'; \
    style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; \
    frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// The page in one file, and its policy: scripts, styles and the simulator from its own text, the sandbox of controllers in
/// JavaScript, which has its policy from this one and from itself, and no network.
pub(super) const SINGLE: &str = "/paceline.html";
const SINGLE_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob:; worker-src blob:; \
    style-src 'unsafe-inline'; img-src data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Returns the Content-Security-Policy of a file; `path` is that of the request.
fn policy(path: &str) -> &'static str {
    match path {
        SANDBOX => SANDBOX_POLICY,
        SINGLE => SINGLE_POLICY,
        _ if SCRIPTED.iter().any(|folder| path.starts_with(folder)) => SCRIPTED_POLICY,
        _ => POLICY,
    }
}

/// Writes an answer.
///
/// # Errors
/// The connection has broken.
pub(super) fn answer(
    to: &mut impl Write,
    status: u16,
    headers: &Headers<'_>,
    body: &[u8],
    head_only: bool,
) -> io::Result<()> {
    let reason = match status {
        200 => "OK",
        301 => "Moved Permanently",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Error",
    };
    let allow = if status == 405 { "Allow: GET, HEAD\r\n" } else { "" };
    let head = format!("HTTP/1.1 {status} {reason}\r\n{allow}{}", headers.write(body.len()));
    // Writes head and body in one call, since the rest might get lost: if a request is not read to
    // its end, the kernel resets the connection when it is closed, and data written after the
    // client's reset is lost.
    let mut answer = head.into_bytes();
    if !head_only {
        answer.extend_from_slice(body);
    }
    to.write_all(&answer)?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<Request>, Refusal> {
        read(&mut text.as_bytes())
    }

    #[test]
    fn requests_are_read() {
        let request = parse("GET /a%20b.js?x=1 HTTP/1.1\r\nHost: localhost:8080\r\n\r\n");
        let request = request.expect("valid").expect("one");
        assert_eq!((request.path.as_str(), request.head_only), ("/a b.js", false));
        assert_eq!(request.host.as_deref(), Some("localhost:8080"));
        assert_eq!(request.accepted, []);
        assert!(parse("HEAD / HTTP/1.0\n\n").expect("valid").expect("one").head_only);
        assert_eq!(parse(""), Ok(None));
    }

    #[test]
    fn codings_are_accepted_and_refused() {
        use Coding::{Brotli, Gzip};
        for (header, codings) in [
            ("gzip, deflate, br", vec![Brotli, Gzip]),
            ("GZIP;q=0.5", vec![Gzip]),
            ("br;q=0, gzip", vec![Gzip]),
            ("br; q=0.000", vec![]),
            ("identity, x-br, gzipped", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(Coding::accepted(header), codings, "{header:?}");
        }
    }

    #[test]
    fn only_pages_of_the_book_and_reports_have_scripts_in_them() {
        let allowed = |path: &str| policy(path).contains("script-src 'self' 'unsafe-inline'");
        assert!(allowed("/book/page.html") && allowed("/evaluations/index.html"));
        assert!(allowed("/api/rust/paceline_cc/index.html"));
        assert!(!allowed("/") && !allowed("/index.html") && !allowed("/assets/book/x.js"));
        assert!(policy(SANDBOX).contains("sandbox allow-scripts"));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let status = |text: &str| parse(text).expect_err("refused").0;
        for text in [
            "GET\r\n\r\n",
            "GET  / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nno header\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a",
            "GET /%zz HTTP/1.1\r\n\r\n",
            "GET /% HTTP/1.1\r\n\r\n",
            "GET /%00 HTTP/1.1\r\n\r\n",
            "GET /%ff HTTP/1.1\r\n\r\n",
            "GET a HTTP/1.1\r\n\r\n",
            "\r\n\r\n",
        ] {
            assert_eq!(status(text), 400, "{text:?}");
        }
        assert_eq!(status("POST / HTTP/1.1\r\n\r\n"), 405);
        assert_eq!(status("GET / HTTP/2\r\n\r\n"), 505);
        assert_eq!(status(&format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(9000))), 431);
        assert_eq!(status(&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(200))), 431);
        assert!(read(&mut &b"\xff\xfe / HTTP/1.1\r\n\r\n"[..]).is_err());
    }
}
