//! `paceline serve`: serves the page to a browser on this computer.

mod files;
mod http;

use std::io::{self, BufReader, Read};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

pub(crate) use self::files::Files;
use self::http::{Headers, Refusal};
use crate::output::{self, Error};

/// The page in the program: `paceline.html`, if the program was built with it.
#[cfg(feature = "page")]
const BUILT_IN: Option<&[u8]> = Some(include_bytes!(env!("PACELINE_PAGE")));
#[cfg(not(feature = "page"))]
const BUILT_IN: Option<&[u8]> = None;
/// Most connections at the same time.
const MOST_CONNECTIONS: usize = 64;
/// Longest time for a request to arrive, and for which a browser may accept no more of the answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Limits for reading the rest of a refused request, in bytes and time. It is read so that the
/// browser sees the answer.
const REST: u64 = 1 << 20;
const REST_TIME: Duration = Duration::from_secs(1);
/// Wait after a connection could not be accepted, for example because too many files are open.
const PAUSE: Duration = Duration::from_millis(100);

/// Serve the page with live runs, comparisons and claims to a browser on this computer
///
/// The simulator runs in the browser. Only programs of this computer can connect. Ends with Ctrl-C.
#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline serve
  paceline serve --port 9000
  paceline serve --site /usr/share/paceline/site")]
pub(crate) struct Serve {
    /// The TCP port on 127.0.0.1; 0 for any free one
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// The folder of the page, as `make site` writes it; by default $PACELINE_SITE, or a folder
    /// `site` or `share/paceline/site` near the program, or the page in the program, if it was built
    /// with one
    #[arg(long, value_name = "DIR")]
    site: Option<PathBuf>,
    /// Do not print the address of the page
    #[arg(short, long)]
    quiet: bool,
}

impl Serve {
    pub(crate) fn run(self) -> Result<(), Error> {
        let files = self.files()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).map_err(|error| {
            Error::Message(format!(
                "port {} cannot be had: {error}; name another one with --port, or 0 for any",
                self.port
            ))
        })?;
        let address = listener.local_addr().map_err(|error| Error::Message(error.to_string()))?;
        if !self.quiet {
            output::print(&format!("http://{address}/\n"))?;
            output::note(&format!("serving {files}; end with Ctrl-C"));
        }
        let open = Arc::new(AtomicUsize::new(0));
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                thread::sleep(PAUSE);
                continue;
            };
            if open.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
                open.fetch_sub(1, Ordering::Relaxed);
                // Does not wait, since the answer is short.
                let _ = stream.set_nonblocking(true).and_then(|()| refuse(&stream, &BUSY, false));
                continue;
            }
            let (files, counter) = (files.clone(), Arc::clone(&open));
            let serving = thread::Builder::new().spawn(move || {
                // Ignores errors: a broken connection concerns only the browser.
                let _ = serve(&stream, &files);
                counter.fetch_sub(1, Ordering::Relaxed);
            });
            if serving.is_err() {
                open.fetch_sub(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Finds the page's folder.
    fn files(&self) -> Result<Files, Error> {
        if let Some(folder) = &self.site {
            return Files::open(folder).ok_or_else(|| {
                Error::Usage(format!(
                    "{} has no index.html; `make site` makes one",
                    folder.display()
                ))
            });
        }
        find()
    }
}

/// Finds the page in the default folders.
fn find() -> Result<Files, Error> {
    let found = places().iter().find_map(|folder| Files::open(folder));
    found.or_else(|| BUILT_IN.map(Files::BuiltIn)).ok_or_else(|| {
        Error::Usage(
            "this program was built without the page: in the source tree, `make site` builds it into target/site (with \
             Node.js 20; minutes the first time), and `paceline serve --site target/site` serves it; packages from \
             `make dist` have it. Figures without it: `paceline compare -o DIR` writes a page of its own"
                .into(),
        )
    })
}

/// Returns the page that `paceline serve` serves by default.
///
/// # Errors
/// There is none: with the remedy.
pub(crate) fn page() -> Result<Files, Error> {
    find()
}

/// Returns the folders to search for the page if the user names none.
fn places() -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> =
        std::env::var_os("PACELINE_SITE").map(PathBuf::from).into_iter().collect();
    let program = std::env::current_exe().and_then(|program| program.canonicalize());
    // target/release/paceline and target/site; bin/paceline and share/paceline/site.
    if let Ok(program) = program
        && let Some(above) = program.parent().and_then(Path::parent)
    {
        places.extend([above.join("site"), above.join("share/paceline/site")]);
    }
    places
}

