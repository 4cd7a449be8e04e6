//! Tables of keys. A section of scenario files is one table with a line per key. From it come the
//! section's reader, its writer, its table in `docs/scenarios.md` and its words for the fuzzer.
//!
//! A key that is a field of the section's value needs only its line. Keys that together make a
//! field (`loss` and `burst`), or that need the rest of the scenario (`path`), have no `=> field`:
//! the section's file reads and writes them.

use std::ops::{Bound, Range, RangeInclusive};

use super::document::FileTable;
use super::error::ScenarioError;
use super::limits::Excess;
use super::reader::{At, Reader};
use super::table::Table;
use super::text::list;
use super::value::FileValue;

/// A section of scenario files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyTable {
    /// Name, including those of the sections around it: `flow.video`. The section of the run is
    /// `run`.
    pub section: &'static str,
    /// Its keys, in the order in which they are written.
    pub keys: Vec<Key>,
}

/// A key of scenario files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// Form of its values, with their range: `time`, `whole number, 1 to 1000`.
    pub kind: String,
    /// Default in Markdown: a value in backticks, or words.
    pub default: String,
    /// Meaning in Markdown.
    pub doc: String,
}

impl Key {
    /// Creates a key without a default, with values of type `T`.
    pub(super) fn new<T: FileValue>(name: &'static str, doc: &str) -> Key {
        let kind = T::KIND.trim_end_matches('|').replace('|', " or ");
        Key { name, kind, default: "none".into(), doc: doc.trim().to_string() }
    }

    /// Sets the default, unless `value` is `None` or empty.
    pub(super) fn set_default<T: FileValue>(&mut self, value: Option<T>) {
        if let Some(Ok(text)) = value.map(|value| value.write(self.name))
            && !["{}", "[]"].contains(&text.as_str())
        {
            self.default = format!("`{text}`");
        }
    }
}

/// A key as read; `None` if the file does not have it.
pub(super) type Written<T> = Option<At<<T as FileValue>::Written>>;

/// A section's table, made by [`keys!`].
pub(super) trait Section: Sized {
    /// The part of a scenario that the section describes.
    type Value;
    /// Returns the value of a section without keys.
    fn usual() -> Self::Value;
    /// Returns its keys, for documentation.
    fn table() -> KeyTable;
    /// Sets the fields whose keys the file has, after checking each key's range.
    fn apply(&self, reader: &Reader<'_>, value: &mut Self::Value) -> Result<(), ScenarioError>;
    /// Writes the keys of fields in which `value` differs from `usual`, and all required keys.
    fn written(value: &Self::Value, usual: &Self::Value) -> Result<Table, ScenarioError>;
}

/// A value that is written in braces, as its own section: `{ delay = "10ms", loss = 0.01 }`.
pub(super) trait Inline: Sized {
    /// Its section.
    type File: Section<Value = Self> + FileTable;

    /// Reads the keys that are not fields, and checks the whole.
    fn finish(
        &mut self,
        _reader: &Reader<'_>,
        _written: &At<Self::File>,
    ) -> Result<(), ScenarioError> {
        Ok(())
    }

    /// Writes the keys that are not fields.
    fn write_rest(&self, _table: &mut Table) -> Result<(), ScenarioError> {
        Ok(())
    }
}

impl<T: Inline> FileValue for T {
    type Written = T::File;
    const KIND: &'static str = "table";

    fn read(reader: &Reader<'_>, written: &At<T::File>) -> Result<T, ScenarioError> {
        let mut value = T::File::usual();
        written.value.apply(reader, &mut value)?;
        value.finish(reader, written)?;
        Ok(value)
    }

    fn write(&self, _: &str) -> Result<String, ScenarioError> {
        Ok(table_of(self)?.inline())
    }
}

impl<T: Inline> FileValue for Vec<T> {
    type Written = Vec<At<T::File>>;
    const KIND: &'static str = "list of tables";

    fn read(reader: &Reader<'_>, written: &At<Vec<At<T::File>>>) -> Result<Vec<T>, ScenarioError> {
        written.value.iter().map(|one| T::read(reader, one)).collect()
    }

