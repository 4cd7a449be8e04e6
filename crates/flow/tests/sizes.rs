//! Simulations of very many flows need small ones: what a flow takes, at most.

use paceline_flow::{Account, Receiver, Sender};

/// The sender's bound was 1024 bytes until the account kept Linux' variation of the RTT and what undoes
/// timeouts in a row, and until data could be supplied; and 1104 until losses and timers followed Linux'
/// rules (RACK, F-RTO), and 1184 until a host's timers expired at ticks; with 100,000 flows over one link a whole flow
/// takes less than 4 kB (`paceline bench e`).
#[test]
fn flows_stay_small() {
    let sizes = [size_of::<Sender>(), size_of::<Account>(), size_of::<Receiver>()];
    assert!(sizes[0] <= 1200 && sizes[2] <= 448, "sender, its account, receiver: {sizes:?}");
}
