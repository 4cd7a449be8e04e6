//! Documents whose questions an evaluation answers.

use crate::case::Case;
use crate::criterion::Criterion;
use crate::{bbr_draft, rfc8867, rfc8869, rfc9743};

/// A document with criteria or test cases.
#[derive(Debug)]
pub struct Document {
    /// Name on the command line: `rfc9743`.
    pub id: &'static str,
    /// Name in results: `RFC 9743`.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Its questions, in the order of its sections.
    pub criteria: fn() -> Vec<&'static Criterion>,
    /// The scenarios that they run.
    pub cases: fn() -> Vec<&'static Case>,
}

/// All documents.
pub static DOCUMENTS: [Document; 4] = [
    Document {
        id: "rfc9743",
        name: "RFC 9743",
        title: "Specifying New Congestion Control Algorithms (BCP 133)",
        criteria: rfc9743::criteria,
        cases: rfc9743::cases,
    },
    Document {
        id: "rfc8867",
        name: "RFC 8867",
        title: "Test Cases for Evaluating Congestion Control for Interactive Real-Time Media",
        criteria: rfc8867::criteria,
        cases: rfc8867::cases,
    },
    Document {
        id: "rfc8869",
        name: "RFC 8869",
        title: "Evaluation Test Cases for Interactive Real-Time Media over Wireless Networks",
        criteria: rfc8869::criteria,
        cases: rfc8869::cases,
    },
    Document {
        id: "bbr-draft",
        name: "BBR draft",
        title: "BBR Congestion Control (draft-ietf-ccwg-bbr), Appendix A: BBR Example Test Cases",
        criteria: bbr_draft::criteria,
        cases: bbr_draft::cases,
    },
];

/// Finds the documents that a list of names, separated by commas, asks for.
///
/// # Errors
/// A name is unknown; the error names all documents.
pub fn documents(text: &str) -> Result<Vec<&'static Document>, String> {
    let find = |name: &str| {
        let known = DOCUMENTS.iter().find(|document| document.id.eq_ignore_ascii_case(name));
        known.ok_or_else(|| {
            let all: Vec<&str> = DOCUMENTS.iter().map(|document| document.id).collect();
            format!("unknown document `{name}`; there are {}", all.join(", "))
        })
    };
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    let found = names.map(find).collect::<Result<Vec<_>, String>>()?;
    if let Some(twice) =
        (1..found.len()).find(|&at| found[..at].iter().any(|one| one.id == found[at].id))
    {
        return Err(format!("{} stands in the list twice", found[twice].id));
    }
    if found.is_empty() { Err("expected at least one document".into()) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::criterion::Kind;

    #[test]
    fn names_of_documents_are_read() {
        let ids = |text: &str| documents(text).map(|all| all.iter().map(|one| one.id).collect());
        assert_eq!(ids("RFC8867, rfc9743"), Ok(vec!["rfc8867", "rfc9743"]));
        assert!(ids("rfc1").is_err_and(|error| error.contains("rfc9743, rfc8867")));
        assert!(ids(" , ").is_err());
        assert!(
            ids("rfc9743,RFC9743")
                .is_err_and(|error| error.contains("rfc9743 stands in the list twice"))
        );
    }

    #[test]
    fn criteria_are_different_and_have_cases() {
        let mut ids = BTreeSet::new();
        for document in &DOCUMENTS {
            let cases = (document.cases)();
            let mut used = BTreeSet::new();
            for criterion in (document.criteria)() {
                let id = criterion.id;
                assert!(ids.insert(id), "{id} stands twice");
                assert!(criterion.question.ends_with('?'), "{id}");
                let number = criterion.section.split(' ').next().unwrap_or("");
                // Sections of an appendix begin with its letter.
                let number = number.trim_start_matches("A.");
                assert!(number.starts_with(|c: char| c.is_ascii_digit()), "{id}");
                let Kind::Measured(measured) = &criterion.kind else { continue };
                assert!(cases.iter().any(|case| case.id == measured.case), "{id}");
                assert_eq!(measured.says.matches("{}").count(), 1, "{id}");
                assert!(measured.never.is_none_or(|(_, says)| says.matches("{}").count() == 1));
                used.insert(measured.case);
                let Some(bounds) = &measured.bounds else { continue };
                assert!(bounds.good != bounds.poor && !bounds.because.is_empty(), "{id}");
                assert!(!bounds.times_beside || measured.beside, "{id}");
            }
            for case in cases {
                assert!(used.contains(case.id), "{}: no criterion uses it", case.id);
            }
        }
    }
}
