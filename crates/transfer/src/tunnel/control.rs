//! The control socket of a running tunnel, for status requests and commands of other processes.
//!
//! A thread reads requests and writes answers, so that a slow reader does not delay packets. The
//! event loops provide one answer per turn. A request is a line, `status` or `reload`; the answer
//! is one JSON value. For `status`, the thread asks all loops of a server and combines their
//! answers; for `reload`, the first loop reads the list of clients.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::geteuid;
use paceline_os::host::run_folders;
use paceline_os::{RealTimeError, Waker};
use serde::{Deserialize, Serialize};

use super::status::TunnelStatus;

/// Maximum time for a loop to answer: a client that looks its server's name up takes 5 s.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time for the other process to write its request and to read the answer.
const PEER_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum length of a request in bytes.
const LONGEST_REQUEST: u64 = 64;
/// Maximum length of an answer in bytes: the status of 4096 connections has 3 MB.
const LONGEST_ANSWER: u64 = 64 << 20;
/// Prefix of the sockets' names, before the device's name.
const PREFIX: &str = "tunnel-";

/// A request to a loop.
pub(super) enum Request {
    /// Asks for the status.
    Status(SyncSender<TunnelStatus>),
    /// Asks to read the list of clients again. The answer is the mistake in the list, if there is
    /// one.
    Reload(SyncSender<Result<(), String>>),
}

/// The answer to `reload`.
#[derive(Debug, Serialize, Deserialize)]
struct Reloaded {
    /// The mistake in the list; `None` if the new list is in use.
    problem: Option<String>,
}

/// Receives the requests for one loop. The socket is removed with the first loop's.
pub(super) struct Control {
    requests: Receiver<Request>,
    _socket: Option<ControlSocket>,
}

/// Sends requests to a loop.
struct Asked {
    requests: Sender<Request>,
    waker: Waker,
}

/// The socket's file, which is removed when this is dropped.
struct ControlSocket {
    path: PathBuf,
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // Ignore errors: the user cannot do anything about them.
        let _ = fs::remove_file(&self.path);
        if let Some(folder) = self.path.parent() {
            let _ = fs::remove_dir(folder);
        }
    }
}

impl Control {
    /// Opens the socket for a device. Only this user and root can use it. Requests wake the loop by
    /// `waker`.
    ///
    /// # Errors
    /// There is no folder for the socket that only this user can write to.
    pub(super) fn open(device: &str, waker: Waker) -> io::Result<Control> {
        let mut loops = Control::open_for(device, vec![waker])?;
        loops.pop().ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    /// Opens the socket for several loops, in the order of their numbers.
    ///
    /// # Errors
    /// Those of [`Control::open`].
    pub(super) fn open_for(device: &str, wakers: Vec<Waker>) -> io::Result<Vec<Control>> {
        let mut problem = io::Error::from(io::ErrorKind::NotFound);
        for folder in run_folders::run_folders() {
            match bind(&folder, device) {
                Ok((listener, path)) => {
                    let mut socket = Some(ControlSocket { path });
                    let (asked, controls): (Vec<Asked>, Vec<Control>) = wakers
                        .into_iter()
                        .map(|waker| {
                            let (sender, requests) = channel();
                            let control = Control { requests, _socket: socket.take() };
                            (Asked { requests: sender, waker }, control)
                        })
                        .unzip();
                    std::thread::Builder::new()
                        .name("control".into())
                        .spawn(move || serve(&listener, &asked))?;
                    return Ok(controls);
                }
                Err(error) => problem = error,
            }
        }
        Err(problem)
    }

    /// Returns the next request, if there is one.
    #[inline]
    pub(super) fn take(&self) -> Option<Request> {
        self.requests.try_recv().ok()
    }
}

/// Returns true if no process listens on a socket any more.
fn is_dead(path: &Path) -> bool {
    let connected = UnixStream::connect(path);
    connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// Removes sockets of killed processes from this user's folders. Skips a folder in which a process
/// is creating its socket, because a socket without listener refuses connections too.
pub(super) fn remove_dead_sockets() {
    for folder in
        run_folders::run_folders().into_iter().filter(|folder| run_folders::is_own(folder))
    {
        let Ok(lock) = File::open(&folder) else { continue };
        if lock.try_lock().is_ok() {
            // If it cannot be removed, the next call tries again.
            sockets_in(&folder).filter(|path| is_dead(path)).for_each(|path| {
                let _ = fs::remove_file(path);
            });
        }
    }
}

/// Binds the socket in a folder. Replaces the socket of a killed process. If the socket answers,
/// because a device in another network namespace has the same name, adds this process's id to the
/// new socket's name.
fn bind(folder: &Path, device: &str) -> io::Result<(UnixListener, PathBuf)> {
    let mut problem = io::Error::from(io::ErrorKind::AddrInUse);
    let mut path = folder.join(format!("{PREFIX}{device}.sock"));
    // Another process may remove the empty folder in between.
    for _ in 0..10 {
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        if !run_folders::is_own(folder) {
            let text = format!("{} is not this user's own folder", folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        // Exclude processes that remove dead sockets. If the folder disappears meanwhile, it is
        // created again; where locks do not work, the socket is created without one.
        let _lock = File::open(folder).and_then(|lock| lock.lock().map(|()| lock)).ok();
        match UnixListener::bind(&path) {
            Ok(listener) => {
                fs::set_permissions(&path, Permissions::from_mode(0o600))?;
                return Ok((listener, path));
            }
            Err(error) => problem = error,
        }
        if problem.kind() == io::ErrorKind::AddrInUse {
            if is_dead(&path) {
                let _ = fs::remove_file(&path);
            } else {
                path = folder.join(format!("{PREFIX}{device}.{}.sock", std::process::id()));
            }
        }
    }
    Err(problem)
}

/// Returns the name of this process's network namespace.
pub(super) fn network() -> String {
    let link = fs::read_link("/proc/self/ns/net");
    link.map(|link| link.display().to_string()).unwrap_or_default()
}

/// Handles requests, one after the other, until all loops have ended.
fn serve(listener: &UnixListener, loops: &[Asked]) {
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                // Ignore errors: the process that asked may have closed its connection.
                let _ = answer(&stream, loops);
            }
            // For example too many open files: wait, so that this is not a busy loop.
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

fn answer(stream: &UnixStream, loops: &[Asked]) -> io::Result<()> {
    let from = getsockopt(stream, PeerCredentials)?.uid();
    if from != 0 && from != geteuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    stream.set_read_timeout(Some(PEER_TIMEOUT))?;
    stream.set_write_timeout(Some(PEER_TIMEOUT))?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST_REQUEST)).read_line(&mut line)?;
    let text = match line.trim_end() {
        "status" => {
            let parts = ask_loops(loops, Request::Status)?;
            serde_json::to_vec(&TunnelStatus::of_loops(parts))?
        }
        "reload" => {
            let answers = ask_loops(loops.get(..1).unwrap_or(&[]), Request::Reload)?;
            let problem = answers.into_iter().find_map(Result::err);
            serde_json::to_vec(&Reloaded { problem })?
        }
        _ => return Err(io::ErrorKind::InvalidInput.into()),
    };
    let mut stream = stream;
    stream.write_all(&text)
}

/// Sends a request to all these loops at once, and returns their answers in order.
fn ask_loops<T>(loops: &[Asked], request: impl Fn(SyncSender<T>) -> Request) -> io::Result<Vec<T>> {
    let ask = |Asked { requests, waker }: &Asked| {
        let (sender, answers) = sync_channel(1);
        requests.send(request(sender)).map_err(io::Error::other)?;
        waker.wake();
        Ok(answers)
    };
    let asked = loops.iter().map(ask).collect::<io::Result<Vec<Receiver<T>>>>()?;
    let answers = asked.into_iter().map(|answers| answers.recv_timeout(ANSWER_TIMEOUT));
    answers.collect::<Result<Vec<T>, _>>().map_err(io::Error::other)
}

/// Sends a request to a socket and returns the answer.
fn ask<T: for<'a> Deserialize<'a>>(path: &Path, request: &str) -> io::Result<T> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT * 2))?;
    stream.write_all(format!("{request}\n").as_bytes())?;
    let mut text = Vec::new();
    stream.take(LONGEST_ANSWER).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Returns the sockets of tunnels: those in this user's folders and, for root, also those in the
