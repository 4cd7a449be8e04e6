//! Congestion controls of `paceline kernel` as modules of a guest, from their one source.

use std::fmt::Write as _;

use paceline_kernel::{C2tcpLimits, Options, RemyTable};

use super::error::BuildError;

/// Congestion controls of `paceline kernel` that can also be compiled as modules.
pub const OWN: [&str; 4] = ["abc_ecn", "c2tcp", "remy", "vegas_ebpf"];

/// Why `abc` is not one of [`OWN`].
pub(super) const NO_ABC: &str = "`abc` needs Accurate ECN, and a filter at the device that modules do not have; take \
     abc_ecn, ABC over the ECN of RFC 3168";

/// A module's main file, and the arguments with which it is loaded.
pub(super) struct OwnModule {
    pub(super) main: String,
    pub(super) args: String,
}

/// Returns the module for one of [`OWN`] with these parameters, which are those of the simulator's scheme.
///
/// # Errors
/// The congestion control does not have the parameter, or the value is wrong.
pub(super) fn own_module(
    name: &str,
    parameters: &[(String, String)],
) -> Result<OwnModule, BuildError> {
    let wrong = |error: paceline_kernel::KernelError| BuildError::Unusable(error.to_string());
    let program = paceline_kernel::find(name).map_err(wrong)?;
    let options = Options::of_parameters(program, parameters, &paceline_remy::tables());
    let options = options.map_err(wrong)?;
    let mut main = format!("#include \"as_module.h\"\n#include \"{name}.bpf.c\"\n");
    let (mut fill, mut args) = ("", String::new());
    if name == "c2tcp" {
        main += "module_param(over_reno, byte, 0444);\n\
                 module_param_array(c2tcp_limits, ullong, NULL, 0444);\n";
        args = c2tcp_args(&options);
    }
    if let Some((_, table)) = &options.table {
        main += &remy_arrays(table);
        fill = "FILL(remy_shapes, shape); FILL(remy_ends, ends); FILL(remy_cells, cells); \
                FILL(remy_actions, actions)";
    }
    // Writing to a string never fails.
    let _ = writeln!(main, "AS_MODULE({name}, {fill});");
    Ok(OwnModule { main, args })
}

/// Returns the module's arguments; empty for the values in its source.
fn c2tcp_args(options: &Options) -> String {
    let mut words = Vec::new();
    if options.over_reno {
        words.push("over_reno=1".to_string());
    }
    if options.c2tcp_limits != C2tcpLimits::default() {
        let limits = options.c2tcp_limits.words().map(|word| word.to_string());
        words.push(format!("c2tcp_limits={}", limits.join(",")));
    }
    words.join(" ")
}

/// Returns C arrays of a table's words, as the loader writes them into the maps.
fn remy_arrays(table: &RemyTable) -> String {
    let actions = table.action_words().as_flattened().to_vec();
    let mut text = String::new();
    for (name, words) in [
        ("shape", table.shape()),
        ("ends", table.end_words()),
        ("cells", table.cell_words()),
        ("actions", actions),
    ] {
        let words: Vec<String> = words.iter().map(|word| format!("{word:#x}ULL")).collect();
        // Writing to a string never fails.
        let _ = writeln!(text, "static u64 {name}[] = {{ {} }};", words.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, parameters: &[(&str, &str)]) -> Result<OwnModule, String> {
        let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        let parameters: Vec<_> = parameters.iter().map(owned).collect();
        own_module(name, &parameters).map_err(|error| error.to_string())
    }

    #[test]
    fn parameters_become_arguments_and_arrays() {
        let args = |parameters: &[(&str, &str)]| of("c2tcp", parameters).expect("a module").args;
        assert_eq!(args(&[]), "");
        assert_eq!(args(&[("base", "newreno")]), "over_reno=1");
        let fixed = args(&[("target", "50ms"), ("interval", "1.5rtt"), ("floor", "20ms")]);
        assert_eq!(fixed, "c2tcp_limits=0,50000,98304,20000");
        let remy = of("remy", &[]).expect("a module");
        assert!(remy.main.contains("static u64 shape[] = { 0x3e8ULL,"), "{}", remy.main);
        assert!(remy.main.ends_with("FILL(remy_actions, actions));\n"), "{}", remy.main);
        let other = of("remy", &[("resolution", "2ms")]).expect("a module");
        assert!(other.main.contains("static u64 shape[] = { 0x7d0ULL,"), "{}", other.main);
    }

    #[test]
    fn wrong_parameters_are_named() {
        for (name, parameter, problem) in [
            ("c2tcp", ("settle", "1s"), "`c2tcp` has no parameter `settle`; it has base, target"),
            ("c2tcp", ("target", "soon"), "target"),
            ("vegas_ebpf", ("alpha", "3"), "no parameter `alpha`; it has none"),
            ("remy", ("table", "no-such"), "no such table"),
            ("remy", ("file", "/no/table.dna"), "/no/table.dna"),
        ] {
            let error = of(name, &[parameter]).map(|_| ()).expect_err(name);
            assert!(error.contains(problem), "{error}");
        }
    }
}
