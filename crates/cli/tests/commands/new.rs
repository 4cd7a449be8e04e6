//! Tests of `paceline new`: what it writes can be used.

use std::path::Path;
use std::process::Command;

use crate::common::paceline;
use paceline_testing::Folder;

#[test]
fn traces_and_scenarios_can_be_simulated() {
    let folder = Folder::new("new");
    let (trace, scenario) = (folder.path("ride"), folder.path("mine.toml"));
    assert_eq!(paceline(&["new", "trace", &trace]).code, 0);
    let file = format!("{trace}.csv");
    let line = ["compare", "--schemes", "cubic", "--runs", "1", "--duration", "2s", "--trace"];
    let seen = paceline(&[&line[..], &[&file, "-q"]].concat());
    assert_eq!((seen.code, seen.err.as_str()), (0, ""));
    assert_eq!(paceline(&["new", "scenario", "fairness", "-o", &scenario]).code, 0);
    assert_eq!(paceline(&["run", &scenario, "--duration", "1s"]).code, 0);
    // Nothing is replaced.
    let seen = paceline(&["new", "trace", &file]);
    assert!(seen.code == 2 && seen.err.contains("there is such a file"), "{}", seen.err);
}

#[test]
fn controllers_are_a_python_file_or_a_rust_project() {
    let folder = Folder::new("new-controller");
    let program = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
        let output = command.args(arguments).current_dir(folder.path("")).output();
        let output = output.expect("the program starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let read = |name: &str| std::fs::read_to_string(folder.path(name)).expect("a file");
    let (code, said) = program(&["new", "controller", "mine"]);
    assert!(code == Some(0) && said.contains("--schemes ./mine.py,cubic"), "{said}");
    assert!(read("mine.py").contains("`python mine.py`"));
    assert!(
        read("mine.py").contains("class Mine(") && said.contains("the scheme `mine`"),
        "{said}"
    );
    let (code, said) = program(&["new", "controller", "my_delay"]);
    assert!(code == Some(0) && said.contains("the scheme `mydelay`"), "{said}");
    let written = read("my_delay.py");
    assert!(written.contains("class MyDelay(") && written.contains("[MyDelay, "), "{written}");
    assert!(!written.contains("Mine"), "{written}");
    let check = "import ast, sys; ast.parse(open(sys.argv[1]).read())";
    if let Ok(checked) =
        Command::new("python3").args(["-c", check, &folder.path("mine.py")]).status()
    {
        assert!(checked.success(), "Python can read it");
    }
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tree = tree.to_str().expect("a path in UTF-8");
    let (code, said) = program(&["new", "controller", "mine", "--rust", "--tree", tree]);
    assert_eq!(code, Some(0), "{said}");
    let manifest: toml::Table = read("mine/Cargo.toml").parse().expect("TOML");
    let workbench = Path::new(tree).join("examples/workbench");
    let known = std::fs::read_to_string(workbench.join("Cargo.toml")).expect("a manifest");
    let known: toml::Table = known.parse().expect("TOML");
    let names = |table: &toml::Table| {
        let dependencies = table["dependencies"].as_table().expect("a table");
        dependencies.keys().cloned().collect::<Vec<String>>()
    };
    assert_eq!(names(&manifest), names(&known), "those of the workbench");
    for name in names(&manifest) {
        let path = manifest["dependencies"][&name]["path"].as_str().expect("a path");
        assert!(Path::new(path).join("Cargo.toml").is_file(), "{path}");
    }
    // Tests of the workbench build and run this program.
    let main = std::fs::read_to_string(workbench.join("src/main.rs")).expect("the program");
    let main = main.replace("cargo run -p paceline-workbench --", "cargo run --release --");
    assert_eq!(read("mine/src/main.rs"), main);
    let mine = std::fs::read_to_string(workbench.join("src/mine.rs")).expect("the controller");
    assert_eq!(read("mine/src/mine.rs"), mine);
    let (code, said) = program(&["new", "controller", "other", "--rust"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(read("other/Cargo.toml").contains("git = \"https://"));
    let (code, said) = program(&["new", "controller", "my-delay", "--rust"]);
    assert!(code == Some(0) && said.contains("--schemes my_delay,cubic"), "{said}");
    assert!(read("my-delay/src/main.rs").contains("SchemeEntry::new(\"my_delay\","));
    assert!(read("my-delay/src/main.rs").contains("'my_delay[rtts=3],cubic+short'"));
    assert!(read("my-delay/src/mine.rs").contains("half of `my_delay`"));
    for (arguments, word) in [
        (&["new", "controller", "mine"][..], "there is such a file"),
        (&["new", "controller", "mine", "--rust"], "it exists"),
        (&["new", "controller", "My App", "--rust"], "lower-case letters"),
        (&["new", "controller", "third", "--rust", "--tree", "/"], "not Paceline's source"),
        (&["new", "controller", "mine.rs"], "mine.py"),
        (&["new", "controller", "cubic"], "there is a scheme `cubic` already"),
        (&["new", "controller", "new_reno"], "there is a scheme `newreno` already"),
        (&["new", "controller", "cubic", "--rust"], "there is a scheme `cubic` already"),
        (&["new", "controller", "my-delay"], "letters, digits and _"),
        (&["new", "controller", "2nd"], "letters, digits and _"),
        (&["new", "controller", "plan"], "that Python leaves free"),
        (&["new", "controller", "paceline"], "that Python leaves free"),
    ] {
        let (code, said) = program(arguments);
        assert!(code == Some(2) && said.contains(word), "{arguments:?}: {said}");
    }
}

#[test]
fn advised_commands_are_quoted() {
    let folder = Folder::new("new-quoted");
    std::fs::create_dir(folder.path("bad name")).expect("a folder");
    for (kind, advice) in [("controller", "compare --schemes '"), ("trace", "trace info '")] {
        let seen = paceline(&["new", kind, &folder.path("bad name/mine")]);
        assert!(seen.code == 0 && seen.err.contains(advice), "{}", seen.err);
    }
}
