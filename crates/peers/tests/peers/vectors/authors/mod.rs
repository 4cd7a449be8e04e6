//! Programs of schemes' authors, run on short inputs, and drafts without programs.

mod c2tcp;
mod compound;
mod copa;
mod pcc;
pub(crate) mod remy;
mod sprout;
mod verus;

use paceline_peers::vector::Vectors;

pub(crate) fn vectors() -> Vec<Vectors> {
    let [kernel, userspace] = pcc::vectors();
    vec![
        sprout::vectors(),
        remy::vectors(),
        verus::vectors(),
        c2tcp::vectors(),
        compound::vectors(),
        copa::vectors(),
        kernel,
        userspace,
    ]
}
