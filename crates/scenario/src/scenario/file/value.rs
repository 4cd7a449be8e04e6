//! Values in scenario files: times, rates, schemes, buffers.

use std::collections::BTreeMap;

use paceline_cc::{EcnFeedback, ParamValue, Rate, SchemeSpec, Span, Spec, SpecError};
use paceline_path::{BufferSize, JitterShape};
use paceline_trace::Delays;
use serde::de::{Deserialize, Deserializer, Error};

use super::document::FromNode;
use super::error::ScenarioError;
use super::reader::{At, Reader};
use super::text::{exact, list, nameless, number, quoted};
use crate::names::Names;
use crate::runs::Spread;
use crate::scenario::spec::{Direction, QueueChoice, RouterChoice};

/// A value that a key can have.
pub(super) trait FileValue: Sized {
    /// Its form in files.
    type Written: FromNode;
    /// Form of the value, for documentation; `|` stands between alternatives.
    const KIND: &'static str;
    /// Reads the value from its form in a file.
    fn read(reader: &Reader<'_>, written: &At<Self::Written>) -> Result<Self, ScenarioError>;
    /// Writes the value in TOML.
    ///
    /// # Errors
    /// No file can express the value, for example a queue made by the program.
    fn write(&self, key: &str) -> Result<String, ScenarioError>;
}

/// A value written as text, like parameters of schemes: `"100ms"`, `"12Mbps"`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<T>(pub(super) T);

impl<'de, T: ParamValue> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Text<T>, D::Error> {
        let text = String::deserialize(from)?;
        T::read(text.trim())
            .map(Text)
            .map_err(|problem| D::Error::custom(format!("`{text}`: {problem}")))
    }
}

pub(super) type Period = Text<Span>;

/// Values that are written as text.
macro_rules! texts {
    ($($type:ty),+) => { $(
        impl FileValue for $type {
            type Written = Text<$type>;
            const KIND: &'static str = <$type as ParamValue>::KIND;

            fn read(_: &Reader<'_>, written: &At<Text<$type>>) -> Result<$type, ScenarioError> {
                Ok(written.value.0)
            }

            fn write(&self, key: &str) -> Result<String, ScenarioError> {
                exact(key, self)
            }
        }
    )+ };
}
texts!(Span, Rate, Spread);

/// Values that TOML can express directly.
macro_rules! plain {
    ($($type:ty, $kind:literal, |$value:ident, $key:ident| $write:expr;)+) => { $(
        impl FileValue for $type {
            type Written = $type;
            const KIND: &'static str = $kind;

            fn read(_: &Reader<'_>, written: &At<$type>) -> Result<$type, ScenarioError> {
                Ok(written.value.clone())
            }

            fn write(&self, $key: &str) -> Result<String, ScenarioError> {
                let ($value, _) = (self, $key);
                $write
            }
        }
    )+ };
}
plain! {
    bool, "`true` or `false`", |value, key| Ok(value.to_string());
    u16, "whole number", |value, key| Ok(value.to_string());
    u32, "whole number", |value, key| Ok(value.to_string());
    u64, "whole number", |value, key| Ok(value.to_string());
    f64, "number", |value, key| number(key, *value);
    String, "text", |value, key| Ok(quoted(value));
}

/// A value that is one of several words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<T>(T);

/// A type with a word for each of its values.
pub(super) trait Words: Copy + PartialEq + 'static {
    const WORDS: &'static [&'static str];
    const VALUES: &'static [Self];
}

/// Declares the words of types.
macro_rules! words {
    ($($type:ty { $($word:literal => $value:expr),+ $(,)? })+) => { $(
        impl $crate::scenario::file::value::Words for $type {
            const WORDS: &'static [&'static str] = &[$($word),+];
            const VALUES: &'static [$type] = &[$($value),+];
        }

        impl $crate::scenario::file::value::FileValue for $type {
            type Written = $crate::scenario::file::value::Word<$type>;
            const KIND: &'static str = concat!($("`\"", $word, "\"`|"),+);

            fn read(
                _: &$crate::scenario::file::reader::Reader<'_>,
                written: &$crate::scenario::file::reader::At<Self::Written>,
            ) -> Result<$type, $crate::scenario::file::error::ScenarioError> {
                Ok(written.value.value())
            }

            fn write(
                &self,
                _: &str,
            ) -> Result<String, $crate::scenario::file::error::ScenarioError> {
                Ok($crate::scenario::file::value::word(self))
            }
        }
    )+ };
}
pub(super) use words;

