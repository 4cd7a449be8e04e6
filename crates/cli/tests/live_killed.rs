//! Tests that nothing is left behind when an emulator's processes are killed at any moment, and
//! which users can keep an emulator from starting.

#[path = "common/alone.rs"]
mod alone;
#[allow(dead_code, reason = "only its folders are used")]
mod common;

use std::fs::File;
use std::io::Write;

use alone::{PROGRAM, alone, lines, skip, text};
use paceline_testing::Folder;

/// Makes an interface with a default route, on which the emulator turns forwarding on.
const OUTWARD: &str = "ip tuntap add dev far mode tun && ip link set far up && \
    ip address add 192.0.2.1/24 dev far && ip route add default via 192.0.2.2\n\
    echo 0 > /proc/sys/net/ipv4/ip_forward; before=$(look)\n";

/// Removes this interface.
const HOME: &str = "ip tuntap del dev far mode tun\n";

/// Returns the number of moments to test: a few, or the value of this variable.
fn moments() -> u32 {
    std::env::var("PACELINE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(8)
}

#[test]
fn whatever_is_killed_is_cleaned_up() {
    let test = "whatever_is_killed_is_cleaned_up";
    let moments = moments();
    // Programs run inside and outside under load, some of which leave their parents and clear their
    // environment. Of every six moments, two kill all processes, and one each the emulator, its
    // supervisor, the process that watches over --outside, and the first two of these. On a slow
    // machine the supervisor may not run yet: if nothing were killed then, nothing would ever end.
    let script = format!(
        "{OUTWARD}\
         first=$before; set +m\n\
         inside='setsid sleep 1000 & env -i sleep 1000 & ping -q -n -f -s 1400 $PACELINE_BASE > /dev/null'\n\
         outside='setsid sleep 1000 & sleep 1000'\n\
         of_round() {{ grep -lz \"^ROUND=$1\\$\" /proc/[0-9]*/environ 2>/dev/null; }}\n\
         RANDOM=7\n\
         for round in $(seq {moments}); do\n\
             (ROUND=$round exec $P link --up 12Mbps --down 12Mbps --outside \"$outside\" -q -- \
                 sh -c \"$inside\") & emulator=$!\n\
             wait=$((RANDOM % 400)); sleep 0.$(printf %03d $wait)\n\
             read -r inner outer rest < /proc/$emulator/task/$emulator/children\n\
             case $((round % 6)) in\n\
                 0) victims=$emulator;; 1) victims=\"$emulator $inner $outer\";;\n\
                 2) victims=${{inner:-$emulator}};; 3) victims=\"$inner $outer $emulator\";;\n\
                 4) victims=$outer;; 5) victims=\"$emulator $inner\";;\n\
             esac\n\
             kill -KILL $victims\n\
             [ $((round % 6)) = 4 ] && {{ sleep 0.1; kill -TERM $emulator; }}\n\
             wait $emulator; sleep 0.05\n\
             $P cleanup -q || echo cleanup failed\n\
             for i in $(seq 1000); do\n\
                 now=$(look); left=$(of_round $round)\n\
                 [ \"$now\" = \"$first\" ] && [ -z \"$left\" ] && break; sleep 0.02\n\
             done\n\
             [ \"$now\" = \"$first\" ] || echo \"after round $round ($wait ms): $now\"\n\
             [ -z \"$left\" ] || {{ echo \"round $round ($wait ms) left $left\"; cat $left | tr '\\0' ' '; }}\n\
         done 2>/dev/null\n\
         echo \"$moments moments\"; {HOME}before=$(look)",
    );
    let script = format!("moments={moments}\n{script}");
    let seconds = 300 + 10 * moments;
    let needs = ["ip", "ping"];
    let Some(output) = alone::alone_within(test, &needs, &script, seconds) else { return };
    let out = text(&output.stdout);
    assert_eq!(lines(&output), [format!("{moments} moments")], "{out}{}", text(&output.stderr));
}

/// Not a test: as another user, holds every lock that this user can hold, for the test below.
#[test]
#[ignore = "a hostage-taker for another test"]
fn holder() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};
    if std::env::var_os("PACELINE_TEST").is_none() {
        return;
    }
    let names = ["paceline", "paceline-lock", "paceline.lock", "paceline-0"];
    let sockets = names.map(|name| {
        let name = SocketAddr::from_abstract_name(name).expect("a name");
        UnixListener::bind_addr(&name).expect("a socket")
    });
    let file = "/proc/sys/net/ipv4/route/flush";
    let mut say = std::io::stdout();
    for options in [File::options().read(true), File::options().write(true)] {
        let taken = options.open(file).and_then(|file| file.lock());
        let _ = writeln!(say, "{}", if taken.is_ok() { "taken" } else { "refused" });
    }
    for folder in ["/run/paceline", "/tmp/paceline-0"] {
        let _ = std::fs::create_dir(folder);
    }
    let _ = writeln!(say, "holding {}", sockets.len());
    std::thread::sleep(std::time::Duration::from_secs(600));
}

