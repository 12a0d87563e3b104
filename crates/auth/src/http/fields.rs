//! Schemas of the texts that clients send.

use backoffice_core::input::schema::{LINE_CHARACTER, SPACE, VISIBLE_CHARACTER, pattern};
use backoffice_core::text_schemas;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::email;

/// The schema of an e-mail address in the form of HTML's `input type=email`.
#[derive(Debug)]
pub enum AccountEmail {}

impl PartialSchema for AccountEmail {
    fn schema() -> RefOr<Schema> {
        account_email().build().into()
    }
}

impl ToSchema for AccountEmail {}

text_schemas! {
    /// The name of a user or of a sidebar variant: at most 120 characters; a blank one counts as none.
    NameOrBlank: pattern("At most 120 characters; a blank text is treated as null.", format!("^{SPACE}({})?{SPACE}$", name(120)));
    /// The name of a sidebar variant.
    SidebarName: pattern("1 to 120 characters.", format!("^{SPACE}{}{SPACE}$", name(120)));
    /// The name of a role.
    RoleName: pattern("1 to 100 characters.", format!("^{SPACE}{}{SPACE}$", name(100)));
    /// At most 20 names joined by commas; blank ones do not count.
    RoleNames: role_names();
}

fn account_email() -> ObjectBuilder {
    let label = "[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
    let form = format!(r"^[a-zA-Z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{label}(\.{label})*$");
    pattern("An e-mail address.", form)
        .max_length(Some(email::MAX_LENGTH))
        .examples(["ann@example.com"])
}

/// Returns the pattern of a name between the white space that is trimmed, with a length of 1 to `longest` characters.
fn name(longest: usize) -> String {
    let between = longest - 2;
    format!("{VISIBLE_CHARACTER}({LINE_CHARACTER}{{0,{between}}}{VISIBLE_CHARACTER})?")
}

fn role_names() -> ObjectBuilder {
    let blank = SPACE.trim_start_matches('[').trim_end_matches("]*");
    let (gap, name) = (format!("[,{blank}]*"), format!("[^,{blank}][^,]*"));
    let about = "At most 20 names joined by commas.";
    pattern(about, format!("^{gap}({name}(,{gap}{name}){{0,19}}(,{gap})?)?$"))
}
