//! Loads programs into the kernel and removes them.

use std::fs;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use libbpf_rs::{
    Link, MapCore as _, MapFlags, MapHandle, MapType, Object, ObjectBuilder, OpenObject,
};
use nix::mount::{MsFlags, mount};

use crate::libbpf_log::{listen_to_libbpf, refused};
use crate::probe::{BPF_FS, available, bpf_fs};
use crate::{COUNTERS, KernelError, Options, Program, filter, pins, probe};

/// Longest time to wait until the kernel has removed a congestion control's name.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the compiled object file of a program; empty if there is none of this name.
fn object(program: &Program) -> &'static [u8] {
    match program.name {
        "abc" => include_bytes!(concat!(env!("OUT_DIR"), "/abc.bpf.o")),
        "abc_ecn" => include_bytes!(concat!(env!("OUT_DIR"), "/abc_ecn.bpf.o")),
        "c2tcp" => include_bytes!(concat!(env!("OUT_DIR"), "/c2tcp.bpf.o")),
        "vegas_ebpf" => include_bytes!(concat!(env!("OUT_DIR"), "/vegas_ebpf.bpf.o")),
        "remy" => include_bytes!(concat!(env!("OUT_DIR"), "/remy.bpf.o")),
        _ => &[],
    }
}

/// True if this thread's mount namespace differs from that of process 1, of this process or of its
/// parent (`ip netns exec` makes a mount namespace of its own). Processes whose namespace cannot be
/// read, as in some containers, are left out.
fn own_mounts() -> bool {
    let mounts = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    let own = mounts("thread-self");
    let others = ["1", "self", &std::os::unix::process::parent_id().to_string()].map(mounts);
    others.into_iter().flatten().any(|other| own.as_ref().is_some_and(|own| *own != other))
}

/// Loads a program into the kernel. Sockets of all network namespaces can choose it until
/// [`unload`].
///
/// # Errors
/// A requirement is missing, or the kernel refused the program.
pub fn load(program: &Program, options: &Options) -> Result<(), KernelError> {
    probe().check()?;
    let options = options.of(program)?;
    let name = program.name;
    let leftover = pins::find(program)?.is_some();
    if pins::loaded(program) {
        let text =
            format!("`{name}` is loaded already: `paceline kernel unload {name}` removes it");
        return Err(KernelError::Message(text));
    }
    if available().iter().any(|known| known == name) {
        let text = format!(
            "this kernel has a congestion control `{name}` that is not ours, or ours is pinned in \
             another mount namespace: enter network namespaces with `nsenter --net`, because \
             `ip netns exec` hides {BPF_FS}"
        );
        return Err(KernelError::Message(text));
    }
    if !bpf_fs() {
        if own_mounts() {
            return Err(KernelError::Message(format!(
                "{BPF_FS} does not show in this mount namespace, and what is loaded would go with \
                 it: enter network namespaces with `nsenter --net`, because `ip netns exec` makes \
                 a mount namespace of its own"
            )));
        }
        mount_bpf_fs()?;
    }
    // Files of a loader that was killed before it had finished.
    if leftover {
        let place = pins::folder(program).display().to_string();
        pins::remove(program).map_err(KernelError::system(place))?;
    }
    let made = make(program, &options);
    if made.is_err() {
        let _ = pins::remove(program);
    }
    made
}

/// Mounts a BPF file system that only root can enter, as systemd does. Without a mode all users
/// could write to it.
fn mount_bpf_fs() -> Result<(), KernelError> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("bpf"), BPF_FS, Some("bpf"), flags, Some("mode=0700"))
        .map_err(KernelError::system(format!("mounting a BPF file system at {BPF_FS}")))
}

fn make(program: &Program, options: &Options) -> Result<(), KernelError> {
    listen_to_libbpf();
    let mut object = ObjectBuilder::default()
        .open_memory(object(program))
        .and_then(|mut object| {
            choose(&mut object, options)?;
            object.load()
        })
        .and_then(|mut object| {
            fill(&mut object, options)?;
            Ok(object)
        })
        .map_err(|error| refused(program, "the kernel refused the program", &error))?;
    let folder = pins::folder(program);
    pins::make(program)?;
    // Pin the link first: if a later step fails, the file shows that the program is loaded.
    attach(program, &mut object)?.pin(pins::link(program)).map_err(pinning(&folder))?;
    for word in options.words(program)? {
        let place = pins::option(program, &word);
        fs::create_dir(&place).map_err(KernelError::system(place.display().to_string()))?;
    }
    for mut map in object.maps_mut() {
        let place = match map.name().to_str() {
            Some("counters") => pins::counters(program),
            Some("sockets") => pins::sockets(program),
            _ => continue,
        };
        map.pin(place).map_err(pinning(&folder))?;
    }
    for mut function in object.progs_mut() {
        if function.name() == "accelerate" {
            function.pin(pins::filter(program)).map_err(pinning(&folder))?;
        }
    }
    Ok(())
}

/// Sets the constants and map sizes that must be fixed before the kernel verifies the program.
fn choose(object: &mut OpenObject, options: &Options) -> libbpf_rs::Result<()> {
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if name.ends_with(".rodata.over_reno")
            && let Some(first) = map.initial_value_mut().and_then(|value| value.first_mut())
        {
            *first = options.over_reno.into();
        }
        if name.ends_with(".rodata.limits")
            && let Some(place) = map.initial_value_mut().and_then(|value| value.get_mut(..32))
        {
            let words = options.c2tcp_limits.words();
            place.copy_from_slice(words.map(u64::to_ne_bytes).as_flattened());
        }
        let Some((_, table)) = &options.table else { continue };
        let count = match &*name {
            "remy_ends" => table.end_words().len(),
            "remy_cells" => table.cell_words().len(),
            "remy_actions" => table.rules(),
            _ => continue,
        };
        map.set_max_entries(count as u32)?;
    }
    Ok(())
}

