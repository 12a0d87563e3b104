//! The entries of `access`. Its users are the accounts of the fixture.

use actix_web::http::Method;
use serde_json::json;

use super::table::{at, entry};
use super::{Entry, Kind, Target};
use crate::call::{Call, Place};

const USERS: &str = "/access/users";

/// The id in the path. It is exempt from the check of malformed ids: they are unknown.
const ONE: Target = Target {
    strict: false,
    ..at(Place::Path, Kind::User)
};
const INVITED: Target = Target {
    strict: false,
    ..at(Place::Path, Kind::Invited)
};

pub(crate) fn table() -> Vec<Entry> {
    vec![
        entry(Method::GET, USERS, [at(Place::QueryList("ids"), Kind::User)], |_, _| {
            Call::get(USERS)
                .with_query("role", "none")
                .with_query("status", "active")
        }),
        entry(Method::GET, "/access/users/{id}", [ONE], |tenant, _| {
            Call::get(&format!("{USERS}/{}", tenant.colleague.id))
        }),
        entry(Method::POST, USERS, [], |_, _| {
            Call::post(
                USERS,
                json!({"email": "invited@house.test", "name": "New", "role": "viewer"}),
            )
        }),
        entry(
            Method::POST,
            "/access/users/{id}/resend-invite",
            [INVITED],
            |tenant, _| Call::new(Method::POST, &format!("{USERS}/{}/resend-invite", tenant.invited)),
        ),
        entry(Method::PUT, "/access/users/{id}", [ONE], |tenant, _| {
            Call::put(&format!("{USERS}/{}", tenant.colleague.id), json!({"role": "viewer"}))
        }),
        entry(Method::DELETE, "/access/users/{id}", [INVITED], |tenant, _| {
            Call::new(Method::DELETE, &format!("{USERS}/{}", tenant.invited))
        }),
        entry(Method::POST, "/access/users/{id}/reactivate", [INVITED], |tenant, _| {
            Call::new(Method::POST, &format!("{USERS}/{}/reactivate", tenant.invited))
        }),
    ]
}
