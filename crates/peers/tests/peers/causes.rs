//! Reasons and causes that several declarations use.

/// RFC 9937 §6.2.
pub(crate) const PRR_IN_BYTES: &str = "proportional rate reduction counts bytes (RFC 9937 §6.2); Linux counts packets, \
     rounded up, and in recovery counts each packet as lost at once that was sent before an acknowledged one";

/// Timer wheel of the kernel.
pub(crate) const LATE_TIMERS: &str = "only timers differ: Linux' timeouts and probes fire up to an eighth late (timer wheel, HZ 250)";

/// Transmission numbers.
pub(crate) const NUMBERS: &str = "every transmission has its own number: a spurious timeout is undone with the first late \
     acknowledgement, and copies of arrived data are in flight until they are acknowledged themselves";

/// RFC 9937 §6.2.
pub(crate) const PRR_SLOW_START: &str = "while the flight is below the threshold, RFC 6937 lets it grow by a packet for every \
     acknowledgement; RFC 9937 §6.2 and Linux only for an acknowledgement that advances SND.UNA and reveals no loss";

/// Linux' "fix incorrect HyStart round start detection".
pub(crate) const HYSTART_ROUNDS: &str = "Linux 5.16 to 6.13 began HyStart's rounds at a window of 16 packets only; since then (`fix \
     incorrect HyStart round start detection`) they begin at once, which ends slow start at 36, as here";

/// `tcp_tso_should_defer`.
pub(crate) const OFFLOAD: &str = "Linux keeps the last packets of a burst back until the next acknowledgement if they do not \
     fill a segment for offload (`tcp_tso_should_defer`): one packet less is in flight when a repair begins";

/// `tcp_try_undo_partial`.
pub(crate) const FILLED_HOLE: &str = "with timestamps, Linux concludes that packets were reordered when an original fills a \
     hole after its repair has left (`tcp_try_undo_partial`); from then on it waits for the reordering window, where \
     before three packets beyond a gap were a loss";

/// Unknown cause.
pub(crate) const NOT_FOLLOWED: &str = "the segments leave as in Linux, but the window is off by more than a packet after more than 5 % \
     of the inputs; we have not looked for the cause";

/// Timer wheel of the kernel, at the edge of its steps.
pub(crate) const EDGE_OF_A_TICK: &str = "the deadline of a timeout lies at the edge of a tick: Linux' timer expires a step of its wheel \
     (32 ms) later; the windows are equal";
