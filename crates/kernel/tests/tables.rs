//! Which tables of `remy` fit into the kernel, and the errors for those that do not.

use paceline_cc::Span;
use paceline_kernel::{Options, RemyTable, RemyTableError};
use paceline_schemes::remy::{
    Action, DOMAIN_END, Domain, RemyTables, Rule, RuleTable, RuleTree, Signal,
};

/// Returns the error for a table with this rule alone.
fn refused(action: Action) -> RemyTableError {
    let table = RuleTable::new(RuleTree::single(action)).expect("a table");
    RemyTable::new(&table, table.resolution()).expect_err("does not fit")
}

#[test]
fn every_table_without_marks_fits() {
    for named in RemyTables::builtin().iter() {
        let table = named.table().expect("is sound");
        match RemyTable::new(&table, Span::from_millis(1)) {
            Ok(whole) => assert_eq!(whole.rules(), table.rules().len(), "{}", named.name),
            Err(error) => {
                assert!(table.hears_marks(), "{}: {error}", named.name);
                assert_eq!(error, RemyTableError::Marks);
            }
        }
    }
}

#[test]
fn numbers_of_rules_are_bounded() {
    for action in [
        Action::of_rate(16.0, 0, 1.0, 0.0),
        Action::of_rate(-0.1, 0, 1.0, 0.0),
        Action::of_rate(1.0, 1_000_001, 1.0, 0.0),
        Action::of_rate(1.0, 0, 0.0001, 0.0),
        Action::of_rate(1.0, 0, 1001.0, 0.0),
        Action::of_rate(1.0, 0, 1.0, -100_001.0),
    ] {
        let error = refused(action);
        assert_eq!(error, RemyTableError::RateAction { rule: 0, action });
        assert!(error.to_string().contains("has to be from 0 to below 16"), "{error}");
    }
    let action = Action::new(-4.0, 0, 1.0);
    assert_eq!(refused(action), RemyTableError::Action { rule: 0, action });
}

/// Such a table's rules act on the window, and their boxes are divided by a signal of the rate.
#[test]
fn windows_may_follow_signals_of_the_rate() {
    let rule = |lower, upper, window| {
        let domain = Domain::WHOLE.between(Signal::AckGap, lower, upper);
        Rule { domain, action: Action::new(0.0, window, 0.0) }
    };
    let table = RuleTable::flat([rule(0.0, 1.5, 10), rule(1.5, DOMAIN_END, 20)]).expect("a table");
    let whole = RemyTable::new(&table, Span::ZERO).expect("fits");
    assert_eq!(whole.end_words(), [1500 << 32]);
    // The rate is followed, and actions do not refer to it.
    assert_eq!(whole.shape()[1..3], [1, 0]);
}

#[test]
fn timers_are_refused() {
    let single = RuleTable::new(RuleTree::single(Action::of_rate(1.0, 4, 2.0, 20.0)));
    let timed = single.expect("a table").with_timer(Span::from_millis(20));
    let error = RemyTable::new(&timed, Span::ZERO).expect_err("has a timer").to_string();
    assert!(error.contains("a timer of 20ms") && error.contains("remove `timer`"), "{error}");
}

/// The files that record a loaded program's options are read in this order, too. Before, `gap` took
/// `table`, `digest` and `digest`, `table` for different options.
#[test]
fn words_of_options_are_in_alphabetical_order() {
    let words = |name: &str, parameters: &[(&str, &str)]| {
        let program = paceline_kernel::find(name).expect("a program");
        let owned = parameters.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        let parameters: Vec<_> = owned.collect();
        let options = Options::of_parameters(program, &parameters, &RemyTables::builtin());
        options.expect("fits").words(program).expect("words")
    };
    let remy = words("remy", &[("table", "starter")]);
    assert!(remy[0].starts_with("digest=") && remy[1] == "table=starter", "{remy:?}");
    let limits = [("base", "newreno"), ("target", "80ms"), ("interval", "60ms")];
    assert_eq!(words("c2tcp", &limits), ["interval=60ms", "over=newreno", "target=80ms"]);
}
