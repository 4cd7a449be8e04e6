//! Recordings of Linux 6.18 under the inputs of short scripts of our own. Each has one subject, which its first line names.

use paceline_peers::vector::Declared::{Differs, Holds};

use crate::{Declaration, causes, judge, random_scripts};

pub(crate) const PEER: &str = "Linux 6.18, our recordings";

pub(crate) const DECLARED: &[Declaration] = &[
    ("a-third-of-the-window", Holds),
    ("a-third-of-the-window-cubic", Holds),
    ("growth-within-a-tick", Holds),
    ("mark-as-a-repair-ends", Holds),
    ("mark-later-losses", Holds),
    ("mark-loss-later-loss", Holds),
    ("mark-then-loss", Holds),
    ("mark-then-loss-cubic", Holds),
    ("probe-repairs-the-tail", Holds),
    ("probe-repairs-the-tail-cubic", Holds),
    ("repair-ends-beyond-a-gap", Differs(causes::EDGE_OF_A_TICK)),
];

#[test]
fn sends_and_windows_are_as_recorded() {
    judge(DECLARED, &random_scripts::outcomes("scripts/recorded"));
}
