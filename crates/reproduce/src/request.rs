//! Which claims a request names, and their list before they are measured.

use serde::Serialize;
use thiserror::Error;

use crate::claim::{Claim, ClaimError, claims};

/// Reason why claims are not found.
#[derive(Debug, Error)]
pub enum FindClaimError {
    /// A built-in file of claims is invalid.
    #[error(transparent)]
    Invalid(#[from] ClaimError),
    /// No claim has this id.
    #[error("there is no claim `{0}`")]
    Unknown(String),
}

/// Returns the claims with these ids, in the order of `ids`; all claims if there are none. Upper and lower case are equal.
///
/// # Errors
/// No claim has one of the ids.
pub fn find_claims(ids: &[String]) -> Result<Vec<Claim>, FindClaimError> {
    let all = claims()?;
    if ids.is_empty() {
        return Ok(all);
    }
    let find = |id: &String| {
        let found = all.iter().find(|claim| claim.id.eq_ignore_ascii_case(id));
        found.cloned().ok_or_else(|| FindClaimError::Unknown(id.clone()))
    };
    ids.iter().map(find).collect()
}

/// A claim without measured values, in the fields of `paceline reproduce --list --json`.
#[derive(Clone, Debug, Serialize)]
pub struct ListedClaim<'a> {
    id: &'a str,
    paper: &'a str,
    place: &'a str,
    title: &'a str,
    setup: &'a str,
    experiment: &'a str,
    checks: Vec<&'a str>,
}

impl ListedClaim<'_> {
    /// Returns a claim's entry in the list.
    pub fn of(claim: &Claim) -> ListedClaim<'_> {
        ListedClaim {
            id: &claim.id,
            paper: &claim.paper,
            place: &claim.place,
            title: &claim.title,
            setup: &claim.setup,
            experiment: &claim.experiment,
            checks: claim.checks.iter().map(|check| check.what.as_str()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_found_by_ids_in_upper_and_lower_case() {
        let ids = |ids: &[&str]| {
            let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
            let found = find_claims(&ids).map_err(|error| error.to_string())?;
            Ok::<Vec<String>, String>(found.into_iter().map(|claim| claim.id).collect())
        };
        assert_eq!(ids(&["a06", "A01"]), Ok(vec!["A06".into(), "A01".into()]));
        assert_eq!(ids(&["A01", "A999"]), Err("there is no claim `A999`".into()));
        assert_eq!(ids(&[]).expect("all").len(), claims().expect("claims").len());
    }
}
