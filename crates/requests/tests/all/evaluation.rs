//! Requests for evaluations of tables and schemes, and their defaults.

use paceline_cc::Span;
use paceline_remy::spec::Specification;
use paceline_requests::evaluation::{
    EvaluationError, EvaluationNetwork, EvaluationRequest, find_table,
};
use paceline_sim::Names;

fn request() -> EvaluationRequest {
    EvaluationRequest {
        tables: vec!["starter".into()],
        schemes: vec!["cubic".into()],
        duration: Some(Span::from_secs(2)),
        seeds: 1,
        ..EvaluationRequest::default()
    }
}

#[test]
fn tables_and_schemes_have_a_row_each() {
    let rows = request()
        .on_network(&EvaluationNetwork::default(), &Names::default(), &|| true)
        .expect("rows");
    let names: Vec<&str> = rows.iter().map(|row| row.table.as_str()).collect();
    assert_eq!(names, ["starter", "cubic"]);
    // After a stop, the rows of finished runs are returned.
    assert!(
        request()
            .on_network(&EvaluationNetwork::default(), &Names::default(), &|| false)
            .expect("none")
            .is_empty()
    );
}

#[test]
fn errors_name_the_argument() {
    let network = EvaluationNetwork::default;
    let cases = [
        (request(), EvaluationNetwork { senders: 0, ..network() }, "senders", "1 to 10000, not 0"),
        (request(), EvaluationNetwork { loss: 1.0, ..network() }, "loss", "below 1, not 1"),
        (request(), EvaluationNetwork { rtt: Span::ZERO, ..network() }, "rtt", "above zero"),
        (request(), EvaluationNetwork { on: Span::ZERO, ..network() }, "on", "above zero"),
        (EvaluationRequest { seeds: 0, ..request() }, network(), "seeds", "1 to 100000, not 0"),
        (
            EvaluationRequest { tables: vec!["no-such".into()], ..request() },
            network(),
            "table",
            "starter",
        ),
        (
            EvaluationRequest { schemes: vec!["cubik".into()], ..request() },
            network(),
            "schemes",
            "cubic",
        ),
        (
            EvaluationRequest { tables: vec![], schemes: vec![], ..request() },
            network(),
            "tables, schemes",
            "at least one",
        ),
    ];
    for (request, network, argument, words) in cases {
        let Err(EvaluationError::Argument(error)) =
            request.on_network(&network, &Names::default(), &|| true)
        else {
            panic!("{argument} is taken");
        };
        assert_eq!(error.argument, argument, "{error}");
        assert!(error.problem.contains(words), "{error}");
    }
}

#[test]
fn built_in_tables_are_found_by_name() {
    let (table, about) = find_table("starter").expect("a built-in table");
    assert!(!table.rules().is_empty() && about.contains("starter"));
}

/// A network on which no sender was on had a score of 0, better than most tables have.
#[test]
fn a_network_on_which_no_sender_is_on_is_an_error_that_names_it() {
    let off = Span::from_secs(1_000_000);
    let network = EvaluationNetwork { off, ..EvaluationNetwork::default() };
    let error = request().on_network(&network, &Names::default(), &|| true).expect_err("no rows");
    let text = error.to_string();
    assert!(text.contains("no sender was on within the 2s") && text.contains("150"), "{text}");

    let text = "duration = \"2s\"\n[networks]\nlink = \"15Mbps\"\nrtt = \"150ms\"\nsenders = 2\n\
                on = \"5s\"\noff = \"1000000s\"\n";
    let mut specification = Specification::parse(text).expect("a specification");
    let error = EvaluationRequest { duration: None, ..request() }
        .on_specification(&mut specification, &Names::default(), &|| true)
        .expect_err("no rows");
    assert!(error.to_string().contains("no sender was on within a run of any network"), "{error}");
}
