//! Capabilities of this process.

use std::io;

/// Making devices, addresses, routes and translation rules.
pub const NET_ADMIN: u32 = 12;
/// Raw sockets, as `ping` uses them.
pub const NET_RAW: u32 = 13;
/// Listening at ports below 1024.
pub const NET_BIND_SERVICE: u32 = 10;
/// Locking memory.
pub const IPC_LOCK: u32 = 14;
/// Making namespaces and mounts.
pub const SYS_ADMIN: u32 = 21;
/// Real-time scheduling.
pub const SYS_NICE: u32 = 23;

const VERSION_3: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    pid: libc::c_int,
}

#[repr(C)]
#[derive(Copy, Clone, Default)]
struct Data {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

fn get() -> io::Result<[Data; 2]> {
    let mut header = Header { version: VERSION_3, pid: 0 };
    let mut data = [Data::default(); 2];
    // SAFETY: version 3 reads one header and writes two data structures.
    match unsafe { libc::syscall(libc::SYS_capget, &raw mut header, data.as_mut_ptr()) } {
        0 => Ok(data),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns the user with whose rights this process opens files.
pub fn user() -> u32 {
    nix::unistd::geteuid().as_raw()
}

/// Returns true if this process has a capability in its user namespace.
pub fn has(capability: u32) -> bool {
    get().is_ok_and(|data| data[0].effective >> capability & 1 == 1)
}

/// Gives up all capabilities but these, for good. To be called before there are threads.
///
/// # Errors
/// The system refuses that.
pub fn retain(capabilities: &[u32]) -> io::Result<()> {
    let mut data = get()?;
    for (word, data) in (0u32..).zip(&mut data) {
        let of_word = capabilities.iter().filter(|&&capability| capability / 32 == word);
        let kept = of_word.fold(0, |kept, capability| kept | 1 << (capability % 32));
        data.effective &= kept;
        data.permitted &= kept;
        data.inheritable &= kept;
    }
    let mut header = Header { version: VERSION_3, pid: 0 };
    // SAFETY: version 3 reads one header and two data structures.
    match unsafe { libc::syscall(libc::SYS_capset, &raw mut header, data.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets the programs that this process will execute keep some capabilities, although their user is
/// not root: in a user namespace of one's own.
///
/// # Errors
/// The process does not have them itself.
pub fn keep(capabilities: &[u32]) -> io::Result<()> {
    let mut data = get()?;
    for capability in capabilities {
        data[0].inheritable |= 1 << capability;
    }
    let mut header = Header { version: VERSION_3, pid: 0 };
    // SAFETY: version 3 reads one header and two data structures.
    if unsafe { libc::syscall(libc::SYS_capset, &raw mut header, data.as_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    for &capability in capabilities {
        let raise = libc::PR_CAP_AMBIENT_RAISE as libc::c_ulong;
        // SAFETY: numbers only.
        let result = unsafe {
            libc::prctl(libc::PR_CAP_AMBIENT, raise, libc::c_ulong::from(capability), 0, 0)
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