impl<T: Words> Word<T> {
    /// Returns the value that `text` names.
    pub(super) fn named(text: &str) -> Option<Word<T>> {
        let mut pairs = T::WORDS.iter().zip(T::VALUES);
        pairs.find(|(word, _)| **word == text).map(|(_, value)| Word(*value))
    }

    /// Returns the value of the word.
    pub(super) fn value(&self) -> T {
        self.0
    }
}

/// Returns the word of a value, in quotes.
pub(super) fn word<T: Words>(value: &T) -> String {
    let mut pairs = T::WORDS.iter().zip(T::VALUES);
    pairs.find(|(_, known)| *known == value).map(|(word, _)| quoted(word)).unwrap_or_default()
}

words! {
    JitterShape {
        "uniform" => JitterShape::Uniform,
        "normal" => JitterShape::Normal,
        "exponential" => JitterShape::Exponential,
    }
    EcnFeedback {
        "off" => EcnFeedback::Off,
        "classic" => EcnFeedback::Classic,
        "accurate" => EcnFeedback::Accurate,
    }
    Direction { "down" => Direction::Down, "up" => Direction::Up }
}

/// Lists, each value with its position.
macro_rules! lists {
    ($($type:ty, $kind:literal;)+) => { $(
        impl FileValue for Vec<$type> {
            type Written = Vec<At<<$type as FileValue>::Written>>;
            const KIND: &'static str = $kind;

            fn read(reader: &Reader<'_>, written: &At<Self::Written>) -> Result<Self, ScenarioError> {
                written.value.iter().map(|one| <$type as FileValue>::read(reader, one)).collect()
            }

            fn write(&self, key: &str) -> Result<String, ScenarioError> {
                let all = self.iter().map(|one| one.write(key));
                Ok(list(&all.collect::<Result<Vec<_>, ScenarioError>>()?))
            }
        }
    )+ };
}
lists! {
    String, "list of names";
    Rate, "list of rates";
}

/// A queue that exists, with valid parameters.
impl FileValue for QueueChoice {
    type Written = String;
    const KIND: &'static str = "queue";

    fn read(reader: &Reader<'_>, written: &At<String>) -> Result<QueueChoice, ScenarioError> {
        let checked = Spec::parse(&written.value).and_then(|spec| {
            reader.names.check_queue(&spec)?;
            Ok(spec)
        });
        checked.map(QueueChoice::Named).map_err(|error| reader.wrong(written, error))
    }

    fn write(&self, _: &str) -> Result<String, ScenarioError> {
        match self {
            QueueChoice::Auto => Ok(quoted("auto")),
            QueueChoice::Named(queue) => Ok(quoted(&queue.to_string())),
            QueueChoice::Custom(made) => Err(nameless("queue", made.label())),
        }
    }
}

/// `auto`, `none`, or a scheme with a router half.
impl FileValue for RouterChoice {
    type Written = String;
    const KIND: &'static str = "scheme, `\"auto\"` or `\"none\"`";

    fn read(reader: &Reader<'_>, written: &At<String>) -> Result<RouterChoice, ScenarioError> {
        router(&written.value, reader.names).map_err(|message| reader.wrong(written, message))
    }

    fn write(&self, _: &str) -> Result<String, ScenarioError> {
        match self {
            RouterChoice::Auto => Ok(quoted("auto")),
            RouterChoice::None => Ok(quoted("none")),
            RouterChoice::Scheme(router) => Ok(quoted(&router.to_string())),
            RouterChoice::Custom(made) => Err(nameless("router", made.label())),
        }
    }
}

