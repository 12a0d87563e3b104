//! Schemas of the texts that clients send, for the API document. They describe what [`Rules`](crate::values::Rules) accepts. White space
//! around a text is trimmed before its length is checked.

use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// White space, which is trimmed.
const SPACE: &str = r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*";
/// A character inside a name.
const INNER: &str = r"[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]";
/// A character inside a name, without white space.
const VISIBLE: &str = r"[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028-\u202f\u205f\u2066-\u2069\u3000]";
/// A character of a web address after the host.
const OF_PATH: &str = r#"[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"<>\\]"#;

/// A name of 1 to 200 characters.
pub(crate) enum CustomerName {}

/// A name of 1 to 120 characters.
pub(crate) enum CustomerPersonName {}

/// A currency; a blank text is treated as null.
pub(crate) enum CustomerCurrency {}

/// A color; a blank text is treated as null.
pub(crate) enum CustomerColor {}

/// A web address; a blank text is treated as null.
pub(crate) enum CustomerWebAddress {}

fn text(about: &str, pattern: String) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(about))
        .pattern(Some(pattern))
}

/// Returns the schema of the names that [`Rules::name`](crate::values::Rules::name) accepts.
fn name(most: usize) -> RefOr<Schema> {
    let about = format!("1 to {most} characters, not blank, without control characters.");
    let name = text(&about, format!("^{SPACE}{INNER}*{VISIBLE}{SPACE}$"));
    name.min_length(Some(1)).max_length(Some(most)).build().into()
}

impl PartialSchema for CustomerName {
    fn schema() -> RefOr<Schema> {
        name(200)
    }
}

impl ToSchema for CustomerName {}

impl PartialSchema for CustomerPersonName {
    fn schema() -> RefOr<Schema> {
        name(120)
    }
}

impl ToSchema for CustomerPersonName {}

impl PartialSchema for CustomerCurrency {
    fn schema() -> RefOr<Schema> {
        let about = "Three letters. A blank text counts as null.";
        let code = text(about, format!("^{SPACE}([A-Za-z]{{3}}{SPACE})?$"));
        code.examples([serde_json::json!("EUR")]).build().into()
    }
}

impl ToSchema for CustomerCurrency {}

impl PartialSchema for CustomerColor {
    fn schema() -> RefOr<Schema> {
        let about = "`#rrggbb`. A blank text counts as null.";
        let color = text(about, format!("^{SPACE}(#[0-9A-Fa-f]{{6}}{SPACE})?$"));
        color.examples([serde_json::json!("#22c55e")]).build().into()
    }
}

impl ToSchema for CustomerColor {}

impl PartialSchema for CustomerWebAddress {
    fn schema() -> RefOr<Schema> {
        let label = "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?";
        let last = "[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?";
        let address = format!("[Hh][Tt][Tt][Pp][Ss]?://({label}\\.)*{last}(:[0-9]{{1,4}})?([/?#]{OF_PATH}*)?");
        let about = "An http or https address. A blank text counts as null. The pattern describes hosts by name; \
                     user names, IP addresses, names with letters beyond ASCII and ports of five digits are taken too.";
        let address = text(about, format!("^{SPACE}({address}{SPACE})?$"));
        address.max_length(Some(300)).build().into()
    }
}

impl ToSchema for CustomerWebAddress {}
