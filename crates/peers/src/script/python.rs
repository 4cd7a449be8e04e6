//! The Python code with which scripts examine a sender: assignments, assertions, comparisons,
//! arithmetic.

use std::collections::BTreeMap;

/// Results of the assertions in a piece of code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Number of assertions that hold.
    pub held: usize,
    /// Assertions that do not hold, with the values of their names.
    pub failed: Vec<String>,
    /// Statements that cannot be evaluated, or need a quantity that the sender does not have.
    pub unknown: Vec<String>,
}

/// Runs `code`. `names` has the variables of earlier code; `look_up` returns the sender's
/// quantities.
pub fn run(
    code: &str,
    names: &mut BTreeMap<String, f64>,
    look_up: &dyn Fn(&str) -> Option<f64>,
) -> Judged {
    let mut judged = Judged::default();
    for statement in statements(code) {
        let statement = statement.as_str();
        if statement.is_empty() || statement.starts_with("print") || statement.starts_with("import")
        {
            continue;
        }
        if let Some(condition) = statement.strip_prefix("assert") {
            let condition = without_message(condition);
            match value_of(condition, names, look_up) {
                (Some(value), _) if value != 0.0 => judged.held += 1,
                (Some(_), seen) => judged.failed.push(format!("{condition}, with {seen}")),
                (None, _) => judged.unknown.push(condition.to_string()),
            }
            continue;
        }
        let assigned = assignment(statement).and_then(|(name, adds, text)| {
            let before = if adds { *names.get(name)? } else { 0.0 };
            Some((name, before + value_of(text, names, look_up).0?))
        });
        match assigned {
            Some((name, value)) => drop(names.insert(name.to_string(), value)),
            None => judged.unknown.push(statement.to_string()),
        }
    }
    judged
}

/// Returns the value of an expression, if all of its tokens are known, and the names that it looked
/// up.
fn value_of(
    text: &str,
    names: &BTreeMap<String, f64>,
    look_up: &dyn Fn(&str) -> Option<f64>,
) -> (Option<f64>, String) {
    let mut expression =
        Expression { tokens: tokens(text), next: 0, names, look_up, seen: Vec::new() };
    let value = expression.disjunction();
    let is_whole = expression.next == expression.tokens.len();
    (value.filter(|_| is_whole), expression.seen.join(", "))
}

/// Splits `code` into statements, without comments.
fn statements(code: &str) -> Vec<String> {
    let joined = code.replace("\\\n", " ");
    let lines = joined.lines().map(|line| line.split('#').next().unwrap_or(""));
    lines.flat_map(|line| line.split(';')).map(|text| text.trim().to_string()).collect()
}

/// Returns the name and the value of `name = value` or `name += value`, and true for `+=`.
fn assignment(text: &str) -> Option<(&str, bool, &str)> {
    let (name, value) = text.split_once('=')?;
    let (name, adds) = match name.trim().strip_suffix('+') {
        Some(name) => (name.trim(), true),
        None => (name.trim(), false),
    };
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let is_assigned = !name.is_empty() && name.chars().all(is_name) && !value.starts_with('=');
    is_assigned.then_some((name, adds, value))
}

/// Returns an assertion's condition, without the message after its comma.
fn without_message(text: &str) -> &str {
    let mut depth = 0;
    let comma = text.char_indices().find(|&(_, c)| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    text[..comma.map_or(text.len(), |(start, _)| start)].trim()
}

fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if ["==", "!=", "<=", ">=", "//"].iter().any(|pair| rest.starts_with(pair)) {
            2
        } else {
            first.len_utf8()
        };
        found.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    found
}

/// Evaluates an expression by recursive descent, from `or` down to names. True is 1, false is 0.
struct Expression<'a> {
    tokens: Vec<&'a str>,
    next: usize,
    names: &'a BTreeMap<String, f64>,
    look_up: &'a dyn Fn(&str) -> Option<f64>,
    seen: Vec<String>,
}

