//! Simulations of very many flows need small ones: what a flow takes, at most.

use paceline_flow::{Account, Receiver, Sender};

#[test]
fn flows_stay_small() {
    let sizes = [size_of::<Sender>(), size_of::<Account>(), size_of::<Receiver>()];
    assert!(sizes[0] <= 1024 && sizes[2] <= 448, "sender, its account, receiver: {sizes:?}");
}
