//! Senders of another scheme on the same networks.

use std::path::Path;
use std::sync::Arc;

use paceline_schemes::remy::{RemyParams, halves};
use paceline_sim::scenario::{CustomScheme, SchemeChoice, check_scheme};
use serde::Deserialize;
use toml::Value;

use super::parse::MAX_SENDERS;
use super::quantity::{Kind, NUMBER, names};
use super::{Range, SpecificationError};

const KEY: &str = "networks.others";

/// Senders of another scheme.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OthersRange {
    /// Their schemes, each of which they have in some networks; empty if they follow a second
    /// table, which is trained in turn with the first.
    pub schemes: Vec<SchemeChoice>,
    /// Indices of `schemes`.
    pub scheme: Range,
    /// Number of these senders.
    pub senders: Range,
    /// True if they are added to the network's senders. Otherwise they are some of these; at least
    /// one sender keeps the scheme being tried, unless both kinds are scored or trained.
    pub are_beside: bool,
    /// Share of the networks that have them, drawn for each network.
    pub share: f64,
}

/// The section `others` of a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileOthers {
    scheme: Option<Value>,
    file: Option<String>,
    #[serde(default)]
    trained: bool,
    senders: Option<Value>,
    beside: Option<Value>,
    share: Option<Value>,
}

/// Reads the senders of a file: `"cubic"` is `{ scheme = "cubic", beside = 1 }`. Files are relative
/// to `folder`, and senders of their tables have these parameters.
pub(super) fn read(
    written: &Value,
    folder: Option<&Path>,
    params: RemyParams,
) -> Result<OthersRange, SpecificationError> {
    let fail = |key, problem: String| SpecificationError::value(key, problem);
    let file: FileOthers = match written {
        Value::Table(table) => {
            let read = table.clone().try_into();
            read.map_err(|error: toml::de::Error| fail(KEY, error.message().to_string()))?
        }
        names => FileOthers {
            scheme: Some(names.clone()),
            file: None,
            trained: false,
            senders: None,
            beside: None,
            share: None,
        },
    };
    let (schemes, scheme) = file.schemes(folder, params)?;
    let count = |key, written: &Value| {
        let kind = Kind { key, least: 0.0, most: MAX_SENDERS, unit: NUMBER };
        kind.range(written)
    };
    let (senders, are_beside) = match (&file.senders, &file.beside) {
        (Some(senders), None) => (count("networks.others.senders", senders)?, false),
        (None, Some(beside)) => (count("networks.others.beside", beside)?, true),
        (None, None) => (Range::one(1.0), true),
        (Some(_), Some(_)) => {
            let problem = "write one of senders, how many of the network's senders they are, and \
                           beside, how many come beside these";
            return Err(fail(KEY, problem.into()));
        }
    };
    let share = match &file.share {
        None => 1.0,
        Some(written) => {
            let key = "networks.others.share";
            let kind = Kind { key, least: 0.0, most: 1.0, unit: NUMBER };
            let range = kind.range(written)?;
            if range.count() > 1 || range.from < range.to {
                return Err(fail(key, "write one number from 0 to 1, or a percentage".into()));
            }
            range.from
        }
    };
    Ok(OthersRange { schemes, scheme, senders, are_beside, share })
}

impl FileOthers {
    /// Returns their schemes, and the range of indices; no schemes if a second table is trained.
    fn schemes(
        &self,
        folder: Option<&Path>,
        params: RemyParams,
    ) -> Result<(Vec<SchemeChoice>, Range), SpecificationError> {
        let fail = |key, problem: String| SpecificationError::value(key, problem);
        match (&self.scheme, &self.file, self.trained) {
            (Some(written), None, false) => {
                let (names, places) = names("networks.others.scheme", written)?;
                let scheme = |name: &String| match check_scheme(name) {
                    Ok(spec) => Ok(spec.into()),
                    Err(error) => Err(fail("networks.others.scheme", error.to_string())),
                };
                Ok((names.iter().map(scheme).collect::<Result<_, _>>()?, places))
            }
            (None, Some(file), false) => {
                let place = folder.map_or_else(|| file.into(), |folder| folder.join(file));
                match crate::file::load(place) {
                    Ok(loaded) => {
                        let halves = halves(params, Arc::new(loaded.table), None);
                        let scheme = CustomScheme::new("remy", halves).into();
                        Ok((vec![scheme], Range::one(0.0)))
                    }
                    Err(error) => Err(fail("networks.others.file", error.to_string())),
                }
            }
            (None, None, true) => Ok((Vec::new(), Range::one(0.0))),
            _ => {
                let problem = "write one of scheme = \"NAME\", file = \"TABLE\" and trained = true";
                Err(fail(KEY, problem.into()))
            }
        }
    }
}
