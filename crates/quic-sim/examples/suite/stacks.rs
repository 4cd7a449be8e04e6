//! The congestion controls on which the suite runs.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use paceline_quic_sim::suite::Aim::{self, FillsBuffers, LimitsDelay};
use paceline_quic_sim::suite::Baseline;
use paceline_s2n_quic::halves;
use paceline_sim::Names;
use paceline_sim::scenario::{CustomScheme, SchemeChoice};
use s2n_quic_core::recovery::{bbr, cubic};

/// Congestion controls of the stacks themselves, and Paceline's under the simulator's own sender.
pub(crate) const RELEASED: [(&str, Aim); 12] = [
    ("quinn:own-cubic", FillsBuffers),
    ("quinn:own-newreno", FillsBuffers),
    ("quinn:own-bbr", LimitsDelay),
    ("noq:own-cubic", FillsBuffers),
    ("noq:own-newreno", FillsBuffers),
    ("noq:own-bbr3", LimitsDelay),
    ("s2n-cubic", FillsBuffers),
    ("s2n-bbr", LimitsDelay),
    ("cubic", FillsBuffers),
    ("newreno", FillsBuffers),
    ("bbr3", LimitsDelay),
    ("copa", LimitsDelay),
];

/// Paceline's under stacks.
pub(crate) const UNDER_STACKS: [(&str, Aim); 8] = [
    ("quinn:cubic", FillsBuffers),
    ("quinn:newreno", FillsBuffers),
    ("quinn:bbr3", LimitsDelay),
    ("quinn:copa", LimitsDelay),
    ("noq:cubic", FillsBuffers),
    ("noq:newreno", FillsBuffers),
    ("noq:bbr3", LimitsDelay),
    ("noq:copa", LimitsDelay),
];

fn all() -> impl Iterator<Item = &'static (&'static str, Aim)> {
    RELEASED.iter().chain(&UNDER_STACKS)
}

/// Returns the congestion controls that are called as one of `names` or, if none is called so, have
/// it in their names; without names all.
///
/// # Errors
/// A name selects none.
pub(crate) fn chosen(names: &[String]) -> Result<Vec<&'static str>, String> {
    if names.is_empty() {
        return Ok(all().map(|(name, _)| *name).collect());
    }
    let mut chosen = Vec::new();
    for wanted in names {
        let is_name = all().any(|(name, _)| name == wanted);
        let matching = all().map(|(name, _)| *name).filter(|name| match is_name {
            true => name == wanted,
            false => name.contains(wanted.as_str()),
        });
        let before = chosen.len();
        chosen.extend(matching);
        if chosen.len() == before {
            let known: Vec<&str> = all().map(|(name, _)| *name).collect();
            return Err(format!(
                "no congestion control has '{wanted}' in its name: there are {}",
                known.join(", ")
            ));
        }
    }
    Ok(chosen)
}

/// Returns the congestion control called `name`, and its purpose.
///
/// # Errors
/// There is none.
pub(crate) fn stack(name: &str) -> Result<(SchemeChoice, Aim), Box<dyn Error>> {
    let known = all().find(|(known, _)| *known == name);
    let (_, aim) = known.ok_or_else(|| format!("'{name}': there is no such congestion control"))?;
    let scheme = match name {
        "s2n-cubic" => CustomScheme::new(name, halves(cubic::Endpoint::default)).into(),
        "s2n-bbr" => CustomScheme::new(name, halves(bbr::Endpoint::default)).into(),
        _ => {
            let mut names = Names::default();
            paceline_quic_sim::add_families(&mut names);
            names.read_scheme(name)?
        }
    };
    Ok((scheme, *aim))
}

/// Returns the file in the folder `baselines` with the figures of a congestion control.
pub(crate) fn kept_file(baselines: &Path, name: &str) -> PathBuf {
    baselines.join(format!("{}.json", file_stem(name)))
}

/// Returns the figures of a congestion control that the folder `baselines` keeps.
///
/// # Errors
/// The file cannot be read, or is no baseline.
pub(crate) fn kept(baselines: &Path, name: &str) -> Result<Baseline, String> {
    let path = kept_file(baselines, name);
    let text = fs::read_to_string(&path).map_err(|error| error.to_string());
    let kept = text.and_then(|text| Baseline::from_json(&text).map_err(|error| error.to_string()));
    kept.map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the name of a congestion control's files, without their ending: `quinn:own-cubic` becomes
/// `quinn-own-cubic`.
pub(crate) fn file_stem(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}
