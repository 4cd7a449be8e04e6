//! Properties with random input: the parsers never panic, and accepted traces are read back
//! unchanged.

use paceline_cc::{Span, Stream, Time};
use paceline_trace::{Stats, Trace, csv, mahimahi, rates};

/// Returns random bytes, mostly from `alphabet`, which has the bytes that matter to a parser.
fn bytes(random: &mut Stream, alphabet: &[u8]) -> Vec<u8> {
    (0..random.below(60))
        .map(|_| {
            if random.chance(0.02) {
                random.next_u64() as u8
            } else {
                alphabet[random.below(alphabet.len() as u64) as usize]
            }
        })
        .collect()
}

/// Calls all functions of a trace.
fn exercise(trace: &Trace, random: &mut Stream) {
    let stats = Stats::of(trace);
    assert!(stats.columns().iter().all(|column| column.1.is_finite()), "{stats:?}");
    let period = trace.period();
    assert!(!period.is_zero());
    // Bins of at least a thousandth of the lap: a long lap would have too many finer ones.
    assert!(rates(trace, period / 1000).iter().all(|mbps| mbps.is_finite()));
    let from = Time::from_nanos(random.next_u64() >> random.below(64));
    let next = trace.next_after(from);
    assert!(next > from || next == Time::NEVER);
    assert!(trace.count_in(from, next) >= 1 || next == Time::NEVER);
    assert_eq!(trace.count_in(from, next - Span::from_nanos(1)), 0);
    // An entry at 0 counts at the end of the lap, where the next one starts.
    assert_eq!(trace.count_in(Time::ZERO, Time::ZERO + period), trace.len() as u64);
}

#[test]
fn random_bytes_never_panic_the_mahimahi_parser() {
    let mut random = Stream::new(11, "hostile");
    let (mut good, mut bad) = (0, 0);
    for round in 0..40_000 {
        let alphabet: &[u8] =
            if round % 2 == 0 { b"0123456789\n\n\r -" } else { b"01\n1\n2\n3\n9\n+.,\0\xff" };
        let text = bytes(&mut random, alphabet);
        match mahimahi::parse("t", &text) {
            Ok(trace) => {
                good += 1;
                assert_eq!(mahimahi::parse("t", mahimahi::write(&trace).as_bytes()), Ok(trace));
            }
            Err(error) => {
                bad += 1;
                let shown = error.to_string();
                assert!(shown.len() < 400 && !shown.contains(char::is_control), "{shown:?}");
                let lines = text.split(|&byte| byte == b'\n').count();
                assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)));
            }
        }
    }
    assert!(good > 1000 && bad > 1000, "{good} accepted, {bad} refused");
}

#[test]
fn random_bytes_never_panic_the_csv_parser() {
    let mut random = Stream::new(12, "hostile");
    for _ in 0..40_000 {
        let text = bytes(&mut random, b"01,\n2,3\n4,9\n-.e\rinfn");
        // Skips long or fast traces, which are valid but take long.
        if text.windows(4).any(|four| four.iter().all(|b| b"0123456789".contains(b)))
            || text.contains(&b'e')
        {
            continue;
        }
        if let Err(error) = csv::parse("t.csv", &text) {
            assert!(error.to_string().len() < 400);
        }
    }
}

#[test]
fn valid_traces_come_back_and_add_up() {
    let mut random = Stream::new(13, "hostile");
    for _ in 0..300 {
        let spread = 1 + random.below(3000);
        let mut entries: Vec<u32> =
            (0..random.below(50)).map(|_| random.below(spread) as u32).collect();
        entries.push(1 + random.below(100_000) as u32);
        entries.sort_unstable();
        let trace = Trace::new("t", entries).expect("valid");
        exercise(&trace, &mut random);
        assert_eq!(mahimahi::parse("t", mahimahi::write(&trace).as_bytes()), Ok(trace));
    }
}

#[test]
fn extreme_traces_hold() {
    let mut random = Stream::new(14, "hostile");
    for entries in [vec![1], vec![0, u32::MAX], vec![1; 100_000], vec![0, 1]] {
        exercise(&Trace::new("t", entries).expect("valid"), &mut random);
    }
}
