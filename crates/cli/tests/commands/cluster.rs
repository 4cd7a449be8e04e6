//! The files of `examples/cluster` make the parts of a sweep, without the scheduler that would start them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::paceline;
use paceline_sweep::Grid;
use paceline_testing::{Folder, Need, skip, this_test};

const GRID: &str = "runs = 2\n[grid]\n\"link.rate\" = [\"4Mbps\", \"8Mbps\"]\n\"flow.*.scheme\" = [\"cubic\", \"copa\"]\n\
                    [scenario]\nduration = \"500ms\"\n[[scenario.link]]\nname = \"l\"\nrate = \"1Mbps\"\n\
                    [[scenario.flow]]\nscheme = \"cubic\"\npath = [\"l\"]\n";

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cluster").join(name)
}

/// Returns a command that finds the built program as `paceline`.
fn command(program: &Path) -> Command {
    let built = Path::new(env!("CARGO_BIN_EXE_paceline")).parent().expect("a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = [built.to_path_buf()].into_iter().chain(std::env::split_paths(&path));
    let mut command = Command::new(program);
    command.env("PATH", std::env::join_paths(folders).expect("folders without colons"));
    command
}

fn succeeds(command: &mut Command) {
    let output = command.output().expect("the program starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}");
}

/// Returns the joined table of the parts in a folder as the bytes of its file.
fn joined(folder: &Folder, parts: &str) -> Vec<u8> {
    let file = folder.path("joined.parquet");
    let seen = paceline(&["merge", "-q", parts, "-o", &file]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    fs::read(file).expect("the joined table")
}

/// Returns the table of the sweep that one command makes.
fn alone(folder: &Folder, grid: &str) -> Vec<u8> {
    let out = folder.path("alone");
    let seen = paceline(&["sweep", "-q", grid, "-o", &out]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    joined(folder, &out)
}

#[test]
fn gnu_parallel_makes_and_joins_all_parts() {
    let version = Command::new("parallel").arg("--version").output();
    if !version.is_ok_and(|version| version.stdout.starts_with(b"GNU parallel")) {
        skip(Need::Programs, &this_test(), "no GNU parallel: install the package parallel");
        return;
    }
    let folder = Folder::new("cluster-parallel");
    let (grid, out) = (folder.write("grid.toml", GRID.as_bytes()), folder.path("out"));
    for _ in 0..2 {
        succeeds(command(&example("parallel.sh")).args([&grid, &out, "3"]));
        let made = fs::read(folder.path("out.parquet")).expect("the joined table");
        assert!(made == alone(&folder, &grid), "the joined table differs from one machine's");
    }
    assert_eq!(fs::read_dir(&out).expect("the parts").count(), 3);
}

#[test]
fn tasks_of_a_slurm_array_make_all_parts() {
    let folder = Folder::new("cluster-slurm");
    let (grid, out) = (folder.write("grid.toml", GRID.as_bytes()), folder.path("out"));
    for task in ["3", "1", "4", "2"] {
        succeeds(
            command(&example("slurm.sh"))
                .args([&grid, &out])
                .env("SLURM_ARRAY_TASK_ID", task)
                .env("SLURM_ARRAY_TASK_COUNT", "4")
                .env("SLURM_CPUS_PER_TASK", "1"),
        );
    }
    assert!(joined(&folder, &out) == alone(&folder, &grid), "the joined table differs");
}

#[test]
fn pods_of_a_kubernetes_job_make_all_parts() {
    let text = fs::read_to_string(example("kubernetes.yaml")).expect("kubernetes.yaml");
    let value = |before: &str| {
        let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no `{before}`"));
        rest.lines().next().unwrap_or_default().trim().to_string()
    };
    assert_eq!(value("completionMode:"), "Indexed");
    let parts = format!("{{name: PARTS, value: \"{}\"}}", value("completions:"));
    assert!(text.contains(&parts), "completions and PARTS differ");
    let line: Vec<String> = serde_json::from_str(&value("command:")).expect("a list of texts");
    let folder = Folder::new("cluster-kubernetes");
    let (grid, out) = (folder.write("grid.toml", GRID.as_bytes()), folder.path("out"));
    let [shell, option, script] = &line[..] else { panic!("expected sh -c SCRIPT: {line:?}") };
    let script = script.replace("/sweep/", &folder.path(""));
    for index in ["2", "0", "1"] {
        succeeds(
            command(Path::new(shell))
                .args([option, &script])
                .env("JOB_COMPLETION_INDEX", index)
                .env("PARTS", "3"),
        );
    }
    assert!(joined(&folder, &out) == alone(&folder, &grid), "the joined table differs");
}

#[test]
fn the_example_has_ten_thousand_valid_runs() {
    let text = fs::read_to_string(example("grid.toml")).expect("grid.toml");
    let grid = Grid::parse(&text, Path::new("."), |_| Err("no file".into())).expect("a sweep");
    let names = paceline_remy::names();
    let runs = (0..grid.combinations()).map(|combination| {
        let scenario = grid.scenario(combination, &names).expect("a valid scenario");
        u64::from(scenario.runs.count)
    });
    assert_eq!(runs.sum::<u64>(), 10_000);
}
