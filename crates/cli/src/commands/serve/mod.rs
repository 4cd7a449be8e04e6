//! `paceline serve`: the page, for a browser on this computer.

mod files;
mod http;

use std::io::BufReader;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::Args;

use self::files::Files;
use self::http::Refusal;
use crate::output::{self, Error};

/// The most connections at the same time, and how long one may be silent.
const MOST_CONNECTIONS: usize = 64;
const SILENCE: Duration = Duration::from_secs(10);

/// Serve the page with live runs, comparisons and claims to a browser on this computer
///
/// The simulator runs in the browser. Nobody but this computer can reach the page.
#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline serve
  paceline serve --port 9000
  paceline serve --site /usr/share/paceline/site")]
pub(crate) struct Serve {
    /// The TCP port on 127.0.0.1; 0 for any that is free
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// The folder of the page, as `make site` writes it. Without it: $PACELINE_SITE, or a folder
    /// `site` or `share/paceline/site` near the program
    #[arg(long, value_name = "DIR")]
    site: Option<PathBuf>,
    /// Do not say where the page is
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
            output::note(&format!("serving {}; end with Ctrl-C", files.folder().display()));
        }
        let open = Arc::new(AtomicUsize::new(0));
        for stream in listener.incoming().flatten() {
            let (files, open) = (files.clone(), Arc::clone(&open));
            if open.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
                open.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let counter = Arc::clone(&open);
            let serving = std::thread::Builder::new().spawn(move || {
                // A connection that breaks is the browser's affair.
                let _ = serve(&stream, &files);
                open.fetch_sub(1, Ordering::Relaxed);
            });
            if serving.is_err() {
                counter.fetch_sub(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// The page's folder.
    fn files(&self) -> Result<Files, Error> {
        if let Some(folder) = &self.site {
            return Files::open(folder).ok_or_else(|| {
                Error::Usage(format!(
                    "{} has no index.html; `make site` makes one",
                    folder.display()
                ))
            });
        }
        let found = places().iter().find_map(|folder| Files::open(folder));
        found.ok_or_else(|| {
            Error::Usage(
                "the page is not at hand: build it with `make site`, which leaves it in target/site, \
                 and name its folder with --site"
                    .into(),
            )
        })
    }
}

/// Where the page may be if nobody says where.
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

/// Answers one request.
fn serve(stream: &TcpStream, files: &Files) -> std::io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    let read = http::read(&mut BufReader::new(stream));
    let (answer, head_only) = match read {
        Ok(None) => return Ok(()),
        Ok(Some(request)) if !is_here(request.host.as_deref()) => {
            (Err(Refusal(403, "this server is for this computer only")), request.head_only)
        }
        Ok(Some(request)) => (files.read(&request.path), request.head_only),
        Err(refusal) => (Err(refusal), false),
    };
    match answer {
        Ok((bytes, kind)) => http::answer(&mut &*stream, 200, kind, &bytes, head_only),
        Err(Refusal(status, why)) => {
            let text = format!("{why}\n");
            http::answer(
                &mut &*stream,
                status,
                "text/plain; charset=utf-8",
                text.as_bytes(),
                head_only,
            )
        }
    }
}

/// True if the browser means this computer: another site cannot have its name lead here.
fn is_here(host: Option<&str>) -> bool {
    let Some(host) = host else { return true };
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "[::1]"
}

#[cfg(test)]
mod tests {
    use super::*;

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