#[test]
fn nobody_else_can_stop_an_emulator_from_starting() {
    let test = "nobody_else_can_stop_an_emulator_from_starting";
    let folder = Folder::new("hostage");
    let program = folder.path("holder");
    let own = std::env::current_exe().expect("this program");
    std::fs::copy(own, &program).expect("a copy that everybody may execute");
    let script = format!(
        "as='setpriv --reuid=65534 --regid=65534 --clear-groups'\n\
         chmod 755 {folder} {program}; $as true || {{ echo none; exit 0; }}\n\
         : > {out}; $as {program} --ignored --exact holder --nocapture > {out} 2>&1 & holder=$!\n\
         until grep -q holding {out}; do sleep 0.02; done\n\
         $P delay 1ms -- echo started; kill $holder; wait $holder 2>/dev/null\n\
         rmdir /tmp/paceline-0 2>/dev/null; grep -o 'taken\\|refused\\|holding 4' {out}",
        folder = folder.path(""),
        out = folder.path("out"),
    );
    let Some(output) = alone(test, &["setpriv"], &script) else { return };
    let lines = lines(&output);
    let err = text(&output.stderr);
    if lines == ["none"] {
        return skip(test, "no right to become another user");
    }
    assert_eq!(lines, ["started", "refused", "refused", "holding 4"], "{err}");
    // If it had waited for a lock until its limit, it would have printed a note.
    assert!(!err.contains("has held the lock"), "{err}");
}

#[test]
fn a_stopped_emulator_does_not_keep_others_from_starting() {
    // A process of the same user, or of one who may emulate as well, holds the lock and is stopped.
    let script = "exec 9> /proc/sys/net/ipv4/route/flush && flock 9 || { echo none; exit 0; }\n\
        $P delay 1ms -- echo started 9>&-; exec 9>&-";
    let test = "a_stopped_emulator_does_not_keep_others_from_starting";
    let Some(output) = alone(test, &["flock"], script) else { return };
    let err = text(&output.stderr);
    if lines(&output) == ["none"] {
        return skip(test, "the lock cannot be held here");
    }
    assert_eq!(lines(&output), ["started"], "{err}");
    assert!(err.contains("going on without"), "{err}");
}

#[test]
fn the_next_emulator_puts_back_what_a_killed_one_left() {
    let script = format!(
        "{OUTWARD}\
         of() {{ cat /proc/sys/net/ipv4/conf/far/forwarding; }}; set +m\n\
         $P delay 1ms -- sleep 1000 & emulator=$!\n\
         until [ -n \"$(cat /proc/$emulator/task/$emulator/children)\" ] && [ \"$(of)\" = 1 ]; do\n\
             sleep 0.02; done\n\
         sleep 0.2\n\
         of; kill -KILL $emulator $(cat /proc/$emulator/task/$emulator/children)\n\
         wait $emulator 2>/dev/null; of\n\
         $P delay 1ms -- cat /proc/sys/net/ipv4/ip_forward > /dev/null; of; {HOME}before=$(look)"
    );
    let test = "the_next_emulator_puts_back_what_a_killed_one_left";
    let Some(output) = alone(test, &["ip"], &script) else { return };
    assert_eq!(lines(&output), ["1", "1", "0"], "{}", text(&output.stderr));
}