    fn write(&self, key: &str) -> Result<String, ScenarioError> {
        let all = self.iter().map(|one| one.write(key));
        Ok(list(&all.collect::<Result<Vec<_>, ScenarioError>>()?))
    }
}

/// Writes a value with all keys that it needs.
pub(super) fn table_of<T: Inline>(value: &T) -> Result<Table, ScenarioError> {
    let mut table = T::File::written(value, &T::File::usual())?;
    value.write_rest(&mut table)?;
    Ok(table)
}

/// The allowed values of a key.
pub(super) struct Allowed<T> {
    least: T,
    most: Bound<T>,
    mistake: Option<&'static str>,
    remedy: &'static str,
}

/// Allows the values of a range; `remedy` says what to write.
pub(super) fn within<T: Copy>(range: RangeInclusive<T>, remedy: &'static str) -> Allowed<T> {
    Allowed { least: *range.start(), most: Bound::Included(*range.end()), mistake: None, remedy }
}

/// Allows the values of a range without its end.
pub(super) fn below<T>(range: Range<T>, remedy: &'static str) -> Allowed<T> {
    Allowed { least: range.start, most: Bound::Excluded(range.end), mistake: None, remedy }
}

/// Allows values from `least` on.
pub(super) fn at_least<T>(least: T, remedy: &'static str) -> Allowed<T> {
    Allowed { least, most: Bound::Unbounded, mistake: None, remedy }
}

/// Allows probabilities.
pub(super) fn probability() -> Allowed<f64> {
    within(0.0..=1.0, "1 % is written 0.01").or("{key} is a probability from 0 to 1")
}

impl<T> Allowed<T> {
    /// Sets the message about values outside of the range. The default is `{key} is outside
    /// {least}..{most}`; words in braces are replaced.
    pub(super) fn or(mut self, mistake: &'static str) -> Allowed<T> {
        self.mistake = Some(mistake);
        self
    }
}

impl<T: FileValue + PartialOrd> Allowed<T> {
    /// Compares a value with the range.
    ///
    /// # Errors
    /// The value is outside of the range; with the remedy.
    pub(super) fn check(&self, key: &str, value: &T) -> Result<(), Excess> {
        // In this form, a NaN is outside.
        let (is_below, most) = match &self.most {
            Bound::Included(most) => (value <= most, plain(most)),
            Bound::Excluded(most) => (value < most, plain(most)),
            Bound::Unbounded => (true, String::new()),
        };
        if *value >= self.least && is_below {
            return Ok(());
        }
        let least = plain(&self.least);
        let mistake = self.mistake.unwrap_or("{key} is outside {least}..{most}");
        let message = mistake.replace("{key}", key).replace("{least}", &least);
        let message = message.replace("{most}", &most);
        Err((message, self.remedy))
    }

