//! Schemas of the texts that clients send. The types have no values: they describe fields that are read as strings.

use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// White space, which is trimmed at both ends of a name: the inside of a class of characters.
const BLANK: &str = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000";

/// A character of a name.
const ALLOWED: &str = r"[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]";

/// A character of a name that is not white space.
const VISIBLE: &str = r"[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028-\u202f\u205f\u2066-\u2069\u3000]";

/// Returns the pattern of a name between the white space that is trimmed, with a length of 1 to `longest` characters.
fn trimmed_name(longest: usize) -> String {
    let between = longest - 2;
    format!("{VISIBLE}({ALLOWED}{{0,{between}}}{VISIBLE})?")
}

fn text(pattern: String) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern))
}

/// An e-mail address in the form of HTML's `input type=email`.
#[derive(Debug)]
pub(super) struct AccountEmail;

impl PartialSchema for AccountEmail {
    fn schema() -> RefOr<Schema> {
        let label = "[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
        text(format!(r"^[a-zA-Z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{label}(\.{label})*$"))
            .max_length(Some(crate::email::MAX_LENGTH))
            .examples(["ann@example.com"])
            .build()
            .into()
    }
}

impl ToSchema for AccountEmail {}

/// The name of a user or of a sidebar variant: at most 120 characters; a blank one counts as none.
#[derive(Debug)]
pub(super) struct NameOrBlank;

impl PartialSchema for NameOrBlank {
    fn schema() -> RefOr<Schema> {
        let name = trimmed_name(120);
        text(format!("^[{BLANK}]*({name})?[{BLANK}]*$")).build().into()
    }
}

impl ToSchema for NameOrBlank {}

/// The name of a sidebar variant: 1 to 120 characters.
#[derive(Debug)]
pub(super) struct SidebarName;

impl PartialSchema for SidebarName {
    fn schema() -> RefOr<Schema> {
        let name = trimmed_name(120);
        text(format!("^[{BLANK}]*{name}[{BLANK}]*$")).build().into()
    }
}

impl ToSchema for SidebarName {}

/// The name of a role: 1 to 100 characters.
#[derive(Debug)]
pub(super) struct RoleName;

impl PartialSchema for RoleName {
    fn schema() -> RefOr<Schema> {
        let name = trimmed_name(100);
        text(format!("^[{BLANK}]*{name}[{BLANK}]*$")).build().into()
    }
}

impl ToSchema for RoleName {}

/// At most 20 names joined by commas; blank ones do not count.
#[derive(Debug)]
pub(super) struct RoleNames;

impl PartialSchema for RoleNames {
    fn schema() -> RefOr<Schema> {
        let (gap, name) = (format!("[,{BLANK}]*"), format!("[^,{BLANK}][^,]*"));
        text(format!("^{gap}({name}(,{gap}{name}){{0,19}}(,{gap})?)?$"))
            .build()
            .into()
    }
}

impl ToSchema for RoleNames {}
