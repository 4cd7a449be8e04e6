//! Builds Linux guests: a User-Mode Linux kernel from the distribution's source or from a tree of the
//! user's, and the `/init` of `crates/guest/kernel`.
//!
//! Everything is built by the system's own tools (`make`, `gcc`, `flex`, `bison`, `bc`), without root, in
//! `~/.cache/paceline`. The object files stay there, so that a tree in which one file has changed is built
//! again in seconds. Equal sources and equal compilers build equal files.

mod config;
mod error;
mod initramfs;
mod kernel;
mod manifest;
mod module;
mod places;
mod probe;
mod run;
mod source;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};

pub use error::BuildError;
pub use kernel::DEFAULT_HZ;
pub use manifest::{BuiltGuest, Manifest};
pub use module::{BuiltModule, OWN, build_module, find_module};
pub use places::{cache, default_guest, guests};
pub use probe::{Boot, Check, Verdict, boot, check_host};

use places::Lock;

/// Where a kernel's source comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The package `linux-source-VERSION` of this machine's distribution; without a version 6.12, or
    /// else the newest that there is.
    Distribution(Option<String>),
    /// A kernel tree of the user's. Nothing is written into it.
    Tree(PathBuf),
}

/// What to build.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Order {
    /// Where the source comes from.
    pub source: Source,
    /// The guest's folder.
    pub folder: PathBuf,
    /// Compilers that run at once.
    pub jobs: usize,
    /// Ticks of the kernel's timer per second (`CONFIG_HZ`).
    pub hz: u32,
    /// Further lines of kernel configuration, which overrule ours.
    pub config: Option<PathBuf>,
}

impl Order {
    /// The distribution's source with all defaults, into `folder`.
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

/// How far a build has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// A step begins.
    Step(&'a str),
    /// A file has been compiled.
    Compiled {
        /// Number of files that this build has compiled.
        files: usize,
        /// The file's name in the kernel's tree.
        name: &'a str,
    },
}

/// Builds a guest. The folder has the new guest once all of it is complete; before that, an older guest there
/// stays as it was, but for the moment in which the files are exchanged.
///
/// # Errors
/// A tool is missing, the source cannot be had or is none, or it does not compile; each error names the remedy.
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
    // Of /init and kernel together: a guest that does not start is no guest.
    progress(Progress::Step("starting the guest once"));
    let booted = boot(&kernel, &initramfs)?;
    manifest::keep(&order.folder, &tree, &place, order.hz, &kernel, &initramfs, &booted)
}

fn read_config(path: &Path) -> Result<String, BuildError> {
    fs::read_to_string(path).map_err(|error| {
        BuildError::Unusable(format!("{}: cannot be read: {error}", path.display()))
    })
}
