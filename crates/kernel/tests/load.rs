//! Loads programs into the running kernel and unloads them.
#![cfg(feature = "bpf")]

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrStorage};
use nix::sys::socket::{connect, setsockopt, socket, sockopt};
use paceline_cc::Span;
use paceline_kernel::{Options, PROGRAMS, Program, accelerate, list, load, probe, stats, unload};
use paceline_schemes::c2tcp::Limit;
use paceline_schemes::remy::RemyTables;
use paceline_testing::{Need, skip, this_test};

/// The kernel has one list of names, so tests take turns.
static ALONE: Mutex<()> = Mutex::new(());
/// Environment variable with the number of loads, if not five.
const TIMES: &str = "PACELINE_KERNEL_LOADS";

/// Runs `test` in a network namespace of its own, if this machine can load programs.
fn alone(test: impl FnOnce() + Send + 'static) {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let name = this_test();
    if let Err(why) = probe().check() {
        return skip(Need::Kernel, &name, &why.to_string());
    }
    if list().iter().any(|state| state.available) {
        return skip(Need::Kernel, &name, "the programs are loaded already; unload them");
    }
    let thread = thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).expect("root may");
        let up = Command::new("ip").args(["link", "set", "lo", "up"]).status();
        assert!(up.expect("iproute2").success());
        test();
    });
    let done = thread.join();
    // Unloads all programs of ours, also after a failed test.
    for program in PROGRAMS.iter().filter(|program| paceline_kernel::loaded(program)) {
        unload(program).expect("unloads");
    }
    done.expect("the test holds");
}

/// Connects over loopback with `program` at both ends; the receiver discards all bytes.
fn connection(program: &Program) -> TcpStream {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("an address");
    setsockopt(&listener, sockopt::TcpCongestion, &program.name.into()).expect("is loaded");
    let to = listener.local_addr().expect("an address");
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut place = vec![0; 1 << 16];
        while stream.read(&mut place).is_ok_and(|count| count > 0) {}
    });
    let made = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None);
    let made = made.expect("a socket");
    setsockopt(&made, sockopt::TcpCongestion, &program.name.into()).expect("is loaded");
    use std::os::fd::AsRawFd as _;
    connect(made.as_raw_fd(), &SockaddrStorage::from(to)).expect("somebody listens");
    TcpStream::from(made)
}

/// Sends two megabytes.
fn send(stream: &mut TcpStream) {
    let bytes = vec![7; 1 << 16];
    for _ in 0..32 {
        stream.write_all(&bytes).expect("the connection works");
    }
}

/// Returns every object in the kernel with a name of our programs.
fn ours() -> BTreeSet<String> {
    let prefixes = ["abc_", "ecn_", "c2tcp_", "remy_", "vegas_", "accelerate"];
    let programs = ProgInfoIter::default().map(|info| info.name.to_string_lossy().into_owned());
    let programs = programs.filter(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)));
    let names = PROGRAMS.map(|program| program.name);
    let maps = MapInfoIter::default().map(|info| info.name.to_string_lossy().into_owned());
    let maps = maps.filter(|name| {
        names.contains(&name.as_str()) || name == "sockets" || name.starts_with("remy_")
    });
    let links = LinkInfoIter::default()
        .filter(|link| matches!(link.info, libbpf_rs::query::LinkTypeInfo::StructOps(_)));
    let links = links.map(|link| format!("link {}", link.id));
    programs.chain(maps).chain(links).collect()
}

/// Waits until the kernel has no object of ours beyond `before`: it frees programs after their last
/// socket.
fn assert_nothing_is_left(before: &BTreeSet<String>) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let left: Vec<String> = ours().difference(before).cloned().collect();
        if left.is_empty() {
            break;
        }
        assert!(Instant::now() < end, "left in the kernel: {left:?}");
        thread::sleep(Duration::from_millis(50));
    }
    assert!(list().iter().all(|state| !state.loaded && !state.leftover && !state.available));
    let disciplines = Command::new("tc").args(["qdisc", "show"]).output().expect("iproute2");
    let disciplines = String::from_utf8_lossy(&disciplines.stdout).into_owned();
    assert!(!disciplines.contains("clsact"), "{disciplines}");
}

fn count(program: &Program, name: &str) -> u64 {
    let counters = stats(program).expect("is loaded");
    counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, value)| *value)
}

#[test]
fn programs_are_loaded_and_unloaded_under_traffic_and_leave_nothing() {
    let times = std::env::var(TIMES).ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    alone(move || {
        let before = ours();
        for _ in 0..times {
            for program in &PROGRAMS {
                load(program, &Options::default()).expect(program.name);
                assert!(ours().len() > before.len(), "what is loaded is seen");
                let mut stream = connection(program);
                if program.accelerates {
                    accelerate(program, "lo").expect("a filter");
                }
                send(&mut stream);
                assert_eq!(count(program, "fallbacks"), 0, "{}", program.name);
                assert!(count(program, "acks") > 0, "{}", program.name);
                if program.accelerates {
                    assert!(count(program, "accelerated_bytes") > 0, "{}", program.name);
                }
                unload(program).expect(program.name);
                // The connection keeps its congestion control.
                send(&mut stream);
                stream.shutdown(Shutdown::Both).expect("is open");
            }
        }
        assert_nothing_is_left(&before);
    });
}

/// The default congestion control of this thread's network namespace.
fn make_default(scheme: &str) {
    let path = "/proc/sys/net/ipv4/tcp_congestion_control";
    std::fs::write(path, scheme).expect("root may");
}

