//! `paceline saturate` through `paceline link`: measuring a link returns its trace.

#[path = "common/alone.rs"]
mod network;

use network::{alone, text};

/// A measurement inside a link with the trace $TMPDIR/trace in both directions, and with feedback
/// over a second link. Prints the result, and then the link's logs after lines `up` and `down`.
const SCRIPT: &str = r#"
ip link set lo up
ahead=; chrt -f 1 true 2> /dev/null && ahead='chrt -f 1' && realtime=--realtime
# Two seconds of 12 Mbit/s and two of 9, in turn.
awk 'BEGIN { for (ms = 0; ms < 4000; ms++) if (ms < 2000 || ms % 4) print ms + 1 }' > $TMPDIR/trace
$ahead "$P" saturate server --listen 0.0.0.0:5313 --once > $TMPDIR/key 2> $TMPDIR/server & S=$!
for i in $(seq 3000); do test -s $TMPDIR/key && break; sleep 0.1; done
export ahead K=$(sed 's/key //' $TMPDIR/key)
"$P" delay -q $realtime 20ms -- "$P" link -q $realtime --up $TMPDIR/trace --down $TMPDIR/trace \
    --buffer inf --log $TMPDIR/log -- bash -c '
        echo $$ > $TMPDIR/pid
        for i in $(seq 3000); do ip link show v1 > /dev/null 2>&1 && break; sleep 0.1; done
        ip addr add 192.168.9.2/24 dev v1; ip link set v1 up
        ip route add default dev v1 metric 900; sleep 0.5
        $ahead "$P" saturate client $PACELINE_BASE:5313 --key $K --link ingress --feedback v1 \
            --duration 8s -o $TMPDIR/out --json' & L=$!
for i in $(seq 3000); do test -s $TMPDIR/pid && break; sleep 0.1; done
ip link add v0 type veth peer name v1 netns $(cat $TMPDIR/pid)
ip addr add 192.168.9.1/24 dev v0; ip link set v0 up
wait $L; echo "client $?"; wait $S; echo "server $?"
for way in up down; do echo $way; cat $TMPDIR/out.$way; echo log; cat $TMPDIR/log.$way; done
cat $TMPDIR/server >&2; rm -f $TMPDIR/*; ip link del v0 2> /dev/null; ip link set lo down
"#;

/// Returns times and bytes of the lines of this kind in a log.
fn entries(log: &str, kind: &str) -> Vec<(u64, u64)> {
    let lines = log.lines().filter(|line| !line.starts_with('#'));
    let words = lines.map(|line| line.split(' ').collect::<Vec<_>>());
    let found = words.filter(|words| words.get(1) == Some(&kind));
    found.map(|words| (words[0].parse().expect("ms"), words[2].parse().expect("bytes"))).collect()
}

/// A queue of 100 packets is full after 240 ms at this rate, so far from 750 ms that packets which a busy machine
/// releases late do not reach it.
#[test]
fn a_link_whose_queue_is_too_short_is_told() {
    let script = r#"ip link set lo up
        "$P" saturate server --listen 0.0.0.0:5313 --once > $TMPDIR/key 2> $TMPDIR/server & S=$!
        for i in $(seq 3000); do test -s $TMPDIR/key && break; sleep 0.1; done
        export K=$(sed 's/key //' $TMPDIR/key)
        "$P" link -q --up 5Mbps --down 5Mbps --buffer 100 -- sh -c '"$P" saturate client $PACELINE_BASE:5313 --key $K --only up --duration 8s -o $TMPDIR/out'
        echo "client $?"; wait $S; ls $TMPDIR | grep -c out; rm -f $TMPDIR/*; ip link set lo down"#;
    let test = "a_link_whose_queue_is_too_short_is_told";
    // A link that releases packets late has a longer round trip.
    for _ in 0..5 {
        let Some(output) = alone(test, &["ip"], script) else { return };
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        if !err.contains("]: late: ") {
            return judge_short_queue(&out, &err);
        }
    }
    let report = format!("{test}: not judged, since the link was late in each of five runs\n");
    let _ = std::io::Write::write_all(&mut std::io::stderr(), report.as_bytes());
}

fn judge_short_queue(out: &str, err: &str) {
    assert!(out.ends_with("client 1\n0\n"), "{out} {err}");
    assert!(out.contains("up: nothing was recorded; ") && !out.contains(" 0.0 %"), "{out}");
    assert!(
        err.contains(
            "up: the link's queue drops packets before the round-trip time reaches 750 ms ("
        ),
        "{err}"
    );
    assert!(!err.contains("--window"), "{err}");
}

#[test]
fn a_saturated_link_gives_its_trace_back() {
    let test = "a_saturated_link_gives_its_trace_back";
    let Some(output) = alone(test, &["ip", "awk"], SCRIPT) else { return };
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let found = out.split_once("client 0\nserver 0\nup\n");
    let (json, rest) = found.unwrap_or_else(|| panic!("{out:.2000} {err}"));
    let all: serde_json::Value = serde_json::from_str(json).expect("JSON");
    let (up, down) = rest.split_once("down\n").expect("two directions");
    for (index, way) in [up, down].into_iter().enumerate() {
        let row = &all["rows"][index];
        let (trace, log) = way.split_once("log\n").expect("a trace and a log");
        let trace: Vec<u64> = trace.lines().map(|line| line.parse().expect("ms")).collect();
        // Each data packet used one opportunity, and none was lost.
        let left: Vec<u64> =
            entries(log, "-").iter().filter(|entry| entry.1 == 1504).map(|entry| entry.0).collect();
        let first = row["first_packet"].as_u64().expect("a number") as usize;
        let left = &left[first..][..trace.len()];
        let (start, end) = (left[0], left[left.len() - 1]);
        let offered = entries(log, "#").iter().filter(|(at, _)| (start..=end).contains(at)).count();
        let ratio = trace.len() as f64 / offered as f64;
        assert!((0.99..=1.01).contains(&ratio), "{ratio}: {row} {err}");
        assert!(end - start > 4_000, "{row}");
        // The recorded times are the link's, within the rounding and a busy machine's delays.
        let mut late: Vec<i64> = trace
            .iter()
            .zip(left)
            .map(|(seen, left)| *seen as i64 - (left - start) as i64)
            .collect();
        late.sort_unstable();
        assert!(late[late.len() / 2].abs() <= 20, "{late:?}");
        assert!(row["rtt_in_band"].as_f64() >= Some(0.95), "{row} {err}");
    }
}
