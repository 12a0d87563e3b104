//! What this module knows of other modules' tables: `auth_users`. It is read after an event of `auth` only, so it exists then, although this module does not
//! require `auth`.

/// The condition that the user `$2` of the tenant `$1` exists. The deletion of a user may be undone before its event arrives.
pub(crate) const USER_EXISTS: &str =
    "exists (select from auth_users u where u.tenant_id = $1 and u.id = $2 and u.deleted_at is null)";