/// Reads a built-in scheme, and checks that it and its queue can be built.
///
/// # Errors
/// The text is not a scheme, a name or parameter is unknown, or a value is invalid.
pub fn check_scheme(text: &str) -> Result<SchemeSpec, SpecError> {
    Names::default().check_scheme(text)
}

/// Reads the router of a link, as files name it: `auto` for that of its flows, `none`, or a
/// built-in scheme with a router half.
///
/// # Errors
/// The mistake, in words.
pub fn check_router(text: &str) -> Result<RouterChoice, String> {
    router(text, &Names::default())
}

fn router(text: &str, names: &Names) -> Result<RouterChoice, String> {
    match text {
        "auto" => return Ok(RouterChoice::Auto),
        "none" => return Ok(RouterChoice::None),
        _ => {}
    }
    let spec = Spec::parse(text).map_err(|error| error.to_string())?;
    let halves = names.build_scheme(&spec).map_err(|error| error.to_string())?;
    match halves.router {
        Some(_) => Ok(RouterChoice::Scheme(spec)),
        None => Err(format!("scheme `{}` has no router half", spec.name)),
    }
}

/// The recording of a delay: a built-in one, or a file.
impl FileValue for Delays {
    type Written = String;
    const KIND: &'static str = "recording";

    fn read(reader: &Reader<'_>, written: &At<String>) -> Result<Delays, ScenarioError> {
        paceline_trace::load_delays(&reader.find(&written.value))
            .map_err(|error| reader.wrong(written, error))
    }

    fn write(&self, _: &str) -> Result<String, ScenarioError> {
        Ok(quoted(self.name()))
    }
}

/// A buffer size: a number of packets, or text such as `"64kB"`, `"50ms"`, `"1bdp"`, `"inf"`,
/// `"sojourn=50ms"`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer(pub(super) BufferSize);

impl<'de> Deserialize<'de> for Buffer {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Buffer, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged, expecting = "expected a number of packets, or text such as \"64kB\"")]
        enum Written {
            Packets(u64),
            Text(String),
        }
        let text = match Written::deserialize(from)? {
            Written::Packets(packets) => packets.to_string(),
            Written::Text(text) => text,
        };
        BufferSize::parse(&text).map(Buffer).map_err(|e| D::Error::custom(format!("`{text}`: {e}")))
    }
}

impl FileValue for BufferSize {
    type Written = Buffer;
    const KIND: &'static str = "buffer";

    fn read(_: &Reader<'_>, written: &At<Buffer>) -> Result<BufferSize, ScenarioError> {
        Ok(written.value.0)
    }

    fn write(&self, key: &str) -> Result<String, ScenarioError> {
        match self {
            BufferSize::Packets(packets) => Ok(packets.to_string()),
            size => exact(key, size),
        }
    }
}

/// Settings of hosts, by name.
pub(super) struct Sysctls(pub(super) BTreeMap<String, String>);

/// A setting's value.
#[derive(serde::Deserialize)]
#[serde(untagged, expecting = "expected text or a whole number")]
pub(super) enum Setting {
    Number(i64),
    Text(String),
}

impl FileValue for Sysctls {
    type Written = BTreeMap<String, Setting>;
    const KIND: &'static str = "table of texts and numbers";

    fn read(_: &Reader<'_>, written: &At<Self::Written>) -> Result<Sysctls, ScenarioError> {
        let text = |setting: &Setting| match setting {
            Setting::Number(number) => number.to_string(),
            Setting::Text(text) => text.clone(),
        };
        let settings = written.value.iter().map(|(name, value)| (name.clone(), text(value)));
        Ok(Sysctls(settings.collect()))
    }

    fn write(&self, _: &str) -> Result<String, ScenarioError> {
        let pair =
            |(name, value): (&String, &String)| format!("{} = {}", quoted(name), quoted(value));
        let pairs: Vec<_> = self.0.iter().map(pair).collect();
        Ok(format!("{{ {} }}", pairs.join(", ")))
    }
}