/// Writes the table of `remy` into its maps.
fn fill(object: &mut Object, options: &Options) -> libbpf_rs::Result<()> {
    let Some((_, table)) = &options.table else { return Ok(()) };
    let bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    for map in object.maps_mut() {
        let values: Vec<Vec<u8>> = match map.name().to_str() {
            Some("remy_shapes") => vec![bytes(&table.shape())],
            Some("remy_ends") => table.end_words().iter().map(|word| bytes(&[*word])).collect(),
            Some("remy_cells") => table.cell_words().iter().map(|word| bytes(&[*word])).collect(),
            Some("remy_actions") => table.action_words().iter().map(|words| bytes(words)).collect(),
            _ => continue,
        };
        for (at, value) in (0u32..).zip(values) {
            map.update(&at.to_ne_bytes(), &value, MapFlags::ANY)?;
        }
    }
    Ok(())
}

/// Registers the congestion control.
fn attach(program: &Program, object: &mut Object) -> Result<Link, KernelError> {
    let mut operations = object.maps_mut().filter(|map| map.map_type() == MapType::StructOps);
    let Some(mut operations) = operations.next() else {
        let text = format!("the program `{}` has no operations", program.name);
        return Err(KernelError::Message(text));
    };
    operations.attach_struct_ops().map_err(|error| {
        let what = "the kernel refused to register it (does it know the ECN modes it asks for?)";
        refused(program, what, &error)
    })
}

fn pinning(folder: &Path) -> impl FnOnce(libbpf_rs::Error) -> KernelError {
    move |error| KernelError::Message(format!("naming a file in {}: {error}", folder.display()))
}

/// Removes a program from the kernel. Sockets that use it keep it until they close; new sockets can
/// no longer choose it.
///
/// # Errors
/// The program is not loaded, or a file cannot be removed.
pub fn unload(program: &Program) -> Result<(), KernelError> {
    let (name, folder) = (program.name, pins::folder(program));
    if pins::find(program)?.is_none() {
        let text = format!("`{name}` is not loaded, as far as {BPF_FS} shows here");
        return Err(KernelError::Message(text));
    }
    filter::remove_all(program)?;
    pins::remove(program).map_err(KernelError::system(folder.display().to_string()))?;
    let end = Instant::now() + PATIENCE;
    while available().iter().any(|known| known == name) {
        if Instant::now() > end {
            let text = format!("`{name}` is still registered: something else holds its link");
            return Err(KernelError::Message(text));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Returns the map with the storage of a program's sockets, for
/// [`Totals::read`](crate::Totals::read).
///
/// # Errors
/// The program is not loaded, or the user is not root.
pub fn sockets(program: &Program) -> Result<OwnedFd, KernelError> {
    pins::find(program)?;
    let path = pins::sockets(program);
    let fail = |error: &dyn std::fmt::Display| {
        KernelError::Message(format!("{}: {error}: is `{}` loaded?", path.display(), program.name))
    };
    let map = MapHandle::from_pinned_path(&path).map_err(|error| fail(&error))?;
    map.as_fd().try_clone_to_owned().map_err(|error| fail(&error))
}

/// Returns a program's counters with their names.
///
/// # Errors
/// The program is not loaded, or the user is not root.
pub fn stats(program: &Program) -> Result<Vec<(&'static str, u64)>, KernelError> {
    pins::find(program)?;
    let path = pins::counters(program);
    if !path.exists() {
        let text = format!("`{0}` is not loaded: `sudo paceline kernel load {0}`", program.name);
        return Err(KernelError::Message(text));
    }
    let fail = |error| KernelError::Message(format!("{}: {error}", path.display()));
    let map = MapHandle::from_pinned_path(&path).map_err(fail)?;
    let mut counted = Vec::new();
    for (at, name) in (0u32..).zip(COUNTERS) {
        let value = map.lookup(&at.to_ne_bytes(), MapFlags::ANY).map_err(fail)?;
        let bytes = value.and_then(|bytes| bytes.try_into().ok());
        counted.push((name, bytes.map_or(0, u64::from_ne_bytes)));
    }
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use nix::sched::{CloneFlags, unshare};
    use paceline_testing::{Need, skip, this_test};

    use super::*;

    #[test]
    fn the_file_system_is_mounted_for_root_alone() {
        let name = this_test();
        let thread = thread::spawn(move || {
            let none = None::<&str>;
            let own = unshare(CloneFlags::CLONE_NEWNS)
                .and_then(|()| mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none));
            if let Err(error) = own {
                return skip(Need::Kernel, &name, &format!("no mounts of its own: {error}"));
            }
            if let Err(error) = mount_bpf_fs() {
                return skip(Need::Kernel, &name, &error.to_string());
            }
            let mode = fs::metadata(BPF_FS).expect("is mounted").mode();
            assert_eq!(mode & 0o777, 0o700, "{mode:o}");
            let mounts = fs::read_to_string("/proc/thread-self/mounts").expect("/proc");
            let last = mounts.lines().rfind(|line| line.contains(BPF_FS)).expect("is mounted");
            for option in ["nosuid", "nodev", "noexec"] {
                assert!(last.contains(option), "{last}");
            }
        });
        thread.join().expect("the test holds");
    }
}
