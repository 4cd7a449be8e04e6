//! The protocol-design contest of Winstein's thesis (section 2.5): entries, which a line may write
//! as sweeps of parameters, and their standings.

use std::cmp::Ordering;

/// Most entries for which one line may stand: the number of the thesis' students' entries.
const MOST: usize = 3000;
/// Number of values of a range that gives no number.
const VALUES: usize = 5;

/// Returns the schemes for which a specification with sweeps stands. A parameter's value may be a
/// range, `beta=0.5..0.9` (five values) or `beta=0.5..0.9/9` (nine), also with a unit as in
/// `20ms..100ms`, or a list, `table=a|b`. Several sweeps give every combination.
///
/// # Errors
/// A range is invalid, or there are more than 3000 schemes.
pub fn expand(text: &str) -> Result<Vec<String>, String> {
    let mut all = vec![String::new()];
    let mut rest = text;
    while !rest.is_empty() {
        // Copy everything up to the next `=`, including it. A value follows.
        let split = rest.find('=').map_or(rest.len(), |at| at + 1);
        let (head, behind) = rest.split_at(split);
        let end = behind.find([',', ']']).unwrap_or(behind.len());
        let (value, behind) = behind.split_at(end);
        let values = values(value).map_err(|problem| format!("{text}: {problem}"))?;
        if all.len() * values.len() > MOST {
            return Err(format!("{text}: more than {MOST} schemes; take fewer values"));
        }
        let with = |begun: &String| {
            let begun = begun.clone();
            values.iter().map(move |value| format!("{begun}{head}{value}")).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
        rest = behind;
    }
    Ok(all)
}

/// Returns the values for which one value with a sweep stands.
fn values(text: &str) -> Result<Vec<String>, String> {
    if text.contains('|') {
        return Ok(text.split('|').map(str::to_string).collect());
    }
    let Some((first, last)) = text.split_once("..") else { return Ok(vec![text.to_string()]) };
    let (last, count) = match last.split_once('/') {
        Some((last, count)) => {
            let count = count.parse().ok().filter(|count| (1..=MOST).contains(count));
            (last, count.ok_or_else(|| format!("`{text}`: expected 1 to {MOST} values"))?)
        }
        None => (last, VALUES),
    };
    let parse = |text: &str| {
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
        let number = text.get(..text.len() - unit.len()).and_then(|number| number.parse().ok());
        number.filter(|number: &f64| number.is_finite()).map(|number| (number, unit.to_string()))
    };
    let help = || format!("`{text}`: expected a range such as 0.5..0.9/5 or 20ms..100ms");
    let ((from, unit), (to, same)) = parse(first).zip(parse(last)).ok_or_else(help)?;
    if unit != same {
        return Err(format!("`{text}`: both ends need the same unit"));
    }
    let step = |at: usize| match count {
        1 => from,
        _ => from + (to - from) * at as f64 / (count - 1) as f64,
    };
    // Round to six decimals, so that 0.1 + 0.2 gives 0.3.
    Ok((0..count).map(|at| format!("{}{unit}", (step(at) * 1e6).round() / 1e6)).collect())
}

/// Returns the places of entries by their power: 1 for the largest. Equal powers share a place, and
/// entries without a power come last.
pub fn places(powers: &[Option<f64>]) -> Vec<usize> {
    let better = |a: &Option<f64>, b: &Option<f64>| match (a, b) {
        (Some(a), Some(b)) => a.total_cmp(b) == Ordering::Greater,
        (Some(_), None) => true,
        _ => false,
    };
    let place = |own: &Option<f64>| 1 + powers.iter().filter(|other| better(other, own)).count();
    powers.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_stand_for_schemes() {
        let expanded = |text| expand(text).expect("schemes");
        assert_eq!(expanded("cubic"), ["cubic"]);
        assert_eq!(
            expanded("abc[dt=60ms]+codel[target=50ms]"),
            ["abc[dt=60ms]+codel[target=50ms]"]
        );
        assert_eq!(
            expanded("cubic[beta=0.5..0.9]"),
            [0.5, 0.6, 0.7, 0.8, 0.9].map(|beta| format!("cubic[beta={beta}]"))
        );
        assert_eq!(
            expanded("a[x=20ms..40ms/2,y=p|q]+c[z=3..3/1]"),
            [
                "a[x=20ms,y=p]+c[z=3]",
                "a[x=20ms,y=q]+c[z=3]",
                "a[x=40ms,y=p]+c[z=3]",
                "a[x=40ms,y=q]+c[z=3]"
            ]
        );
    }

    #[test]
    fn sweeps_that_are_none_are_told() {
        for (text, why) in [
            ("a[x=1..b]", "expected a range"),
            ("a[x=..]", "expected a range"),
            ("a[x=1ms..2s]", "same unit"),
            ("a[x=1..2/0]", "values"),
            ("a[x=1..2/4000]", "values"),
            ("a[x=1..2/60,y=1..2/60]", "more than 3000"),
        ] {
            let problem = expand(text).expect_err(text);
            assert!(problem.contains(why), "{problem}");
        }
    }

    #[test]
    fn places_are_by_power() {
        assert_eq!(places(&[Some(1.0), Some(3.0), None, Some(3.0), None]), [3, 1, 4, 1, 4]);
    }
}
