//! Parameters of schemes and queues: one table from which values, defaults, documentation and
//! error messages come.

mod info;
mod range;

#[doc(hidden)]
pub use info::ParamText;
pub use info::{Limits, ParamInfo};
pub use range::{Edges, ParamRange, RangedValue, above, within};

use self::info::documented;
use crate::units::{Rate, Span};

/// The unit of plain numbers, switches and words.
pub const NO_UNIT: &str = "none";

/// A type that a parameter can have.
pub trait ParamValue: Sized {
    /// Form in which users write it, for documentation: `number`, `time`, `true|false`.
    const KIND: &'static str;
    /// Unit of values of this type, unless a parameter names another: `time` for `100ms`;
    /// [`NO_UNIT`] for types without.
    const UNIT: &'static str = NO_UNIT;
    /// The lowest and the highest value of whole numbers, as users write them, and the nearest values outside; empty
    /// for other types.
    const LIMITS: Option<Limits> = None;
    /// Reads a value; the error names the expected form.
    fn read(text: &str) -> Result<Self, String>;
    /// Writes the value in the form that [`ParamValue::read`] reads.
    fn show(&self) -> String;
}

/// Name of the parameter that chooses a variant, and so the defaults of the other parameters.
pub const VARIANT: &str = "variant";

/// A variant of a scheme or queue, declared in [`crate::params!`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The word that users write: `variant=paper`.
    pub name: &'static str,
    /// Describes whose behaviour it reproduces.
    pub doc: &'static str,
}

