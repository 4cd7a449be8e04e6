//! Entries that another user puts in the place of root's files, in a mount namespace of the test's
//! own.
#![cfg(feature = "bpf")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::geteuid;
use paceline_kernel::{Options, PROGRAMS, list, load, loaded, probe, unload};
use paceline_testing::{Need, skip, this_test};

/// An ordinary user's id.
const NOBODY: u32 = 65534;

/// Runs `test` with a BPF file system of its own at the usual path. All users can write to it, as
/// `mount` makes it without a mode.
fn with_open_file_system(test: impl FnOnce() + Send + 'static) {
    let name = this_test();
    if !geteuid().is_root() {
        return skip(Need::Kernel, &name, "it takes root to make mounts");
    }
    let thread = thread::spawn(move || {
        let none = None::<&str>;
        let made = unshare(CloneFlags::CLONE_NEWNS)
            .and_then(|()| mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none))
            .and_then(|()| {
                let flags = MsFlags::empty();
                mount(Some("bpf"), "/sys/fs/bpf", Some("bpf"), flags, Some("mode=1777"))
            });
        match made {
            Ok(()) => test(),
            Err(error) => skip(Need::Kernel, &name, &format!("no BPF file system: {error}")),
        }
    });
    thread.join().expect("the test holds");
}

/// Creates a folder of root with two files.
fn victim(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("paceline-pins-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder");
    for file in ["one", "two"] {
        fs::write(path.join(file), "kept").expect("a file");
    }
    path
}

/// Runs shell commands as an ordinary user, in this thread's mount namespace.
fn as_nobody(commands: &str) {
    let status = Command::new("sh")
        .args(["-ec", commands])
        .uid(NOBODY)
        .gid(NOBODY)
        .current_dir("/")
        .status();
    assert!(status.expect("a shell").success(), "{commands}");
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).expect("the folder").count()
}

#[test]
fn another_users_link_never_leads_root_to_its_target() {
    with_open_file_system(|| {
        let (abc, target) = (&PROGRAMS[0], victim("link"));
        as_nobody(&format!(
            "mkdir /sys/fs/bpf/paceline; ln -s {} /sys/fs/bpf/paceline/abc",
            target.display()
        ));
        assert!(!loaded(abc) && list().iter().all(|state| !state.loaded && !state.leftover));
        let error = unload(abc).expect_err("not root's folder").to_string();
        assert!(error.contains("/sys/fs/bpf/paceline: a folder of user 65534"), "{error}");
        assert_eq!(count(&target), 2, "unloading has removed files");
        if probe().check().is_ok() && !list().iter().any(|state| state.available) {
            let error = load(abc, &Options::default()).expect_err("not root's folder").to_string();
            assert!(error.contains("/sys/fs/bpf/paceline: a folder of user 65534"), "{error}");
            assert!(error.contains("chmod 700 /sys/fs/bpf"), "{error}");
        }
        assert_eq!(count(&target), 2, "loading has removed files");
        // Replaces the folder of all programs by a link.
        as_nobody(&format!(
            "rm -r /sys/fs/bpf/paceline; ln -s {} /sys/fs/bpf/paceline",
            target.display()
        ));
        let error = unload(abc).expect_err("a link").to_string();
        assert!(error.contains("no folder"), "{error}");
        assert_eq!(count(&target), 2);
        fs::remove_dir_all(&target).expect("removed");
    });
}

#[test]
fn a_link_in_roots_own_folder_is_removed_and_not_its_target() {
    with_open_file_system(|| {
        let (abc, target) = (&PROGRAMS[0], victim("inside"));
        let folder = Path::new("/sys/fs/bpf/paceline/abc");
        fs::create_dir_all(folder).expect("root may");
        std::os::unix::fs::symlink(&target, folder.join("made-1-1")).expect("root may");
        fs::create_dir(folder.join("option-table=starter")).expect("root may");
        let abc_state = list().into_iter().find(|state| state.name == abc.name);
        assert!(abc_state.expect("a program").leftover);
        unload(abc).expect("unloads");
        assert!(!Path::new("/sys/fs/bpf/paceline").exists());
        assert_eq!(count(&target), 2);
        fs::remove_dir_all(&target).expect("removed");
    });
}

#[test]
fn another_user_cannot_make_a_program_seem_loaded() {
    with_open_file_system(|| {
        as_nobody("mkdir -p /sys/fs/bpf/paceline/abc/link");
        assert!(!loaded(&PROGRAMS[0]));
        // A folder of root that others can write to is refused, too.
        as_nobody("rm -r /sys/fs/bpf/paceline");
        fs::create_dir("/sys/fs/bpf/paceline").expect("root may");
        fs::set_permissions("/sys/fs/bpf/paceline", fs::Permissions::from_mode(0o777))
            .expect("root may");
        as_nobody("mkdir -p /sys/fs/bpf/paceline/abc/link");
        assert!(!loaded(&PROGRAMS[0]));
        let error = unload(&PROGRAMS[0]).expect_err("others can write").to_string();
        assert!(error.contains("other users can write to"), "{error}");
    });
}
