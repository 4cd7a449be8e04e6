//! System calls for which the standard library and `nix` have no safe function. The only file of
//! this crate with `unsafe` code.

#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::Signal;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use rustix::fs::{MemfdFlags, memfd_create};

/// Largest file that a guest may write (its log, its memory), in bytes.
const LARGEST_FILE: u64 = 8 << 30;
/// Most files in one message (vhost-user: a memory table of 8 regions).
pub(crate) const MOST_FILES: usize = 8;

/// Creates an anonymous file in memory whose length cannot be changed.
///
/// # Errors
/// The system has no memory for it.
pub(crate) fn sealed_memory_file(name: &str, size: u64) -> io::Result<File> {
    let file = memory_file(name, size)?;
    let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
    Ok(file)
}

/// Creates an anonymous file in memory.
///
/// # Errors
/// The system has no memory for it.
pub(crate) fn memory_file(name: &str, size: u64) -> io::Result<File> {
    let file = File::from(memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    file.set_len(size)?;
    Ok(file)
}

/// Sends bytes together with open files.
///
/// # Errors
/// The other end is gone, or does not read its socket.
pub(crate) fn send(socket: &UnixStream, bytes: &[u8], files: &[&File]) -> io::Result<()> {
    let files: Vec<_> = files.iter().map(|file| file.as_raw_fd()).collect();
    let rights = [ControlMessage::ScmRights(&files)];
    let control = if files.is_empty() { &[][..] } else { &rights[..] };
    let flags = MsgFlags::MSG_NOSIGNAL;
    let sent = sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(bytes)], control, flags, None)?;
    if sent == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Receives up to `bytes.len()` bytes and at most [`MOST_FILES`] open files; 0 bytes if the other end is gone.
///
/// # Errors
/// The read timeout of the socket has expired, or the message has too many files.
pub(crate) fn receive(
    socket: &UnixStream,
    bytes: &mut [u8],
    files: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    let mut control = nix::cmsg_space!([i32; MOST_FILES]);
    let mut parts = [IoSliceMut::new(bytes)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags)?;
    let is_cut = message.flags.contains(MsgFlags::MSG_CTRUNC);
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(received) = control {
            // SAFETY: the kernel has just created these descriptors, and only this process has
            // them.
            files.extend(received.iter().map(|&fd| unsafe { OwnedFd::from_raw_fd(fd) }));
        }
    }
    let length = message.bytes;
    if is_cut { Err(io::Error::other("too many open files in one message")) } else { Ok(length) }
}

/// Prepares `command` for starting a guest: a session of its own, no core files, killed when the
/// thread that starts it ends, equal addresses in each run where the host allows it, and without
/// `getrandom(2)`, from which a guest's kernel would seed its random numbers.
pub(crate) fn prepare(command: &mut Command) {
    let prepare = || {
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        nix::unistd::setsid()?;
        setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
        setrlimit(Resource::RLIMIT_FSIZE, LARGEST_FILE, LARGEST_FILE)?;
        // SAFETY: arguments are numbers only. Containers may refuse the call; runs are equal
        // without it.
        unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
        prctl::set_no_new_privs()?;
        refuse_getrandom()
    };
    // SAFETY: only system calls without allocations, which are allowed between fork and exec.
    unsafe { command.pre_exec(prepare) };
}

/// Makes `getrandom(2)` fail with `ENOSYS` in this process and its children.
fn refuse_getrandom() -> io::Result<()> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    // The first word of `struct seccomp_data` is the number of the system call.
    let mut filter = [
        step(LOAD, 0, 0, 0),
        step(JUMP_IF_EQUAL, 0, 1, libc::SYS_getrandom as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program and its steps outlive the call, which copies both.
    let answer = unsafe {
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program, 0, 0)
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
