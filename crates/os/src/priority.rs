//! Priority, real-time scheduling and binding to a processor, so that threads wake up late less often.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::unistd::Pid;

use crate::RealTimeError;

/// Real-time priorities: above all ordinary processes, and below the threads of the kernel that packets need.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum RealTime {
    /// An emulator: above the ends that send through it.
    Emulator = 10,
    /// An end of a connection.
    End = 5,
}

/// The lowest nice value: the largest share among ordinary processes.
const FAVOURED: libc::c_int = -20;

/// Checks that this thread may be bound to a processor.
///
/// # Errors
/// There is no such processor, or this thread may not use it.
pub fn may_bind_to(cpu: usize) -> Result<(), RealTimeError> {
    let set = sched_getaffinity(Pid::from_raw(0))
        .map_err(RealTimeError::system("asking for the processors of this process"))?;
    if set.is_set(cpu).unwrap_or(false) {
        return Ok(());
    }
    let ours: Vec<_> = (0..CpuSet::count()).filter(|&n| set.is_set(n).unwrap_or(false)).collect();
    Err(RealTimeError::Message(format!(
        "--cpu {cpu}: there is no such processor, or it is not this process's to use; those are {}",
        ranges(&ours),
    )))
}

/// Writes numbers in ascending order as the kernel does: `0-3,6`.
fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|one, next| one + 1 == *next);
    let words = runs.filter_map(|run| match run {
        [one] => Some(one.to_string()),
        [first, .., last] => Some(format!("{first}-{last}")),
        [] => None,
    });
    words.collect::<Vec<_>>().join(",")
}

/// Binds this thread, and what it starts later, to one processor.
///
/// # Errors
/// As [`may_bind_to`].
pub fn bind_to(cpu: usize) -> Result<(), RealTimeError> {
    let mut set = CpuSet::new();
    set.set(cpu)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
        .map_err(RealTimeError::system(format!("binding to processor {cpu}")))
}

/// Returns the nice value of this process.
pub fn niceness() -> i32 {
    // SAFETY: numbers only. -1 may be an error or a value; errors are for processes that are gone.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
}

/// Changes the nice value of this process.
///
/// # Errors
/// A lower one needs CAP_SYS_NICE.
pub fn set_niceness(nice: i32) -> std::io::Result<()> {
    // SAFETY: numbers only.
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Gives this thread the largest share among ordinary ones, where that is allowed: it needs
/// CAP_SYS_NICE. A nice value other than 0 stays. Programs that the thread starts later have the nice value of
/// before.
pub fn raise_priority() -> bool {
    if niceness() != 0 {
        return false;
    }
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_OTHER as u32,
        sched_flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
        sched_nice: FAVOURED,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: reads as many bytes as the structure says it has.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) == 0 }
}

/// Puts this thread ahead of all ordinary ones (SCHED_FIFO) and keeps its memory in place. What it
/// starts later is ordinary again.
///
/// # Errors
/// The right to do so is missing: the error names the capability.
pub fn real_time(who: RealTime) -> Result<(), RealTimeError> {
    let help = |what: &str, capability: &str| {
        format!(
            "--realtime: {what} needs {capability}; run as root, or \
             `sudo setcap cap_net_admin,cap_sys_admin,cap_sys_nice,cap_ipc_lock+ep` on the program"
        )
    };
    mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE)
        .map_err(RealTimeError::system(help("locking memory", "CAP_IPC_LOCK")))?;
    let parameter = libc::sched_param { sched_priority: who as libc::c_int };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: reads one `sched_param`.
    if unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) } != 0 {
        let error = std::io::Error::last_os_error();
        return Err(RealTimeError::system(help("real-time scheduling", "CAP_SYS_NICE"))(error));
    }
    Ok(())
}

/// Returns whether this thread runs ahead of all ordinary ones, as after [`real_time`].
pub fn is_real_time() -> bool {
    // SAFETY: numbers only. -1 is an error, and no policy.
    let policy = unsafe { libc::sched_getscheduler(0) };
    matches!(policy & !libc::SCHED_RESET_ON_FORK, libc::SCHED_FIFO | libc::SCHED_RR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_listed_as_the_kernel_does() {
        assert_eq!(ranges(&[0, 1, 2, 3, 6, 8, 9]), "0-3,6,8-9");
        assert_eq!(ranges(&[]), "");
    }

    #[test]
    fn a_processor_that_does_not_exist_is_refused() {
        for cpu in [1023, 1024, usize::MAX] {
            let error = may_bind_to(cpu).expect_err("no such processor").to_string();
            assert!(error.contains(&cpu.to_string()) && error.contains("0"), "{error}");
        }
    }
}
