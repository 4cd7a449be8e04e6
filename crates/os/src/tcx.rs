//! eBPF programs at the entry and exit of devices (tcx, Linux 6.6), for as long as a file is open.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

/// `BPF_LINK_CREATE` of the system call `bpf`.
const LINK_CREATE: libc::c_long = 28;

/// Where a device shows packets to the program.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Hook {
    /// When they come from the device.
    Ingress = 46,
    /// When they are about to leave through it.
    Egress = 47,
}

/// The part of `union bpf_attr` that `BPF_LINK_CREATE` reads here.
#[repr(C)]
struct LinkCreate {
    program: u32,
    device: u32,
    hook: u32,
    flags: u32,
    rest: [u64; 4],
}

/// Attaches a program to the device of this number until the returned file is closed, also by the death of this
/// process.
///
/// # Errors
/// What the kernel refused.
pub fn attach(program: BorrowedFd<'_>, device: u32, hook: Hook) -> io::Result<OwnedFd> {
    let attributes = LinkCreate {
        program: program.as_raw_fd() as u32,
        device,
        hook: hook as u32,
        flags: 0,
        rest: [0; 4],
    };
    let size = size_of::<LinkCreate>();
    // SAFETY: the kernel reads `size` bytes of the attributes, which live until it returns.
    let made = unsafe {
        libc::syscall(libc::SYS_bpf, LINK_CREATE, &raw const attributes, size as libc::c_uint)
    };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened this file for us.
    Ok(unsafe { OwnedFd::from_raw_fd(made as libc::c_int) })
}
