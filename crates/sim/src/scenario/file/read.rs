//! How values are written in scenario files: times, rates, schemes, buffers.

use paceline_cc::{ParamValue, Rate, SchemeSpec, Span, Spec, SpecError};
use paceline_path::BufferSize;
use serde::de::{Deserialize, Deserializer, Error};

use crate::names::Names;
use crate::scenario::spec::{QueueChoice, RouterChoice};

/// A value written as text, as parameters of schemes are: `"100ms"`, `"12Mbps"`.
#[derive(Clone, Copy, Debug)]
pub(in crate::scenario) struct Text<T>(pub(in crate::scenario) T);

impl<'de, T: ParamValue> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Text<T>, D::Error> {
        let text = String::deserialize(from)?;
        T::read(text.trim())
            .map(Text)
            .map_err(|problem| D::Error::custom(format!("`{text}`: {problem}")))
    }
}

pub(in crate::scenario) type Period = Text<Span>;
pub(super) type Speed = Text<Rate>;

/// Reads a scheme and makes sure that it and its queue can be built; it is one of those that are
/// built in.
///
/// # Errors
/// Text that is no scheme, an unknown name or parameter, a value that does not fit.
pub fn check_scheme(text: &str) -> Result<SchemeSpec, SpecError> {
    Names::default().check_scheme(text)
}

/// Reads the router of a link, as files name it: `auto` for the one that its flows bring, `none`, or
/// a built-in scheme with a router half.
///
/// # Errors
/// What is wrong with it, in words.
pub fn check_router(text: &str) -> Result<RouterChoice, String> {
    router(text, &Names::default())
}

/// A queue that exists, with parameters that fit.
pub(super) fn queue(text: &str, names: &Names) -> Result<QueueChoice, SpecError> {
    let spec = Spec::parse(text)?;
    names.check_queue(&spec)?;
    Ok(spec.into())
}

/// `auto`, `none`, or a scheme with a router half.
pub(super) fn router(text: &str, names: &Names) -> Result<RouterChoice, String> {
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
