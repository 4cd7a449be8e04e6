use super::*;

#[test]
fn it_averages_over_eight_ticks() {
    let mut model = MovingAverage::new(0.125, 0.2);
    for tick in 1..=20 {
        model.observe(10.0);
        let expected = 10.0 * (1.0 - libm::pow(0.875, f64::from(tick)));
        assert!((model.rate() - expected).abs() < 1e-12, "tick {tick}: {}", model.rate());
    }
}

#[test]
fn forecasts_are_multiples_of_the_rate() {
    let mut model = MovingAverage { rate: 10.0, ..MovingAverage::new(0.125, 0.2) };
    assert_eq!(model.forecast(), [10, 20, 30, 40, 50, 60, 70, 80]);
    (0..5).for_each(|_| model.observe(0.0));
    assert!((model.rate() - 5.13).abs() < 0.005, "{}", model.rate());
    assert_eq!(model.forecast(), [5, 10, 15, 20, 25, 30, 35, 41]);
    // One packet may always be tried.
    model.restart();
    assert_eq!(model.forecast(), [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(MovingAverage::new(0.125, 0.0).forecast(), [0; 8]);
}

#[test]
fn parameters_are_checked() {
    let build = |text: &str| (SCHEME.build)(&paceline_cc::Spec::parse(text).expect(text)).is_ok();
    assert!(build("sprout-ewma[gain=0.25,drain=incremental]"));
    assert!(!build("sprout-ewma[gain=0]") && !build("sprout-ewma[lookahead=9]"));
    assert!(!build("sprout-ewma[confidence=0.5]"));
}