#[test]
fn addresses_come_from_the_network_that_is_named() {
    let script = "$P delay 1ms --base 10.77.0.0/24 -- sh -c 'echo $PACELINE_BASE\n\
        ping -n -c 1 -W 5 $PACELINE_BASE > /dev/null && echo reached'\n\
        PACELINE_NETWORK=192.168.9.0/24 $P mm-delay 1 sh -c 'echo $MAHIMAHI_BASE'\n\
        PACELINE_NETWORK=8.8.8.0/24 $P mm-delay 1 true; echo $?\n\
        ip tuntap add dev tailscale0 mode tun; $P delay 1ms -- true; ip tuntap del dev tailscale0 mode tun";
    let test = "addresses_come_from_the_network_that_is_named";
    let Some(output) = alone(test, &["ping", "ip"], script) else { return };
    let err = text(&output.stderr);
    assert_eq!(lines(&output), ["10.77.0.1", "reached", "192.168.9.1", "1"], "{err}");
    assert!(err.contains("$PACELINE_NETWORK: 8.8.8.0/24"), "{err}");
    assert!(err.contains("tailscale0 uses addresses of 100.64.0.0/10"), "{err}");
    let refused = common::paceline(&["delay", "1ms", "--base", "10.0.0.1/8"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("write 10.0.0.0/8"), "{}", refused.err);
}

#[test]
fn firewalls_that_refuse_are_named() {
    let test = "firewalls_that_refuse_are_named";
    let script = "nft add table inet lab || { echo none; exit 0; }\n\
        nft add chain inet lab pass '{ type filter hook forward priority 0; policy drop; }'\n\
        nft add table inet firewalld\n\
        nft add chain inet firewalld filter_INPUT '{ type filter hook input priority 10; }'\n\
        nft add rule inet firewalld filter_INPUT ct state established accept\n\
        nft add rule inet firewalld filter_INPUT reject with icmpx admin-prohibited\n\
        nft add table ip harmless\n\
        nft add chain ip harmless forward '{ type filter hook forward priority 0; }'\n\
        nft add rule ip harmless forward iifname nothing drop\n\
        $P delay 1ms -- true 2> said\n\
        nft insert rule inet lab pass iifname '\"delay-*\"' accept\n\
        $P delay 1ms -- true 2> again; cat again | grep -c lab\n\
        nft delete table inet lab; nft delete table inet firewalld; nft delete table ip harmless\n\
        grep ^note: said; rm said again";
    let folder = Folder::new("nft");
    let script = format!("cd {}\n{script}\ncd /", folder.path(""));
    let Some(output) = alone(test, &["nft"], &script) else { return };
    let lines = lines(&output);
    if lines == ["none"] {
        return skip(test, "nf_tables does not work here");
    }
    let err = text(&output.stderr);
    assert_eq!(lines[0], "0", "an exception counts: {lines:?}");
    assert_eq!(lines.len(), 3, "{lines:?} {err}");
    let named = |part: &str| lines[1..].iter().any(|line| line.contains(part));
    assert!(named("nftables (inet lab pass) drops") && named("iifname '\"delay-*\"'"), "{lines:?}");
    assert!(named("firewalld refuses") && named("--add-interface=delay-"), "{lines:?}");
}

/// Two containers of one network, in which the emulators may have the same number.
#[test]
fn emulators_in_two_process_namespaces_run_side_by_side() {
    let test = "emulators_in_two_process_namespaces_run_side_by_side";
    let script = "container='unshare --pid --fork --mount-proc'\n\
        $container true 2>/dev/null || { echo none; exit 0; }\n\
        begin() { $container $P link --preset dsl -q -- sh -c \
            \"touch $TMPDIR/up$1; until [ -e $TMPDIR/end ]; do sleep 0.02; done\"; }\n\
        begin 1 & one=$!; begin 2 & two=$!\n\
        until [ -e $TMPDIR/up1 -a -e $TMPDIR/up2 ] || ! kill -0 $one || ! kill -0 $two; do sleep 0.02; done\n\
        grep -o 'link-[0-9-]*' /proc/net/dev | sed 's/-[0-9]*/-PID/' | sort\n\
        touch $TMPDIR/end; wait $one; echo $?; wait $two; echo $?; rm $TMPDIR/*";
    let Some(output) = alone(test, &["unshare"], script) else { return };
    if lines(&output) == ["none"] {
        return skip(test, "no process namespaces");
    }
    let err = text(&output.stderr);
    assert_eq!(lines(&output), ["link-PID", "link-PID-2", "0", "0"], "{err}");
}

#[test]
fn an_ordinary_users_programs_are_found_too() {
    let test = "an_ordinary_users_programs_are_found_too";
    let folder = Folder::new("ordinary");
    let program = folder.path("paceline");
    std::fs::copy(PROGRAM, &program).expect("a copy that everybody may execute");
    // One of the programs has cleared its environment, so that only its network shows which
    // emulation it belongs to. If only root can open /dev/net/tun, the script mounts a second node
    // of it over it meanwhile, in this mount namespace only.
    let script = format!(
        "as='setpriv --reuid=65534 --regid=65534 --clear-groups'\n\
         chmod 755 {folder} {program}; mkdir -m 777 {folder}/tmp; export TMPDIR={folder}/tmp\n\
         $as unshare --user true 2>/dev/null || {{ echo none; exit 0; }}\n\
         mknod -m 666 {folder}/tun c 10 200 && mount --bind {folder}/tun /dev/net/tun || {{ echo none; exit 0; }}\n\
         set +m; $as {program} delay 1ms -q -- sh -c \
             'env -i sleep 1000 & setsid sleep 1000 & echo up > {folder}/tmp/up; sleep 1000' & emulator=$!\n\
         until [ -s {folder}/tmp/up ]; do sleep 0.02; done; sleep 0.1\n\
         ls {folder}/tmp/paceline-65534 | wc -l\n\
         kill -KILL $emulator $(cat /proc/$emulator/task/$emulator/children)\n\
         wait $emulator 2>/dev/null; sleep 0.1; $as {program} cleanup 2>&1 | grep -c killed\n\
         $as {program} cleanup; rm -f {folder}/tmp/up; ls {folder}/tmp | wc -l\n\
         umount /dev/net/tun; rm -rf {folder}/tun {folder}/tmp; export TMPDIR={kept}",
        folder = folder.path(""),
        kept = "$OLD",
    );
    let script = format!("OLD=$TMPDIR\n{script}");
    let Some(output) = alone(test, &["setpriv"], &script) else { return };
    let err = text(&output.stderr);
    if lines(&output) == ["none"] {
        return skip(test, "no right to become another user, or no user namespaces");
    }
    assert_eq!(lines(&output), ["1", "3", "0"], "{err}");
    assert!(err.contains("nothing was left behind"), "{err}");
}
