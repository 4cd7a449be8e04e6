//! Starts a guest once, without simulator and network, and checks what guests need of the host.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::Pid;

use super::error::{BuildError, at};
use crate::folder::Folder;

/// Longest time for a start, which takes 0.1 s on an idle machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Free memory in `/dev/shm` that one guest needs: 30 MB at 100 Mbit/s.
const GUEST_MEMORY: u64 = 30 << 20;
const SHARED: &str = "/dev/shm";

/// Facts that a started guest prints about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Boot {
    /// Version of the protocol that its `/init` speaks.
    pub protocol: u16,
    /// The kernel's release.
    pub release: String,
    /// Names in `tcp_available_congestion_control`.
    pub schemes: Vec<String>,
    /// Wall-clock time from start to power-off.
    pub took: Duration,
}

/// Starts the guest with these files and waits for its end.
///
/// # Errors
/// The guest does not start; the error has the cause, as far as the guest's log shows it.
pub fn boot(kernel: &Path, initramfs: &Path) -> Result<Boot, BuildError> {
    let folder = Folder::new(Folder::OF_BOOT).map_err(at(&std::env::temp_dir()))?;
    let log = folder.path().join("log");
    let output = File::create(&log).map_err(at(&log))?;
    let errors = output.try_clone().map_err(at(&log))?;
    let initramfs = std::path::absolute(initramfs).map_err(at(initramfs))?;
    let kernel = std::path::absolute(kernel).map_err(at(kernel))?;
    let mut command = Command::new(&kernel);
    command.arg("mem=128M").arg(format!("initrd={}", initramfs.display()));
    command.args(["rdinit=/init", "time-travel=inf-cpu", "con=null", "con0=null,fd:1"]);
    command.args(["uml_dir=./", "umid=guest", "panic=-1", "quiet"]);
    // glibc 2.35 and newer registers restartable sequences, whose registration the processes of a
    // guest must not inherit.
    command.env_clear().env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    command.current_dir(folder.path()).stdin(Stdio::null()).stdout(output).stderr(errors);
    command.process_group(0);
    let started = Instant::now();
    let mut child = command.spawn().map_err(|error| {
        BuildError::NoStart(format!("{} cannot be started: {error}", kernel.display()))
    })?;
    let ended = wait(&mut child);
    let took = started.elapsed();
    // The guest's processes are in its group.
    let _ = killpg(Pid::from_raw(child.id().try_into().unwrap_or(i32::MAX)), Signal::SIGKILL);
    let _ = child.wait();
    let said = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
    match read(&said) {
        Some(boot) if ended => Ok(Boot { took, ..boot }),
        _ => Err(BuildError::NoStart(why(&said, ended))),
    }
}

/// Waits for the child. Returns false if it has not ended within [`PATIENCE`].
fn wait(child: &mut Child) -> bool {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if !matches!(child.try_wait(), Ok(None)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

/// Parses the text that `/init` prints if the command line has no key of Paceline.
fn read(said: &str) -> Option<Boot> {
    let word = |key: &str| {
        let start = format!("paceline guest: {key} ");
        said.lines().find_map(|line| line.trim_end().strip_prefix(start.as_str()))
    };
    Some(Boot {
        protocol: word("protocol")?.parse().ok()?,
        release: word("release")?.to_string(),
        schemes: word("schemes")?.split_whitespace().map(String::from).collect(),
        took: Duration::ZERO,
    })
}

/// Returns the reason why a guest does not start.
fn why(said: &str, ended: bool) -> String {
    let has = |word: &str| said.contains(word);
    let cause = if has("noexec") || has("Checking PROT_EXEC mmap") && !has("...OK") {
        "the folder of its memory does not allow programs: mount /dev/shm without noexec"
    } else if has("wait_stub_done") || has("SIGTRAP") {
        "its processes were killed by this machine's kernel. An old guest on a new machine: build it again with \
         `paceline linux build`"
    } else if has("ptrace") || has("PTRACE") {
        "ptrace is refused here. In a container: allow it (docker run --cap-add SYS_PTRACE, or a seccomp profile that \
         has ptrace)"
    } else if has("No space left") || has("Bus error") {
        "there is no room for its memory: make /dev/shm larger (docker run --shm-size 1g)"
    } else if !ended {
        "it has not ended after 60 s"
    } else {
        "it ends without a word of its /init"
    };
    let lines: Vec<_> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(6)..].join("\n");
    format!("the Linux guest does not start: {cause}. The end of its log:\n{last}")
}

/// Result of a check.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Guests have this requirement.
    Good,
    /// Guests run, but some of their features may not work.
    Doubtful,
    /// No guest can run.
    Bad,
}