    /// Returns the range, for documentation.
    pub(super) fn shown(&self) -> String {
        let least = plain(&self.least);
        match &self.most {
            Bound::Included(most) => format!(", {least} to {}", plain(most)),
            Bound::Excluded(most) => format!(", {least} to less than {}", plain(most)),
            Bound::Unbounded => format!(", at least {least}"),
        }
    }
}

/// Returns a value without quotes.
fn plain<T: FileValue>(value: &T) -> String {
    value.write("").unwrap_or_default().trim_matches('"').to_string()
}

/// Declares a section: the struct into which its text is read, and its table of keys.
///
/// ```ignore
/// keys! {
///     /// A flow.
///     FileFlow: "flow" of FlowSpec = FlowSpec::bulk(scheme, &[]);
///     /// how many such flows there are
///     count: u32, in within(1..=100_000, "write count = 5") => count;
///     /// time at which it stops
///     stop: Span, default "never" => stop;
///     /// the links that its data passes, in order
///     path: Vec<String>, default "the only link";
/// }
/// ```
///
/// A line has the key's documentation, name and type; `default`, unless it is that of the field in
/// the value after `=`; its range; and the field of the section's value, which may be an `Option`.
/// A key after `[required]` must be present. `FileFlow` has, for each key, the text with its
/// position (`file.count`) and a method that reads it (`file.count(reader)`).
macro_rules! keys {
    (
        $(#[$meta:meta])*
        $file:ident: $name:literal of $value:ty = $usual:expr;
        $(
            $(#[doc = $doc:literal])+
            $([$required:ident])? $key:ident: $type:ty
                $(, default $default:literal)? $(, in $allowed:expr)? $(=> $($field:tt).+)?;
        )+
        $(tables { $($(#[doc = $about:literal])+ $table:ident: $section:ty;)+ })?
    ) => {
        $(#[$meta])*
        #[derive(Default)]
        pub(super) struct $file {
            $(
                $(#[doc = $doc])+
                $(#[doc = stringify!($required)])?
                pub(super) $key: $crate::scenario::file::keys::Written<$type>,
            )+
            $($(
                $(#[doc = $about])+
                pub(super) $table: Vec<$crate::scenario::file::reader::At<$section>>,
            )+)?
        }

        const _: () = {
            #[allow(unused_imports)] // Not every section has ranges.
            use $crate::scenario::file::{
                document::{FileTable, FormError, FromNode, Node},
                error::ScenarioError,
                keys::{Allowed, Key, KeyTable, Section},
                reader::Reader,
                table::Table,
                value::FileValue,
            };

            #[allow(dead_code)] // Keys that are fields are read by `apply` alone.
            impl $file {
                $(
                    $(#[doc = $doc])+
                    pub(super) fn $key(
                        &self,
                        reader: &Reader<'_>,
                    ) -> Result<Option<$type>, ScenarioError> {
                        let Some(written) = &self.$key else { return Ok(None) };
                        let value = <$type as FileValue>::read(reader, written)?;
                        $(
                            let allowed: Allowed<$type> = $allowed;
                            reader.within(written, allowed.check(stringify!($key), &value))?;
                        )?
                        Ok(Some(value))
                    }
                )+
            }

            impl FileTable for $file {
                const KEYS: &'static [&'static str] =
                    &[$(stringify!($key),)+ $($(stringify!($table),)+)?];

                fn put(&mut self, index: usize, node: Node<'_>) -> Result<(), FormError> {
                    match Self::KEYS[index] {
                        $(stringify!($key) => self.$key = Some(FromNode::from_node(node)?),)+
                        $($(stringify!($table) => self.$table = FromNode::from_node(node)?,)+)?
                        _ => {}
                    }
                    Ok(())
                }

                fn missing(&self) -> Option<&'static str> {
                    $($(
                        if self.$key.is_none() {
                            return Some(keys!(@first $key $required));
                        }
                    )?)+
                    None
                }
            }

            impl Section for $file {
                type Value = $value;

                fn usual() -> $value {
                    $usual
                }

                fn table() -> KeyTable {
                    let usual = <$file as Section>::usual();
                    let _ = &usual;
                    let keys = vec![$( {
                        let mut key = Key::new::<$type>(stringify!($key), concat!($($doc),+));
                        $( key.set_default::<$type>(usual.$($field).+.clone().into()); )?
                        $( key.default = stringify!($required).to_string(); )?
                        $( key.default = $default.to_string(); )?
                        $(
                            let allowed: Allowed<$type> = $allowed;
                            key.kind += &allowed.shown();
                        )?
                        let _ = &mut key;
                        key
                    } ),+];
                    KeyTable { section: $name, keys }
                }

                fn apply(
                    &self,
                    reader: &Reader<'_>,
                    value: &mut $value,
                ) -> Result<(), ScenarioError> {
                    let _ = (reader, &value);
                    $($(
                        if let Some(read) = self.$key(reader)? {
                            value.$($field).+ = read.into();
                        }
                    )?)+
                    Ok(())
                }

                fn written(value: &$value, usual: &$value) -> Result<Table, ScenarioError> {
                    const ORDER: &[&str] = &[$(stringify!($key)),+];
                    const REQUIRED: &[&str] = &[$($(keys!(@first $key $required),)?)+];
                    let mut table = Table::new(ORDER, REQUIRED);
                    let _ = (value, usual, &mut table);
                    $($(
                        table.put_field::<$type>(
                            stringify!($key),
                            value.$($field).+.clone().into(),
                            usual.$($field).+.clone().into(),
                        )?;
                    )?)+
                    Ok(table)
                }
            }
        };
    };
    (@first $key:ident $required:ident) => { stringify!($key) };
}
pub(super) use keys;
