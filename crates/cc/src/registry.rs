//! Tables of entries that users call by name, such as schemes and queues. Users can add entries.

use thiserror::Error;

use crate::spec::{Spec, SpecError, nearest};

/// The type of entries of a [`Registry`].
pub trait Entry {
    /// Word for such an entry in messages: `scheme`, `queue`.
    const KIND: &'static str;
    /// Returns the name by which users call it.
    fn name(&self) -> &str;
    /// Returns the name of the entry that other programs or papers call `name`, for messages about unknown names.
    fn known_elsewhere(name: &str) -> Option<&'static str> {
        let _ = name;
        None
    }
    /// Returns what to use in place of something that others call `name` and that this table has not, as part of a
    /// sentence for messages about unknown names.
    fn instead_of(name: &str) -> Option<String> {
        let _ = name;
        None
    }
}

/// Reason why an entry cannot be added to a [`Registry`].
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddError {
    /// Another entry has this name.
    #[error("there is a {kind} called `{name}` already; give yours another name")]
    NameTaken {
        /// Word for such an entry.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// The name cannot be written in a [`Spec`].
    #[error("`{name}` is not a name for a {kind}; use letters, digits, `-`, `_` and `.`")]
    IllegalName {
        /// Word for such an entry.
        kind: &'static str,
        /// The name.
        name: String,
    },
}

/// Entries by name, in the order in which they were added.
///
/// ```
/// use paceline_cc::registry::{AddError, Entry, Registry};
///
/// struct Colour(&'static str);
///
/// impl Entry for Colour {
///     const KIND: &'static str = "colour";
///     fn name(&self) -> &str {
///         self.0
///     }
/// }
///
/// let mut colours = Registry::<Colour>::empty();
/// colours.add(Colour("ochre"))?;
/// assert_eq!(colours.find("ochre")?.0, "ochre");
/// let message = colours.find("ocher").err().map(|error| error.to_string());
/// assert!(message.is_some_and(|message| message.contains("did you mean `ochre`")));
/// assert!(colours.add(Colour("ochre")).is_err());
/// assert!(colours.add(Colour("light blue")).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Registry<E> {
    entries: Vec<E>,
}

impl<E: Entry> Registry<E> {
    /// Returns a registry without entries.
    pub fn empty() -> Registry<E> {
        Registry { entries: Vec::new() }
    }

    /// Returns a registry of the program's own entries, whose names are legal and distinct.
    pub fn of(entries: impl IntoIterator<Item = E>) -> Registry<E> {
        Registry { entries: entries.into_iter().collect() }
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// If users cannot write its name, or if another entry has it.
    pub fn add(&mut self, entry: impl Into<E>) -> Result<(), AddError> {
        let entry = legal(entry.into())?;
        if self.get(entry.name()).is_some() {
            return Err(AddError::NameTaken { kind: E::KIND, name: entry.name().to_string() });
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Adds an entry. It replaces the entry of this name, if there is one.
    ///
    /// # Errors
    /// If users cannot write its name.
    pub fn set(&mut self, entry: impl Into<E>) -> Result<(), AddError> {
        let entry = legal(entry.into())?;
        match self.entries.iter_mut().find(|old| old.name() == entry.name()) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
        Ok(())
    }

    /// Returns the entry of this name.
    pub fn get(&self, name: &str) -> Option<&E> {
        self.entries.iter().find(|entry| entry.name() == name)
    }

    /// Returns the entry of this name.
    ///
    /// # Errors
    /// If there is no such entry. The error is meant for users and names the nearest entry, if one
    /// is near.
    pub fn find(&self, name: &str) -> Result<&E, SpecError> {
        find(&self.entries, name)
    }

    /// Returns all entries, in the order in which they were added.
    pub fn iter(&self) -> std::slice::Iter<'_, E> {
        self.entries.iter()
    }

    /// Returns the names of all entries, in the order in which they were added.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.entries.iter().map(E::name)
    }
}

impl<'a, E> IntoIterator for &'a Registry<E> {
    type Item = &'a E;
    type IntoIter = std::slice::Iter<'a, E>;
    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter()
    }
}

/// Returns the entry of this name in a program's own table, without a [`Registry`].
///
/// # Errors
/// If there is no such entry. The error names the nearest one, if one is near.
pub fn find<'a, E: Entry>(entries: &'a [E], name: &str) -> Result<&'a E, SpecError> {
    let found = entries.iter().find(|entry| entry.name() == name);
    found.ok_or_else(|| SpecError::UnknownName {
        kind: E::KIND,
        name: name.to_string(),
        near: near(entries, name),
        instead: E::instead_of(name),
    })
}

/// Returns the name of the entry that is probably meant.
fn near<E: Entry>(entries: &[E], name: &str) -> Option<String> {
    let elsewhere = E::known_elsewhere(name);
    let is_here = |known: &&str| entries.iter().any(|entry| entry.name() == *known);
    match elsewhere.filter(is_here) {
        Some(known) => Some(known.to_string()),
        None => nearest(name, entries.iter().map(E::name)),
    }
}

/// Returns `entry` if users can write its name, and an error otherwise.
fn legal<E: Entry>(entry: E) -> Result<E, AddError> {
    let name = entry.name();
    match Spec::parse(name).is_ok_and(|spec| spec.name == name) {
        true => Ok(entry),
        false => Err(AddError::IllegalName { kind: E::KIND, name: name.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Line(&'static str, u32);

    impl Entry for Line {
        const KIND: &'static str = "line";
        fn name(&self) -> &str {
            self.0
        }
    }

    #[test]
    fn entries_keep_their_order_and_names_are_unique() {
        let mut lines = Registry::of([Line("one", 1), Line("two", 2)]);
        assert_eq!(lines.add(Line("three", 3)), Ok(()));
        let taken = AddError::NameTaken { kind: "line", name: "two".to_string() };
        assert_eq!(lines.add(Line("two", 4)), Err(taken));
        assert_eq!(lines.set(Line("two", 5)), Ok(()));
        assert_eq!(lines.set(Line("four", 6)), Ok(()));
        assert_eq!(lines.names().collect::<Vec<_>>(), ["one", "two", "three", "four"]);
        assert_eq!(lines.get("two"), Some(&Line("two", 5)));
        assert_eq!((lines.get("five"), lines.iter().len()), (None, 4));
    }

    #[test]
    fn names_that_users_cannot_write_are_refused() {
        let mut lines = Registry::<Line>::empty();
        for name in ["", "a b", "a[b=1]", "a+b", " a", "a,b", "é"] {
            let illegal = || Err(AddError::IllegalName { kind: "line", name: name.to_string() });
            assert_eq!(lines.add(Line(name, 0)), illegal());
            assert_eq!(lines.set(Line(name, 0)), illegal());
        }
        assert_eq!(lines.iter().len(), 0);
    }

    #[test]
    fn an_unknown_name_gives_an_error_with_the_nearest() {
        let lines = Registry::of([Line("dotted", 1)]);
        let message = |name| lines.find(name).map_err(|error| error.to_string());
        assert_eq!(message("dotted"), Ok(&Line("dotted", 1)));
        let near = message("doted").expect_err("unknown");
        assert!(near.contains("unknown line `doted` (did you mean `dotted`?)"), "{near}");
        assert!(!message("zigzag").expect_err("unknown").contains("did you mean"));
    }
}
