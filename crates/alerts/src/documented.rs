//! Schemas of values for the API document.

use backoffice_calendar::ResourceType;
use backoffice_core::input::schema;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{KnownFormat, ObjectBuilder, SchemaFormat};

use crate::kinds::{Kind, Urgency};

backoffice_core::text_schemas! {
    /// Type of a subject.
    AlertSubjectType: schema::words(ResourceType::WORDS);
    /// Kind of an alert.
    AlertKind: schema::words(Kind::ALL.map(Kind::as_str));
    /// Kinds of alerts, joined by commas.
    AlertKinds: schema::joined_words("Kinds of alerts, joined by commas.", &Kind::ALL.map(Kind::as_str));
    /// Urgency of an alert.
    AlertUrgency: schema::words(Urgency::ALL.map(Urgency::as_str));
    /// Urgencies, joined by commas.
    AlertUrgencies: schema::joined_words("Urgencies, joined by commas.", &Urgency::ALL.map(Urgency::as_str));
    /// Numbers of alerts by kind.
    AlertsByKind: counts(&Kind::ALL.map(Kind::as_str));
    /// Numbers of alerts by urgency.
    AlertsByUrgency: counts(&Urgency::ALL.map(Urgency::as_str));
}

/// Returns the schema of an object with a number for each of these words.
fn counts(words: &[&str]) -> ObjectBuilder {
    words.iter().fold(ObjectBuilder::new(), |object, word| {
        let count = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)));
        object.property(*word, count).required(*word)
    })
}
