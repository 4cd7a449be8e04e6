//! Some random scripts that were played against Linux 6.18 with timestamps: one of each kind that
//! holds, and the smallest ones for each kind of difference.

use std::fs;
use std::path::Path;

use paceline_peers::linux::{compare, read};
use paceline_peers::play::Schemes;
use paceline_peers::script;
use paceline_peers::vector::Declared::{Differs, Holds};
use paceline_peers::vector::Outcome;

use crate::recordings::{DESCRIBED, outcome};
use crate::{Declaration, causes, files, judge, stem};

pub(crate) const PEER: &str = "Linux 6.18, random scripts";

pub(crate) const DECLARED: &[Declaration] = &[
    ("random-1009", Holds),
    ("random-1038", Holds),
    ("random-1052", Holds),
    ("random-1077", Holds),
    ("random-1079", Holds),
    ("random-1100", Holds),
    ("random-1111", Holds),
    ("random-1126", Holds),
    ("random-1136", Holds),
    ("random-1137", Holds),
    ("random-1148", Holds),
    ("random-1172", Holds),
    ("random-1174", Holds),
    ("random-1188", Holds),
    ("random-1189", Holds),
    ("random-1227", Holds),
    ("random-1247", Holds),
    ("random-1271", Holds),
    ("random-1277", Holds),
    ("random-1304", Holds),
    ("random-1328", Holds),
    ("random-1332", Holds),
    ("random-1356", Holds),
    ("random-1361", Holds),
    ("random-1377", Holds),
    ("random-1393", Differs(causes::NOT_FOLLOWED)),
    ("random-1399", Holds),
    ("random-1432", Holds),
    ("random-1434", Holds),
    ("random-1474", Holds),
    ("random-1500", Holds),
    ("random-1519", Holds),
    ("random-1569", Holds),
    ("random-1600", Holds),
    ("random-1606", Holds),
    ("random-1610", Holds),
    ("random-1670", Holds),
    ("random-1678", Holds),
    ("random-1684", Holds),
    ("random-1692", Holds),
    ("random-1718", Holds),
    ("random-1758", Holds),
    ("random-1792", Holds),
    ("random-1813", Holds),
    ("random-1814", Holds),
    ("random-1849", Holds),
    ("random-1884", Holds),
    ("random-1909", Holds),
    ("random-1919", Holds),
    ("random-1925", Differs(causes::NOT_FOLLOWED)),
    ("random-1984", Holds),
    ("shrunk-1026", Differs(causes::OFFLOAD)),
    ("shrunk-1063", Differs(causes::OFFLOAD)),
    ("shrunk-1096", Differs(causes::FILLED_HOLE)),
    ("shrunk-1228", Differs(causes::OFFLOAD)),
];

#[test]
fn sends_and_windows_are_as_recorded() {
    judge(DECLARED, &outcomes("scripts/random"));
}

/// Plays the scripts in a folder of this crate, and returns their names and outcomes.
pub(crate) fn outcomes(folder: &str) -> Vec<(String, Outcome)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    files(&folder, "pkt")
        .into_iter()
        .map(|path| {
            let load = |extension| fs::read_to_string(path.with_extension(extension));
            let script = script::read(&load("pkt").expect("a script")).expect("a script");
            let recording = read(&load("linux").expect("a recording")).expect("a recording");
            let compared = compare(&script, &recording, &Schemes::default(), DESCRIBED);
            let outcome = match compared {
                Ok(compared) => outcome(&compared),
                Err(stopped) => Err(format!("stopped at line {}: {}", stopped.line, stopped.text)),
            };
            (stem(&path), outcome)
        })
        .collect()
}