/// folders that systemd creates for units (`/run/paceline-tunnel-server` and so on).
fn sockets() -> Vec<PathBuf> {
    let mut folders = run_folders::run_folders();
    if geteuid().is_root() {
        for entry in fs::read_dir("/run").into_iter().flatten().flatten() {
            let is_ours = entry.file_name().to_string_lossy().starts_with("paceline-");
            if is_ours && entry.path().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    folders.sort();
    folders.dedup();
    let mut sockets: Vec<PathBuf> = folders.iter().flat_map(|folder| sockets_in(folder)).collect();
    sockets.sort();
    sockets
}

fn sockets_in(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(".sock"))
    })
}

/// A tunnel that runs on this machine.
#[derive(Clone, Debug)]
pub struct RunningTunnel {
    socket: PathBuf,
    /// The status at its last answer.
    pub status: TunnelStatus,
}

impl RunningTunnel {
    /// Returns the tunnels of this machine that answer, first those in this process's network
    /// namespace. Removes sockets of killed processes of this user.
    pub fn all() -> Vec<RunningTunnel> {
        let here = network();
        let mut is_any_dead = false;
        let running = sockets().into_iter().filter_map(|socket| match ask(&socket, "status") {
            Ok(status) => Some(RunningTunnel { socket, status }),
            Err(error) => {
                is_any_dead |= error.kind() == io::ErrorKind::ConnectionRefused;
                None
            }
        });
        let mut running: Vec<RunningTunnel> = running.collect();
        if is_any_dead {
            remove_dead_sockets();
        }
        running.sort_by_key(|one| one.status.network != here);
        running
    }

    /// Requests the status again.
    ///
    /// # Errors
    /// The tunnel has ended.
    pub fn ask(&mut self) -> Result<&TunnelStatus, RealTimeError> {
        self.status = ask(&self.socket, "status").map_err(|error| self.has_ended(&error))?;
        Ok(&self.status)
    }

    /// Makes a server read its list of clients again.
    ///
    /// # Errors
    /// The list has a mistake, and the former one stays in use; or the server has ended.
    pub fn reload(&self) -> Result<(), RealTimeError> {
        let Reloaded { problem } =
            ask(&self.socket, "reload").map_err(|error| self.has_ended(&error))?;
        problem.map_or(Ok(()), |problem| Err(RealTimeError::Message(problem)))
    }

    fn has_ended(&self, error: &io::Error) -> RealTimeError {
        RealTimeError::Message(format!(
            "the tunnel of device {} does not answer any more: {error}",
            self.status.device
        ))
    }
}