impl Expression<'_> {
    fn take(&mut self, wanted: &[&'static str]) -> Option<&'static str> {
        let token = self.tokens.get(self.next)?;
        let found = wanted.iter().find(|word| *word == token)?;
        self.next += 1;
        Some(found)
    }

    fn disjunction(&mut self) -> Option<f64> {
        let mut holds = self.conjunction()?;
        while self.take(&["or"]).is_some() {
            let right = self.conjunction()?;
            holds = if holds == 0.0 { right } else { holds };
        }
        Some(holds)
    }

    fn conjunction(&mut self) -> Option<f64> {
        let mut holds = self.negation()?;
        while self.take(&["and"]).is_some() {
            let right = self.negation()?;
            holds = if holds == 0.0 { holds } else { right };
        }
        Some(holds)
    }

    fn negation(&mut self) -> Option<f64> {
        match self.take(&["not"]) {
            Some(_) => self.negation().map(|value| f64::from(value == 0.0)),
            None => self.comparison(),
        }
    }

    /// Evaluates comparisons, chained as in `1 <= x <= 2`.
    fn comparison(&mut self) -> Option<f64> {
        let mut left = self.sum()?;
        let (mut holds, mut compared) = (true, false);
        while let Some(operator) = self.take(&["==", "!=", "<=", ">=", "<", ">"]) {
            let right = self.sum()?;
            holds &= match operator {
                "==" => left == right,
                "!=" => left != right,
                "<=" => left <= right,
                ">=" => left >= right,
                "<" => left < right,
                _ => left > right,
            };
            (left, compared) = (right, true);
        }
        Some(if compared { f64::from(holds) } else { left })
    }

    fn sum(&mut self) -> Option<f64> {
        let mut value = self.product()?;
        while let Some(operator) = self.take(&["+", "-"]) {
            let right = self.product()?;
            value += if operator == "+" { right } else { -right };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<f64> {
        let mut value = self.atom()?;
        while let Some(operator) = self.take(&["*", "//", "/"]) {
            let right = self.atom()?;
            value = match operator {
                "*" => value * right,
                "/" => value / right,
                _ => (value / right).floor(),
            };
        }
        Some(value)
    }

    fn atom(&mut self) -> Option<f64> {
        if self.take(&["-"]).is_some() {
            return self.atom().map(|value| -value);
        }
        if self.take(&["("]).is_some() {
            let value = self.disjunction()?;
            return self.take(&[")"]).map(|_| value);
        }
        let word = *self.tokens.get(self.next)?;
        self.next += 1;
        if self.tokens.get(self.next) == Some(&"(") {
            self.next += 1;
            let argument = self.disjunction()?;
            self.take(&[")"])?;
            return match word {
                "abs" => Some(argument.abs()),
                "int" => Some(argument.trunc()),
                _ => None,
            };
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return match word.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok().map(|value| value as f64),
                None => word.parse().ok(),
            };
        }
        let value = match word {
            "True" => 1.0,
            "False" => 0.0,
            _ => self.names.get(word).copied().or_else(|| (self.look_up)(word))?,
        };
        self.seen.push(format!("{word} = {value}"));
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(code: &str) -> Judged {
        let look_up = |name: &str| (name == "tcpi_snd_cwnd").then_some(10.0);
        run(code, &mut BTreeMap::new(), &look_up)
    }

    #[test]
    fn assertions_hold_fail_or_are_unknown() {
        let code = "x = tcpi_snd_cwnd  # once\nx += 10\nassert x == 20, 'message, with a comma'\n\
                    assert 9 <= tcpi_snd_cwnd < 11 and not x < 0x14; assert (x - 5) // 2 == 7\n\
                    assert tcpi_snd_cwnd == 11 or x < 3\nassert tcpi_reordering == 3";
        let judged = judge(code);
        assert_eq!(judged.held, 3);
        let failed = "tcpi_snd_cwnd == 11 or x < 3, with tcpi_snd_cwnd = 10, x = 20";
        assert_eq!(judged.failed, [failed]);
        assert_eq!(judged.unknown, ["tcpi_reordering == 3"]);
    }

    #[test]
    fn lines_may_be_continued_and_words_called() {
        let judged = judge("assert abs(8 - tcpi_snd_cwnd) == \\\n 2, tcpi_snd_cwnd\nfoo(3)");
        assert_eq!((judged.held, judged.failed.len()), (1, 0));
        assert_eq!(judged.unknown, ["foo(3)"]);
    }
}
