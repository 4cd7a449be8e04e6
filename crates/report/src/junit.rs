//! Test results as JUnit's XML, which continuous-integration services show.

use crate::markup::escape;

/// A test of a [`junit()`] document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestCase {
    /// Group of the test.
    pub class: String,
    /// Name of the test.
    pub name: String,
    /// Why it failed; `None` if it passed.
    pub failure: Option<TestFailure>,
}

/// Reason for a failed test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestFailure {
    /// The reason in a line.
    pub message: String,
    /// More about it; may be empty.
    pub text: String,
}

/// Returns the tests of a suite as a JUnit document. `seconds` is the time that they took, if it is
/// known. Characters that XML does not allow become spaces.
pub fn junit(suite: &str, seconds: Option<f64>, cases: &[TestCase]) -> String {
    let failures = cases.iter().filter(|case| case.failure.is_some()).count();
    let (suite, tests) = (escape(suite), cases.len());
    let time = seconds.map(|seconds| format!(" time=\"{seconds:.3}\"")).unwrap_or_default();
    let mut document = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuite name=\"{suite}\" tests=\"{tests}\" failures=\"{failures}\"{time}>\n"
    );
    for TestCase { class, name, failure } in cases {
        let (class, name) = (escape(class), escape(name));
        document += &format!("  <testcase classname=\"{class}\" name=\"{name}\"");
        document += &match failure {
            None => "/>\n".to_string(),
            Some(TestFailure { message, text }) => format!(
                ">\n    <failure message=\"{}\">{}</failure>\n  </testcase>\n",
                escape(message),
                escape(text)
            ),
        };
    }
    document + "</testsuite>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_test_cases() {
        let case = |name: &str, failure: Option<TestFailure>| TestCase {
            class: "link <1>".into(),
            name: name.into(),
            failure,
        };
        // A line break keeps words apart; XML allows neither escape characters nor U+FFFE.
        let failure =
            TestFailure { message: "2 % \"up\"\n& \u{fffe}more".into(), text: "\u{1b}".into() };
        let text = junit("a<b", Some(1.5), &[case("p95>100ms", None), case("loss", Some(failure))]);
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
            <testsuite name=\"a&lt;b\" tests=\"2\" failures=\"1\" time=\"1.500\">\n  \
            <testcase classname=\"link &lt;1&gt;\" name=\"p95&gt;100ms\"/>\n  \
            <testcase classname=\"link &lt;1&gt;\" name=\"loss\">\n    \
            <failure message=\"2 % &quot;up&quot;\n&amp;  more\"> </failure>\n  </testcase>\n</testsuite>\n";
        assert_eq!(text, expected);
        assert!(!junit("suite", None, &[]).contains("time="));
    }
}
