//! packetdrill's own scripts, from the folder in `PACELINE_PACKETDRILL`: `gtests/net/tcp` of a
//! checkout of google/packetdrill. They are not in this repository, because they are under the GPL.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{Write as _, stderr};
use std::path::{Path, PathBuf};

use paceline_peers::play::{Played, Schemes, play};
use paceline_peers::script;
use paceline_peers::vector::Declared::{ByDesign, Holds};
use paceline_testing::{Need, skip, this_test};

use crate::{Declaration, causes, files, stem};

pub(crate) const PEER: &str = "packetdrill, Google's scripts";

/// A case in which Linux itself is late.
const RACK_TIMER: &str = "the script waits 40 ms for RACK's timer, which is set to a quarter of the RTT and 2 ms, together 27 \
     ms; it fires after exactly 27 ms here, and after 31 ms in Linux 6.18 (timer wheel, HZ 250), where the script fails, \
     too";

/// Scripts about senders, with their outcome here. Other scripts in the folder are only counted. A
/// script that ends early, at a closed window or a changed queue discipline, holds if it holds up
/// to there.
pub(crate) const DECLARED: &[Declaration] = &[
    ("cubic-bulk-166k", ByDesign(causes::HYSTART_ROUNDS)),
    ("cubic-hystart-delay-min-rtt-jumps-downward", Holds),
    ("cubic-hystart-delay-rtt-jumps-upward", Holds),
    ("cubic-rack-reo-timeout-retrans-failed-incoming-data", Holds),
    ("cubic-rto-ss-ca-cwnd-bump", Holds),
    ("cwnd-moderation-ecn-enter-cwr-no-moderation-700", Holds),
    ("fr-4pkt", Holds),
    ("fr-4pkt-fack-last-mss", ByDesign(RACK_TIMER)),
    ("fr-4pkt-sack", Holds),
    ("limited-transmit-sack", Holds),
    ("prr-ss-10pkt-lost-1", Holds),
    ("prr-ss-30pkt-lost-1_4-11_16", Holds),
    ("prr-ss-30pkt-lost1_4", Holds),
    ("prr-ss-ack-below-snd_una-cubic", Holds),
    ("sack-shift-sacked-7-3-4-8-9-fack", Holds),
    ("sack-shift-sacked-7-5-6-8-9-fack", Holds),
    ("slow-start-ack-per-1pkt", Holds),
    ("slow-start-ack-per-2pkt", Holds),
    ("slow-start-ack-per-2pkt-send-5pkt", Holds),
    ("slow-start-ack-per-2pkt-send-6pkt", Holds),
    ("slow-start-ack-per-4pkt", Holds),
    ("slow-start-after-idle", Holds),
    ("slow-start-after-win-update", Holds),
    ("slow-start-app-limited", Holds),
    ("slow-start-app-limited-9-packets-out", Holds),
    ("slow-start-fq-ack-per-2pkt", Holds),
];

/// Result of a script in the folder.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Holds,
    HoldsInPart,
    Differs,
    NothingCompared,
}

impl Outcome {
    fn of(played: &Played) -> Outcome {
        match (played.differences.is_empty(), played.held, &played.stopped) {
            (false, ..) => Outcome::Differs,
            (true, 0, _) => Outcome::NothingCompared,
            (true, _, Some(_)) => Outcome::HoldsInPart,
            (true, _, None) => Outcome::Holds,
        }
    }
}

fn all_scripts(folder: &Path) -> Vec<PathBuf> {
    let mut found = files(folder, "pkt");
    let entries = fs::read_dir(folder).expect("the folder is readable").flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    found.extend(folders.iter().flat_map(|folder| all_scripts(folder)));
    found
}

#[test]
fn packetdrills_scripts_hold_as_declared() {
    let Some(folder) = std::env::var_os("PACELINE_PACKETDRILL") else {
        let why = "PACELINE_PACKETDRILL names no folder of packetdrill's scripts";
        return skip(Need::Packetdrill, &this_test(), why);
    };
    let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
    let (mut report, mut wrong) = (String::new(), Vec::new());
    for path in all_scripts(Path::new(&folder)) {
        let text = fs::read_to_string(&path).expect("a script");
        let played = match script::read(&text) {
            Ok(script) => play(&script, &Schemes::default()),
            Err(_) => Played::default(),
        };
        let outcome = Outcome::of(&played);
        *counts.entry(outcome).or_default() += 1;
        let name = stem(&path);
        if outcome != Outcome::NothingCompared {
            // Writing to a string never fails.
            let _ = writeln!(report, "{name}: {outcome:?}, {} held{}", played.held, first(&played));
        }
        if let Some((_, declared)) = DECLARED.iter().find(|(listed, _)| *listed == name) {
            let judged = match outcome {
                Outcome::Holds | Outcome::HoldsInPart => Ok(()),
                _ => Err(first(&played)),
            };
            wrong.extend(declared.judge(&judged).err().map(|text| format!("{name}: {text}")));
        }
    }
    // The counts are only information, so a failed write does not fail the test.
    let _ = writeln!(stderr(), "{report}{PEER}: {counts:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the first difference of a script, or the reason of its early end.
fn first(played: &Played) -> String {
    let remark = played.differences.first().or(played.stopped.as_ref());
    remark.map_or(String::new(), |remark| format!("; line {}: {}", remark.line, remark.text))
}