/// A set of parameters, made by [`crate::params!`].
pub trait Params: Default {
    /// Its variants: none, or at least two. The first one is [`Default`].
    const VARIANTS: &'static [Variant] = &[];
    /// Names of its variants, joined by `|`: the kind of [`VARIANT`].
    const VARIANT_KIND: &'static str = "";
    /// Returns the parameters with the defaults of a variant; `None` if there is no such variant.
    fn variant(_name: &str) -> Option<Self> {
        None
    }
    /// The constants of each parameter, in order.
    #[doc(hidden)]
    const TEXTS: &'static [ParamText];
    /// Returns the value of each parameter in the form that users write, in the order of the table.
    fn shown(&self) -> Vec<String>;
    /// Passes each parameter that has a range to `note`: its name, the range in words, and values at its edges.
    #[doc(hidden)]
    fn ranges(note: &mut dyn FnMut(&'static str, String, Edges));
    /// Returns the documentation of all parameters, in order, with their defaults; [`VARIANT`]
    /// first if there are variants.
    fn infos() -> Vec<ParamInfo> {
        let shown = |name: &str| Self::variant(name).map(|params| params.shown());
        let defaults = Self::default().shown();
        documented(Self::TEXTS, Self::ranges, defaults, Self::VARIANTS, Self::VARIANT_KIND, &shown)
    }
    /// Sets a parameter by name. Returns `None` if there is no such parameter; the inner error says
    /// what is wrong with the value.
    fn set(&mut self, name: &str, value: &str) -> Option<Result<(), String>>;
    /// Checks that every parameter is in its range. Relations between parameters are checked where
    /// they are used to build a scheme or queue.
    ///
    /// # Errors
    /// The first parameter out of its range, and the expected range.
    fn check_ranges(&self) -> Result<(), (&'static str, String)>;
}

/// Splits a finite number from its unit: `12.5ms` gives `(12.5, "ms")`. `None` for words.
pub fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let split = text
        .char_indices()
        .find(|&(i, c)| {
            let exponent = (c == 'e' || c == 'E')
                && text[i + 1..].starts_with(|d: char| d.is_ascii_digit() || d == '-' || d == '+');
            !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+') || exponent)
        })
        .map_or(text.len(), |(i, _)| i);
    let number: f64 = text[..split].parse().ok()?;
    number.is_finite().then_some((number, text[split..].trim()))
}

impl ParamValue for f64 {
    const KIND: &'static str = "number";
    fn read(text: &str) -> Result<f64, String> {
        let (number, unit) = number_and_unit(text).ok_or("expected a number such as 0.98")?;
        match unit {
            "" => Ok(number),
            "%" => Ok(number / 100.0),
            other => Err(format!("expected a plain number or a percentage, found unit `{other}`")),
        }
    }
    fn show(&self) -> String {
        format!("{self}")
    }
}

macro_rules! integers {
    ($($type:ty, $highest:literal, $beyond:literal;)*) => { $(
        impl ParamValue for $type {
            const KIND: &'static str = "whole number";
            const LIMITS: Option<Limits> =
                Some(Limits { inside: ["0", $highest], outside: ["-1", $beyond] });
            fn read(text: &str) -> Result<$type, String> {
                text.parse().map_err(|_| format!("expected a whole number from 0 to {}", <$type>::MAX))
            }
            fn show(&self) -> String {
                self.to_string()
            }
        }
    )* };
}
integers! {
    u32, "4294967295", "4294967296";
    u64, "18446744073709551615", "18446744073709551616";
}

impl ParamValue for bool {
    const KIND: &'static str = "true|false";
    fn read(text: &str) -> Result<bool, String> {
        match text {
            "true" | "on" | "yes" => Ok(true),
            "false" | "off" | "no" => Ok(false),
            _ => Err("expected true or false".into()),
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl ParamValue for String {
    const KIND: &'static str = "name";
    fn read(text: &str) -> Result<String, String> {
        Ok(text.to_string())
    }
    fn show(&self) -> String {
        self.clone()
    }
}

impl ParamValue for Span {
    const KIND: &'static str = "time";
    const UNIT: &'static str = "time";
    fn read(text: &str) -> Result<Span, String> {
        let (number, unit) =
            number_and_unit(text).ok_or("expected a time such as 100ms or 1.5s")?;
        if number < 0.0 {
            return Err("expected a time that is not negative".into());
        }
        let nanos = match unit {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "min" => 60e9,
            "h" => 3600e9,
            "" if number == 0.0 => 1.0,
            "" => return Err(format!("a time needs a unit: `{text}ms` or `{text}s`")),
            other => {
                return Err(format!("unknown unit of time `{other}`; use ns, us, ms, s, min or h"));
            }
        };
        Ok(Span::from_nanos((number * nanos + 0.5) as u64))
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

/// Returns the number of bits and our unit of a rate that is written as in other programs: `12mbit`, `10Mb/s`, `12M`,
/// `2MB/s`. `None` if `text` is no number with such a unit.
pub fn rate_as_others_write(text: &str) -> Option<(f64, &'static str)> {
    let (number, unit) = number_and_unit(text.trim())?;
    let bits =
        if unit.contains("Bps") || unit.contains("B/s") || unit.ends_with('B') { 8.0 } else { 1.0 };
    // A generation of mobile networks, such as `5g`, is no rate.
    let is_generation = unit == "g";
    let unit = unit.to_ascii_lowercase();
    let (scale, rest) = match unit.chars().next()? {
        'k' => ("kbps", &unit[1..]),
        'm' => ("Mbps", &unit[1..]),
        'g' => ("Gbps", &unit[1..]),
        _ => ("bps", &unit[..]),
    };
    let is_rate = match rest {
        "" => scale != "bps" && !is_generation,
        "b" | "bit" | "bits" | "bps" | "b/s" | "bit/s" | "bits/s" | "bit/sec" | "bits/sec" => true,
        _ => false,
    };
    is_rate.then_some((number * bits, scale))
}

/// Returns what is wrong with the unit of a rate.
fn unknown_unit_of_rate(number: f64, text: &str) -> String {
    match rate_as_others_write(text) {
        Some((bits, unit)) if bits != number => {
            format!("`{text}` is a rate of bytes; rates are in bits: write {bits}{unit}")
        }
        Some((bits, unit)) => format!("unknown unit of rate; write {bits}{unit}"),
        None => {
            let unit = number_and_unit(text).map_or(text, |(_, unit)| unit);
            format!("unknown unit of rate `{unit}`; use bps, kbps, Mbps or Gbps")
        }
    }
}

impl ParamValue for Rate {
    const KIND: &'static str = "rate";
    const UNIT: &'static str = "rate";
    fn read(text: &str) -> Result<Rate, String> {
        let (number, unit) =
            number_and_unit(text).ok_or("expected a rate such as 12Mbps or 500kbps")?;
        if number < 0.0 {
            return Err("expected a rate that is not negative".into());
        }
        let unit = unit.replace("bit/s", "bps");
        let factor = match unit.as_str() {
            "bps" => 1.0,
            "kbps" | "Kbps" => 1e3,
            "Mbps" | "mbps" => 1e6,
            "Gbps" | "gbps" => 1e9,
            "" => return Err(format!("a rate needs a unit: `{text}Mbps` or `{text}kbps`")),
            _ => return Err(unknown_unit_of_rate(number, text)),
        };
        Ok(Rate::from_bps((number * factor + 0.5) as u64))
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

/// Declares a struct of parameters. Each field has its documentation, type and default; then the
/// range of its values (`in`), what the value must be beside other parameters (`must`), its unit if
/// the type does not imply it (`unit`), and the paper, RFC or program that the default comes from
/// (`source`). Variants may follow the struct, each with the
/// defaults that it changes; the first one changes nothing and is the default.
///
/// This is the only place of these facts: parsing, error messages, rustdoc, `paceline schemes` and
/// the pages of `docs/schemes` take them from here. What `must` says is checked with
/// [`Spec::require`](crate::Spec::require).
///
/// ```
/// use paceline_cc::params::{Params, above};
/// use paceline_cc::{Span, Spec};
///
/// paceline_cc::params! {
///     /// Parameters of an example.
///     pub struct ExampleParams {
///         /// Gain per round trip.
///         gain: f64 = 0.5, in above(0.0).up_to(1.0), source "paper §2";
///         /// Window at the start.
///         window: u32 = 10, in 1..=10_000, unit "packets", source "RFC 6928";
///         /// Time between updates.
///         period: Span = Span::from_millis(20), source "authors' code";
///     }
///     variants {
///         /// The authors' program.
///         "authors" => {},
///         /// The paper's text.
///         "paper" => { gain: 0.25 },
///     }
/// }
/// assert_eq!(ExampleParams::default().gain, 0.5);
/// let spec = Spec::parse("example[variant=paper]")?;
/// assert_eq!(spec.params::<ExampleParams>()?.gain, 0.25);
///
/// let mistake = Spec::parse("example[window=0]")?.params::<ExampleParams>().unwrap_err();
/// assert_eq!(mistake.to_string(), "`example[window=0]`: expected 1 to 10000 packets");
/// let infos = ExampleParams::infos();
/// assert_eq!((infos[1].name, infos[1].range.as_str()), ("gain", "more than 0, up to 1"));
/// # Ok::<(), paceline_cc::SpecError>(())
/// ```
#[macro_export]
macro_rules! params {
    ($(#[$outer:meta])* pub struct $name:ident {
        $(
            $(#[doc = $doc:literal])+
            $field:ident : $type:ty = $default:expr
            $(, in $range:expr)? $(, must $condition:literal)? $(, unit $unit:literal)?,
            source $source:literal;
        )*
    } $( variants {
        $( $(#[doc = $about:literal])+ $word:literal => {
            $( $set:ident : $value:expr ),* $(,)?
        } ),+ $(,)?
    } )?) => {
        $(#[$outer])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $(
                $(#[doc = $doc])+
                #[doc = ""]
                #[doc = concat!(
                    "Default: `", stringify!($default), "`",
                    $( ", in `", stringify!($range), "`", )?
                    $( ", must be ", $condition, )?
                    $( " ", $unit, )?
                    ". Source: ", $source, "."
                )]
                pub $field: $type,
            )*
        }
        impl Default for $name {
            fn default() -> Self {
                $name { $( $field: $default, )* }
            }
        }
        impl $crate::params::Params for $name {
            $( const VARIANTS: &'static [$crate::params::Variant] = &[ $(
                $crate::params::Variant { name: $word, doc: concat!($($about),+) },
            )+ ];
            const VARIANT_KIND: &'static str = $crate::joined!($($word),+);
            fn variant(name: &str) -> Option<Self> {
                match name {
                    $( $word => Some($name { $( $set: $value, )* ..Default::default() }), )+
                    _ => None,
                }
            } )?
            const TEXTS: &'static [$crate::params::ParamText] = &[ $(
                $crate::params::ParamText {
                    name: stringify!($field),
                    kind: <$type as $crate::params::ParamValue>::KIND,
                    own_unit: <$type as $crate::params::ParamValue>::UNIT,
                    limits: <$type as $crate::params::ParamValue>::LIMITS,
                    unit: concat!($($unit)?),
                    condition: concat!($($condition)?),
                    source: $source,
                    doc: concat!($($doc),+),
                },
            )* ];
            fn shown(&self) -> Vec<String> {
                vec![ $( $crate::params::ParamValue::show(&self.$field), )* ]
            }
            fn ranges(note: &mut dyn FnMut(&'static str, String, $crate::params::Edges)) {
                let _ = &note;
                $( $(
                    $crate::params::note_range::<$type>(note, stringify!($field), $range);
                )? )*
            }
            fn set(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
                let _ = value;
                match name {
                    $( stringify!($field) => Some(
                        <$type as $crate::params::ParamValue>::read(value).map(|v| self.$field = v)
                    ), )*
                    _ => None,
                }
            }
            fn check_ranges(&self) -> Result<(), (&'static str, String)> {
                $( {
                    let (name, unit) = (stringify!($field), concat!($($unit)?));
                    let _ = (name, unit);
                    $( $crate::params::check_range::<$type>(name, &self.$field, $range, unit)?; )?
                } )*
                Ok(())
            }
        }
    };
}

/// Checks that the value of a parameter is in the range; the error carries the parameter's name.
#[doc(hidden)]
pub fn check_range<T: RangedValue>(
    name: &'static str,
    value: &T,
    range: impl Into<ParamRange<T>>,
    unit: &str,
) -> Result<(), (&'static str, String)> {
    let range = range.into();
    if range.contains(value) {
        Ok(())
    } else {
        Err((name, format!("expected {}", range.describe(unit))))
    }
}

/// Passes a range to `note`: see [`Params::ranges`].
#[doc(hidden)]
pub fn note_range<T: RangedValue>(
    note: &mut dyn FnMut(&'static str, String, Edges),
    name: &'static str,
    range: impl Into<ParamRange<T>>,
) {
    let range = range.into();
    note(name, range.describe(""), range.edges());
}

/// Declares an enumeration as a parameter's type, with the word that users write for each value.
#[macro_export]
macro_rules! choices {
    ($(#[$outer:meta])* pub enum $name:ident {
        $( $(#[doc = $doc:literal])+ $variant:ident = $word:literal ),* $(,)?
    }) => {
        $(#[$outer])*
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        pub enum $name { $( $(#[doc = $doc])+ $variant, )* }
        impl $crate::params::ParamValue for $name {
            const KIND: &'static str = $crate::joined!($($word),*);
            fn read(text: &str) -> Result<Self, String> {
                match text {
                    $( $word => Ok($name::$variant), )*
                    _ => Err(format!("expected one of {}", Self::KIND.replace('|', ", "))),
                }
            }
            fn show(&self) -> String {
                match self { $( $name::$variant => $word.to_string(), )* }
            }
        }
    };
}

/// Joins words with `|`.
#[doc(hidden)]
#[macro_export]
macro_rules! joined {
    ($first:literal $(, $rest:literal)*) => { concat!($first $(, "|", $rest)*) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_and_show() {
        assert_eq!(Span::read("1.5s"), Ok(Span::from_millis(1500)));
        assert_eq!(Span::read("50 ms"), Ok(Span::from_millis(50)));
        assert_eq!(Rate::read("12Mbps"), Ok(Rate::from_mbps(12.0)));
        assert_eq!(Rate::read("12 Mbit/s"), Ok(Rate::from_mbps(12.0)));
        assert_eq!(f64::read("98%"), Ok(0.98));
        assert_eq!(f64::read("1e-3"), Ok(0.001));
        assert_eq!(bool::read("off"), Ok(false));
    }

    #[test]
    fn numbers_have_units() {
        for (text, read) in [
            ("2.5rtt", Some((2.5, "rtt"))),
            ("100 ms", Some((100.0, "ms"))),
            ("+1e3", Some((1000.0, ""))),
            ("0", Some((0.0, ""))),
            ("auto", None),
            ("true", None),
            ("-", None),
            ("", None),
        ] {
            assert_eq!(number_and_unit(text), read, "{text}");
        }
    }

    #[test]
    fn malformed_values_are_refused() {
        assert!(Span::read("50").unwrap_err().contains("50ms"));
        assert!(Span::read("-5ms").is_err());
        assert!(Span::read("5 parsecs").unwrap_err().contains("parsecs"));
        assert!(Rate::read("12").unwrap_err().contains("12Mbps"));
        assert!(f64::read("nan").is_err());
        assert!(f64::read("inf").is_err());
        assert!(u32::read("-1").is_err());
        assert!(f64::read("1é").is_err());
        assert!(f64::read("").is_err());
    }
}
