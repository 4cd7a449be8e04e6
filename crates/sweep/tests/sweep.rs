//! Shards of a sweep: together they are the whole, and a shard that was stopped continues.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use paceline_sweep::{
    Grid, MergeError, Progress, Shard, Table, Values, merge, read_parquet, sweep, write_parquet,
};
use paceline_testing::Folder;

const SWEEP: &str = "runs = 2\n[grid]\n\"link.rate\" = [\"4Mbps\", \"8Mbps\"]\n\"flow.*.scheme\" = [\"cubic\", \"copa\"]\n\
                     \"flow.*.rtt\" = [\"20ms\", \"40ms\"]\n[scenario]\nduration = \"500ms\"\n[[scenario.link]]\n\
                     name = \"l\"\nrate = \"1Mbps\"\n[[scenario.flow]]\nscheme = \"cubic\"\npath = [\"l\"]\n";

/// Counts the runs that were made.
#[derive(Default)]
struct Count {
    found: AtomicU64,
    ended: AtomicU64,
}

impl Progress for Count {
    fn begin(&self, _all: u64, done: u64) {
        self.found.store(done, Ordering::Relaxed);
    }

    fn ended(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}

fn grid(text: &str) -> Grid {
    Grid::parse(text, Path::new("."), |_| Err("no file".into())).expect("a grid")
}

/// Makes a shard. Returns how many runs were found and made.
fn make(grid: &Grid, shard: &str, folder: &Folder) -> (u64, u64) {
    let count = Count::default();
    let shard: Shard = shard.parse().expect("a shard");
    sweep(grid, shard, folder.root(), &paceline_remy::names(), &count).expect("swept");
    (count.found.into_inner(), count.ended.into_inner())
}

fn merged(folder: &Folder) -> Table {
    merge(folder.root()).expect("merged").0
}

#[test]
fn shards_together_are_the_whole() {
    let (whole, parts) = (Folder::new("whole"), Folder::new("parts"));
    let grid = grid(SWEEP);
    assert_eq!(make(&grid, "1/1", &whole), (0, 16));
    for shard in ["1/3", "2/3"] {
        make(&grid, shard, &parts);
    }
    let error = merge(parts.root()).expect_err("a shard is missing");
    assert!(matches!(&error, MergeError::Missing(_, missing) if missing == &["3/3"]), "{error}");
    make(&grid, "3/3", &parts);
    assert_eq!(merged(&parts), merged(&whole));
    // Each run has a row for its link and one for its flow.
    assert_eq!(merged(&whole).rows(), 32);
    let Some(Values::Text(rates)) = merged(&whole).column("link.rate").cloned() else {
        panic!("no column of the swept key");
    };
    assert_eq!(rates.iter().flatten().filter(|rate| *rate == "8Mbps").count(), 16);
}

#[test]
fn a_shard_that_was_stopped_continues_and_a_finished_one_is_not_made_again() {
    let (whole, stopped) = (Folder::new("uncut"), Folder::new("stopped"));
    let grid = grid(SWEEP);
    make(&grid, "1/2", &whole);
    assert_eq!(make(&grid, "1/2", &whole), (8, 0));
    // A scenario that turns invalid half-way does not exist, so that a folder which cannot be written to stops it.
    let table = stopped.root().join("part-1-of-2.part");
    std::fs::create_dir(&table).expect("a folder in the way");
    let shard: Shard = "1/2".parse().expect("a shard");
    let result = sweep(&grid, shard, stopped.root(), &paceline_remy::names(), &Count::default());
    assert!(result.is_err());
    std::fs::remove_dir(&table).expect("removed");
    // Cuts the journal after the head, three runs and a part of the fourth.
    let journal = stopped.root().join("part-1-of-2.journal");
    let text = std::fs::read_to_string(&journal).expect("a journal");
    let cut: usize = text.split_inclusive('\n').take(4).map(str::len).sum();
    std::fs::write(&journal, &text[..cut + 10]).expect("cut");
    assert_eq!(make(&grid, "1/2", &stopped), (3, 5));
    assert!(!journal.exists());
    let read =
        |folder: &Folder| read_parquet(&folder.root().join("part-1-of-2.parquet")).expect("read");
    assert_eq!(read(&stopped), read(&whole));
}

#[test]
fn tables_of_another_sweep_are_refused() {
    let folder = Folder::new("other");
    make(&grid(SWEEP), "1/2", &folder);
    make(&grid(&SWEEP.replace("8Mbps", "9Mbps")), "2/2", &folder);
    let error = merge(folder.root()).expect_err("two sweeps");
    assert!(matches!(error, MergeError::Other(..)), "{error}");
    let nothing = Folder::new("nothing");
    assert!(matches!(merge(nothing.root()), Err(MergeError::Nothing(_))));
}

#[test]
fn runs_that_stand_in_two_tables_are_refused() {
    let folder = Folder::new("overlap");
    let grid = grid(SWEEP);
    let part = |name: &str| folder.root().join(name);
    let said = || merge(folder.root()).expect_err("a run stands in two tables").to_string();
    make(&grid, "1/2", &folder);
    make(&grid, "2/2", &folder);
    assert_eq!(merged(&folder).rows(), 32);
    // The whole beside its parts, a part of another division, a copy.
    make(&grid, "1/1", &folder);
    assert!(said().contains("part-1-of-2.parquet: is part 1/2 of the sweep, and "), "{}", said());
    std::fs::remove_file(part("part-1-of-1.parquet")).expect("removed");
    make(&grid, "2/3", &folder);
    assert!(said().contains("part-2-of-3.parquet: is part 2/3 of the sweep, and "), "{}", said());
    std::fs::remove_file(part("part-2-of-3.parquet")).expect("removed");
    let copy = part("part-1-of-2 (copy).parquet");
    std::fs::copy(part("part-1-of-2.parquet"), &copy).expect("copied");
    assert!(said().contains("has runs that "), "{}", said());
    assert!(said().contains("part-1-of-2 (copy).parquet has, too; remove one"), "{}", said());
    // The joined table has the facts of the sweep, but no part.
    std::fs::remove_file(&copy).expect("removed");
    let (table, facts) = merge(folder.root()).expect("merged");
    write_parquet(&part("part-all.parquet"), &table, &facts).expect("written");
    assert!(said().contains("part-all.parquet: is no table of `paceline sweep`"), "{}", said());
}

#[test]
fn shards_of_a_sweep_over_the_number_of_runs_are_the_whole() {
    let text = SWEEP.replace("\"link.rate\" = [\"4Mbps\", \"8Mbps\"]", "runs = [1, 3]");
    let grid = grid(&text.replacen("runs = 2", "", 1));
    let (whole, parts) = (Folder::new("runs-whole"), Folder::new("runs-parts"));
    assert_eq!(make(&grid, "1/1", &whole), (0, 16));
    let made: u64 = (1..=3).map(|part| make(&grid, &format!("{part}/3"), &parts).1).sum();
    assert_eq!(made, 16);
    let tables = [&whole, &parts].map(|folder| merge(folder.root()).expect("a table").0);
    assert!(tables[0] == tables[1]);
}

#[test]
fn a_shard_does_not_read_the_scenarios_of_others() {
    let seeds: Vec<String> = (1..=100_000).map(|seed| seed.to_string()).collect();
    let text = SWEEP.replace("runs = 2", "runs = 1").replace(
        "\"link.rate\" = [\"4Mbps\", \"8Mbps\"]",
        &format!("seed = [{}]", seeds.join(",")),
    );
    let folder = Folder::new("many");
    // 400,000 combinations, of which the shard has four.
    assert_eq!(make(&grid(&text), "7/100000", &folder), (0, 4));
}

#[test]
fn a_swept_key_that_every_table_has_gets_a_column_of_its_own() {
    let text = SWEEP.replace("\"link.rate\" = [\"4Mbps\", \"8Mbps\"]", "seed = [7, 8]");
    let folder = Folder::new("seeds");
    make(&grid(&text), "1/1", &folder);
    let (table, _) = merge(folder.root()).expect("a table");
    let mut names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
    let Some(Values::Whole(swept)) = table.column("grid.seed") else { panic!("{names:?}") };
    assert!(swept.iter().all(|seed| matches!(seed, Some(7 | 8))));
}

/// Calls `sweep` for the same part while it runs, and keeps what it says.
struct Second<'a> {
    folder: &'a Folder,
    said: Mutex<String>,
}

