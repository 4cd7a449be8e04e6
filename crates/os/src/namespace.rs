//! Namespaces: a user's own rights, networks and mounts. Nothing here has a name in the file
//! system, so that each goes with its last process.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::unistd::{getegid, geteuid, mkdtemp};
use serde::{Deserialize, Serialize};

use crate::RealTimeError;

/// Puts this process into a user namespace of its own, in which it has every capability and the
/// user it had before, with a network namespace that belongs to it. For processes of one thread.
///
/// # Errors
/// The system does not allow this; the error says what to change.
pub fn enter_own_user_and_network() -> Result<(), RealTimeError> {
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)
        .map_err(|error| refused(error.into()))?;
    let write = |file: &str, text: String| {
        fs::write(file, text)
            .map_err(|error| refused(io::Error::new(error.kind(), format!("{file}: {error}"))))
    };
    write("/proc/self/setgroups", "deny".into())?;
    write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Checks that a process of this user may make a user namespace with a network of its own, by a
/// short-lived child that makes them.
///
/// # Errors
/// The system does not allow this; the error says what to change.
pub fn check_own_user_and_network() -> Result<(), RealTimeError> {
    let mut child = Command::new("/proc/self/exe");
    child.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: between fork and exec the child makes one system call and allocates nothing.
    unsafe {
        child.pre_exec(|| {
            unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).map_err(io::Error::from)
        });
    }
    child.status().map(drop).map_err(refused)
}

/// Returns the error for a system that refuses unprivileged user namespaces, with the setting that allows them.
fn refused(error: io::Error) -> RealTimeError {
    let setting = |name: &str| {
        fs::read_to_string(format!("/proc/sys/{name}")).ok().map(|text| text.trim().to_string())
    };
    let mut reasons = Vec::new();
    if setting("kernel/unprivileged_userns_clone").as_deref() == Some("0") {
        reasons.push("sudo sysctl kernel.unprivileged_userns_clone=1");
    }
    if setting("kernel/apparmor_restrict_unprivileged_userns").as_deref() == Some("1") {
        reasons.push("sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0");
    }
    if setting("user/max_user_namespaces").as_deref() == Some("0") {
        reasons.push("sudo sysctl user.max_user_namespaces=10000");
    }
    let cause = if reasons.is_empty() {
        String::from("in a container, start it with --cap-add NET_ADMIN --cap-add SYS_ADMIN")
    } else {
        format!("allow user namespaces ({})", reasons.join("; "))
    };
    RealTimeError::Message(format!(
        "the capabilities CAP_NET_ADMIN and CAP_SYS_ADMIN are missing, and a user namespace of \
         one's own is refused ({error}); run it with sudo, or give the program the capabilities \
         (sudo setcap cap_net_admin,cap_sys_admin+ep PROGRAM), or {cause}"
    ))
}

/// Puts this process into a network namespace and a mount namespace of its own. Mounts made
/// outside still show inside, but not the other way.
///
/// # Errors
/// What the kernel refused.
pub fn enter_own_network_and_mounts() -> Result<(), RealTimeError> {
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS)
        .map_err(RealTimeError::system("new network and mount namespace"))?;
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_SLAVE, none)
        .map_err(RealTimeError::system("keeping mounts to oneself"))
}

/// Returns a handle on the network namespace of this thread.
///
/// # Errors
/// `/proc` is missing.
pub fn current_network() -> Result<OwnedFd, RealTimeError> {
    File::open("/proc/thread-self/ns/net")
        .map(OwnedFd::from)
        .map_err(RealTimeError::system("/proc/thread-self/ns/net"))
}

/// Puts this thread into a network namespace.
///
/// # Errors
/// What the kernel refused.
pub fn enter_network(namespace: impl AsFd) -> Result<(), RealTimeError> {
    setns(namespace, CloneFlags::CLONE_NEWNET)
        .map_err(RealTimeError::system("entering a network namespace"))
}

/// Identifies a network namespace: by the inode that `/proc` shows, which a later namespace may get again, and by
/// the cookie, which the kernel gives only once (0 in kernels before 5.14).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkId {
    /// The number in `/proc/PID/ns/net`.
    pub inode: u64,
    /// The number that no other namespace has until the system starts anew.
    pub cookie: u64,
}

impl NetworkId {
    /// Returns the network namespace of this thread.
    ///
    /// # Errors
    /// `/proc` is missing, or no socket to be had.
    pub fn current() -> io::Result<NetworkId> {
        let inode = fs::metadata("/proc/thread-self/ns/net")?.ino();
        let flags = SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Unix, SockType::Datagram, flags, None)?;
        let mut cookie = 0u64;
        let mut length = size_of::<u64>() as libc::socklen_t;
        // SAFETY: writes at most `length` bytes, the size of `cookie`, and the length.
        let told = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_NETNS_COOKIE,
                (&raw mut cookie).cast(),
                &raw mut length,
            )
        };
        Ok(NetworkId { inode, cookie: if told == 0 { cookie } else { 0 } })
    }
}

/// Shows `text` in place of the contents of `file`, in this mount namespace alone.
///
/// # Errors
/// What the system refused.
pub fn cover_file(file: &Path, text: &str) -> Result<(), RealTimeError> {
    // A new folder of this user's: others can neither guess its name, and be there first, nor change what is in it.
    let template = std::env::temp_dir().join("paceline-XXXXXX");
    let folder = mkdtemp(&template)
        .map_err(RealTimeError::system(format!("{}: a folder for a file", template.display())))?;
    let source = folder.join("covers");
    let what = format!("covering {}", file.display());
    let fail = |error| RealTimeError::system(what)(error);
    let covered = File::create_new(&source).and_then(|mut made| {
        made.write_all(text.as_bytes())?;
        fs::set_permissions(&source, Permissions::from_mode(0o644))?;
        let none: Option<&str> = None;
        mount(Some(&source), file, none, MsFlags::MS_BIND, none).map_err(io::Error::from)
    });
    // The mount keeps the contents.
    let _ = fs::remove_file(&source).and_then(|()| fs::remove_dir(&folder));
    covered.map_err(fail)
}

#[cfg(test)]
mod tests {
    use paceline_testing::{Need, skip, this_test};

    use super::*;

    #[test]
    fn a_file_is_covered_although_somebody_has_taken_names_in_the_temporary_folder() {
        let name = this_test();
        let thread = std::thread::spawn(move || {
            let none = None::<&str>;
            let own = unshare(CloneFlags::CLONE_NEWNS)
                .and_then(|()| mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none));
            if let Err(error) = own {
                return skip(Need::Net, &name, &format!("no mounts of its own: {error}"));
            }
            let temporary = std::env::temp_dir();
            let id = std::process::id();
            let (taken, covered) =
                (temporary.join(format!("paceline-{id}")), temporary.join(format!("covered-{id}")));
            let _ = fs::remove_file(&taken);
            fs::write(&taken, "not ours").expect("room");
            fs::write(&covered, "before").expect("room");
            let done = cover_file(&covered, "after");
            let text = fs::read_to_string(&covered).expect("the file");
            fs::remove_file(&taken).expect("the file");
            nix::mount::umount(&covered).ok();
            fs::remove_file(&covered).expect("the file");
            done.expect("covers");
            assert_eq!(text, "after");
        });
        thread.join().expect("the test holds");
    }
}
