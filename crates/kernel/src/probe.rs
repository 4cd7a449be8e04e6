//! The features of this machine that loading programs needs.

use std::fs;
use std::path::Path;

use nix::net::if_::if_nameindex;
use serde::Serialize;

use crate::KernelError;

/// Type information (BTF) of the running kernel; the loader adapts the programs to it.
pub(crate) const BTF: &str = "/sys/kernel/btf/vmlinux";
/// Mount point of the BPF file system, where eBPF objects are pinned.
pub(crate) const BPF_FS: &str = "/sys/fs/bpf";
const SCHEMES: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// The requirements of loading, and whether this machine has each of them.
#[derive(Clone, Debug, Serialize)]
pub struct Probe {
    /// Release of the kernel.
    pub kernel: String,
    /// Whether the eBPF programs were built into this binary.
    pub built: bool,
    /// Whether the user is root with the capabilities that loading needs, and not only inside a
    /// user namespace.
    pub root: bool,
    /// Whether the kernel has type information (BTF).
    pub btf: bool,
    /// Whether a BPF file system is mounted; if not, loading mounts it.
    pub bpf_fs: bool,
    /// Whether the kernel's TCP counts acknowledged bytes per ECN mark (Accurate ECN); `None`
    /// without type information.
    pub accurate_ecn: Option<bool>,
    /// Congestion controls that this network namespace offers.
    #[serde(rename = "congestion_controls")]
    pub available: Vec<String>,
}

/// Examines this machine.
pub fn probe() -> Probe {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Probe {
        kernel: release.trim().to_string(),
        built: cfg!(feature = "bpf"),
        root: root(),
        btf: Path::new(BTF).exists(),
        bpf_fs: bpf_fs(),
        accurate_ecn: accurate_ecn(),
        available: available(),
    }
}

fn root() -> bool {
    let read = |name: &str| fs::read_to_string(format!("/proc/thread-self/{name}"));
    may_load(&read("status").unwrap_or_default(), &read("uid_map").unwrap_or_default())
}

/// Whether a process with this `/proc/self/status` and this `uid_map` may load programs.
fn may_load(status: &str, users: &str) -> bool {
    const NET_ADMIN: u64 = 1 << 12;
    const SYS_ADMIN: u64 = 1 << 21;
    let has = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let has = has.and_then(|has| u64::from_str_radix(has.trim(), 16).ok()).unwrap_or(0);
    // Only the initial user namespace maps all users.
    let first = users.split_whitespace().eq(["0", "0", "4294967295"]);
    has & NET_ADMIN != 0 && has & SYS_ADMIN != 0 && first
}

/// True if a BPF file system is mounted at its usual place.
pub(crate) fn bpf_fs() -> bool {
    let mounts = fs::read_to_string("/proc/thread-self/mounts").unwrap_or_default();
    // Of several mounts at one path the last is visible.
    let mut fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let shown = fields.rfind(|fields| fields.get(1) == Some(&BPF_FS));
    shown.is_some_and(|fields| fields.get(2) == Some(&"bpf"))
}

/// Returns the congestion controls that this network namespace offers.
pub(crate) fn available() -> Vec<String> {
    let text = fs::read_to_string(SCHEMES).unwrap_or_default();
    text.split_whitespace().map(String::from).collect()
}

/// Returns the names of this network namespace's devices.
///
/// # Errors
/// The kernel does not list them.
pub fn devices() -> Result<Vec<String>, KernelError> {
    let devices = if_nameindex().map_err(KernelError::system("the list of devices"))?;
    Ok(devices.iter().map(|device| device.name().to_string_lossy().into_owned()).collect())
}

/// Searches the kernel's type information, which has the name of each member, for the member of
/// Accurate ECN. The loader then checks that the right structure has it.
fn accurate_ecn() -> Option<bool> {
    let types = fs::read(BTF).ok()?;
    let name = b"\0delivered_ecn_bytes\0";
    Some(types.windows(name.len()).any(|window| window == name))
}

