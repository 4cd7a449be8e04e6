use super::*;
use crate::output::testing;
use paceline_cc::{Span, Time};
use paceline_path::{DropReason, EventKind};

/// A 12 Mbit/s link for two seconds: 100 packets of 1500 bytes, delayed by 1 to 100 ms.
fn feed(accountant: &mut ReportObserver) {
    testing::start(accountant);
    let mut tell = |time, kind, marked| {
        let mut event = testing::event(time, kind, 1500);
        event.marked = marked;
        accountant.on_event(&testing::live(event, &[])).expect("nothing to fail");
    };
    for i in 1..=100 {
        let time = Time::from_millis(10 * i);
        tell(time, EventKind::Arrival, false);
        tell(time, EventKind::Departure { sojourn: Span::from_millis(i) }, i % 10 == 0);
    }
    for _ in 0..3 {
        tell(Time::from_millis(1500), EventKind::Drop { reason: DropReason::Full }, false);
    }
    accountant.finish(&testing::summary(Span::from_secs(2))).expect("nothing to fail");
}

#[test]
fn numbers_are_those_computed_by_hand() {
    let path = testing::file("summary");
    let mut accountant = ReportObserver::new(vec![testing::watched()]);
    accountant = accountant.with_json(&path).expect("can be made");
    let found = accountant.found();
    feed(&mut accountant);
    let account = found.lock().expect("unpoisoned").take().expect("an account");
    let link = account.up.link.expect("a link");
    // 12 Mbit/s are 1.5 MB in a second; 150 kB of 3 MB were used.
    assert_eq!((link.capacity_mbps, link.throughput_mbps), (12.0, 0.6));
    assert_eq!(link.utilization, 0.05);
    let q = link.queue_delay_ms;
    assert_eq!((q.mean, q.p50, q.p95, q.p99, q.max), (50.5, 50.0, 95.0, 99.0, 100.0));
    assert_eq!((link.drops, link.marks, link.packets), (3, 10, 100));
    assert_eq!(link.series.throughput_mbps.len(), 20);
    // The first bin has nine packets, those up to 90 ms; the others ten; the last has one.
    assert!((link.series.throughput_mbps[0] - 9.0 * 0.12).abs() < 1e-9);
    assert!((link.series.throughput_mbps[1] - 1.2).abs() < 1e-9);
    assert_eq!(link.series.queue_delay_ms[1], 19.0);
    assert!(account.down.link.is_none());
    assert_eq!(account.up.measured, MeasuredPackets { arrived: 100, dropped: 3 });

    let text = std::fs::read_to_string(&path).expect("readable");
    std::fs::remove_file(&path).expect("removable");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["up"]["queue_delay_ms"]["p95"], 95.0);
    assert_eq!(json["up"]["utilization"], 0.05);
    assert_eq!(json["up"]["trace"], "12Mbps");
    assert_eq!((&json["late"], &json["lateness_ms"]["bound"]), (&true.into(), &1.0.into()));
    assert_eq!(json["lateness_ms"]["p99"], 2.0);
    assert!(json["down"].get("utilization").is_none());
    // These events carry no packets that could name their flow.
    assert_eq!(json["up"]["flows"], serde_json::json!([]));
    assert_eq!(json["up"]["other_flows"]["packets"], 100);
}

/// Drops at all elements of a way count, and arrivals at the first.
#[test]
fn packets_before_the_warm_up_are_not_measured() {
    let mut accountant =
        ReportObserver::new(vec![testing::watched()]).with_warmup(Time::from_secs(1));
    let found = accountant.found();
    let drop = EventKind::Drop { reason: DropReason::Full };
    for (stage, ms, kind) in [
        (0, 900, EventKind::Arrival),
        (0, 900, drop),
        (0, 1000, EventKind::Arrival),
        (1, 1001, EventKind::Arrival),
        (1, 1001, drop),
    ] {
        let event = testing::event(Time::from_millis(ms), kind, 1500);
        let live = LiveEvent { stage, ..testing::live(event, &[]) };
        accountant.on_event(&live).expect("nothing to fail");
    }
    accountant.finish(&testing::summary(Span::from_secs(2))).expect("nothing to fail");
    let report = found.lock().expect("unpoisoned").take().expect("a report");
    assert_eq!(report.up.measured, MeasuredPackets { arrived: 1, dropped: 1 });
    assert_eq!(report.down.measured, MeasuredPackets::default());
}

#[test]
fn a_page_says_when_it_is_late() {
    let folder = testing::file("page");
    let facts = PageFacts {
        title: "Emulation <of> 12Mbps".into(),
        command: "paceline link --up 12Mbps".into(),
        version: "0".into(),
        seed: Some(1),
    };
    let accountant = ReportObserver::new(vec![testing::watched()]);
    feed(&mut accountant.with_report(&folder, facts).expect("can be made"));
    let page = std::fs::read_to_string(folder.join("emulation.html")).expect("a page");
    let plot = std::fs::read_to_string(folder.join("up.svg")).expect("a plot");
    assert!(!folder.join("down.svg").exists());
    std::fs::remove_dir_all(&folder).expect("removable");
    for part in [
        "Emulation &lt;of&gt;",
        "not those of the link",
        "50 of 100 that went up, and 0 of 0 that went down, more than 1.000 ms after their time",
        "Up: from inside",
        "droptail",
        "all others",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(plot.starts_with("<svg") && plot.contains("p95 95 ms"));
}

#[test]
fn what_cannot_be_written_is_told_at_once_or_once() {
    let nowhere = Path::new("/proc/none/summary.json");
    assert!(ReportObserver::default().with_json(nowhere).is_err());
    assert!(ReportObserver::default().with_report(nowhere, PageFacts::default()).is_err());
    let mut full =
        ReportObserver::default().with_json(Path::new("/dev/full")).expect("can be opened");
    testing::start(&mut full);
    assert!(full.finish(&testing::summary(Span::ZERO)).is_err());
    assert!(full.finish(&testing::summary(Span::ZERO)).is_ok());
}
