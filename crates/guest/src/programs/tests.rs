use std::os::unix::fs::PermissionsExt as _;

use paceline_cc::Spec;
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario};
use paceline_sim::{CustomTransport, Simulation};
use paceline_testing::Folder;

use super::*;

/// Writes a file with these permissions, and the folders around it.
fn write(folder: &Folder, name: &str, content: &[u8], mode: u32) -> PathBuf {
    let path = folder.root().join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, content).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("permissions");
    path
}

/// Returns the setup that the simulator gives to a flow with these programs.
fn setup(programs: Programs) -> TransportSetup {
    let (sender, receiver) = std::sync::mpsc::channel();
    let made = CustomTransport::new("test", move |setup| {
        sender.send(setup.clone()).map_err(|error| error.to_string())?;
        Err("enough".into())
    });
    let mut scenario = Scenario::new("test");
    scenario
        .links
        .push(LinkSpec::new("link", Capacity::Constant(paceline_cc::Rate::from_mbps(1.0))));
    let flow = FlowSpec::bulk(made.with_programs(), &["link"]);
    scenario.flows.push(flow.with(|flow| flow.programs = Some(programs)));
    assert!(Simulation::new(scenario).is_err());
    receiver.recv().expect("a setup")
}

fn of_sender(programs: Programs) -> Result<HostPrograms, String> {
    let settings = crate::settings::settings(&Spec::parse("bbr").expect("a spec"), false);
    let flows = [(settings.expect("settings"), setup(programs))];
    of_host(Role::Sender, &flows).map_err(|error| error.to_string())
}

fn with(folder: &Folder, arguments: &[&str]) -> Programs {
    Programs::new().with(|it| {
        it.sender = Some(arguments.iter().map(ToString::to_string).collect());
        it.folder = Some(folder.root().to_path_buf());
    })
}

#[test]
fn placeholders_are_filled() {
    let folder = Folder::new("filled");
    write(&folder, "run", b"#!/bin/sh\n", 0o755);
    let arguments = ["./run", "{address}:{port}", "{own_address}", "{cc} {seconds}", "{else}", ""];
    let made = of_sender(with(&folder, &arguments)).expect("programs");
    let filled = made.arguments[0].clone().expect("arguments");
    assert_eq!(filled, ["./run", "10.0.0.2:5001", "10.0.0.1", "bbr 60", "{else}", ""]);
    assert_eq!(made.files_sha256.len(), 12);
    let text = String::from_utf8_lossy(&made.archive);
    assert!(text.contains("/work/run\x006\0/work/run\x0010.0.0.2:5001\0"), "no description");
    assert!(text.contains("HOME=/root\0LANG=C.UTF-8\0PATH=/work:"), "no environment");
    // The interpreter, its loader and its C library.
    for name in ["bin/sh\0", "lib/ld-", "lib/libc."] {
        assert!(text.contains(name), "{name}");
    }
    let again = of_sender(with(&folder, &arguments)).expect("programs");
    assert_eq!(again.archive, made.archive);
}

#[test]
fn a_flow_without_programs_has_no_files() {
    let folder = Folder::new("none");
    let made = of_sender(with(&folder, &[])).expect("programs");
    assert_eq!((made.archive.len(), made.arguments), (0, vec![None]));
}

#[test]
fn what_no_guest_can_run_is_named() {
    let folder = Folder::new("foreign");
    let own = fs::read("/bin/sh").expect("a shell");
    let mut foreign = own.clone();
    foreign[18] = 183;
    write(&folder, "arm", &foreign, 0o755);
    write(&folder, "data", b"text", 0o755);
    write(&folder, "closed", b"#!/bin/sh\n", 0o644);
    write(&folder, "script", b"#!/no/such/shell -x\n", 0o755);
    fs::create_dir_all(folder.root().join("folder")).expect("a folder");
    // A loader of equal length that no machine has.
    let loader = b"/lib64/ld-linux-x86-64.so.2";
    if let Some(at) = own.windows(loader.len()).position(|part| part == loader) {
        let mut lost = own.clone();
        lost[at..at + loader.len()]
            .copy_from_slice(b"/lib64/ld-missing-86-64.so.2".split_at(loader.len()).0);
        write(&folder, "lost", &lost, 0o755);
        let error = of_sender(with(&folder, &["./lost"])).expect_err("no loader");
        assert!(error.contains("loader is missing") && error.contains("statically"), "{error}");
    }
    for (name, problem) in [
        ("./none", "No such file"),
        ("no-such-program-here", "no such program in PATH"),
        ("./arm", "is for aarch64; guests run programs for x86-64"),
        ("./data", "neither a program for Linux nor a script"),
        ("./closed", "not executable: use chmod +x"),
        ("./script", "its interpreter: /no/such/shell"),
        ("./folder", "is a folder"),
        ("", "has no name"),
    ] {
        let error = of_sender(with(&folder, &[name])).expect_err(name);
        assert!(error.contains(problem), "{name}: {error}");
        assert!(error.starts_with("the program `"), "{error}");
    }
    let missing = with(&folder, &["./script"]).with(|it| it.files = vec!["nothing:x".into()]);
    let error = of_sender(missing).expect_err("a missing file");
    assert!(error.starts_with("files: nothing: No such file"), "{error}");
    let long = "x".repeat(MOST_BYTES);
    write(&folder, "run", b"#!/bin/sh\n", 0o755);
    let error = of_sender(with(&folder, &["./run", &long])).expect_err("too long");
    assert!(error.contains("write them into a file"), "{error}");
}

#[test]
fn a_root_is_the_whole_file_system() {
    let folder = Folder::new("root");
    write(&folder, "root/bin/tool", b"#!/bin/shell\n", 0o755);
    let root =
        |name: &str| with(&folder, &[name]).with(|it| it.root = Some(folder.root().join("root")));
    let error = of_sender(root("tool")).expect_err("no shell");
    assert!(error.contains("needs /bin/shell, which is not in root"), "{error}");
    let error = of_sender(root("other")).expect_err("no program");
    assert!(error.contains("is not in root"), "{error}");
    fs::copy("/bin/sh", folder.root().join("root/bin/shell")).expect("a copy");
    let made = of_sender(root("tool")).expect("programs");
    let text = String::from_utf8_lossy(&made.archive);
    assert!(text.contains("/work/tool\0") || text.contains("/bin/tool\x001\0tool\0"));
    assert!(!text.contains("lib/libc.so"), "a library of this machine's");
    write(&folder, "root/init", b"", 0o644);
    let error = of_sender(root("tool")).expect_err("an init");
    assert!(error.contains("/init, which is Paceline's"), "{error}");
    let missing = with(&folder, &["tool"]).with(|it| it.root = Some(folder.root().join("nothing")));
    assert!(of_sender(missing).expect_err("no folder").contains("is not a folder"));
}
