//! Ways to be late less often.

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::unistd::Pid;

use crate::LiveError;

/// Above all ordinary processes, below the kernel's own threads that matter.
const PRIORITY: libc::c_int = 10;

/// Binds this thread to one processor.
///
/// # Errors
/// There is no such processor, or it is not ours to use.
pub fn bind_to(cpu: usize) -> Result<(), LiveError> {
    let mut set = CpuSet::new();
    set.set(cpu)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
        .map_err(LiveError::system(format!("binding to processor {cpu}")))
}

/// Puts this thread ahead of all ordinary ones (SCHED_FIFO) and keeps its memory in place. What it
/// starts later is ordinary again.
///
/// # Errors
/// The right to do so is missing: the error names the capability.
pub fn real_time() -> Result<(), LiveError> {
    let help = |what: &str, capability: &str| {
        format!(
            "--realtime: {what} needs {capability}; run as root, or \
             `sudo setcap cap_net_admin,cap_sys_admin,cap_sys_nice,cap_ipc_lock+ep` on the program"
        )
    };
    mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE)
        .map_err(LiveError::system(help("locking memory", "CAP_IPC_LOCK")))?;
    let parameter = libc::sched_param { sched_priority: PRIORITY };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: reads one `sched_param`.
    if unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) } != 0 {
        let error = std::io::Error::last_os_error();
        return Err(LiveError::system(help("real-time scheduling", "CAP_SYS_NICE"))(error));
    }
    Ok(())
}
