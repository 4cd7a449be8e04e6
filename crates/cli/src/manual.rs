//! Manual pages, from the definition of the command line: the description, options and examples are
//! those of `--help`; files, environment and exit status come from the tables below.

use std::fmt::Write as _;
use std::io;

use clap::Command;

/// Something that a page describes: the first words of its commands, its name, what it is.
type Note = (&'static [&'static str], &'static str, &'static str);

/// Commands that run a program behind a link.
const EMULATORS: &[&str] = &["link", "delay", "loss", "onoff", "meter"];
/// Commands that can run Linux guests.
const GUESTS: &[&str] = &["compare", "run", "gap", "validate", "evaluate", "linux", "sweep"];
/// Commands that connect to another machine, or wait for it.
const CONNECTED: &[&str] = &["send", "recv", "tunnel", "saturate"];

/// Environment variables. An empty list of commands means all.
const ENVIRONMENT: &[Note] = &[
    (&[], "NO_COLOR", "If it is set, text has no colours."),
    (
        CONNECTED,
        "PACELINE_KEY",
        "A server's keys, or a client's key, if there is neither --key-file nor --key.",
    ),
    (
        EMULATORS,
        "PACELINE_NETWORK",
        "The network from which both ends take their addresses, as --base; 100.64.0.0/10 without both.",
    ),
    (
        &["link", "delay", "loss", "onoff", "meter", "contest"],
        "PACELINE_BASE, PACELINE_BASE6",
        "Set for the program inside and for --outside: the outer end's addresses, where the program inside finds servers.",
    ),
    (GUESTS, "PACELINE_LINUX", "The folder of the Linux guest, if there is no --linux."),
    (
        GUESTS,
        "PACELINE_LINUX_SILENCE",
        "Seconds of wall-clock time without a message after which a Linux guest counts as hanging; 60 without it.",
    ),
    (
        GUESTS,
        "XDG_CACHE_HOME",
        "Linux guests are built and found in its folder paceline; ~/.cache without it.",
    ),
    (&["serve"], "PACELINE_SITE", "The folder of the page, if there is no --site."),
    (
        &["link", "delay", "loss", "onoff", "meter", "cleanup"],
        "XDG_RUNTIME_DIR",
        "Records of running emulators of users other than root are in its folder paceline.",
    ),
];

/// Files and folders.
const FILES: &[Note] = &[
    (
        &["link", "delay", "loss", "onoff", "meter", "gap", "tunnel"],
        "/dev/net/tun",
        "The device through which packets reach this program; users other than root need access to it.",
    ),
    (
        &["link", "delay", "loss", "onoff", "meter", "cleanup"],
        "/run/paceline, $XDG_RUNTIME_DIR/paceline",
        "Records of running emulators, from which `paceline cleanup` puts the machine back.",
    ),
    (
        &["tunnel"],
        "/etc/paceline/NAME.toml",
        "The file of the tunnel NAME, for `paceline tunnel up` and the systemd unit paceline-tunnel@NAME.",
    ),
    (
        &["tunnel"],
        "/run/paceline/tunnels",
        "Records of tunnels that are up, and of what they have changed.",
    ),
    (GUESTS, "~/.cache/paceline/linux", "The Linux guest, as `paceline linux build` makes it."),
    (
        &["kernel"],
        "/sys/fs/bpf/paceline",
        "Loaded programs. They stay without a process, until `paceline kernel unload` or a reboot.",
    ),
    (
        &["compare"],
        "DIR/compare.html, compare.json, series.csv, *.svg",
        "With -o DIR: the page, all figures, time series, pictures.",
    ),
    (
        &["run"],
        "DIR/run.html, run.json, *.svg",
        "With -o DIR: the page, all figures with time series, pictures.",
    ),
    (
        &["link", "delay", "loss", "onoff", "meter"],
        "DIR/emulation.html, emulation.json, *.svg",
        "With -o DIR: the page, the summary, pictures.",
    ),
];

/// Defines apostrophes that no program of typesetting curls.
const PREAMBLE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

const STATUS: &str = "0 if all went well; 1 if something failed, or a warning was given with --strict; 2 if the arguments, \
                      or files that they name, are wrong: nothing has run then.";
const STATUS_OF_EMULATORS: &str = "That of COMMAND. 127 if COMMAND cannot be started; 1 if the emulation failed, if a \
                                   figure is beyond a bound of --fail-if, or if packets were late with --strict; 2 if the \
                                   arguments, or files that they name, are wrong: nothing has run then.";

/// The text below the options of `--help`, in parts.
#[derive(Default)]
struct AfterHelp<'a> {
    /// Paragraphs that belong to the description.
    notes: Vec<&'a str>,
    examples: Option<&'a str>,
    exit_status: Option<&'a str>,
}

