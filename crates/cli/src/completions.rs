//! Completions of shells, with the names of schemes and traces as values of options.

use clap::builder::Resettable;
use clap::{Arg, Command};
use clap_complete::Shell;

/// Value in the place of the names of schemes, until the script is written.
const SCHEMES: &str = "PACELINE_SCHEMES";
/// Value in the place of the names of traces, and of files.
const TRACES: &str = "PACELINE_TRACES";

/// Returns the script with the completions of `command` for a shell. In bash, zsh and fish it completes the
/// names of schemes, also in lists with commas, and of traces.
pub(crate) fn script(
    shell: Shell,
    command: Command,
    schemes: &[String],
    traces: &[String],
) -> String {
    let functions = functions(shell, &schemes.join(" "), &traces.join(" "));
    let mut command = if functions.is_some() { with_values(command) } else { command };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "paceline", &mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    let Some(functions) = functions else { return text };
    let pairs = [(SCHEMES, "schemes"), (TRACES, "traces")];
    let called = |text: String, (value, name): (&str, &str)| match shell {
        Shell::Bash => {
            let words = format!("$(compgen -W \"{value}\" -- \"${{cur}}\")");
            text.replace(&words, &format!("$(_paceline_{name} \"${{cur}}\")"))
        }
        Shell::Zsh => text.replace(&format!("({value})"), &format!("_paceline_{name}")),
        _ => text.replace(
            &format!(" -f -a \"{value}\\t''\""),
            &format!(" {} -a \"(__paceline_{name})\"", if value == TRACES { "-F" } else { "-f" }),
        ),
    };
    let text = pairs.into_iter().fold(text, called);
    match text.split_once("\n\n") {
        // zsh reads `#compdef` in the first line.
        Some((first, rest)) if shell == Shell::Zsh => format!("{first}\n\n{functions}\n{rest}"),
        _ => format!("{functions}\n{text}"),
    }
}

/// Returns a command whose options have the places of names as values. It is for completions only: it does not
/// parse.
fn with_values(command: Command) -> Command {
    let command = command.mut_args(|arg| match place(&arg) {
        Some(value) => arg.default_value(Resettable::Reset).value_parser([value]),
        None => arg,
    });
    command.mut_subcommands(with_values)
}

/// Returns the place of an option's values; `None` if they are neither schemes nor traces.
fn place(arg: &Arg) -> Option<&'static str> {
    let long = arg.get_long()?;
    if matches!(long, "scheme" | "schemes") {
        return Some(SCHEMES);
    }
    let names = arg.get_value_names().unwrap_or_default();
    let is_named = |word: &str| names.iter().any(|name| name.split('|').any(|part| part == word));
    let is_trace = is_named("NAME") && is_named("FILE") && (is_named("RATE") || long == "trace");
    is_trace.then_some(TRACES)
}

/// Returns the functions that print names; `None` for shells without them.
fn functions(shell: Shell, schemes: &str, traces: &str) -> Option<String> {
    Some(match shell {
        Shell::Bash => format!(
            "_paceline_schemes() {{
    local before=
    case $1 in *,*) before=${{1%,*}}, ;; esac
    compgen -P \"$before\" -W \"{schemes}\" -- \"${{1##*,}}\"
}}

_paceline_traces() {{
    compgen -W \"{traces}\" -- \"$1\"
    compgen -f -- \"$1\"
}}
"
        ),
        Shell::Zsh => format!(
            "_paceline_schemes() {{
    _values -s , scheme {schemes}
}}

_paceline_traces() {{
    _alternative 'traces:trace:({traces})' 'files:file:_files'
}}
"
        ),
        Shell::Fish => format!(
            "function __paceline_schemes
    set -l before (commandline -ct | string replace -r '^--[a-z-]+=' '' | string match -r '^.*,')
    for name in {schemes}
        echo \"$before$name\"
    end
end

function __paceline_traces
    for name in {traces}
        echo $name
    end
end
"
        ),
        _ => return None,
    })
}
