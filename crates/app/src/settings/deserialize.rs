//! Nodes → settings, through serde, with the line and the path of whatever goes wrong.

use std::vec::IntoIter;

use serde::{
    Deserializer, de,
    de::{
        DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor,
        value::MapAccessDeserializer,
    },
    forward_to_deserialize_any,
};
use serde_json::{Number, Value};

use super::{
    node::{ConfigKey, ConfigNode, NodeContent},
    problem::{ConfigProblem, PathStep},
};

impl<'de> Deserializer<'de> for ConfigNode {
    type Error = ConfigProblem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigProblem> {
        let line = self.line;
        let read = match self.content {
            NodeContent::Null => visitor.visit_unit(),
            NodeContent::Bool(value) => visitor.visit_bool(value),
            NodeContent::Number(number) => visit_number(number, visitor),
            NodeContent::Text(text) => visitor.visit_string(text),
            NodeContent::List(items) => {
                visitor.visit_seq(ListAccess { items: items.into_iter(), index: 0 })
            }
            NodeContent::Table(entries) => visitor.visit_map(TableAccess::of(entries)),
        };
        read.map_err(|problem| problem.at(line))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigProblem> {
        match &self.content {
            NodeContent::Number(number) if number.as_f64().is_some() => {
                visitor.visit_f64(number.as_f64().unwrap_or_default())
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigProblem> {
        match self.content {
            NodeContent::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ConfigProblem> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ConfigProblem> {
        let line = self.line;
        let read = match self.content {
            NodeContent::Text(text) => visitor.visit_enum(text.into_deserializer()),
            NodeContent::Table(entries) => {
                visitor.visit_enum(MapAccessDeserializer::new(TableAccess::of(entries)))
            }
            _ => return self.deserialize_any(visitor),
        };
        read.map_err(|problem: ConfigProblem| problem.at(line))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// Passes a number on so that a JSON value keeps its digits and a setting gets its plain type.
fn visit_number<'de, V: Visitor<'de>>(
    number: Number,
    visitor: V,
) -> Result<V::Value, ConfigProblem> {
    if let Some(value) = number.as_u64() {
        visitor.visit_u64(value)
    } else if let Some(value) = number.as_i64() {
        visitor.visit_i64(value)
    } else if let Some(value) = plain_float(&number) {
        visitor.visit_f64(value)
    } else {
        // Knows how to pass digits on that no plain type can hold.
        Value::Number(number).deserialize_any(visitor).map_err(de::Error::custom)
    }
}

/// The number as a float, if that is written with the same digits.
fn plain_float(number: &Number) -> Option<f64> {
    let float = number.as_f64()?;
    (Number::from_f64(float)?.to_string() == number.to_string()).then_some(float)
}

struct ListAccess {
    items: IntoIter<ConfigNode>,
    index: usize,
}

impl<'de> SeqAccess<'de> for ListAccess {
    type Error = ConfigProblem;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ConfigProblem> {
        let Some(item) = self.items.next() else {
            return Ok(None);
        };
        let (step, line) = (PathStep::item(self.index, &item), item.line);
        self.index += 1;
        seed.deserialize(item).map(Some).map_err(|problem| problem.at(line).inside(step))
    }
}

struct TableAccess {
    entries: IntoIter<(ConfigKey, ConfigNode)>,
    value: Option<(ConfigKey, ConfigNode)>,
}

impl TableAccess {
    fn of(entries: Vec<(ConfigKey, ConfigNode)>) -> Self {
        Self { entries: entries.into_iter(), value: None }
    }
}

impl<'de> MapAccess<'de> for TableAccess {
    type Error = ConfigProblem;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ConfigProblem> {
        let Some((key, node)) = self.entries.next() else {
            return Ok(None);
        };
        let (name, line) = (key.name.clone(), key.line);
        self.value = Some((key, node));
        seed.deserialize(name.into_deserializer())
            .map(Some)
            .map_err(|problem: ConfigProblem| problem.at(line))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, ConfigProblem> {
        let (key, node) = self
            .value
            .take()
            .ok_or_else(|| ConfigProblem::new("a value was read before its key"))?;
        let line = node.line;
        seed.deserialize(node).map_err(|problem| problem.at(line).inside(PathStep::key(&key.name)))
    }
}