/// A requirement of loading programs.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Name of the requirement.
    pub name: &'static str,
    /// Whether this machine meets it; `None` if that is not known.
    pub is_met: Option<bool>,
    /// The problem if it is not met, in one sentence with its remedy.
    pub problem: &'static str,
}

/// Number of the first requirements that every eBPF program has.
const OF_ALL_PROGRAMS: usize = 2;

impl Probe {
    /// Returns the requirements of loading a congestion control, in the order in which loading
    /// checks them.
    pub fn requirements(&self) -> [Requirement; 4] {
        let requirement = |name, is_met, problem| Requirement { name, is_met, problem };
        [
            requirement(
                "eBPF programs in this build",
                Some(self.built),
                "this paceline was built without its eBPF programs: install clang, libbpf-dev, libelf-dev \
                 and zlib1g-dev, and in the source tree `cargo install --locked --path crates/cli --features bpf`, \
                 or `make build`",
            ),
            requirement(
                "rights for eBPF",
                Some(self.root),
                "loading eBPF programs takes root with its capabilities: run this with sudo; a container needs \
                 CAP_SYS_ADMIN and CAP_NET_ADMIN, and no user namespace of its own",
            ),
            requirement(
                "types of the kernel (BTF)",
                Some(self.btf),
                "this kernel does not tell its types (/sys/kernel/btf/vmlinux is missing): it must be \
                 built with CONFIG_DEBUG_INFO_BTF",
            ),
            requirement(
                "Accurate ECN",
                self.accurate_ecn,
                "this kernel's TCP has no Accurate ECN: Linux 6.18 or newer is needed",
            ),
        ]
    }

    /// Checks everything that loading a congestion control needs.
    ///
    /// # Errors
    /// A requirement is missing: the first that is, in one sentence with its remedy.
    pub fn check(&self) -> Result<(), KernelError> {
        self.check_rights()?;
        first_problem(&self.requirements()[OF_ALL_PROGRAMS..])
    }

    /// Checks what every eBPF program needs: built-in programs and rights.
    ///
    /// # Errors
    /// This build has no programs, or rights are missing.
    pub(crate) fn check_rights(&self) -> Result<(), KernelError> {
        first_problem(&self.requirements()[..OF_ALL_PROGRAMS])
    }
}

fn first_problem(requirements: &[Requirement]) -> Result<(), KernelError> {
    match requirements.iter().find(|requirement| requirement.is_met == Some(false)) {
        Some(requirement) => Err(KernelError::Message(requirement.problem.into())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Probe, may_load};

    #[test]
    fn what_is_missing_is_told_in_one_sentence() {
        let all = Probe {
            kernel: "6.18".into(),
            built: true,
            root: true,
            btf: true,
            bpf_fs: false,
            accurate_ecn: Some(true),
            available: Vec::new(),
        };
        let said = |probe: Probe| probe.check().err().map(|error| error.to_string());
        assert_eq!(said(all.clone()), None);
        for (probe, word) in [
            (Probe { built: false, ..all.clone() }, "built without"),
            (Probe { root: false, ..all.clone() }, "sudo"),
            (Probe { btf: false, accurate_ecn: None, ..all.clone() }, "CONFIG_DEBUG_INFO_BTF"),
            (Probe { accurate_ecn: Some(false), ..all.clone() }, "Linux 6.18 or newer"),
        ] {
            let said = said(probe).expect("something is missing");
            assert!(said.contains(word) && !said.contains('\n') && !said.contains(". "), "{said}");
        }
    }

    #[test]
    fn root_without_capabilities_or_of_a_user_namespace_may_not_load() {
        let (all, none) = ("Name:\tx\nCapEff:\t000001ffffffffff\n", "CapEff:\t0000000000000000\n");
        let (first, own) =
            ("         0          0 4294967295\n", "         0       1000          1\n");
        assert!(may_load(all, first));
        assert!(!may_load(none, first) && !may_load(all, own) && !may_load("", ""));
    }
}
