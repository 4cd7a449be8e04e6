//! Scenario files: no panic, and every mistake has its place in the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_sim::scenario;

fuzz_target!(|text: &str| {
    // Traces are files: leave the file system alone.
    if text.contains("trace") {
        return;
    }
    if let Err(error) = scenario::parse("f.toml", text, None) {
        assert!(!error.message.is_empty());
        let lines = text.split('\n').count();
        assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)));
        assert!(error.span.is_none_or(|span| span.start <= span.end && span.end <= text.len()));
    }
});