#[test]
fn a_thousand_connections_of_a_namespaces_default_leave_nothing() {
    alone(|| {
        // Each connection needs two descriptors.
        setrlimit(Resource::RLIMIT_NOFILE, 4096, 4096).expect("root may");
        let before = ours();
        let abc = &PROGRAMS[0];
        load(abc, &Options::default()).expect("loads");
        make_default(abc.name);
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("an address");
        let to = listener.local_addr().expect("an address");
        let bytes = vec![7; 10_000];
        let mut open: Vec<(TcpStream, TcpStream)> = Vec::new();
        for _ in 0..1000 {
            let mut sender = TcpStream::connect(to).expect("somebody listens");
            let (receiver, _) = listener.accept().expect("a connection");
            sender.write_all(&bytes).expect("there is room");
            open.push((sender, receiver));
        }
        for (sender, receiver) in &mut open {
            sender.shutdown(Shutdown::Write).expect("is open");
            let mut all = Vec::new();
            receiver.read_to_end(&mut all).expect("it comes");
            assert_eq!(all, bytes);
        }
        assert_eq!((count(abc, "sockets"), count(abc, "fallbacks")), (2000, 0));
        // A namespace keeps its default congestion control after the unload, too. Cubic may be
        // missing, so use Reno.
        make_default("reno");
        unload(abc).expect("unloads");
        drop((open, listener));
        assert_nothing_is_left(&before);
    });
}

#[test]
fn a_program_is_loaded_once_and_mistakes_are_told() {
    alone(|| {
        let abc = &PROGRAMS[0];
        let text = |error: paceline_kernel::KernelError| error.to_string();
        assert!(text(unload(abc).expect_err("is not loaded")).contains("`abc` is not loaded"));
        assert!(text(stats(abc).expect_err("is not loaded")).contains("kernel load abc"));
        assert!(
            text(accelerate(abc, "lo").expect_err("is not loaded")).contains("is `abc` loaded")
        );
        load(abc, &Options::default()).expect("loads");
        assert!(
            text(load(abc, &Options::default()).expect_err("is loaded")).contains("loaded already")
        );
        let error = accelerate(abc, "nosuch0").expect_err("no such device");
        assert!(text(error).contains("`nosuch0`"));
        let state = &list()[0];
        assert!(state.loaded && state.available && !state.leftover, "{state:?}");
        unload(abc).expect("unloads");
    });
}

/// `list` shows the options with which a program was loaded, and they take effect.
#[test]
fn options_are_told_and_every_one_loads() {
    alone(|| {
        let before = ours();
        let find = |name| paceline_kernel::find(name).expect("a program");
        let over_reno = Options::with(|options| options.over_reno = true);
        load(find("c2tcp"), &over_reno).expect("loads");
        assert_eq!(paceline_kernel::options(find("c2tcp")), ["over=newreno"]);
        send(&mut connection(find("c2tcp")));
        assert!(count(find("c2tcp"), "acks") > 0);
        unload(find("c2tcp")).expect("unloads");
        let limits = Options::with(|options| {
            options.c2tcp_limits.target = Limit::Rtts(1.5);
            options.c2tcp_limits.interval = Limit::Time(Span::from_millis(60));
        });
        load(find("c2tcp"), &limits).expect("loads");
        assert_eq!(paceline_kernel::options(find("c2tcp")), ["interval=60ms", "target=1_5rtt"]);
        send(&mut connection(find("c2tcp")));
        assert!(count(find("c2tcp"), "acks") > 0);
        unload(find("c2tcp")).expect("unloads");
        // The default table, whose rules act on the delivery rate, and one whose rules act on the window.
        let tables = RemyTables::builtin();
        let starter =
            Options::of_parameters(find("remy"), &[("table".into(), "starter".into())], &tables);
        for (options, name) in
            [(Options::default(), "general"), (starter.expect("fits"), "starter")]
        {
            load(find("remy"), &options).expect("loads");
            let told = paceline_kernel::options(find("remy"));
            assert!(told.contains(&format!("table={name}")), "{told:?}");
            send(&mut connection(find("remy")));
            assert!(count(find("remy"), "acks") > 0, "{name}");
            unload(find("remy")).expect("unloads");
        }
        assert_nothing_is_left(&before);
    });
}

#[test]
fn loading_where_it_would_not_last_is_refused() {
    alone(|| {
        // As `ip netns exec` does: a mount namespace in which the BPF file system is hidden.
        unshare(CloneFlags::CLONE_NEWNS).expect("root may");
        let none = None::<&str>;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).expect("root may");
        let _ = umount2("/sys/fs/bpf", MntFlags::MNT_DETACH);
        let error =
            load(&PROGRAMS[0], &Options::default()).expect_err("would not last").to_string();
        assert!(error.contains("nsenter --net"), "{error}");
        assert!(list().iter().all(|state| !state.available));
    });
}

#[test]
fn a_peer_without_accurate_ecn_gets_cubic_and_is_counted() {
    alone(|| {
        let abc = &PROGRAMS[0];
        load(abc, &Options::default()).expect("loads");
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("an address");
        let to = listener.local_addr().expect("an address");
        let made = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None);
        let made = made.expect("a socket");
        setsockopt(&made, sockopt::TcpCongestion, &"abc".into()).expect("is loaded");
        use std::os::fd::AsRawFd as _;
        connect(made.as_raw_fd(), &SockaddrStorage::from(to)).expect("somebody listens");
        let scheme = nix::sys::socket::getsockopt(&made, sockopt::TcpCongestion);
        let scheme = scheme.expect("a scheme").to_string_lossy().into_owned();
        assert_eq!(scheme.trim_end_matches('\0'), "cubic");
        assert_eq!(count(abc, "fallbacks"), 1);
        drop((made, listener));
        unload(abc).expect("unloads");
    });
}
