//! Compares the inference with the authors' figures, tick by tick.

use paceline_cc::{Setup, Spec};

use super::*;
use crate::registry;

/// Returns Sprout's model with parameters as a user writes them.
fn model(text: &str) -> Inference {
    let params: SproutParams =
        Spec::parse(&format!("sprout[{text}]")).expect("a spec").params().expect("parameters");
    Inference::new(&params, Arc::new(params.tables()))
}

/// Takes in `number` ticks with `packets` packets each.
fn ticks(model: &mut Inference, number: usize, packets: f64) {
    for _ in 0..number {
        model.evolve();
        model.observe(packets);
    }
}

/// Takes in `number` ticks without any information.
fn skip(model: &mut Inference, number: usize) {
    (0..number).for_each(|_| model.evolve());
}

/// Returns a model after fifty ticks with `packets` packets each.
fn after_fifty(text: &str, packets: f64) -> Inference {
    let mut model = model(text);
    ticks(&mut model, 50, packets);
    model
}

#[test]
fn forecasts_before_anything_is_known() {
    let mut model = model("");
    assert_eq!(model.forecast(), [1, 1, 3, 4, 5, 6, 8, 9]);
    skip(&mut model, 49);
    assert_eq!(model.forecast(), [2, 4, 7, 9, 12, 15, 17, 20]);
}

#[test]
fn forecasts_of_steady_links() {
    assert_eq!(after_fifty("", 10.0).forecast(), [5, 12, 20, 27, 35, 43, 51, 59]);
    assert_eq!(after_fifty("", 2.0).forecast(), [0, 1, 2, 2, 4, 5, 6, 7]);
    assert_eq!(after_fifty("", 20.0).forecast(), [12, 28, 44, 61, 77, 94, 111, 128]);
    // More packets than its largest rate delivers.
    assert_eq!(after_fifty("", 28.0).forecast(), [13, 29, 46, 63, 81, 98, 116, 133]);
}

#[test]
fn without_caution_the_forecast_is_the_rate() {
    let median = after_fifty("confidence=0.5", 10.0);
    assert_eq!(median.forecast(), [10, 20, 30, 40, 50, 60, 70, 80]);
}

#[test]
fn empty_ticks_become_an_outage() {
    let mut model = after_fifty("", 10.0);
    ticks(&mut model, 1, 0.0);
    assert_eq!(model.forecast(), [4, 9, 15, 21, 27, 33, 38, 44]);
    ticks(&mut model, 2, 0.0);
    assert_eq!(model.forecast(), [1, 2, 4, 6, 8, 10, 12, 14]);
    ticks(&mut model, 2, 0.0);
    assert_eq!(model.forecast(), [0; 8]);
    ticks(&mut model, 1, 10.0);
    assert_eq!(model.forecast(), [1, 3, 5, 7, 10, 12, 15, 17]);
}

#[test]
fn the_outage_column_changes_how_likely_an_outage_is() {
    let outage = |text: &str| {
        let mut model = after_fifty(text, 10.0);
        ticks(&mut model, 5, 0.0);
        model.belief().p()[0]
    };
    assert!((outage("") - 0.289).abs() < 5e-4, "{}", outage(""));
    let normalised = outage("outage_column=normalised");
    assert!((normalised - 0.385).abs() < 5e-4, "{normalised}");
}

#[test]
fn unknown_ticks_widen_the_belief() {
    let mut model = after_fifty("", 10.0);
    skip(&mut model, 10);
    assert_eq!(model.forecast(), [4, 10, 17, 23, 30, 36, 42, 49]);
}

#[test]
fn any_packet_rules_an_outage_out() {
    let mut model = model("");
    ticks(&mut model, 20, 0.0);
    assert!(model.belief().p()[0] > 0.2);
    // A heartbeat counts as one packet, although it is far smaller.
    ticks(&mut model, 1, 4.0 / 1400.0);
    assert_eq!(model.belief().p()[0], 0.0);
}

#[test]
fn transitions_keep_probability_but_for_the_outage() {
    let sum = |tables: &Tables, from| tables.transition.row(from).map(|(_, p)| p).sum::<f64>();
    let tables = Tables::new(Ticks::Independent, false);
    assert!((sum(&tables, 0) - 0.5532).abs() < 5e-5, "{}", sum(&tables, 0));
    assert!((1..BINS).all(|from| (sum(&tables, from) - 1.0).abs() < 1e-6));
    let proper = Tables::new(Ticks::Independent, true);
    assert!((0..BINS).all(|from| (sum(&proper, from) - 1.0).abs() < 1e-6));
}

