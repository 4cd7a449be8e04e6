//! Paceline's own scripts in `crates/peers/scripts`, with the behaviour of Linux 6.18. Each has one
//! subject.

use std::fs;
use std::path::Path;

use paceline_peers::play::{Schemes, play};
use paceline_peers::script;
use paceline_peers::vector::Declared::Holds;

use crate::{Declaration, files, judge, outcome, stem};

pub(crate) const PEER: &str = "Linux 6.18, our scripts";

pub(crate) const DECLARED: &[Declaration] = &[
    ("idle-halves-the-window", Holds),
    ("limited-transmit", Holds),
    ("mark-reduces-the-window-once", Holds),
    ("no-probe-after-a-timeout", Holds),
    ("one-packet-overtakes-three", Holds),
    ("probe-before-the-timeout", Holds),
    ("probe-of-a-lone-packet", Holds),
    ("probe-of-a-short-tail", Holds),
    ("slow-start-doubles-the-window", Holds),
    ("slow-start-of-a-short-transfer", Holds),
    ("ten-losses-of-forty", Holds),
    ("timeout-doubles", Holds),
    ("unused-window-stands-still", Holds),
];

#[test]
fn our_scripts_hold_as_declared() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let mut outcomes = Vec::new();
    for path in files(&folder, "pkt") {
        let text = fs::read_to_string(&path).expect("a script");
        let script = script::read(&text).unwrap_or_else(|problem| panic!("{path:?}: {problem}"));
        let played = play(&script, &Schemes::default());
        assert_eq!(played.not_compared, [], "{path:?}");
        outcomes.push((stem(&path), outcome(&played)));
    }
    judge(DECLARED, &outcomes);
}
