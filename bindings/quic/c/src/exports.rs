//! The functions that C calls: `include/paceline_quic.h` describes them.
#![allow(unsafe_code, reason = "names for the linker, and C's pointers")]

use std::ffi::{c_char, c_int};
use std::slice;

use paceline_quic_sim::add_families;
use paceline_quic_sim::suite::{Aim, Baseline, Suite};
use paceline_report::Document;
use paceline_requests::RunFields;
use paceline_sim::{Names, run_with, scenario};

use crate::border::{self, MISSED, OK, text};
use crate::stack::{CStack, Stack};

/// Family of the stacks of a scenario: `c:LABEL`.
const FAMILY: &str = "c";
/// The library's version.
const VERSION: &std::ffi::CStr = match std::ffi::CStr::from_bytes_with_nul(
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes(),
) {
    Ok(version) => version,
    Err(_) => c"",
};

/// `paceline_suite`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SuiteOptions {
    /// Names of cases, separated by commas; null for all.
    pub cases: *const c_char,
    /// Runs of each case; 0 for [`Suite::RUNS`].
    pub runs: u32,
    /// 0 for [`Aim::FillsBuffers`], 1 for [`Aim::LimitsDelay`].
    pub aim: c_int,
    /// Format of the report: 0 for a table, 1 for JSON, 2 for JUnit's XML, 3 for a baseline.
    pub format: c_int,
    /// An earlier report as a baseline; or null.
    pub baseline: *const c_char,
}

/// Runs a scenario whose flows may name the stacks.
///
/// # Safety
/// `stacks` has `count` stacks, and all pointers are null or valid, as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_run_scenario(
    stacks: *const CStack,
    count: usize,
    scenario: *const c_char,
    result: *mut *mut c_char,
) -> c_int {
    // SAFETY: the caller's promise, for all pointers below.
    unsafe {
        border::answer(result, || {
            let text = text(scenario, "the scenario")?.ok_or("the scenario is NULL")?;
            let stacks: &[CStack] = match stacks.is_null() {
                true if count > 0 => return Err(format!("stacks is NULL, and count is {count}")),
                true => &[],
                false => slice::from_raw_parts(stacks, count),
            };
            let stacks: Result<Vec<Stack>, String> =
                stacks.iter().map(|stack| Stack::new(stack)).collect();
            run_scenario(stacks?, text).map(|json| (OK, json))
        })
    }
}

fn run_scenario(stacks: Vec<Stack>, text: &str) -> Result<String, String> {
    let mut names = Names::default();
    add_families(&mut names);
    names.transports.set(FAMILY, move |label| {
        let known: Vec<&str> = stacks.iter().map(|stack| stack.label.as_str()).collect();
        match stacks.iter().find(|stack| stack.label == label) {
            Some(stack) => Ok(stack.transport(format!("{FAMILY}:{label}"))),
            None if known.is_empty() => Err("no stacks were passed".into()),
            None => Err(format!("there is no stack {label:?}, but {}", known.join(", "))),
        }
    });
    let scenario = scenario::parse_with("scenario", text, None, &names);
    let scenario = scenario.map_err(|error| error.to_string())?;
    if scenario.runs.count > 1 {
        return Err("the scenario has several runs; call once for each, with other seeds".into());
    }
    let outcome = run_with(&scenario, &names).map_err(|error| error.to_string())?;
    serde_json::to_string(&Document::new(RunFields::of(&outcome)))
        .map_err(|error| error.to_string())
}

/// Runs the suite on a stack.
///
/// # Safety
/// All pointers are null or valid, as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_run_suite(
    stack: *const CStack,
    options: *const SuiteOptions,
    result: *mut *mut c_char,
) -> c_int {
    // SAFETY: the caller's promise, for all pointers below.
    unsafe {
        border::answer(result, || {
            let stack = Stack::new(stack)?;
            let Some(options) = options.as_ref() else {
                return run_suite(&stack, Suite::standard(), (Aim::FillsBuffers, 0), None);
            };
            let suite = chosen(text(options.cases, "cases")?, options.runs)?;
            let aim = match options.aim {
                0 => Aim::FillsBuffers,
                1 => Aim::LimitsDelay,
                other => return Err(format!("aim is {other}, and must be 0 or 1")),
            };
            let baseline = text(options.baseline, "the baseline")?.map(Baseline::from_json);
            let baseline = baseline.transpose().map_err(|error| error.to_string())?;
            run_suite(&stack, suite, (aim, options.format), baseline.as_ref())
        })
    }
}

/// Returns the suite with these cases.
fn chosen(cases: Option<&str>, runs: u32) -> Result<Suite, String> {
    let suite = Suite::standard().runs(if runs == 0 { Suite::RUNS } else { runs });
    let Some(cases) = cases else { return Ok(suite) };
    let wanted: Vec<&str> = cases.split(',').map(str::trim).collect();
    for name in &wanted {
        if !suite.cases.iter().any(|case| case.name == *name) {
            let known: Vec<&str> = suite.cases.iter().map(|case| case.name).collect();
            return Err(format!("there is no case {name:?}, but {}", known.join(", ")));
        }
    }
    Ok(suite.only(&wanted))
}

fn run_suite(
    stack: &Stack,
    suite: Suite,
    (aim, format): (Aim, c_int),
    baseline: Option<&Baseline>,
) -> Result<(c_int, String), String> {
    if !(0..=3).contains(&format) {
        return Err(format!("format is {format}, and must be 0 to 3"));
    }
    let transport = stack.transport(stack.label.clone());
    let report = suite.run(&transport.into(), aim).map_err(|error| error.to_string())?;
    let text = match (format, baseline) {
        (0, Some(baseline)) => report.against(baseline).to_string(),
        (0, None) => report.to_string(),
        (1, _) => report.to_json(),
        (2, baseline) => report.to_junit(baseline),
        _ => report.baseline().to_json(),
    };
    let holds = baseline.map_or_else(|| report.holds(), |baseline| report.holds_against(baseline));
    Ok((if holds { OK } else { MISSED }, text))
}

/// Frees a text that a function returned.
///
/// # Safety
/// `text` is null, or a text of this library that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_free(text: *mut c_char) {
    // SAFETY: the caller's promise.
    unsafe { border::free(text) };
}

/// Returns the library's version.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_version() -> *const c_char {
    VERSION.as_ptr()
}