/// The sums of dependent ticks spread more widely than those of independent ones: the cautious
/// count is lower, the median equal.
#[test]
fn joint_ticks_are_less_certain() {
    let independent = after_fifty("", 10.0).forecast();
    let joint = after_fifty("ticks=joint", 10.0).forecast();
    assert_eq!(joint[0], independent[0]);
    assert!(joint[1..].iter().zip(&independent[1..]).all(|(a, b)| a <= b), "{joint:?}");
    assert!(joint[7] < independent[7], "{joint:?}");
    let median = after_fifty("ticks=joint,confidence=0.5", 10.0).forecast();
    assert!(median.iter().zip([10, 20, 30, 40, 50, 60, 70, 80]).all(|(a, b)| a.abs_diff(b) <= 1));
}

/// Compares the joint distribution with a simulation of links that start at one rate.
#[test]
fn joint_ticks_match_a_simulation() {
    let tables = Tables::new(Ticks::Joint, true);
    let start = 128;
    let mut p = [0.0; BINS];
    p[start] = 1.0;
    let mut random = paceline_cc::Stream::new(1, "joint");
    let draw_from = |random: &mut paceline_cc::Stream, weights: &mut dyn Iterator<Item = f64>| {
        let mut left = random.uniform();
        weights
            .take_while(|weight| {
                left -= weight;
                left > 0.0
            })
            .count()
    };
    let mut sums: Vec<u16> = (0..20_000)
        .map(|_| {
            let (mut rate, mut sum) = (start, 0);
            for tick in 0..8 {
                if tick > 0 {
                    let first = tables.transition.row(rate).next().map_or(0, |(to, _)| to);
                    let mut row = tables.transition.row(rate).map(|(_, share)| share);
                    rate = first + draw_from(&mut random, &mut row);
                }
                let mean = belief::per_tick(rate);
                let mut chance = libm::exp(-mean);
                let mut chances = (1..).map(|count| {
                    let this = chance;
                    chance *= mean / f64::from(count);
                    this
                });
                sum += draw_from(&mut random, &mut chances) as u16;
            }
            sum
        })
        .collect();
    sums.sort_unstable();
    for share in [0.05, 0.5, 0.95] {
        let told = tables.quantile(&p, share)[7];
        let drawn = sums[(share * sums.len() as f64) as usize];
        assert!(told.abs_diff(drawn) <= 1, "{share}: {told} against {drawn}");
    }
}

#[test]
fn unthinkable_counts_do_no_harm() {
    for count in [1.0, 1000.0, 1e6, 4e9, 1e300, f64::INFINITY] {
        let mut model = after_fifty("", 0.0);
        for _ in 0..3 {
            ticks(&mut model, 1, count);
            let sum: f64 = model.belief().p().iter().sum();
            assert!((sum - 1.0).abs() < 1e-9, "{count}: {sum}");
            ticks(&mut model, 1, 0.0);
        }
        ticks(&mut model, 50, 10.0);
        assert_eq!(model.forecast(), [5, 12, 20, 27, 35, 43, 51, 59], "{count}");
    }
}

/// After the ticks that a receiver passes one by one, silence no longer changes the model.
#[test]
fn a_long_silence_settles() {
    let mut model = after_fifty("", 10.0);
    ticks(&mut model, 1000, 0.0);
    let before = *model.belief().p();
    ticks(&mut model, 1000, 0.0);
    let after = model.belief().p();
    assert!(before.iter().zip(after).all(|(a, b)| (a - b).abs() < 1e-14));
}

#[test]
fn parameters_are_checked() {
    let build = |text: &str| (SCHEME.build)(&Spec::parse(text).expect(text)).is_ok();
    assert!(build("sprout[confidence=0.5,ticks=joint,drain=incremental,feedback=heartbeat]"));
    for bad in ["confidence=0", "confidence=1", "lookahead=0", "lookahead=8", "sent_packet=0"] {
        assert!(!build(&format!("sprout[{bad}]")), "{bad}");
    }
}

#[test]
fn receivers_of_equal_parameters_share_their_tables_in_the_whole_process() {
    let built = || registry::build(&Spec::parse("sprout[confidence=0.9]").expect("a name"));
    let default = SproutParams::default().shared_tables();
    let before = Arc::strong_count(&default);
    let reporters: Vec<_> = (0..10)
        .map(|_| built().expect("a scheme").reporter.expect("a receiver's half")(&Setup::default()))
        .collect();
    // Other tests may make and drop receivers meanwhile, but fewer.
    assert!(Arc::strong_count(&default) >= before + reporters.len() - 5);
    assert!(Arc::ptr_eq(
        &default,
        &SproutParams { lookahead: 3, ..SproutParams::default() }.shared_tables()
    ));
    let paper = SproutParams { ticks: Ticks::Joint, ..SproutParams::default() }.shared_tables();
    assert!(!Arc::ptr_eq(&default, &paper));
}
