//! Figures and tables as files: `paceline plot`, `-o fig.pdf`, `--csv`, `series.csv`.

use std::process::Command;

use crate::common::paceline;
use paceline_testing::{Folder, Need, skip, this_test};
use serde_json::Value;

const QUICK: [&str; 9] =
    ["compare", "--runs", "2", "--duration", "3s", "--trace", "12Mbps", "--schemes", "cubic,abc"];

/// Runs the program, which has to succeed.
fn done(arguments: &[&str]) -> String {
    let seen = paceline(arguments);
    assert_eq!(seen.code, 0, "{arguments:?}: {}", seen.err);
    seen.out
}

/// Checks that a saved result is the printed one, and says how it was made.
fn is_saved(saved: &str, printed: &str) {
    let mut saved: Value = serde_json::from_str(saved).expect("JSON");
    let made = saved.as_object_mut().and_then(|fields| fields.remove("made")).expect("`made`");
    assert!(made["command"].as_str().is_some_and(|it| it.starts_with("paceline ")), "{made}");
    assert_eq!(saved, serde_json::from_str::<Value>(printed).expect("JSON"));
}

fn fails(arguments: &[&str], words: &[&str]) {
    let seen = paceline(arguments);
    assert_eq!(seen.code, 2, "{arguments:?}: {}", seen.err);
    for word in words {
        assert!(seen.err.contains(word), "{arguments:?}: {}", seen.err);
    }
}

#[test]
fn figures_of_a_comparison_are_made_again_from_its_folder() {
    let folder = Folder::new("plot-compare");
    let out = folder.path("out");
    done(&[&QUICK[..], &["-q", "-o", &out]].concat());
    let result = format!("{out}/compare.json");
    for result in [&result, &out] {
        assert_eq!(done(&["plot", result, "--list"]), "tradeoff\nseries\n");
    }
    let svg = folder.path("series.svg");
    let series = ["plot", &result, "--figure", "series", "-o", &svg];
    let look = ["--width", "3.5in", "--font-size", "7", "--font", "Times"];
    done(&[&series[..], &look].concat());
    let text = std::fs::read_to_string(&svg).expect("an SVG file");
    assert!(
        text.contains("width=\"252pt\"") && text.contains("&#39;Times&#39;, sans-serif"),
        "{text}"
    );
    assert!(!text.contains("<style") && text.contains("Throughput (Mbit/s)"), "{text}");
    // The same figure as that of the folder, but for its look.
    let page = ["--width", "10in", "--font-size", "9", "--colors", "screen"];
    done(&[&series[..], &page].concat());
    let again = std::fs::read_to_string(&svg).expect("an SVG file");
    let first = std::fs::read_to_string(format!("{out}/timeseries-12Mbps.svg")).expect("a plot");
    let body = |text: &str| text.split_once("</style>").expect("a style").1.to_string();
    assert_eq!(body(&again), body(&first));
    done(&[&series[..], &["--caption"]].concat());
    let with_caption = std::fs::read_to_string(&svg).expect("an SVG file");
    assert!(with_caption.contains("<desc>The shaded area is the link"), "{with_caption}");
    let words = with_caption.split_once("</desc>").expect("a description").0;
    for word in ["Made with: paceline compare --runs 2", "seed 1).", "Drawn with: paceline plot"] {
        assert!(words.contains(word), "{words}");
    }
    let height = |svg: &str| svg.split(" height=\"").nth(1).map(|rest| rest[..4].to_string());
    assert_ne!(height(&with_caption), height(&text), "the text is below the figure");
    let pdf = folder.path("fig.pdf");
    done(&["plot", &result, "-o", &pdf, "--width", "252.94499pt", "--height", "5cm"]);
    let bytes = std::fs::read(&pdf).expect("a PDF file");
    assert!(bytes.starts_with(b"%PDF-"));
    assert!(String::from_utf8_lossy(&bytes).contains("/MediaBox [0 0 252 141.73"), "the size");
    let empty = folder.path("empty");
    std::fs::create_dir(&empty).expect("a folder");
    fails(
        &["plot", &empty, "--list"],
        &["no compare.json or run.json is in this folder", "-o DIR"],
    );
    // Without the series beside it, the JSON has only the other figures.
    let alone = folder.write("alone.json", &std::fs::read(&result).expect("JSON"));
    assert_eq!(done(&["plot", &alone, "--list"]), "tradeoff\n");
    let missing = ["plot", &alone, "--figure", "series", "-o", &pdf];
    fails(&missing, &["there is no figure `series`", "paceline compare -o DIR"]);
}