impl Progress for Second<'_> {
    fn begin(&self, _all: u64, _done: u64) {
        let (grid, names) = (grid(SWEEP), paceline_remy::names());
        let shard: Shard = "1/2".parse().expect("a shard");
        let error = sweep(&grid, shard, self.folder.root(), &names, &Count::default());
        *self.said.lock().expect("no panic") = error.expect_err("a second sweep").to_string();
    }

    fn ended(&self) {}
}

#[test]
fn a_part_is_made_by_one_process_at_a_time() {
    let folder = Folder::new("twice");
    let second = Second { folder: &folder, said: Mutex::default() };
    let shard: Shard = "1/2".parse().expect("a shard");
    let made = sweep(&grid(SWEEP), shard, folder.root(), &paceline_remy::names(), &second);
    assert_eq!(made.expect("the first goes on").found, 0);
    let said = second.said.into_inner().expect("no panic");
    assert!(said.contains("part-1-of-2.journal: another `paceline sweep` makes this"), "{said}");
    assert_eq!(make(&grid(SWEEP), "1/2", &folder), (8, 0));
}

#[test]
fn runs_of_another_sweep_are_not_overwritten() {
    let folder = Folder::new("overwritten");
    make(&grid(SWEEP), "1/1", &folder);
    let before = std::fs::read(folder.root().join("part-1-of-1.parquet")).expect("a table");
    let other = grid(&SWEEP.replace("runs = 2", "runs = 3"));
    let attempt = || {
        let shard: Shard = "1/1".parse().expect("a shard");
        let swept = sweep(&other, shard, folder.root(), &paceline_remy::names(), &Count::default());
        swept.expect_err("another sweep").to_string()
    };
    let message = attempt();
    assert!(message.contains("part-1-of-1.parquet: has runs of another sweep"), "{message}");
    let table = folder.root().join("part-1-of-1.parquet");
    assert_eq!(std::fs::read(&table).expect("a table"), before);
    // Nor are those of one that was stopped.
    std::fs::remove_file(&table).expect("removed");
    let journal = folder.root().join("part-1-of-1.journal");
    let head = r#"{"sweep":"0123456789abcdef","version":"0.1.0","shard":"1/1"}"#;
    std::fs::write(&journal, format!("{head}\n{{\"job\":0,\"rows\":[]}}\n")).expect("a journal");
    assert!(attempt().contains("part-1-of-1.journal: has runs of another sweep"));
    // A journal without a run loses nothing.
    std::fs::write(&journal, format!("{head}\n")).expect("a journal");
    assert_eq!(make(&other, "1/1", &folder), (0, 24));
}

