//! The guest's process: starts it in a folder of its own, and ends it together with its child
//! processes.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::affinity::OneProcessor;
use crate::build::BuiltGuest;
use crate::error::Error;
use crate::folder::Folder;
use crate::system;

/// Longest command line that the kernel accepts, in bytes (`COMMAND_LINE_SIZE` without the zero).
const LONGEST_COMMAND_LINE: usize = 4095;
/// Bytes from the end of the log that errors show.
const LOG_TAIL: u64 = 600;
/// Names in the private folder. They are relative, since the kernel mixes its command line into the
/// random pool.
const CALENDAR_SOCKET: &str = "tt.sock";
const DEVICE_SOCKET: &str = "net.sock";

/// The process of a guest.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    folder: Option<Folder>,
    log: File,
    _processor: Option<OneProcessor>,
}

/// A started guest, and the sockets to which it will connect.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) process: Process,
    pub(crate) calendar: UnixListener,
    pub(crate) device: UnixListener,
}

/// Settings of a start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Start {
    /// Additional words of the command line.
    pub(crate) words: Vec<String>,
    /// Files to link into its folder, with their names there.
    pub(crate) files: Vec<(String, PathBuf)>,
    /// Archive that the kernel unpacks after the initramfs; empty for none.
    pub(crate) archive: Vec<u8>,
}

/// Starts the process of a guest.
///
/// # Errors
/// The host refuses an operation, or the command line is too long.
pub(crate) fn start(built: &BuiltGuest, start: &Start) -> Result<Started, Error> {
    let mut line: Vec<String> = [
        "mem=256M",
        "initrd=./initramfs",
        "rdinit=/init",
        "time-travel=ext:1:tt.sock",
        "virtio_uml.device=net.sock:1",
        // The device completes each frame at once, so interrupts for that would change nothing.
        "virtio_net.napi_tx=0",
        "con=null",
        "con0=null,fd:1",
        "uml_dir=./",
        "umid=guest",
        "panic=-1",
        "quiet",
    ]
    .map(String::from)
    .to_vec();
    if !start.archive.is_empty() {
        // Without a name of a disk, the first file system is a tmpfs: programs can fill half of the
        // memory, and not all of it.
        line.push("root=".into());
    }
    line.extend_from_slice(&start.words);
    let length = line.iter().map(|word| word.len() + 1).sum::<usize>();
    if length > LONGEST_COMMAND_LINE {
        return Err(Error::Unusable(format!(
            "the guest's command line would have {length} bytes, and the kernel takes \
             {LONGEST_COMMAND_LINE}; give the flow fewer on-periods or settings"
        )));
    }
    let folder = Folder::new(Folder::OF_RUN).map_err(Error::host(format!(
        "{}: a folder for the guest",
        std::env::temp_dir().display()
    )))?;
    let place = |name: &str| folder.path().join(name);
    let link = |file: &Path, name: &str| {
        symlink(file, place(name)).map_err(Error::host(format!("a link to {}", file.display())))
    };
    let (kernel, initramfs) = built.files();
    link(&kernel, "linux")?;
    match start.archive.as_slice() {
        [] => link(&initramfs, "initramfs")?,
        archive => {
            let mut both =
                std::fs::read(&initramfs).map_err(Error::host(initramfs.display().to_string()))?;
            // The kernel finds the next archive at a multiple of four.
            both.resize(both.len().next_multiple_of(4), 0);
            both.extend_from_slice(archive);
            std::fs::write(place("initramfs"), &both).map_err(Error::host("the guest's files"))?;
        }
    }
    for (name, file) in &start.files {
        std::fs::copy(file, place(name)).map_err(Error::host(file.display().to_string()))?;
    }
    let listen = |name: &str| {
        UnixListener::bind(place(name)).map_err(Error::host(format!(
            "{}: a socket for the guest (name a folder with a shorter path in TMPDIR)",
            place(name).display()
        )))
    };
    let (calendar, device) = (listen(CALENDAR_SOCKET)?, listen(DEVICE_SOCKET)?);
    let log = File::options().create_new(true).read(true).append(true).open(place("log"));
    let log = log.map_err(Error::host("the guest's log"))?;
    let output = || log.try_clone().map_err(Error::host("the guest's log"));
    let mut command = Command::new(place("linux"));
    command
        .arg0("./linux")
        .args(&line)
        .current_dir(folder.path())
        .env_clear()
        // Kernels before 6.13: the stub processes inherit glibc's registration of restartable
        // sequences, and the kernel kills them for it.
        .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
        .stdin(Stdio::null())
        .stdout(output()?)
        .stderr(output()?);
    system::prepare(&mut command);
    let child =
        spawn(command).map_err(Error::host(format!("{}: cannot be executed", kernel.display())))?;
    let processor = OneProcessor::with(Pid::from_raw(child.id() as i32));
    let process = Process { child, folder: Some(folder), log, _processor: processor };
    Ok(Started { process, calendar, device })
}

/// Starts a program from a thread that lives as long as this process. Linux sends the parent-death
/// signal, which ends guests, when the thread that started them ends.
fn spawn(command: Command) -> io::Result<Child> {
    type Job = (Command, mpsc::Sender<io::Result<Child>>);
    static LAUNCHER: OnceLock<Mutex<mpsc::Sender<Job>>> = OnceLock::new();
    let launcher = LAUNCHER.get_or_init(|| {
        let (jobs, queue) = mpsc::channel::<Job>();
        let launch = move || {
            for (mut command, answer) in queue {
                // The caller may have given up.
                let _ = answer.send(command.spawn());
            }
        };
        // If the thread cannot start, its queue is closed, and the caller gets an error below.
        let _ = std::thread::Builder::new().name("guests".into()).spawn(launch);
        Mutex::new(jobs)
    });
    let (answer, child) = mpsc::channel();
    let closed = || io::Error::other("no thread to start guests from");
    let jobs = launcher.lock().unwrap_or_else(PoisonError::into_inner);
    jobs.send((command, answer)).map_err(|_| closed())?;
    drop(jobs);
    child.recv().map_err(|_| closed())?
}

impl Process {
    /// Removes the folder; a started guest opens no further names.
    pub(crate) fn remove_folder(&mut self) {
        self.folder = None;
    }

    /// Returns the way in which the process ended; `None` if it still runs.
    pub(crate) fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        Some(match status.signal() {
            Some(signal) => format!("killed by signal {signal}"),
            None => format!("exit status {}", status.code().unwrap_or(-1)),
        })
    }

    /// Returns the last lines of the guest's log.
    pub(crate) fn log_tail(&self) -> String {
        let length = self.log.metadata().map_or(0, |metadata| metadata.len());
        let from = length.saturating_sub(LOG_TAIL);
        let mut bytes = vec![0; (length - from) as usize];
        if self.log.read_exact_at(&mut bytes, from).is_err() {
            return String::new();
        }
        let text = String::from_utf8_lossy(&bytes);
        let shown = |c: char| if c.is_control() { ' ' } else { c };
        let lines = text.lines().map(|line| line.chars().map(shown).collect::<String>());
        let lines: Vec<String> = lines.filter(|line| !line.trim().is_empty()).collect();
        lines.join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The guest leads a session, so the stub processes of its programs are in its group. The
        // group keeps this number until the child is reaped.
        if let Ok(group) = i32::try_from(self.child.id()) {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
