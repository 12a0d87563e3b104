//! Schemas of the texts that clients send, for the API document.

use backoffice_core::input::schema;
use backoffice_core::text_schemas;
use serde_json::json;
use utoipa::openapi::ObjectBuilder;

/// A character of a web address after the host.
const OF_PATH: &str = r#"[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"<>\\]"#;

text_schemas! {
    /// A name of 1 to 200 characters.
    CustomerName: schema::line(200);
    /// A name of 1 to 120 characters.
    CustomerPersonName: schema::line(120);
    /// A currency; a blank text is treated as null.
    CustomerCurrency: schema::optional("Three letters.", "[A-Za-z]{3}").examples([json!("EUR")]);
    /// A color; a blank text is treated as null.
    CustomerColor: schema::optional("`#rrggbb`.", "#[0-9A-Fa-f]{6}").examples([json!("#22c55e")]);
    /// A web address; a blank text is treated as null.
    CustomerWebAddress: web_address();
}

fn web_address() -> ObjectBuilder {
    let label = "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?";
    let last = "[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?";
    let address = format!("[Hh][Tt][Tt][Pp][Ss]?://({label}\\.)*{last}(:[0-9]{{1,4}})?([/?#]{OF_PATH}*)?");
    let about = "An http or https address. The pattern describes hosts by name; \
                 user names, IP addresses, names with letters beyond ASCII and ports of five digits are taken too.";
    schema::optional(about, &address).max_length(Some(300))
}