impl<'a> AfterHelp<'a> {
    fn of(text: &'a str) -> AfterHelp<'a> {
        let mut parts = AfterHelp::default();
        for paragraph in text.split("\n\n").filter(|part| !part.trim().is_empty()) {
            if let Some(examples) = paragraph.strip_prefix("Examples:\n") {
                parts.examples = Some(examples);
            } else if let Some(status) = paragraph.strip_prefix("Exit status: ") {
                parts.exit_status = Some(status);
            } else {
                parts.notes.push(paragraph);
            }
        }
        parts
    }
}

/// Returns the manual page of a command, in roff. The command is built, so that its name has those
/// of the commands above it. `root` is the whole command line, for references.
///
/// # Errors
/// The generator of manual pages fails.
pub(crate) fn page(root: &Command, command: &Command) -> io::Result<String> {
    let path = words(command);
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let after = AfterHelp::of(&after);
    let version = root.get_version().unwrap_or_default();
    let man = clap_mangen::Man::new(command.clone())
        .source(format!("paceline {version}"))
        .manual("Paceline");
    let mut text = PREAMBLE.to_string();
    text += &section(|to| man.render_title(to))?;
    text += &section(|to| man.render_name_section(to))?;
    text += &section(|to| man.render_synopsis_section(to))?;
    text += &section(|to| man.render_description_section(to))?;
    for note in &after.notes {
        text += ".PP\n";
        text += &paragraph(note);
    }
    text += &below_one_heading(&section(|to| man.render_options_section(to))?);
    if command.get_subcommands().any(|below| !below.is_hide_set()) {
        let commands = section(|to| man.render_subcommands_section(to))?;
        text += &commands.replace(".SH SUBCOMMANDS", ".SH COMMANDS");
    }
    if let Some(examples) = after.examples {
        text += ".SH EXAMPLES\n";
        text += &literal(examples);
    }
    let status = match (after.exit_status, EMULATORS.contains(&first(&path))) {
        (Some(status), _) => status,
        (None, true) => STATUS_OF_EMULATORS,
        (None, false) => STATUS,
    };
    let _ = write!(text, ".SH \"EXIT STATUS\"\n{}", paragraph(status));
    text += &list("FILES", FILES, &path);
    text += &list("ENVIRONMENT", ENVIRONMENT, &path);
    text += &see_also(root, command, &path);
    Ok(text)
}

/// Returns a section that the generator writes, without the definition of apostrophes, which each of its sections
/// begins with.
fn section(write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<String> {
    let mut bytes = Vec::new();
    write(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.strip_prefix(PREAMBLE).unwrap_or(&text).to_string())
}

/// Returns a command's words without the program's.
fn words(command: &Command) -> Vec<String> {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    name.split(' ').skip(1).map(String::from).collect()
}

fn first(path: &[String]) -> &str {
    path.first().map_or("", String::as_str)
}

/// Returns the name of a command's page.
fn page_name(path: &[String]) -> String {
    ["paceline"].into_iter().chain(path.iter().map(String::as_str)).collect::<Vec<_>>().join("-")
}

/// Makes the sections of options, one for each heading of the help, parts of one section.
fn below_one_heading(options: &str) -> String {
    let mut text = String::new();
    let mut is_first = true;
    for line in options.lines() {
        match line.strip_prefix(".SH ") {
            Some(heading) if is_first => {
                text += ".SH OPTIONS\n";
                is_first = false;
                if heading != "OPTIONS" {
                    let _ = writeln!(text, ".SS {}", in_lower_case(heading));
                }
            }
            Some(heading) => {
                let _ = writeln!(text, ".SS {}", in_lower_case(heading));
            }
            None => {
                text += line;
                text.push('\n');
            }
        }
    }
    text
}

/// Returns a heading as the help has it: only the first letter of its first word is a capital.
fn in_lower_case(heading: &str) -> String {
    let plain = heading.trim_matches('"');
    let mut letters = plain.chars();
    let begin = letters.next().map(String::from).unwrap_or_default();
    format!("\"{begin}{}\"", letters.as_str().to_lowercase())
}

/// Returns the text with roff's special characters escaped.
fn escaped(text: &str) -> String {
    let plain = text.replace('\\', "\\\\").replace('-', "\\-").replace('\'', "\\(aq");
    match plain.starts_with('.') {
        true => format!("\\&{plain}"),
        false => plain,
    }
}

/// Returns a paragraph; if it has indented lines, as it stands.
fn paragraph(text: &str) -> String {
    if text.lines().any(|line| line.starts_with("  ")) {
        return literal(text);
    }
    text.lines().map(|line| escaped(line.trim()) + "\n").collect()
}

/// Returns lines as they stand.
fn literal(text: &str) -> String {
    let lines: String = text.lines().map(|line| escaped(line) + "\n").collect();
    format!(".nf\n{lines}.fi\n")
}

/// Returns a section with the notes that belong to a command; empty if there are none.
fn list(heading: &str, notes: &[Note], path: &[String]) -> String {
    let belongs = |(commands, ..): &&Note| commands.is_empty() || commands.contains(&first(path));
    // The page of the whole program names all.
    let mut of_page = notes.iter().filter(|note| path.is_empty() || belongs(note)).peekable();
    if of_page.peek().is_none() {
        return String::new();
    }
    let mut text = format!(".SH {heading}\n");
    for (_, name, meaning) in of_page {
        let _ = write!(text, ".TP\n\\fB{}\\fR\n{}", escaped(name), paragraph(meaning));
    }
    text
}

/// Returns the references to the command above, those below, and those that the help names.
fn see_also(root: &Command, command: &Command, path: &[String]) -> String {
    let mut found: Vec<Vec<String>> = Vec::new();
    let mut add = |other: Vec<String>| {
        if other != path && !found.contains(&other) {
            found.push(other);
        }
    };
    if let Some((_, above)) = path.split_last() {
        add(above.to_vec());
    }
    let mut help = command.clone().render_long_help().to_string();
    help.push(' ');
    for part in help.split("paceline ").skip(1) {
        let (mut named, mut at) = (Vec::new(), root);
        for word in part.split_whitespace() {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric());
            let Some(below) = at.find_subcommand(word).filter(|it| !it.is_hide_set()) else {
                break;
            };
            named.push(below.get_name().to_string());
            at = below;
        }
        if !named.is_empty() && named != ["help"] {
            add(named);
        }
    }
    let names = found.iter().map(|path| format!("\\fB{}\\fR(1)", escaped(&page_name(path))));
    let names = names.collect::<Vec<String>>().join(",\n");
    let book = "The book, with tutorials and references: docs/README.md in the source, /usr/share/doc/paceline in packages.";
    match names.is_empty() {
        true => format!(".SH \"SEE ALSO\"\n{}", paragraph(book)),
        false => format!(".SH \"SEE ALSO\"\n{names}\n.PP\n{}", paragraph(book)),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::Cli;

    /// Calls `check` with each command that is shown, and its page.
    fn for_each(root: &Command, command: &Command, check: &mut dyn FnMut(&Command, &str)) {
        check(command, &page(root, command).expect("a page"));
        let shown = |below: &&Command| below.get_name() != "help" && !below.is_hide_set();
        command.get_subcommands().filter(shown).for_each(|below| for_each(root, below, check));
    }

    fn built() -> Command {
        let mut root = Cli::command();
        root.build();
        root
    }

    #[test]
    fn every_page_has_the_sections_of_a_manual() {
        let root = built();
        let mut count = 0;
        for_each(&root, &root, &mut |command, text| {
            count += 1;
            let name = page_name(&words(command));
            for heading in [
                "NAME",
                "SYNOPSIS",
                "DESCRIPTION",
                "OPTIONS",
                "EXAMPLES",
                "\"EXIT STATUS\"",
                "ENVIRONMENT",
                "\"SEE ALSO\"",
            ] {
                let found = text.matches(&format!(".SH {heading}\n")).count();
                assert_eq!(found, 1, "{name}: .SH {heading}\n{text}");
            }
            assert!(!text.contains(".SH EXTRA") && !text.contains("\nExamples:"), "{name}");
            assert!(text.starts_with(PREAMBLE) && text.matches(".ie").count() == 1, "{name}");
            assert!(text.contains(&format!(".TH {name} 1")), "{name}");
            // No line but roff's own begins with a dot.
            for line in text.lines().filter(|line| line.starts_with('.')) {
                let request = line.split([' ', '\\']).next().unwrap_or_default();
                let known = [
                    ".ie", ".el", ".TH", ".SH", ".SS", ".TP", ".PP", ".RS", ".RE", ".IP", ".br",
                    ".nf", ".fi",
                ];
                assert!(known.contains(&request), "{name}: {line}");
            }
        });
        assert!(count > 70, "{count} pages");
    }

    #[test]
    fn every_variable_of_the_help_is_in_the_section_of_the_environment() {
        let root = built();
        for_each(&root, &root, &mut |command, text| {
            let help = command.clone().render_long_help().to_string();
            let environment = text.split(".SH ENVIRONMENT\n").nth(1).unwrap_or_default();
            let name = page_name(&words(command));
            for part in help.split("$PACELINE_").skip(1) {
                let end = part.find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit()));
                let variable = format!("PACELINE_{}", &part[..end.unwrap_or(part.len())]);
                assert!(environment.contains(&variable), "{name}: {variable}");
            }
        });
    }

    #[test]
    fn tables_name_commands_that_are_there() {
        let root = built();
        for (commands, name, _) in ENVIRONMENT.iter().chain(FILES) {
            for command in *commands {
                assert!(root.find_subcommand(command).is_some(), "{name}: {command}");
            }
        }
    }

    #[test]
    fn text_cannot_be_taken_for_requests_of_roff() {
        assert_eq!(escaped(".so /etc/passwd"), "\\&.so /etc/passwd");
        assert_eq!(escaped("it's a\\b --x"), "it\\(aqs a\\\\b \\-\\-x");
    }
}
