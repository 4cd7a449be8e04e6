//! Upper bounds of the memory of a flow, since simulations may have very many flows.

use paceline_flow::{Account, Receiver, Sender};

/// The sender's bound in bytes was 1024 at first. It became 1104 when the account kept Linux'
/// variation of the RTT and the state that undoes timeouts in a row, and when data could be
/// supplied; 1184 with Linux' rules for losses and timers (RACK, F-RTO); 1280 with undone repairs
/// and ticks, while quick acknowledgements and the window raised the receiver's from 448 to 480;
/// 1288 with a limit of the rate; 1312 when plans had padding; 1320 with the end of the lost
/// segments; 1328, and the receiver's present one, when receivers of datagrams could ask for lost ones; 1336
/// with the end of a tail that a probe has repaired; and its present value with the mark of counters that a transport lacks. The
/// receiver's became 528, its present value, with ECN fields that are acknowledged at once, data beyond a gap that takes room of
/// the window, and a delay that adapts. With 100,000 flows
/// over one link a whole flow takes less than 4 kB (`paceline bench e`).
#[test]
fn flows_stay_small() {
    let sizes = [size_of::<Sender>(), size_of::<Account>(), size_of::<Receiver>()];
    assert!(sizes[0] <= 1344 && sizes[2] <= 528, "sender, its account, receiver: {sizes:?}");
}