#[test]
fn figures_of_a_scenario_are_made_again_from_its_json() {
    let folder = Folder::new("plot-run");
    let text = "duration = \"2s\"\n[[link]]\nname = \"narrow\"\nrate = \"5Mbps\"\n\
                [[flow]]\nscheme = \"cubic\"\n[[flow]]\nscheme = \"abc\"\n";
    let text = text.replace("name = \"narrow\"\n", "name = \"narrow\"\nrouter = \"abc\"\n");
    let file = folder.write("two.toml", text.as_bytes());
    for (runs, out) in [("1", folder.path("one")), ("3", folder.path("three"))] {
        done(&["run", &file, "--runs", runs, "-q", "-o", &out]);
        let result = format!("{out}/run.json");
        assert_eq!(
            done(&["plot", &result, "--list"]),
            "link narrow\ntradeoff\nflows\nstate cubic\nstate abc\n"
        );
        for name in ["link narrow", "tradeoff", "flows"] {
            let png = folder.path("fig.png");
            done(&["plot", &result, "--figure", name, "-o", &png, "--dpi", "50"]);
            let bytes = std::fs::read(&png).expect("a PNG file");
            assert!(bytes.starts_with(b"\x89PNG"), "{name}");
        }
    }
    // The printed JSON is as good as that of the folder.
    let result = folder.write("bare.json", done(&["run", &file, "--json"]).as_bytes());
    assert_eq!(
        done(&["plot", &result, "--list"]),
        "link narrow\ntradeoff\nflows\nstate cubic\nstate abc\n"
    );
    let wrong = ["plot", &result, "--figure", "series", "-o", &folder.path("f.svg")];
    fails(
        &wrong,
        &[
            "there is no figure `series`; there are link narrow, tradeoff, flows, state cubic, state abc",
        ],
    );
    let pdf = folder.path("link.pdf");
    done(&["run", &file, "-o", &pdf]);
    assert!(std::fs::read(&pdf).expect("a PDF file").starts_with(b"%PDF-"));
}

#[test]
fn a_comparison_writes_one_figure_if_the_name_says_so() {
    let folder = Folder::new("plot-one");
    for name in ["fig.pdf", "fig.svg", "fig.png"] {
        let path = folder.path(name);
        let seen = paceline(&[&QUICK[..], &["-o", &path]].concat());
        assert_eq!(seen.code, 0, "{}", seen.err);
        assert!(seen.err.contains(&format!("wrote {path}")), "{}", seen.err);
        // Titles of PDF files may be UTF-16; the command has ASCII only.
        let bytes = std::fs::read(&path).expect("a figure");
        let text = String::from_utf8_lossy(&bytes).replace('\0', "");
        assert!(text.contains("Made with: paceline compare --runs 2 "), "{name} keeps its command");
        assert!(text.contains("seed 1"), "{name} keeps its seed");
        assert!(std::path::Path::new(&path).is_file());
    }
}

