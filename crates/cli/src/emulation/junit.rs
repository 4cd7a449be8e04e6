//! `--junit`: the conditions of `--fail-if` as test cases, for the reports of CI systems.

use std::fmt::Write as _;

/// A condition and the reason why it has failed the emulation; `None` if it has not.
pub(super) type Verdict = (String, Option<String>);

/// Returns the verdicts as a JUnit document. `name` is the emulator's, `seconds` is the time that it
/// ran.
pub(super) fn document(name: &str, seconds: f64, verdicts: &[Verdict]) -> String {
    let failures = verdicts.iter().filter(|(_, failure)| failure.is_some()).count();
    let (suite, tests) = (escaped(name), verdicts.len());
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuite name=\"{suite}\" tests=\"{tests}\" failures=\"{failures}\" time=\"{seconds:.3}\">\n"
    );
    for (condition, failure) in verdicts {
        let case = escaped(condition);
        // Writing into a text cannot fail.
        let _ = match failure {
            None => writeln!(text, "  <testcase classname=\"{suite}\" name=\"{case}\"/>"),
            Some(failure) => writeln!(
                text,
                "  <testcase classname=\"{suite}\" name=\"{case}\">\n    <failure message=\"{}\"/>\n  \
                 </testcase>",
                escaped(failure)
            ),
        };
    }
    text + "</testsuite>\n"
}

/// Returns text as it stands in an attribute of XML. Leaves out control characters, which XML cannot
/// have.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars().filter(|letter| !letter.is_control()) {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_test_cases() {
        let verdicts = [
            ("--fail-if p95>100ms".to_string(), None),
            ("--fail-if up.loss>1%".to_string(), Some("2.50 % \"up\" & \u{1b}more".to_string())),
        ];
        let text = document("[link a<b]", 1.5, &verdicts);
        let head = "<testsuite name=\"[link a&lt;b]\" tests=\"2\" failures=\"1\" time=\"1.500\">";
        assert!(text.contains(head), "{text}");
        assert!(text.contains("name=\"--fail-if p95&gt;100ms\"/>"), "{text}");
        assert!(text.contains("<failure message=\"2.50 % &quot;up&quot; &amp; more\"/>"), "{text}");
        assert!(text.ends_with("  </testcase>\n</testsuite>\n"), "{text}");
    }
}
