//! JSON values whose objects keep the order of their fields, which becomes the order of tables'
//! columns.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A value of JSON.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Whole(u64),
    Number(f64),
    Text(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    /// Returns a field of an object.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.fields().iter().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    /// Returns the fields of an object; empty for other values.
    pub(crate) fn fields(&self) -> &[(String, Value)] {
        match self {
            Value::Object(fields) => fields,
            _ => &[],
        }
    }

    /// Returns a number, whole or not.
    pub(crate) fn number(&self) -> Option<f64> {
        match *self {
            Value::Whole(number) => Some(number as f64),
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Returns the elements of a list.
    pub(crate) fn elements(&self) -> Option<&[Value]> {
        match self {
            Value::List(elements) => Some(elements),
            _ => None,
        }
    }
}

/// Writes values other than text as JSON, and objects within lists by their values.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(value) => value.fmt(f),
            Value::Whole(value) => value.fmt(f),
            Value::Number(value) => value.fmt(f),
            Value::Text(value) => f.write_str(value),
            Value::List(values) => {
                let words: Vec<String> = values.iter().map(Value::to_string).collect();
                f.write_str(&words.join(": "))
            }
            Value::Object(fields) => {
                let word = |(name, value): &(String, Value)| format!("{name}: {value}");
                f.write_str(&fields.iter().map(word).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Whole(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(u64::try_from(value).map_or(Value::Number(value as f64), Value::Whole))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_string()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = object.next_entry()? {
            fields.push(field);
        }
        Ok(Value::Object(fields))
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
        from.deserialize_any(ValueVisitor)
    }
}
