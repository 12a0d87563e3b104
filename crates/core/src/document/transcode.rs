//! JSON text that is sent unchanged from the database.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{self, Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::error::Result;

/// Deepest nesting that is sent of a document. Lists and objects below it are sent as null: the parser reads 127 levels, and a document that it can't
/// read would cost the whole response. Documents of clients have far fewer levels, except those that earlier releases have stored.
const DEEPEST_SENT: usize = 100;

/// Parses a JSON text from the database as far as it is sent: lists and objects that are nested too deeply are null.
///
/// # Errors
/// When the text is not JSON.
pub fn parse_stored(text: &str) -> Result<Value> {
    let mut text = serde_json::Deserializer::from_str(text);
    Ok(serde_json::to_value(Tokens::new(&mut text, DEEPEST_SENT))?)
}

/// A JSON text from the database. It is serialized into a response token by token: a tree of values would take many times its size in memory. Lists and
/// objects that are nested too deeply are null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredJson(String);

impl StoredJson {
    /// Wraps the text of a `json` or `jsonb` column.
    #[must_use]
    pub fn from_text(text: String) -> Self {
        Self(text)
    }

    /// Returns the length of the text in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.len()
    }
}

impl Serialize for StoredJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = serde_json::Deserializer::from_str(&self.0);
        Tokens::new(&mut text, DEEPEST_SENT).serialize(serializer)
    }
}

impl PartialSchema for StoredJson {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(SchemaType::Type(Type::Object))
            .build()
            .into()
    }
}

impl ToSchema for StoredJson {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("StoredJson")
    }
}

/// Serializes the output of a deserializer, once.
struct Tokens<D> {
    source: RefCell<Option<D>>,
    /// Levels of lists and objects that are sent.
    levels: usize,
}

impl<D> Tokens<D> {
    fn new(deserializer: D, levels: usize) -> Self {
        Self {
            source: RefCell::new(Some(deserializer)),
            levels,
        }
    }
}

impl<'de, D: Deserializer<'de>> Serialize for Tokens<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let source = self.source.borrow_mut().take();
        let source = source.ok_or_else(|| ser::Error::custom("tokens are read once"))?;
        let writer = Writer {
            serializer,
            levels: self.levels,
        };
        source.deserialize_any(writer).map_err(ser::Error::custom)
    }
}

/// Serializes each visited value.
struct Writer<S> {
    serializer: S,
    /// Levels of lists and objects that are sent.
    levels: usize,
}

macro_rules! written {
    ($($visit:ident $serialize:ident $kind:ty;)*) => {$(
        fn $visit<E: de::Error>(self, value: $kind) -> Result<S::Ok, E> {
            self.serializer.$serialize(value).map_err(E::custom)
        }
    )*};
}

impl<'de, S: Serializer> Visitor<'de> for Writer<S> {
    type Value = S::Ok;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    written! {
        visit_bool serialize_bool bool;
        visit_i64 serialize_i64 i64;
        visit_u64 serialize_u64 u64;
        visit_f64 serialize_f64 f64;
        visit_str serialize_str &str;
    }

    fn visit_unit<E: de::Error>(self) -> Result<S::Ok, E> {
        self.serializer.serialize_unit().map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut source: A) -> Result<S::Ok, A::Error> {
        let Some(levels) = self.levels.checked_sub(1) else {
            // Passes over the rest without recursion.
            while source.next_element::<IgnoredAny>()?.is_some() {}
            return self.serializer.serialize_unit().map_err(de::Error::custom);
        };
        let mut list = self.serializer.serialize_seq(None).map_err(de::Error::custom)?;
        while source.next_element_seed(Element(&mut list, levels))?.is_some() {}
        list.end().map_err(de::Error::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut source: A) -> Result<S::Ok, A::Error> {
        let Some(levels) = self.levels.checked_sub(1) else {
            while source.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return self.serializer.serialize_unit().map_err(de::Error::custom);
        };
        let mut object = self.serializer.serialize_map(None).map_err(de::Error::custom)?;
        while let Some(name) = source.next_key::<Cow<'_, str>>()? {
            object.serialize_key(&name).map_err(de::Error::custom)?;
            source.next_value_seed(Field(&mut object, levels))?;
        }
        object.end().map_err(de::Error::custom)
    }
}

/// The next element of a list, with the levels that are sent of it.
struct Element<'a, S>(&'a mut S, usize);

impl<'de, S: SerializeSeq> DeserializeSeed<'de> for Element<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        self.0
            .serialize_element(&Tokens::new(source, self.1))
            .map_err(de::Error::custom)
    }
}

/// The value after a key, with the levels that are sent of it.
struct Field<'a, S>(&'a mut S, usize);

impl<'de, S: SerializeMap> DeserializeSeed<'de> for Field<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        self.0
            .serialize_value(&Tokens::new(source, self.1))
            .map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns a JSON text inside of as many lists and objects as are sent.
    fn at_the_deepest_level(inner: &str) -> String {
        (0..DEEPEST_SENT).fold(inner.to_owned(), |inner, level| match level % 2 {
            0 => format!("[{inner}]"),
            _ => format!("{{\"a\":{inner}}}"),
        })
    }

    #[test]
    fn a_text_is_written_as_the_value_that_it_is() {
        let value = json!({"a": [1, -2, 2.5, 1e300, true, null, "\u{1}\"ä"], "b": {"c": [], "d": {}}, "": ""});
        let spaced = serde_json::to_string_pretty(&value).expect("JSON");

        let written = serde_json::to_string(&StoredJson::from_text(spaced)).expect("JSON");

        assert_eq!(serde_json::from_str::<Value>(&written).expect("JSON"), value);
        assert_eq!(written, value.to_string());
    }

    #[test]
    fn a_text_that_is_not_json_is_an_error() {
        assert!(serde_json::to_string(&StoredJson::from_text("{".to_owned())).is_err());
        assert!(parse_stored("{").is_err());
    }

    #[test]
    fn lists_and_objects_below_the_deepest_level_are_null() {
        let deep = "[".repeat(2000) + &"]".repeat(2000);
        let lists = |levels: usize, inner: &str| "[".repeat(levels) + inner + &"]".repeat(levels);
        for (text, shown) in [
            (at_the_deepest_level("7"), at_the_deepest_level("7")),
            (at_the_deepest_level("[7]"), at_the_deepest_level("null")),
            (at_the_deepest_level("{\"b\":[\"]\",{}]}"), at_the_deepest_level("null")),
            (at_the_deepest_level(&deep), at_the_deepest_level("null")),
            (
                format!("{{\"deep\":[{deep},1],\"last\":true}}"),
                format!("{{\"deep\":[{},1],\"last\":true}}", lists(DEEPEST_SENT - 2, "null")),
            ),
        ] {
            let sent = serde_json::to_string(&StoredJson::from_text(text.clone())).expect("JSON");

            assert_eq!(sent, shown);
            assert_eq!(parse_stored(&text).expect("JSON").to_string(), shown);
        }
    }
}