#[test]
fn wrong_looks_and_results_are_refused_before_anything_runs() {
    let folder = Folder::new("plot-wrong");
    let pdf = folder.path("fig.pdf");
    let no_json = folder.write("no.json", b"{");
    let other = folder.write("other.json", b"{\"schema_version\": 2}");
    let plot = ["plot", &other, "-o"];
    fails(&["plot", "no-such.json", "-o", &pdf], &["no-such.json", "cannot be read"]);
    fails(&["plot", &no_json, "-o", &pdf], &["no JSON", "reads the compare.json or run.json"]);
    let table = folder.write("all.parquet", b"PAR1\0\0");
    fails(&["plot", &table, "-o", &pdf], &["this is a Parquet table", "compare.json or run.json"]);
    fails(&["plot", &other, "-o", &pdf], &["no result of `paceline compare`"]);
    fails(&[&plot[..], &["fig.eps"]].concat(), &["fig.eps", ".pdf, .svg or .png"]);
    let with = |look: &[&'static str]| [&plot[..], &[&pdf], look].concat();
    fails(&with(&["--font", "No Such Font"]), &["--font: No Such Font", "DejaVu Sans Condensed"]);
    fails(&with(&["--width", "252"]), &["252pt"]);
    fails(&with(&["--width", "1in"]), &["--width", "expected 160 to"]);
    fails(&["plot", &other], &["--output"]);
}

/// Reads a CSV file with Python's csv module. Returns its rows as JSON objects.
fn read_by_python(path: &str) -> Option<Vec<Value>> {
    let script = "import csv, json, sys; print(json.dumps(list(csv.DictReader(open(sys.argv[1], newline='')))))";
    let output = Command::new("python3").args(["-c", script, path]).output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

#[test]
fn tables_are_read_back_by_python() {
    let folder = Folder::new("csv");
    let (csv, out) = (folder.path("runs.csv"), folder.path("out"));
    // A comma and a bracket in a scheme's name.
    let scheme = "abc[dt=60ms,delta=100ms]";
    let line = [&QUICK[..7], &["--schemes", scheme, "--json", "-q", "--csv", &csv, "-o", &out]];
    let json: Value = serde_json::from_str(&done(&line.concat())).expect("JSON");
    let Some(rows) = read_by_python(&csv) else {
        return skip(Need::Programs, &this_test(), "there is no python3");
    };
    let runs = json["runs"].as_array().expect("runs");
    assert_eq!(rows.len(), runs.len());
    for (row, run) in rows.iter().zip(runs) {
        assert_eq!(row["scheme"], run["scheme"]);
        let p95 = row["queue_delay_ms.p95"].as_str().and_then(|text| text.parse::<f64>().ok());
        assert_eq!(p95, run["queue_delay_ms"]["p95"].as_f64(), "{row}");
        let number = |name: &str| row[name].as_str().and_then(|text| text.parse::<f64>().ok());
        assert_eq!(number("packets"), run["packets"].as_f64());
    }
    let series = read_by_python(&format!("{out}/series.csv")).expect("rows");
    // 3 s in bins of 100 ms, of two runs.
    assert_eq!(series.len(), 60);
    assert_eq!((&series[1]["time_s"], &series[1]["scheme"]), (&"0.1".into(), &rows[0]["scheme"]));
    let text = "duration = \"2s\"\n[[link]]\nname = \"a, \\\"b\\\"\"\nrate = \"5Mbps\"\n\
                [[flow]]\nscheme = \"cubic\"\n";
    let file = folder.write("quoted.toml", text.as_bytes());
    done(&["run", &file, "-q", "--csv", &csv]);
    let rows = read_by_python(&csv).expect("rows");
    assert_eq!((&rows[0]["kind"], &rows[0]["name"]), (&"link".into(), &"a, \"b\"".into()));
    assert_eq!((&rows[1]["kind"], &rows[1]["scheme"]), (&"flow".into(), &"cubic".into()));
    done(&["schemes", "--csv", &csv]);
    assert!(read_by_python(&csv).expect("rows").iter().any(|row| row["name"] == "abc"));
    done(&["remy", "eval", "starter", "--duration", "5s", "--seeds", "1", "--csv", &csv]);
    assert_eq!(read_by_python(&csv).expect("rows").len(), 1);
    let printed = done(&[&QUICK[..], &["-q", "--csv", "-"]].concat());
    assert!(printed.starts_with("trace,scheme,run,") && printed.lines().count() == 5, "{printed}");
}

#[test]
fn the_name_of_o_says_what_is_written() {
    let folder = Folder::new("named");
    let read = |name: &str| std::fs::read(folder.path(name)).expect("a file");
    let text = |name: &str| String::from_utf8(read(name)).expect("text");
    let [csv, parquet, json] = ["r.csv", "r.parquet", "r.json"].map(|name| folder.path(name));
    done(&[&QUICK[..], &["-q", "-o", &csv, "--csv", &parquet]].concat());
    assert!(text("r.csv").starts_with("trace,scheme,run,"));
    assert!(read("r.parquet").starts_with(b"PAR1") && read("r.parquet").ends_with(b"PAR1"));
    let printed = done(&[&QUICK[..], &["-q", "-o", &json, "--json"]].concat());
    is_saved(&text("r.json"), &printed);
    for (line, head) in [
        (&["medium", "--stations", "2", "--duration", "1s"][..], "direction,station,rate,"),
        (&["medium", "--stations", "2", "--duration", "1s", "--runs", "3"], "direction,station,"),
        (&["reproduce", "A12", "--runs", "1"], "claim,paper,place,title,what,expected,"),
        (&["remy", "eval", "starter", "--duration", "5s", "--seeds", "1"], "table,"),
    ] {
        let printed = done(&[line, &["-q", "-o", &csv]].concat());
        assert!(text("r.csv").starts_with(head), "{line:?}: {}", text("r.csv"));
        assert!(!printed.is_empty(), "{line:?} prints its table, too");
        let printed = done(&[line, &["-q", "-o", &json, "--json"]].concat());
        if line[0] == "medium" {
            is_saved(&text("r.json"), &printed);
        }
        fails(&[line, &["-o", "r.pdf"]].concat(), &["r.pdf", "a table (.csv, .parquet)"]);
    }
    let pdf = folder.path("lte.pdf");
    done(&["trace", "plot", "lte-driving", "-o", &pdf, "--width", "3.5in"]);
    assert!(read("lte.pdf").starts_with(b"%PDF-"));
}

#[test]
fn a_sweep_is_one_table_and_one_figure() {
    let folder = Folder::new("sweep");
    let (out, csv) = (folder.path("out"), folder.path("runs.csv"));
    let lists = ["--rtt", "20ms,50ms", "--buffer", "0.5bdp,250", "--csv", &csv, "-q", "-o", &out];
    let printed = done(&[&QUICK[..], &lists].concat());
    let rows: Vec<&str> = printed.lines().filter(|line| line.contains("ms   ")).collect();
    assert_eq!(rows.len(), 8, "{printed}");
    assert!(rows[0].trim().starts_with("20ms   0.5bdp   cubic"), "{printed}");
    let table = std::fs::read_to_string(&csv).expect("a table");
    assert!(table.starts_with("trace,rtt,buffer,scheme,run,"), "{table}");
    assert_eq!(table.lines().count(), 1 + 2 * 8);
    let result = format!("{out}/compare.json");
    let json: Value = serde_json::from_slice(&std::fs::read(&result).expect("JSON")).expect("JSON");
    let summary = json["summary"].as_array().expect("rows");
    assert_eq!((summary.len(), &summary[7]["rtt"]), (8, &"50ms".into()));
    assert_eq!(
        (&summary[7]["buffer"], &json["ratios"][0]["rtt"]),
        (&"250p".into(), &"20ms".into())
    );
    let names = done(&["plot", &result, "--list"]);
    let series = "series 12Mbps, RTT 20ms, buffer 0.5bdp";
    assert!(names.starts_with(&format!("sweep\ntradeoff\n{series}\n")), "{names}");
    let svg = folder.path("sweep.svg");
    done(&["plot", &result, "-o", &svg]);
    let text = std::fs::read_to_string(&svg).expect("an SVG file");
    for part in [">20ms<", ">50ms<", ">buffer 0.5bdp<", ">buffer 250p<", ">Utilisation (%)<"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    done(&["plot", &result, "--figure", series, "-o", &svg]);
    let page = std::fs::read_to_string(format!("{out}/compare.html")).expect("a page");
    assert!(page.contains("Values on the horizontal axis have equal distances"), "{page}");
    assert!(
        std::path::Path::new(&format!("{out}/timeseries-12Mbps--RTT-50ms--buffer-250p.svg"))
            .is_file()
    );
    // A list of one value gives what the value gives.
    let one = done(&[&QUICK[..], &["--rtt", "50ms", "--json", "-q"]].concat());
    let one: Value = serde_json::from_str(&one).expect("JSON");
    assert!(one["runs"][0].get("rtt").is_none());
    let alone = &one["runs"][0]["digest"];
    let runs = json["runs"].as_array().expect("rows");
    let is_same =
        |run: &&Value| run["rtt"] == "50ms" && run["buffer"] == "250p" && run["scheme"] == "cubic";
    assert_eq!(&runs.iter().find(is_same).expect("the setting")["digest"], alone);
    let links = ["compare", "--trace", "24Mbps,lte-driving", "--runs", "1", "--duration", "1s"];
    let links = done(&[&links[..], &["--json", "-q"]].concat());
    let links: Value = serde_json::from_str(&links).expect("JSON");
    assert_eq!(links["runs"][3]["trace"], "lte-driving");
}

#[test]
fn series_are_tables() {
    let folder = Folder::new("series");
    let [csv, parquet] = ["s.csv", "s.parquet"].map(|name| folder.path(name));
    done(&[&QUICK[..], &["-q", "--series", &csv]].concat());
    let text = std::fs::read_to_string(&csv).expect("a table");
    assert!(text.starts_with("trace,scheme,run,time_s,capacity_mbps,"), "{text}");
    // 3 s in bins of 100 ms, of two schemes with two runs.
    assert_eq!(text.lines().count(), 1 + 30 * 4);
    let scenario = "duration = \"2s\"\nruns = 2\n[[link]]\nname = \"l\"\nrate = \"5Mbps\"\n\
                    [[flow]]\nname = \"f\"\nscheme = \"bbr\"\n";
    let file = folder.write("one.toml", scenario.as_bytes());
    done(&["run", &file, "-q", "--series", &parquet]);
    let (table, facts) =
        paceline_sweep::read_parquet(std::path::Path::new(&parquet)).expect("read");
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names[..6], ["kind", "name", "scheme", "run", "time_s", "capacity_mbps"]);
    assert!(names.iter().any(|name| name.starts_with("state.")), "{names:?}");
    // 2 s in bins of 100 ms, of a link and a flow in two runs.
    assert_eq!(table.columns[0].values.len(), 20 * 2 * 2);
    assert!(facts[0].1.contains("--series"), "{facts:?}");
    let printed = done(&["run", &file, "-q", "--series", "-"]);
    assert!(printed.starts_with("kind,name,scheme,run,time_s,"), "{printed}");
    let seen = paceline(&["run", &file, "--series", "no/such/s.csv"]);
    assert!(seen.code == 2 && seen.err.contains("there is no folder no/such"), "{}", seen.err);
}
