//! Builds Linux guests: a User-Mode Linux kernel from the distribution's source or from the user's
//! tree, and the `/init` of `crates/guest/kernel`.
//!
//! The system's own tools build everything (`make`, `gcc`, `flex`, `bison`, `bc`), without root, in
//! `~/.cache/paceline`. The object files stay there, so that a rebuild after a change of one file
//! takes seconds. Equal sources and equal compilers build equal files.

mod config;
mod error;
mod initramfs;
mod kernel;
mod manifest;
mod module;
mod own;
mod places;
mod probe;
mod run;
mod source;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};

pub use error::BuildError;
pub use kernel::DEFAULT_HZ;
pub(crate) use manifest::short;
pub use manifest::{BuiltGuest, Manifest};
pub(crate) use module::is_file;
pub use module::{BuiltModule, find_module};
pub use own::OWN;
pub(crate) use places::sha256;
pub use places::{cache, default_guest, guests};
pub use probe::{Boot, Check, Verdict, boot, check_host};

use places::Lock;

/// Source of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The package `linux-source-VERSION` of this machine's distribution. Without a version: 6.12,
    /// or the newest available one.
    Distribution(Option<String>),
    /// A kernel tree of the user. The build writes nothing into it.
    Tree(PathBuf),
}

/// Options of a build.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Order {
    /// Source of the kernel.
    pub source: Source,
    /// Folder for the finished guest.
    pub folder: PathBuf,
    /// Number of compilers that run at once.
    pub jobs: usize,
    /// Ticks of the kernel's timer per second (`CONFIG_HZ`).
    pub hz: u32,
    /// File with additional lines of kernel configuration, which override Paceline's.
    pub config: Option<PathBuf>,
}

impl Order {
    /// Returns a build of the distribution's source with all defaults, into `folder`.
    pub fn new(folder: PathBuf) -> Order {
        Order {
            source: Source::Distribution(None),
            folder,
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            hz: DEFAULT_HZ,
            config: None,
        }
    }
}

/// Progress of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// A step begins.
    Step(&'a str),
    /// A file was compiled.
    Compiled {
        /// Number of files compiled in this build.
        files: usize,
        /// The file's name in the kernel's tree.
        name: &'a str,
    },
}

/// Builds a guest. Replaces an older guest in the folder only when the new one is complete; there
/// is no guest in the folder for the moment in which the files are exchanged.
///
/// # Errors
/// A tool is missing, the source is not available or is no kernel, or it does not compile; each
/// error names the remedy.
pub fn build(
    order: &Order,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<BuiltGuest, BuildError> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(BuildError::Unusable(
            "Linux guests need Linux on x86-64: User-Mode Linux has no other architecture".into(),
        ));
    }
    if ![100, 250, 300, 1000].contains(&order.hz) {
        return Err(BuildError::Unusable(format!(
            "{} ticks per second: kernels are built with 100, 250, 300 or 1000",
            order.hz
        )));
    }
    tools::check(matches!(order.source, Source::Distribution(_)))?;
    let own_lines = order.config.as_deref().map(read_config).transpose()?;
    let cache = cache()?;
    let tree = source::find(&order.source, &cache, progress)?;
    let place = kernel::place(&cache, &tree, order.hz, own_lines.as_deref());
    let _lock = Lock::take(&place)?;
    let kernel = kernel::build(&tree, &place, order, own_lines.as_deref(), progress)?;
    progress(Progress::Step("building /init and the initramfs"));
    let initramfs = initramfs::build(&place)?;
    // Tests /init and kernel together: a guest that does not start is not stored.
    progress(Progress::Step("starting the guest once"));
    let booted = boot(&kernel, &initramfs)?;
    manifest::keep(&order.folder, &tree, &place, order.hz, &kernel, &initramfs, &booted)
}

/// Checks that the programs which a build needs are installed.
///
/// # Errors
/// Programs are missing: names all of them, and their packages.
pub fn check_tools() -> Result<(), BuildError> {
    tools::check(true)
}

/// Returns where a build of the distribution's kernel would take its source from, without
/// downloading anything.
///
/// # Errors
/// There is no source: with the remedy.
pub fn check_source() -> Result<String, BuildError> {
    source::at_hand()
}

fn read_config(path: &Path) -> Result<String, BuildError> {
    fs::read_to_string(path).map_err(|error| {
        BuildError::Unusable(format!("{}: cannot be read: {error}", path.display()))
    })
}
