//! Controllers of the page, with a function of this file in place of the page.

use std::cell::RefCell;

use paceline_web::{Api, Call, FAILED, NUMBERS, PLAN};
use serde_json::{Value, json};

type Page = Box<dyn FnMut(Call, u32, &mut [f64; NUMBERS]) -> u32>;

thread_local! {
    static PAGE: RefCell<Page> = RefCell::new(Box::new(|_, _, _| 0));
}

/// Returns a page whose controllers are `mine` and `other`, and call `page`.
fn api_with(page: impl FnMut(Call, u32, &mut [f64; NUMBERS]) -> u32 + 'static) -> Api {
    PAGE.set(Box::new(page));
    let mut api = Api::with_script(|call, controller, numbers| {
        PAGE.with_borrow_mut(|page| page(call, controller, numbers))
    });
    let named = ask(&mut api, &json!({ "method": "scripts", "names": ["mine", "other"] }));
    assert_eq!(named, json!({}));
    api
}

fn ask(api: &mut Api, request: &Value) -> Value {
    serde_json::from_str(&api.call(request.to_string().as_bytes())).expect("JSON")
}

fn run(api: &mut Api, scheme: &str) -> Value {
    let text = format!(
        "duration = \"3s\"\n[[link]]\nname = \"link\"\nrate = \"12Mbps\"\nbuffer = 100\n\
         [[flow]]\nscheme = \"{scheme}\"\nrtt = \"40ms\"\n[[flow]]\nscheme = \"newreno\"\nrtt = \"40ms\"\n"
    );
    ask(api, &json!({ "method": "run", "file": "test.toml", "text": text }))
}

/// Writes a plan of `cwnd` bytes.
fn write(numbers: &mut [f64; NUMBERS], cwnd: f64) -> u32 {
    numbers[..8].copy_from_slice(&[cwnd, f64::NAN, 0.0, 0.0, 0.0, f64::NAN, 1.0, 0.0]);
    PLAN
}

#[test]
fn calls_come_in_order_and_have_their_arguments() {
    let calls = std::rc::Rc::new(RefCell::new(Vec::new()));
    let seen = calls.clone();
    let mut api = api_with(move |call, controller, numbers| {
        seen.borrow_mut().push((call, controller, *numbers));
        match call {
            Call::Start => write(numbers, 30_000.0),
            _ => 0,
        }
    });
    let outcome = run(&mut api, "other");
    assert!(outcome["packets"].as_u64() > Some(1000), "{outcome}");
    let calls = calls.borrow();
    let (first, last) = (&calls[0], calls.last().expect("calls"));
    // Number of the script, largest packet, flow, connection.
    assert_eq!((first.0, &first.2[..4]), (Call::Start, &[1.0, 1500.0, 0.0, 0.0][..]));
    assert_eq!((last.0, last.1), (Call::End, first.1));
    let feedback: Vec<_> = calls.iter().filter(|call| call.0 == Call::Feedback).collect();
    assert!(feedback.len() > 200);
    let times: Vec<f64> = feedback.iter().map(|call| call.2[0]).collect();
    assert!(times.is_sorted() && times[0] >= 0.04, "{times:?}");
    // A window of 20 packets holds from the start on.
    assert!(feedback.iter().all(|call| call.2[9] <= 30_000.0));
    assert!(feedback.iter().all(|call| call.2[11].is_nan() || call.2[11] >= 40.0));
}

#[test]
fn a_failed_controller_ends_the_run_with_its_name() {
    let mut api = api_with(|call, _, _| if call == Call::Feedback { FAILED } else { 0 });
    let error = run(&mut api, "mine")["error"].to_string();
    assert!(error.contains("controller `mine`"), "{error}");
    // A run of another scheme, and a later run of this one, do not show the old error.
    assert_eq!(run(&mut api, "cubic")["error"], Value::Null);
    let compare = json!({
        "method": "compare", "schemes": "mine", "duration": "600s", "warmup": "0s", "rtt": "100ms",
        "buffer": "250", "flows": 1, "seed": 1, "runs": 1, "spread": "0s",
        "traces": [{ "name": "12Mbps" }],
    });
    assert_eq!(ask(&mut api, &compare)["runs"], 1);
    let error = ask(&mut api, &json!({ "method": "compare-next" }))["error"].to_string();
    assert!(error.contains("controller `mine`"), "{error}");
}

#[test]
fn values_that_are_no_plan_are_refused_and_extreme_ones_do_no_harm() {
    let extremes = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1e-300,
        1e3,
        1.5e4,
        1.5e8,
        1.6e8,
        1e18,
        1e300,
        -1e300,
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::MIN,
        f64::EPSILON,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let (mut refused, mut accepted) = (0, 0);
    for seed in 0..300_u64 {
        // SplitMix64.
        let mut state = seed;
        let mut draw = move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        };
        let mut api = api_with(move |call, _, numbers| {
            if call == Call::End || draw() % 4 == 0 {
                return 0;
            }
            write(numbers, 60_000.0);
            // One value or two of a plan are extreme; sometimes the whole array is.
            let count = if draw() % 50 == 0 { NUMBERS } else { 1 + (draw() % 2) as usize };
            for _ in 0..count {
                let place = (draw() % 8) as usize;
                // Frequent failures would end all runs at their beginning.
                if draw() % 8 == 0 || seed % 2 == 0 {
                    numbers[place] = extremes[(draw() % extremes.len() as u64) as usize];
                }
            }
            PLAN
        });
        let answer = run(&mut api, "mine");
        match answer["error"].as_str() {
            Some(error) => {
                refused += 1;
                let words = ["expected a number", "expected at most", "expected not-ect"];
                assert!(words.iter().any(|word| error.contains(word)), "{error}");
            }
            None => accepted += 1,
        }
    }
    assert!(refused > 100, "{refused} runs refused, {accepted} accepted");
}

#[test]
fn a_timer_in_the_past_does_not_hold_the_time() {
    let mut api = api_with(|call, _, numbers| match call {
        Call::Start | Call::Timer | Call::Feedback => {
            write(numbers, 15_000.0);
            numbers[5] = 0.0;
            PLAN
        }
        _ => 0,
    });
    let outcome = run(&mut api, "mine");
    assert!(outcome["packets"].as_u64() > Some(1000), "{outcome}");
}

#[test]
fn names_are_legal_and_free() {
    let mut api = api_with(|_, _, _| 0);
    for (name, words) in
        [("cubic", "already"), ("Mine", "small letters"), ("", "letters"), ("a-b", "letters")]
    {
        let answer = ask(&mut api, &json!({ "method": "scripts", "names": [name] }));
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(words)), "{answer}");
    }
    let two = ask(&mut api, &json!({ "method": "scripts", "names": ["a", "a"] }));
    assert!(two["error"].as_str().is_some_and(|error| error.contains("already")), "{two}");
    // A page without controllers refuses them when they are called.
    let mut plain = Api::default();
    ask(&mut plain, &json!({ "method": "scripts", "names": ["mine"] }));
    assert!(run(&mut plain, "mine")["error"].is_string());
}