#[test]
fn a_sweep_with_a_mistake_leaves_no_file_and_the_corrected_one_runs() {
    let folder = Folder::new("corrected");
    let wrong = grid(&SWEEP.replace("8Mbps", "8"));
    let shard: Shard = "1/1".parse().expect("a shard");
    let swept = sweep(&wrong, shard, folder.root(), &paceline_remy::names(), &Count::default());
    let said = swept.expect_err("a rate without a unit").to_string();
    assert!(said.contains("link.rate"), "{said}");
    assert_eq!(std::fs::read_dir(folder.root()).expect("a folder").count(), 0);
    assert_eq!(make(&grid(SWEEP), "1/1", &folder), (0, 16));
}

#[test]
fn files_of_other_programs_are_not_overwritten() {
    let folder = Folder::new("foreign");
    let grid = grid(SWEEP);
    let [table, journal] =
        ["parquet", "journal"].map(|end| folder.root().join(format!("part-1-of-2.{end}")));
    let refused = |path: &Path| {
        let before = std::fs::read(path).expect("a file");
        let shard: Shard = "1/2".parse().expect("a shard");
        let made = sweep(&grid, shard, folder.root(), &paceline_remy::names(), &Count::default());
        let said = made.expect_err("a foreign file").to_string();
        assert!(said.contains("was not written by `paceline sweep`"), "{said}");
        assert!(said.starts_with(&path.display().to_string()), "{said}");
        assert_eq!(std::fs::read(path).expect("a file"), before);
        std::fs::remove_file(path).expect("removed");
    };
    write_parquet(&table, &Table::default(), &[]).expect("written");
    refused(&table);
    for text in ["Monday: slept\n", "no line", "{}\n", "{\"sweep\":\"on\"}\n", "\n", "{\"sweet\":"]
    {
        std::fs::write(&journal, text).expect("written");
        refused(&journal);
    }
    // What a kill or a power cut leaves is made anew.
    for (path, rest) in [
        (&journal, ""),
        (&journal, "{\"sw"),
        (&journal, "{\"sweep\":\"0123"),
        (&table, ""),
        (&table, "PAR1 and no more"),
    ] {
        std::fs::write(path, rest).expect("written");
        assert_eq!(make(&grid, "1/2", &folder), (0, 8), "{rest}");
        std::fs::remove_file(&table).expect("removed");
    }
}

#[test]
fn a_changed_recording_starts_another_sweep() {
    let (folder, files) = (Folder::new("recordings"), Folder::new("recorded"));
    let text = SWEEP
        .replace(
            "\"link.rate\" = [\"4Mbps\", \"8Mbps\"]",
            "\"link.trace\" = [\"a.down\", \"b.down\"]",
        )
        .replace("rate = \"1Mbps\"", "trace = \"a.down\"");
    let grid = || Grid::parse(&text, files.root(), |_| Err("no file".into())).expect("a grid");
    let write =
        |name: &str, text: &str| std::fs::write(files.root().join(name), text).expect("written");
    write("a.down", "1\n2\n3\n");
    write("b.down", "1\n3\n");
    make(&grid(), "1/2", &folder);
    // Equal contents are the same sweep, as on another machine.
    write("b.down", "1\n3\n");
    assert_eq!(make(&grid(), "1/2", &folder).1, 0);
    write("b.down", "2\n3\n");
    let (names, count) = (paceline_remy::names(), Count::default());
    let shard: Shard = "1/2".parse().expect("a shard");
    let error =
        sweep(&grid(), shard, folder.root(), &names, &count).expect_err("another recording");
    assert!(error.to_string().contains("recordings, have changed"), "{error}");
    make(&grid(), "2/2", &folder);
    let error = merge(folder.root()).expect_err("two recordings");
    assert!(error.to_string().contains("had other contents"), "{error}");
}
