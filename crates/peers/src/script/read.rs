//! Parses scripts: options, commands, and events, which may span several lines.

use paceline_cc::Span;

use super::packet::segment;
use super::{Event, Script, What, When};

/// packetdrill's tolerance of departure times, unless a script sets another.
const TOLERANCE: Span = Span::from_millis(4);

/// Settings of packetdrill's `defaults.sh` that matter to a sender.
const DEFAULTS: [(&str, &str); 4] = [
    ("tcp_congestion_control", "cubic"),
    ("tcp_slow_start_after_idle", "0"),
    ("tcp_ecn", "0"),
    ("tcp_sack", "1"),
];

/// Parses a script.
///
/// # Errors
///
/// A line is invalid; the error names it and the reason.
pub fn read(text: &str) -> Result<Script, String> {
    let mut script = Script { tolerance: TOLERANCE, ..Script::default() };
    let text = without_block_comments(text);
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let in_line = |problem: String| format!("line {}: {problem}", index + 1);
        let mut entry = without_comment(line).trim().to_string();
        if entry.is_empty() {
            continue;
        }
        if let Some(value) = entry.strip_prefix("--tolerance_usecs=") {
            let micros =
                value.trim().parse().map_err(|_| in_line(format!("`{value}` is no number")))?;
            script.tolerance = Span::from_micros(micros);
            continue;
        }
        if entry.starts_with("--") {
            continue;
        }
        while let Some(end) = missing_end(&entry) {
            let (_, more) = lines.next().ok_or_else(|| in_line(format!("`{end}` is missing")))?;
            entry.push('\n');
            entry.push_str(more);
        }
        if entry.starts_with('`') {
            if script.events.is_empty() {
                configure(&mut script, entry.trim_matches('`'));
            }
            continue;
        }
        let (when, what) = event(entry.trim()).map_err(in_line)?;
        script.events.push(Event { line: index + 1, when, what });
    }
    for (name, value) in DEFAULTS {
        script.sysctls.entry(name.to_string()).or_insert(value.to_string());
    }
    Ok(script)
}

/// Replaces comments `/* ... */` by blanks, and keeps the line breaks.
fn without_block_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("/*") {
        let (comment, behind) = after.split_once("*/").unwrap_or((after, ""));
        kept.push_str(before);
        kept.extend(comment.chars().filter(|c| *c == '\n'));
        rest = behind;
    }
    kept + rest
}

fn without_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or("")
}

/// Returns the closing sign of code or a command that `entry` opens and does not close.
fn missing_end(entry: &str) -> Option<&'static str> {
    let opened = [("%{", "}%"), ("`", "`")].into_iter().filter_map(|(open, close)| {
        entry.find(open).map(|start| (start, &entry[start + open.len()..], close))
    });
    let (_, behind, close) = opened.min_by_key(|(start, ..)| *start)?;
    (!behind.contains(close)).then_some(close)
}

/// Reads settings from a command: `sysctl -q net.ipv4.tcp_ecn=1`, or a path below /proc/sys.
fn configure(script: &mut Script, command: &str) {
    for word in command.split(|c: char| c.is_whitespace() || c == '"' || c == ';') {
        if let Some((name, value)) = word.split_once('=') {
            let name = name.rsplit(['.', '/']).next().unwrap_or(name);
            script.sysctls.insert(name.to_string(), value.to_string());
        }
    }
    let installs_fq = |line: &str| line.contains("qdisc") && line.trim_end().ends_with(" fq");
    script.paced |= command.lines().any(installs_fq);
}

fn event(text: &str) -> Result<(When, What), String> {
    let (when, rest) = when(text)?;
    let rest = rest.trim();
    let what = if let Some(packet) = rest.strip_prefix('<') {
        What::In(segment(packet)?)
    } else if let Some(packet) = rest.strip_prefix('>') {
        What::Out(segment(packet)?)
    } else if let Some(code) = rest.strip_prefix("%{") {
        What::Python(code.trim_end().trim_end_matches("}%").to_string())
    } else if let Some(command) = rest.strip_prefix('`') {
        What::Shell(command.trim_end_matches('`').to_string())
    } else {
        let (name, rest) = rest.split_once('(').ok_or(format!("`{rest}` is no event"))?;
        let (arguments, result) = rest.rsplit_once('=').unwrap_or((rest, ""));
        let arguments = arguments.trim().trim_end_matches(')');
        What::Call(name.trim().to_string(), arguments.to_string(), result.trim().to_string())
    };
    Ok((when, what))
}

/// Parses the time before an event: `0.1`, `+.1`, `+.6~+.64`, `+0...0.1` (a blocking call), `*`.
fn when(text: &str) -> Result<(When, &str), String> {
    if let Some(rest) = text.strip_prefix('*') {
        return Ok((When::Any, rest));
    }
    let end = text.find(|c: char| !"+.~0123456789".contains(c)).unwrap_or(text.len());
    let (written, rest) = text.split_at(end);
    let no_time = || format!("`{text}` does not begin with a time");
    // Of a blocking call only the beginning matters.
    let time = written.split("...").next().unwrap_or(written);
    let span = |text: &str| match text.trim_start_matches('+').parse::<f64>() {
        Ok(seconds) if seconds.is_finite() => Ok(Span::from_micros((seconds * 1e6).round() as u64)),
        _ => Err(no_time()),
    };
    let when = match (time.starts_with('+'), time.split_once('~')) {
        (true, Some((from, to))) => When::After(span(from)?, span(to)?),
        (true, None) => When::After(span(time)?, span(time)?),
        (false, None) => When::At(span(time)?),
        (false, Some(_)) => return Err(no_time()),
    };
    Ok((when, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "\
// A script.
--tolerance_usecs=5000
`sysctl -q net.ipv4.tcp_congestion_control=reno
sysctl -q net.ipv4.tcp_ecn=1`
/* A comment
   of two lines. */
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
 +0.1 < . 1:1(0) ack 1 win 1000
+.6~+.640 > P. 1:1001(1000) ack 1
   +0 %{
assert tcpi_snd_cwnd == 10
}%
   +0 `true`
";

    #[test]
    fn events_have_lines_times_and_kinds() {
        let script = read(SCRIPT).expect("a script");
        assert_eq!(script.tolerance, Span::from_millis(5));
        assert_eq!(script.sysctl("tcp_congestion_control"), "reno");
        assert_eq!((script.sysctl("tcp_ecn"), script.sysctl("tcp_sack")), ("1", "1"));
        let lines: Vec<usize> = script.events.iter().map(|event| event.line).collect();
        assert_eq!(lines, [7, 8, 9, 10, 13]);
        let ms = Span::from_millis;
        assert_eq!(script.events[0].when, When::At(Span::ZERO));
        assert_eq!(script.events[2].when, When::After(ms(600), ms(640)));
        assert!(matches!(&script.events[0].what, What::Call(name, _, result)
            if name == "socket" && result == "3"));
        assert!(
            matches!(&script.events[3].what, What::Python(code) if code.contains("cwnd == 10"))
        );
        assert!(matches!(&script.events[4].what, What::Shell(command) if command == "true"));
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, part) in [
            ("\n+0 what", "line 2: `what` is no event"),
            ("x < . 1:1(0)", "line 1: `x < . 1:1(0)` does not begin with a time"),
            ("+0 %{ assert 1", "line 1: `}%` is missing"),
            ("+0 < . 1:1(0) ack y", "line 1: `y` is no number"),
        ] {
            let problem = read(text).expect_err(text);
            assert!(problem.contains(part), "{problem}");
        }
    }
}
