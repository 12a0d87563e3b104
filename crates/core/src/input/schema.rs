//! Schemas of texts for the API document: what the rules of [`rules`](super::rules) accept. White space around a text is trimmed before its
//! length is checked.

use utoipa::openapi::ObjectBuilder;
use utoipa::openapi::schema::Type;

/// White space, which is trimmed.
pub const SPACE: &str = r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*";
/// A character of a line.
pub const LINE_CHARACTER: &str = r"[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]";
/// A character of a line that is not white space.
pub const VISIBLE_CHARACTER: &str = r"[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028-\u202f\u205f\u2066-\u2069\u3000]";

/// Declares types that stand for texts in the API document: `Name: schema::line(200);`.
#[macro_export]
macro_rules! text_schemas {
    ($($(#[$about:meta])* $name:ident: $schema:expr;)*) => {$(
        $(#[$about])*
        pub(crate) enum $name {}

        impl ::utoipa::PartialSchema for $name {
            fn schema() -> ::utoipa::openapi::RefOr<::utoipa::openapi::Schema> {
                $schema.build().into()
            }
        }

        impl ::utoipa::ToSchema for $name {}
    )*};
}

/// Returns the schema of a text with this pattern.
#[must_use]
pub fn pattern(about: &str, pattern: String) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(about))
        .pattern(Some(pattern))
}

/// Returns the schema of a text of this form that is not blank, of at most `max` characters.
#[must_use]
pub fn text(about: &str, form: &str, max: usize) -> ObjectBuilder {
    pattern(about, format!("^{SPACE}{form}{SPACE}$"))
        .min_length(Some(1))
        .max_length(Some(max))
}

/// Returns the schema of a text of this form, or a blank one.
#[must_use]
pub fn optional(about: &str, form: &str) -> ObjectBuilder {
    let about = format!("{about} A blank text is treated as null.");
    pattern(&about, format!("^{SPACE}({form}{SPACE})?$"))
}

/// Returns the schema of what [`rules::line`](super::rules::line) accepts.
#[must_use]
pub fn line(max: usize) -> ObjectBuilder {
    let about = format!("1 to {max} characters, not blank, without control characters.");
    text(&about, &format!("{LINE_CHARACTER}*{VISIBLE_CHARACTER}"), max)
}

/// Returns the schema of an optional line: a blank text is treated as null.
#[must_use]
pub fn optional_line(max: usize) -> ObjectBuilder {
    let about = format!("At most {max} characters, without control characters.");
    optional(&about, &format!("{LINE_CHARACTER}*{VISIBLE_CHARACTER}")).max_length(Some(max))
}

/// Returns the schema of a list of these words, joined by commas.
#[must_use]
pub fn joined_words(about: &str, words: &[&str]) -> ObjectBuilder {
    let word = words.join("|");
    pattern(about, format!("^ *({word})?( *, *({word})?)* *$"))
}

/// Returns the schema of one of these words.
#[must_use]
pub fn words(words: impl IntoIterator<Item = &'static str>) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words))
}
