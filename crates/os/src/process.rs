//! Processes: forks, handles to wait for, signals, and messages that carry open files.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg,
    sendmsg, socketpair,
};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};

/// A process and a handle that becomes readable when it has ended.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    handle: OwnedFd,
}

/// Forks this process; the copy runs `body` and ends with the status that it returns. Each process gets one end of a
/// connection that keeps messages apart and fails once the other end is closed. This process should have one thread:
/// the copy has only the calling one.
///
/// # Errors
/// The system has no room for it.
pub fn copy(body: impl FnOnce(OwnedFd) -> i32) -> io::Result<(Process, OwnedFd)> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)?;
    // SAFETY: nothing here relies on threads that the child lacks, and glibc leaves its allocator
    // usable in the child.
    match unsafe { fork() }? {
        ForkResult::Child => {
            drop(ours);
            let body = std::panic::AssertUnwindSafe(|| body(theirs));
            let status = std::panic::catch_unwind(body).unwrap_or(1);
            // SAFETY: ends the process without the parent's exit handlers.
            unsafe { libc::_exit(status) }
        }
        ForkResult::Parent { child } => Ok((Process::of(child.as_raw())?, ours)),
    }
}

impl Process {
    /// Opens a handle on the process of this number, which never stands for a later process of this number.
    ///
    /// # Errors
    /// There is no such process.
    pub fn of(pid: i32) -> io::Result<Process> {
        // SAFETY: numbers only; the result is a new file descriptor or -1.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and ours alone.
        let handle = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        Ok(Process { pid: Pid::from_raw(pid), handle })
    }

    /// Returns its number.
    pub fn id(&self) -> i32 {
        self.pid.as_raw()
    }

    /// Returns true if it has ended, without waiting for it.
    pub fn has_ended(&self) -> bool {
        let mut ready = [PollFd::new(self.as_fd(), PollFlags::POLLIN)];
        poll(&mut ready, PollTimeout::ZERO).is_ok_and(|count| count > 0)
    }

    /// Sends it a signal, if it still runs.
    ///
    /// # Errors
    /// It has ended.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        let null = std::ptr::null_mut::<libc::siginfo_t>();
        let fd = self.handle.as_raw_fd();
        // SAFETY: numbers, and a null pointer that stands for ordinary information.
        match unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, signal as i32, null, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Waits for its end and returns its status as shells give it.
    ///
    /// # Errors
    /// Another part of this process has waited for it.
    pub fn wait(&self) -> io::Result<i32> {
        loop {
            match waitpid(self.pid, None) {
                Ok(status) => {
                    if let Some(status) = shell_status(status) {
                        return Ok(status);
                    }
                }
                Err(nix::Error::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// Returns the status that a shell gives: the program's own, or 128 and the number of the signal that
/// ended it. `None` if it has not ended.
pub fn shell_status(status: WaitStatus) -> Option<i32> {
    match status {
        WaitStatus::Exited(_, status) => Some(status),
        WaitStatus::Signaled(_, signal, _) => Some(128 + signal as i32),
        _ => None,
    }
}

/// Starts a program with the signal mask `blocked`. The kernel kills the program when this process ends, also if it is
/// killed.
///
/// # Errors
/// There is no such program, or it cannot be executed.
pub fn spawn_bound(command: &mut Command, blocked: SigSet) -> io::Result<Child> {
    let prepare = move || {
        set_pdeathsig(Signal::SIGKILL)?;
        Ok(blocked.thread_set_mask()?)
    };
    // SAFETY: two system calls, which are allowed between fork and exec.
    unsafe { command.pre_exec(prepare) };
    command.spawn()
}

/// Lets a command begin without blocked signals, whatever this thread blocks.
pub fn without_blocked_signals(command: &mut Command) -> &mut Command {
    // SAFETY: a system call, which is allowed between fork and exec.
    unsafe { command.pre_exec(|| Ok(SigSet::empty().thread_set_mask()?)) }
}

/// Connects standard input, output and errors of this process to `/dev/null`.
///
/// # Errors
/// There is no `/dev/null`.
pub fn forget_output() -> io::Result<()> {
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    for standard in 0..=2 {
        // SAFETY: numbers only; the three descriptors are always this process's own.
        if unsafe { libc::dup2(null.as_raw_fd(), standard) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Sends a message, and an open file with it.
///
/// # Errors
/// The other end is gone.
pub fn send(socket: BorrowedFd<'_>, text: &[u8], file: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let files: Vec<_> = file.iter().map(|file| file.as_raw_fd()).collect();
    let rights = [ControlMessage::ScmRights(&files)];
    let control = if files.is_empty() { &[][..] } else { &rights[..] };
    sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(text)], control, MsgFlags::empty(), None)?;
    Ok(())
}

/// Receives a message, and an open file if one came with it.
///
/// # Errors
/// The other end is gone.
pub fn receive(socket: BorrowedFd<'_>) -> io::Result<(Vec<u8>, Option<OwnedFd>)> {
    let mut text = vec![0; 16_384];
    let mut control = nix::cmsg_space!([i32; 1]);
    let mut parts = [IoSliceMut::new(&mut text)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags)?;
    let mut file = None;
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(files) = control {
            // SAFETY: the kernel has just made these descriptors for us alone.
            file = files.first().map(|&fd| unsafe { OwnedFd::from_raw_fd(fd) });
        }
    }
    let length = message.bytes;
    if length == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    text.truncate(length);
    Ok((text, file))
}
