//! JSON text that is sent unchanged from the database.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{self, Serialize, SerializeMap, SerializeSeq, Serializer};
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// A JSON text from the database. It is serialized into a response token by token: a tree of values would take many times its size in memory.
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
        Tokens::new(&mut text).serialize(serializer)
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
struct Tokens<D>(RefCell<Option<D>>);

impl<D> Tokens<D> {
    fn new(deserializer: D) -> Self {
        Self(RefCell::new(Some(deserializer)))
    }
}

impl<'de, D: Deserializer<'de>> Serialize for Tokens<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let source = self.0.borrow_mut().take();
        let source = source.ok_or_else(|| ser::Error::custom("tokens are read once"))?;
        source.deserialize_any(Writer(serializer)).map_err(ser::Error::custom)
    }
}

/// Serializes each visited value.
struct Writer<S>(S);

macro_rules! written {
    ($($visit:ident $serialize:ident $kind:ty;)*) => {$(
        fn $visit<E: de::Error>(self, value: $kind) -> Result<S::Ok, E> {
            self.0.$serialize(value).map_err(E::custom)
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
        self.0.serialize_unit().map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut source: A) -> Result<S::Ok, A::Error> {
        let mut list = self.0.serialize_seq(None).map_err(de::Error::custom)?;
        while source.next_element_seed(Element(&mut list))?.is_some() {}
        list.end().map_err(de::Error::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut source: A) -> Result<S::Ok, A::Error> {
        let mut object = self.0.serialize_map(None).map_err(de::Error::custom)?;
        while let Some(name) = source.next_key::<Cow<'_, str>>()? {
            object.serialize_key(&name).map_err(de::Error::custom)?;
            source.next_value_seed(Field(&mut object))?;
        }
        object.end().map_err(de::Error::custom)
    }
}

/// The next element of a list.
struct Element<'a, S>(&'a mut S);

impl<'de, S: SerializeSeq> DeserializeSeed<'de> for Element<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        self.0
            .serialize_element(&Tokens::new(source))
            .map_err(de::Error::custom)
    }
}

/// The value after a key.
struct Field<'a, S>(&'a mut S);

impl<'de, S: SerializeMap> DeserializeSeed<'de> for Field<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        self.0.serialize_value(&Tokens::new(source)).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_text_is_written_as_the_value_that_it_is() {
        let value = json!({"a": [1, -2, 2.5, 1e300, true, null, "\u{1}\"ä"], "b": {"c": [], "d": {}}, "": ""});
        let spaced = serde_json::to_string_pretty(&value).expect("JSON");

        let written = serde_json::to_string(&StoredJson::from_text(spaced)).expect("JSON");

        assert_eq!(serde_json::from_str::<Value>(&written).expect("JSON"), value);
        assert_eq!(written, value.to_string());
    }

    #[test]
    fn a_text_that_is_no_json_is_an_error() {
        assert!(serde_json::to_string(&StoredJson::from_text("{".to_owned())).is_err());
    }
}
