//! The programs' C code, compiled for this machine.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use paceline_kernel::RemyTable;

use super::record::{Event, Step};

/// Compiles `bpf/host.c`. Every machine that links Rust has a C compiler.
pub(crate) fn compile() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf/host.c");
    // Tests run side by side, so each one has a file of its own.
    let name = format!("host-{}", paceline_testing::this_test().replace(':', "-"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut command = Command::new(compiler);
    command.args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(&source);
    let done = command.output().expect("a C compiler");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    program
}

/// Returns the C code's words after each of these events. `args` name the scheme: see `bpf/host.c`.
pub(crate) fn run(program: &Path, args: &[OsString], steps: &[Step]) -> Vec<[u64; 3]> {
    let mut input = Vec::with_capacity(steps.len() * 18 * 8);
    for step in steps {
        let mut words = [0; 18];
        match step.event {
            Event::Feedback(feedback) => words = feedback.words(),
            // A packet size of zero marks an idle period.
            Event::Idle(now, idle, rto) => (words[0], words[1], words[7]) = (now, idle, rto),
        }
        words.iter().for_each(|word| input.extend(word.to_ne_bytes()));
    }
    let mut command = Command::new(program);
    command.args(args);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the C program");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let mut output = Vec::with_capacity(steps.len() * 24);
    let mut stdout = child.stdout.take().expect("a pipe");
    stdout.read_to_end(&mut output).expect("its output");
    writer.join().expect("no panic").expect("it reads all");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(output.len(), steps.len() * 24);
    let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("8 bytes"));
    let line = |line: &[u8]| [word(&line[..8]), word(&line[8..16]), word(&line[16..])];
    output.chunks_exact(24).map(line).collect()
}

/// Writes a table of `remy` to a file for the C code.
pub(crate) fn write_table(table: &RemyTable) -> PathBuf {
    let actions = table.action_words().as_flattened().to_vec();
    let mut words = table.shape();
    for (list, count) in
        [(table.end_words(), None), (table.cell_words(), None), (actions, Some(table.rules()))]
    {
        words.push(count.unwrap_or(list.len()) as u64);
        words.extend(list);
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let name = format!("table-{}", paceline_testing::this_test().replace(':', "-"));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).expect("a file");
    path
}
