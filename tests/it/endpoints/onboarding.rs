//! The entries of `onboarding`. Its endpoints are public and take tokens, not ids.

use actix_web::http::Method;
use serde_json::json;

use super::Entry;
use super::table::entry;
use crate::call::Call;
use crate::fixture::PASSWORD;
use crate::onboarding::Link;

const SUBMIT: &str = "/onboarding/onboarding";
const STATUS: &str = "/onboarding/onboarding/status";
const VERIFY: &str = "/onboarding/onboarding/verify";
const RESEND: &str = "/onboarding/onboarding/resend";

pub(crate) fn table() -> Vec<Entry> {
    vec![
        entry(Method::POST, SUBMIT, [], |_, _| {
            Call::post(
                SUBMIT,
                json!({"email": "new@example.com", "firstName": "Ann", "lastName": "Lee", "organizationName": "New",
                    "password": PASSWORD, "confirmPassword": PASSWORD, "termsAccepted": true, "marketingConsent": false, "locale": "en"}),
            )
        }),
        entry(Method::GET, STATUS, [], |tenant_fixture, _| {
            Call::get(STATUS).with_query("statusToken", &Link::Status.token(tenant_fixture))
        }),
        entry(Method::GET, VERIFY, [], |tenant_fixture, _| {
            let call = Call::get(VERIFY).with_query("token", &Link::Direct.token(tenant_fixture));
            call.accepting("application/json")
        }),
        entry(Method::POST, VERIFY, [], |tenant_fixture, _| {
            Call::post(
                VERIFY,
                json!({"token": Link::WithPassword.token(tenant_fixture), "password": PASSWORD}),
            )
        }),
        entry(Method::POST, RESEND, [], |tenant_fixture, _| {
            Call::post(RESEND, json!({"statusToken": Link::Status.token(tenant_fixture)}))
        }),
    ]
}
