//! Simulations of very many flows need small ones: what a flow takes, at most.

use paceline_flow::{Account, Receiver, Sender};

/// The sender's bound was 1024 bytes until the account kept Linux' variation of the RTT and what undoes
/// timeouts in a row, and until data could be supplied; and 1104 until losses and timers followed Linux'
/// rules (RACK, F-RTO); 1184 and 448 until undone repairs, the receiver's quick acknowledgements and its
/// window, and ticks did; and 1280 until the rate could be limited; with 100,000 flows over one link a whole flow
/// takes less than 4 kB (`paceline bench e`).
#[test]
fn flows_stay_small() {
    let sizes = [size_of::<Sender>(), size_of::<Account>(), size_of::<Receiver>()];
    assert!(sizes[0] <= 1288 && sizes[2] <= 480, "sender, its account, receiver: {sizes:?}");
}
