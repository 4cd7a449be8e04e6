//! Vectors: expectations of a peer's own test, each with the outcome that Paceline declares for it.

/// Result of a comparison: agreement, or the difference in words.
pub type Outcome = Result<(), String>;

/// Declared outcome of a vector.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Declared {
    /// The peer's expectation holds.
    Holds,
    /// It does not hold, because Paceline follows another document or version than the peer: the
    /// reason.
    ByDesign(&'static str),
    /// It does not hold, although it should: the cause.
    Differs(&'static str),
}

impl Declared {
    /// Compares an outcome with the declared one.
    ///
    /// # Errors
    ///
    /// The outcome differs from the declared one; the error says how.
    pub fn judge(self, outcome: &Outcome) -> Result<(), String> {
        match (self, outcome) {
            (Declared::Holds, Err(difference)) => Err(difference.clone()),
            (Declared::ByDesign(reason) | Declared::Differs(reason), Ok(())) => {
                Err(format!("holds now, and is declared not to: {reason}"))
            }
            _ => Ok(()),
        }
    }
}

/// One expectation of a peer's test.
pub struct Vector {
    /// The peer.
    pub peer: &'static str,
    /// Subject of the test.
    pub subject: &'static str,
    /// File and name of the peer's test, and its expectation.
    pub test: String,
    /// Declared outcome.
    pub declared: Declared,
    /// Runs the comparison.
    pub check: Box<dyn Fn() -> Outcome>,
}

/// The vectors of one peer.
pub struct Vectors {
    peer: &'static str,
    /// The vectors, in the order of their declarations.
    pub all: Vec<Vector>,
}

impl Vectors {
    /// Returns an empty list for `peer`.
    pub fn of(peer: &'static str) -> Vectors {
        Vectors { peer, all: Vec::new() }
    }

    /// Adds a vector with this declared outcome.
    pub fn add(
        &mut self,
        declared: Declared,
        subject: &'static str,
        test: impl Into<String>,
        check: impl Fn() -> Outcome + 'static,
    ) {
        let (test, check) = (test.into(), Box::new(check));
        self.all.push(Vector { peer: self.peer, subject, test, declared, check });
    }

    /// Adds a vector that holds.
    pub fn holds(
        &mut self,
        subject: &'static str,
        test: impl Into<String>,
        check: impl Fn() -> Outcome + 'static,
    ) {
        self.add(Declared::Holds, subject, test, check);
    }

    /// Adds a vector that does not hold by design, for `reason`.
    pub fn by_design(
        &mut self,
        subject: &'static str,
        test: impl Into<String>,
        reason: &'static str,
        check: impl Fn() -> Outcome + 'static,
    ) {
        self.add(Declared::ByDesign(reason), subject, test, check);
    }

    /// Adds a vector that does not hold although it should.
    pub fn differs(
        &mut self,
        subject: &'static str,
        test: impl Into<String>,
        cause: &'static str,
        check: impl Fn() -> Outcome + 'static,
    ) {
        self.add(Declared::Differs(cause), subject, test, check);
    }
}

/// Runs vectors; returns one line for each whose outcome is not the declared one.
pub fn surprises(vectors: &[Vector]) -> Vec<String> {
    let surprise = |vector: &Vector| {
        let wrong = vector.declared.judge(&(vector.check)()).err()?;
        Some(format!("{}, {}: {}: {wrong}", vector.peer, vector.subject, vector.test))
    };
    vectors.iter().filter_map(surprise).collect()
}

/// Returns `Ok` if `got` is within `tolerance` of `expected`.
///
/// # Errors
///
/// The expected and the actual value of `what`.
pub fn near(what: &str, got: f64, expected: f64, tolerance: f64) -> Outcome {
    let is_near = (got - expected).abs() <= tolerance;
    if is_near { Ok(()) } else { Err(format!("{what}: expected {expected}, got {got}")) }
}

/// Returns `Ok` if `got` equals `expected`.
///
/// # Errors
///
/// The expected and the actual value of `what`.
pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: T, expected: T) -> Outcome {
    let is_same = got == expected;
    if is_same { Ok(()) } else { Err(format!("{what}: expected {expected:?}, got {got:?}")) }
}

/// Returns `Ok` if `condition` holds.
///
/// # Errors
///
/// The condition, in words.
pub fn that(what: &str, condition: bool) -> Outcome {
    if condition { Ok(()) } else { Err(format!("not so: {what}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_to_be_the_declared_one_either_way() {
        let wrong = Err("a difference".to_string());
        assert!(Declared::Holds.judge(&Ok(())).is_ok() && Declared::Holds.judge(&wrong).is_err());
        for declared in [Declared::ByDesign("reason"), Declared::Differs("cause")] {
            assert!(declared.judge(&wrong).is_ok());
            assert!(declared.judge(&Ok(())).is_err_and(|text| text.contains("holds now")));
        }
    }

    #[test]
    fn surprises_name_their_vector() {
        let mut vectors = Vectors::of("a peer");
        vectors.holds("windows", "test one", || same("window", 3, 4));
        vectors.differs("windows", "test two", "a cause", || near("window", 1.0, 2.0, 0.5));
        vectors.by_design("windows", "test three", "a reason", || that("so", true));
        let found = surprises(&vectors.all);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0], "a peer, windows: test one: window: expected 4, got 3");
    }
}