const BUSY: Refusal = Refusal(503, "too many connections are open; try again");

/// Answers one request.
fn serve(stream: &TcpStream, files: &Files) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let until = Instant::now() + PATIENCE;
    match http::read(&mut BufReader::new(DeadlineStream { stream, until })) {
        Ok(None) => Ok(()),
        Ok(Some(request)) => {
            let answer = match is_here(request.host.as_deref()) {
                true => files.read(&request.path, &request.accepted),
                false => Err(Refusal(403, "this server is for this computer only")),
            };
            match answer {
                Ok(files::File { bytes, kind, coding, varies, is_immutable }) => {
                    let path = files.policy_path(&request.path);
                    let location = None;
                    let headers = Headers { kind, path, coding, varies, is_immutable, location };
                    http::answer(&mut &*stream, 200, &headers, &bytes, request.head_only)
                }
                Err(refusal) => {
                    let is_folder = refusal == http::FOLDER;
                    let location = is_folder.then(|| http::folder_address(&request.path));
                    let headers = Headers { location, ..Headers::of_text() };
                    refuse_with(stream, &refusal, &headers, request.head_only)
                }
            }
        }
        Err(refusal) => {
            refuse(stream, &refusal, false)?;
            // Reads the rest: closing a connection with unread data resets it, and the other end
            // then drops the answer.
            stream.shutdown(Shutdown::Write)?;
            let rest = DeadlineStream { stream, until: Instant::now() + REST_TIME };
            io::copy(&mut rest.take(REST), &mut io::sink()).map(|_| ())
        }
    }
}

fn refuse(stream: &TcpStream, refusal: &Refusal, head_only: bool) -> io::Result<()> {
    refuse_with(stream, refusal, &Headers::of_text(), head_only)
}

fn refuse_with(
    stream: &TcpStream,
    Refusal(status, why): &Refusal,
    headers: &Headers<'_>,
    head_only: bool,
) -> io::Result<()> {
    let text = format!("{why}\n");
    http::answer(&mut &*stream, *status, headers, text.as_bytes(), head_only)
}

/// A connection that can be read until some time, however slowly its bytes arrive.
struct DeadlineStream<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl Read for DeadlineStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        Read::read(&mut &*self.stream, buffer)
    }
}

/// Returns true if the browser addresses this computer by a local name. Refuses other names, with
/// which another site could lead here.
fn is_here(host: Option<&str>) -> bool {
    let Some(host) = host else { return true };
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "[::1]"
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_request_that_trickles_in_is_given_up() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let mut slow = TcpStream::connect(listener.local_addr().expect("bound")).expect("open");
        let trickle = thread::spawn(move || {
            // Never silent for long; would last 30 s if the other end accepted it all.
            (0..600)
                .take_while(|_| {
                    thread::sleep(Duration::from_millis(50));
                    slow.write_all(b"a").is_ok()
                })
                .count()
        });
        let (stream, _) = listener.accept().expect("a connection");
        let until = Instant::now() + Duration::from_millis(300);
        let read = http::read(&mut BufReader::new(DeadlineStream { stream: &stream, until }));
        assert_eq!(read.expect_err("no whole line").0, 400);
        drop(stream);
        assert!(trickle.join().expect("no panic") < 600);
    }

    #[test]
    fn only_this_computer_is_meant() {
        for host in ["localhost", "localhost:8080", "127.0.0.1:9", "[::1]:80", "LOCALHOST"] {
            assert!(is_here(Some(host)), "{host}");
        }
        for host in ["example.org", "127.0.0.1.example.org:8080", "10.0.0.1", ""] {
            assert!(!is_here(Some(host)), "{host}");
        }
        assert!(is_here(None));
    }
}
