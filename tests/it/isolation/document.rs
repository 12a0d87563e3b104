//! The ids that requests take, from the API document: each is a target of the matrix, or is listed here with its reason.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::call::{Call, Place};
use crate::endpoints::Setting;
use crate::fixture::Fixture;

/// Ids that are not targets: endpoint, name, reason.
const NO_TARGETS: &[(&str, &str, &str)] = &[
    ("GET /auth/users/consents", "id", OF_USER),
    ("GET /auth/users/consents", "ids", OF_USER),
    ("GET /auth/profile/consents", "id", OF_CALLER),
    ("GET /auth/profile/consents", "ids", OF_CALLER),
    ("GET /audit_logs/audit-logs/access", "id", READS),
    ("GET /audit_logs/audit-logs/access", "ids", READS),
    ("GET /progress/jobs/{id}/items", "id", OF_JOB),
    ("GET /progress/jobs/{id}/items", "ids", OF_JOB),
    ("POST /customers/deals/bulk-update-owner", "ids", ITEMS),
    ("POST /customers/deals/bulk-update-stage", "ids", ITEMS),
    ("POST /attachments/library/bulk-delete", "ids", ITEMS),
    ("POST /catalog/bulk-delete", "ids", ITEMS),
    ("POST /dispatch/assignments/bulk-update", "ids", ITEMS),
    (
        "POST /catalog/bulk-delete",
        "filter.categoryIds",
        "a filter that matches nothing starts an empty job",
    ),
    ("POST /catalog/products", "prices[].organizationId", PART),
    ("POST /catalog/products", "prices[].productId", PART),
    ("POST /catalog/products", "variants[].organizationId", PART),
    ("POST /catalog/products", "variants[].productId", PART),
    ("POST /calendar/availability-windows", "resourceId", ANY_RESOURCE),
    ("PUT /calendar/availability-windows/{id}", "resourceId", ANY_RESOURCE),
    ("POST /calendar/availability-series", "resourceId", ANY_RESOURCE),
    ("PUT /calendar/availability-series/{id}", "resourceId", ANY_RESOURCE),
    ("POST /calendar/feeds", "resourceIds", ANY_RESOURCE),
    ("POST /calendar/feeds", "jobSiteIds", ANY_RESOURCE),
    (
        "PUT /auth/sidebar/preferences",
        "scope.roleId",
        "read only with the type `role`: the test below sends it",
    ),
];

const ANY_RESOURCE: &str = "resources of calendars need not exist: the id is stored and looked up nowhere";
const OF_USER: &str = "consents are read through their user, who is a target";
const OF_CALLER: &str = "only the caller's own consents are read";
const READS: &str = "the fixture knows no ids of entries of the access log";
const OF_JOB: &str = "items are read through their job, which is a target";
const ITEMS: &str = "the job checks each id: an unknown one is a failed item";
const PART: &str = "not read: a part is created with its product, in its organization";

#[actix_web::test]
async fn every_id_that_a_request_takes_is_a_target() {
    let setting = Setting::new(Fixture::new().await).await;
    let document = &setting.document;
    let (mut missing, mut unused): (Vec<String>, BTreeSet<usize>) = (Vec::new(), (0..NO_TARGETS.len()).collect());

    for (info, entry) in setting.private() {
        let endpoint = format!("{} {}", info.method, info.path);
        let operation = setting.operation(&info);
        // `tenants::parameter` names another tenant in every request.
        for name in ids(document, operation).into_iter().filter(|name| name != "tenantId") {
            if entry.targets.iter().any(|target| names(target.place, &name)) {
                continue;
            }
            let exempt = NO_TARGETS
                .iter()
                .position(|(path, own, _)| *path == endpoint && *own == name);
            match exempt {
                Some(exempt) => {
                    unused.remove(&exempt);
                }
                None => missing.push(format!("{endpoint}: {name}")),
            }
        }
    }

    assert!(missing.is_empty(), "ids without a target: {missing:#?}");
    assert!(
        unused.is_empty(),
        "exemptions of ids that are targets or do not exist: {unused:?}"
    );
}

#[actix_web::test]
async fn a_sidebar_of_another_tenants_role_is_unknown() {
    let setting = Setting::new(Fixture::new().await).await;
    let (app, caller) = (&setting.fixture.app, &setting.fixture.b.tenant_admin.token);
    let put = async |role: Uuid| {
        let body = json!({"groupOrder": ["auth"], "scope": {"type": "role", "roleId": role}});
        let response = Call::put("/auth/sidebar/preferences", body).send(app, caller).await;
        (response.status, response.text().replace(&role.to_string(), "<role>"))
    };

    let (foreign, unknown) = (put(setting.fixture.a.role).await, put(Uuid::from_u128(42)).await);
    let (own, _) = put(setting.fixture.b.role).await;

    assert_eq!(foreign, unknown);
    assert!(foreign.0 >= 400 && own == 200, "{foreign:?} {own}");
}

fn names(place: Place, name: &str) -> bool {
    match place {
        Place::Query(own) | Place::QueryList(own) | Place::Body(own) | Place::BodyList(own) => own == name,
        Place::Path | Place::Inner => name.starts_with('{'),
    }
}

/// Returns the names of the ids of an operation: parameters, `{id}` of the path, and fields of the body by their paths.
fn ids(document: &Value, operation: &Value) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap_or_default();
        let name = if parameter["in"] == "path" {
            format!("{{{name}}}")
        } else {
            name.to_owned()
        };
        if is_id(document, &parameter["schema"]) {
            ids.insert(name);
        }
    }
    let content = operation["requestBody"]["content"].as_object().into_iter().flatten();
    for (_, media) in content {
        walk(document, &media["schema"], "", &mut ids);
    }
    ids
}

/// Follows a reference of the document.
fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    let path = schema["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
    path.and_then(|path| document.pointer(path)).unwrap_or(schema)
}

/// Returns whether the values of a schema are ids, or texts that contain ids.
fn is_id(document: &Value, schema: &Value) -> bool {
    let schema = resolved(document, schema);
    let has_pattern = schema["pattern"]
        .as_str()
        .is_some_and(|pattern| pattern.contains("[0-9a-fA-F]{12}"));
    let any = ["anyOf", "oneOf"]
        .iter()
        .flat_map(|one| schema[*one].as_array().into_iter().flatten());
    schema["format"] == "uuid" || has_pattern || any.into_iter().any(|one| is_id(document, one))
}

fn walk(document: &Value, schema: &Value, path: &str, ids: &mut BTreeSet<String>) {
    let schema = resolved(document, schema);
    if !path.is_empty() && is_id(document, schema) {
        ids.insert(path.trim_end_matches("[]").to_owned());
        return;
    }
    for one in ["anyOf", "oneOf", "allOf"]
        .iter()
        .flat_map(|one| schema[*one].as_array().into_iter().flatten())
    {
        walk(document, one, path, ids);
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        walk(document, field, &path, ids);
    }
    if schema["items"].is_object() {
        walk(document, &schema["items"], &format!("{path}[]"), ids);
    }
}