/// A property of the host that guests need.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// Name of the property.
    pub name: &'static str,
    /// Result of the check.
    pub verdict: Verdict,
    /// Finding, with the remedy if it is not good.
    pub detail: String,
}

fn check(name: &'static str, verdict: Verdict, detail: impl Into<String>) -> Check {
    Check { name, verdict, detail: detail.into() }
}

/// Checks the properties of this machine that guests need, without starting one.
pub fn check_host() -> Vec<Check> {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    vec![
        check_machine(std::env::consts::OS, std::env::consts::ARCH),
        check_ptrace(&text("/proc/sys/kernel/yama/ptrace_scope"), &text("/proc/self/status")),
        check_seccomp(&text("/proc/sys/kernel/seccomp/actions_avail")),
        check_shared(),
        check_namespaces(
            &text("/proc/sys/user/max_user_namespaces"),
            &text("/proc/sys/kernel/unprivileged_userns_clone"),
            &text("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
        ),
    ]
}

fn check_machine(system: &str, architecture: &str) -> Check {
    match (system, architecture) {
        ("linux", "x86_64") => check("machine", Verdict::Good, "Linux on x86-64"),
        _ => check(
            "machine",
            Verdict::Bad,
            format!("{system} on {architecture}: User-Mode Linux needs Linux on x86-64"),
        ),
    }
}

fn check_ptrace(scope: &str, status: &str) -> Check {
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    let tracer = tracer.map_or("0", str::trim);
    if scope.trim() == "3" {
        let detail = "switched off for the whole machine (kernel.yama.ptrace_scope = 3): set it to 2 or less in \
                      /etc/sysctl.d and start the machine again";
        return check("ptrace", Verdict::Bad, detail);
    }
    if tracer != "0" {
        let detail = format!(
            "process {tracer} traces this program: a guest cannot be traced, run it without"
        );
        return check("ptrace", Verdict::Doubtful, detail);
    }
    check("ptrace", Verdict::Good, "not switched off; the start of a guest shows whether it serves")
}

fn check_seccomp(actions: &str) -> Check {
    match actions.split_whitespace().any(|action| action == "errno") {
        true => check("seccomp", Verdict::Good, "filters can refuse system calls"),
        false => check(
            "seccomp",
            Verdict::Bad,
            "this machine's kernel has no seccomp filters (CONFIG_SECCOMP_FILTER): guests would take random numbers from \
             the host, and no run would be repeatable",
        ),
    }
}

fn check_shared() -> Check {
    let bad = |detail: String| check(SHARED, Verdict::Bad, detail);
    let opened = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(nix::fcntl::OFlag::O_TMPFILE.bits())
        .mode(0o600)
        .open(SHARED);
    if let Err(error) = opened {
        return bad(format!("no file can be made in it: {error}. Guests have their memory there"));
    }
    match statvfs(SHARED) {
        Err(error) => bad(error.to_string()),
        Ok(about) if about.flags().contains(FsFlags::ST_NOEXEC) => {
            bad("mounted with noexec: run mount -o remount,exec /dev/shm as root".into())
        }
        Ok(about) => {
            let free = about.blocks_available().saturating_mul(about.fragment_size());
            check_room(free)
        }
    }
}

fn check_room(free: u64) -> Check {
    let (megabytes, guests) = (free >> 20, free / GUEST_MEMORY);
    match guests {
        0 | 1 => check(
            SHARED,
            Verdict::Bad,
            format!(
                "{megabytes} MB are free, and two guests take up to 60: make it larger (docker run --shm-size 1g)"
            ),
        ),
        2..8 => check(
            SHARED,
            Verdict::Doubtful,
            format!("{megabytes} MB are free: room for {guests} guests at once, two for each flow"),
        ),
        _ => check(SHARED, Verdict::Good, format!("{megabytes} MB are free")),
    }
}

fn check_namespaces(most: &str, clone: &str, apparmor: &str) -> Check {
    const NAME: &str = "user namespaces";
    let refused = most.trim() == "0" || clone.trim() == "0" || apparmor.trim() == "1";
    match (refused, most.trim().is_empty()) {
        (false, false) => check(NAME, Verdict::Good, "allowed; guests do not need them"),
        (_, true) => {
            check(NAME, Verdict::Good, "not in this machine's kernel; guests do not need them")
        }
        (true, _) => {
            check(NAME, Verdict::Good, "refused to ordinary users; guests do not need them")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_init_says_is_read() {
        let said = "x\npaceline guest: protocol 1\r\npaceline guest: release 6.12.1\r\n\
                    paceline guest: schemes reno bbr\r\n[ 0.0] reboot: Power down\n";
        let boot = read(said).expect("a boot");
        assert_eq!((boot.protocol, boot.release.as_str()), (1, "6.12.1"));
        assert_eq!(boot.schemes, ["reno", "bbr"]);
        assert_eq!(read("paceline guest: protocol 1\n"), None);
    }

    #[test]
    fn a_program_that_is_no_guest_is_one_that_does_not_start() {
        let error = boot(Path::new("/bin/false"), Path::new("x")).expect_err("no guest");
        assert!(error.to_string().contains("does not start"), "{error}");
        let error = boot(Path::new("/no/kernel"), Path::new("x")).expect_err("no file");
        assert!(error.to_string().contains("/no/kernel cannot be started"), "{error}");
    }

    #[test]
    fn causes_are_read_from_the_log() {
        let cases = [
            ("check_ptrace : ptrace failed: Operation not permitted", "ptrace is refused"),
            ("/dev/shm must be not mounted noexec", "noexec"),
            ("wait_stub_done : failed to wait for SIGTRAP, pid = 3", "build it again"),
            ("write: No space left on device", "--shm-size"),
            ("", "without a word"),
        ];
        for (said, cause) in cases {
            assert!(why(said, true).contains(cause), "{said}");
        }
        assert!(why("", false).contains("60 s"));
    }

    #[test]
    fn checks_tell_good_from_bad() {
        use Verdict::{Bad, Doubtful, Good};
        assert_eq!(check_machine("linux", "x86_64").verdict, Good);
        assert_eq!(check_machine("linux", "aarch64").verdict, Bad);
        assert_eq!(check_ptrace("3\n", "").verdict, Bad);
        assert_eq!(check_ptrace("1\n", "TracerPid:\t0\n").verdict, Good);
        assert_eq!(check_ptrace("", "TracerPid:\t17\n").verdict, Doubtful);
        assert_eq!(check_seccomp("kill_process errno allow\n").verdict, Good);
        assert_eq!(check_seccomp("").verdict, Bad);
        assert_eq!(check_room(10 << 20).verdict, Bad);
        assert_eq!(check_room(64 << 20).verdict, Doubtful);
        assert_eq!(check_room(1 << 30).verdict, Good);
        for (most, clone, apparmor, word) in [
            ("100\n", "1\n", "", "allowed"),
            ("0\n", "", "", "refused"),
            ("100\n", "", "1\n", "refused"),
            ("", "", "", "not in this"),
        ] {
            let found = check_namespaces(most, clone, apparmor);
            assert!(found.verdict == Good && found.detail.contains(word), "{}", found.detail);
        }
    }
}
