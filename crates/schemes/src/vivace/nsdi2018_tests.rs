use super::*;

fn nsdi(base: f64) -> Nsdi2018Rule {
    Nsdi2018Rule { base, ..Nsdi2018Rule::new(Utility::Loss, &Setup::default()) }
}

#[test]
fn facts_of_probes() {
    assert_eq!(nsdi(1.0).epsilon(), 0.5);
    assert_eq!(nsdi(100.0).epsilon(), 0.05);
    // One pair while the direction is unchanged, else two, each with an upper and a lower rate.
    for (trend, count) in [(0, 4), (1, 2)] {
        let mut nsdi = nsdi(20.0);
        nsdi.steps.trend = trend;
        nsdi.draw_probes();
        let rates: Vec<f64> = nsdi.probes.all.iter().flatten().map(|probe| probe.rate).collect();
        assert_eq!(rates.len(), count);
        for pair in rates.chunks(2) {
            assert!((pair[0] + pair[1] - 40.0).abs() < 1e-9 && (pair[0] - pair[1]).abs() > 1.9);
        }
    }
}

#[test]
fn heavy_losses_halve_once() {
    let mut nsdi = Nsdi2018Rule { phase: Phase::Probing, ..nsdi(16.0) };
    let bad = Summary {
        number: 5,
        total: 10,
        lost: 6,
        rate: 16e6,
        seconds: 0.1,
        gradient: 0.0,
        rtt_change: 0.0,
        delivered: 0.0,
        rtt: 0.1,
    };
    nsdi.on_result(&bad, 7);
    nsdi.on_result(&Summary { number: 6, ..bad }, 7);
    assert_eq!(nsdi.base, 8.0);
    nsdi.on_result(&Summary { number: 7, ..bad }, 9);
    assert_eq!(nsdi.base, 4.0);
}

#[test]
fn timeouts_end_in_hibernation_and_an_answer_ends_it() {
    let mut nsdi = Nsdi2018Rule { phase: Phase::Probing, ..nsdi(6.0) };
    nsdi.on_timeout(10);
    assert_eq!((nsdi.base, nsdi.phase), (3.0, Phase::Probing));
    let rates: Vec<f64> = (11..16).map(|open| (nsdi.on_timeout(open), nsdi.sending).1).collect();
    assert_eq!(rates, [0.04, 0.02, 0.01, 0.005, 0.005]);
    nsdi.on_result(
        &Summary {
            number: 20,
            total: 1,
            lost: 0,
            rate: 0.1e6,
            seconds: 0.1,
            gradient: 0.0,
            rtt_change: 0.0,
            delivered: 0.0,
            rtt: 0.05,
        },
        21,
    );
    assert_eq!((nsdi.base, nsdi.phase), (FLOOR + 0.1, Phase::Probing));
}
