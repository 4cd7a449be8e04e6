//! The program that runs the commands: its schemes, its command line, and its wish to stop.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use paceline_sim::Names;

/// All work of a thread.
pub type ThreadWork = Box<dyn FnOnce() + Send>;

/// A program that runs a command of Paceline in its own process, with schemes of its own: see
/// [`run_in`](crate::run_in).
#[derive(Clone)]
pub struct Host {
    /// Schemes, queues and hosts that the command knows; begin with [`names()`](crate::names()).
    pub names: Names,
    /// The command line, beginning with the program's name.
    pub arguments: Vec<OsString>,
    /// File that runs commands of Paceline as processes of their own, for commands that start others; `None` if there is none.
    pub program: Option<PathBuf>,
    /// Returns false to end simulated runs early, for example after an error in a controller. The command then
    /// prints no results.
    pub go_on: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Runs the work of a thread that makes simulated runs, from its beginning to its end, for example with what an interpreter
    /// keeps for each thread that calls it.
    pub run_thread: Arc<dyn Fn(ThreadWork) + Send + Sync>,
    /// Text on which results depend, beside the program and the command line, such as a digest of the
    /// controllers' source. Kept runs are used again only for equal texts.
    pub salt: String,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("arguments", &self.arguments).finish_non_exhaustive()
    }
}

impl Host {
    /// Returns this process as the host, with these names.
    pub(crate) fn process(names: Names) -> Host {
        let arguments = std::env::args_os().collect();
        let program = std::env::current_exe().ok();
        let (go_on, run_thread) = (Arc::new(|| true), Arc::new(|work: ThreadWork| work()));
        Host { names, arguments, program, go_on, run_thread, salt: String::new() }
    }
}

/// The host of the present command. A static, since the functions that parse arguments have no other access to it; a
/// process runs one command at a time.
static HOST: RwLock<Option<&'static Host>> = RwLock::new(None);

/// Sets the host of the following command. Its memory is kept until the process ends.
pub(crate) fn set(host: Host) {
    let host = Box::leak(Box::new(host));
    *HOST.write().unwrap_or_else(PoisonError::into_inner) = Some(host);
}

/// Returns the host; `None` in tests, which run no command.
pub(crate) fn get() -> Option<&'static Host> {
    *HOST.read().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the command line, beginning with the program's name.
pub(crate) fn arguments() -> Vec<OsString> {
    get().map_or_else(|| std::env::args_os().collect(), |host| host.arguments.clone())
}

/// Returns the file that runs commands of Paceline as processes of their own.
///
/// # Errors
/// There is none: with the remedy.
pub(crate) fn program() -> Result<PathBuf, String> {
    let found = get().map_or_else(|| std::env::current_exe().ok(), |host| host.program.clone());
    let problem = "this command starts `paceline` as another process, and there is no such program here: activate the virtual \
                   environment of the Python package, or install the program (docs/start/install.md)";
    found.ok_or_else(|| problem.into())
}

/// Returns false if simulated runs are to end early.
pub(crate) fn go_on() -> bool {
    get().is_none_or(|host| (host.go_on)())
}

/// Runs the work of a thread that makes simulated runs, as the host wants it.
pub(crate) fn run_thread(work: ThreadWork) {
    match get() {
        Some(host) => (host.run_thread)(work),
        None => work(),
    }
}

/// True if the command runs in the Python package, with controllers of its user.
pub(crate) fn has_controllers() -> bool {
    !salt().is_empty()
}

/// Returns the text on which kept results depend.
pub(crate) fn salt() -> &'static str {
    get().map_or("", |host| &host.salt)
}
