//! Every input and every response has a bound, and all errors of an input are reported. Over all endpoints.

mod documents;

use std::collections::BTreeSet;

use backoffice_core::http::EndpointInfo;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bad_input::{ANY_JSON, assert_shape, parameters, send, takes_fields};
use crate::call::Call;
use crate::collections::is_list as is_list_in_pages;
use crate::endpoints::{Entry, Setting, malformed_status};
use crate::fixture::Fixture;

/// Returns as many distinct values as fit into a URL of 64 KiB, where a comma takes three bytes.
fn long_list(value: impl Fn(u32) -> String) -> String {
    let (mut list, mut bytes) = (String::new(), 0);
    for number in 0.. {
        let value = value(number);
        bytes += value.len() + 3;
        if bytes > 60 * 1024 {
            break;
        }
        list.push_str(&value);
        list.push(',');
    }
    list
}

/// Returns whether a parameter is a list: lists are separated by commas, and their description says so. `redirect` may be repeated but is not a list.
fn is_list(parameter: &Value) -> bool {
    let description = parameter["description"].as_str().unwrap_or_default();
    let is_repeated = parameter["schema"]["type"].to_string().contains("array");
    description.contains("comma") || (is_repeated && parameter["name"] != "redirect")
}

#[actix_web::test]
async fn f4_a_list_of_64_kib_is_rejected_by_every_parameter() {
    let setting = Setting::new(Fixture::new().await).await;
    let words = long_list(|number| format!("{number:x}"));
    let ids = long_list(|number| Uuid::from_u128(u128::from(number)).to_string());
    let mut lists = BTreeSet::new();

    for (info, entry) in setting.endpoints() {
        let call = setting.call(&entry);
        for parameter in parameters(&setting, &info, "query") {
            let name = parameter["name"].as_str().expect("a name");
            for list in [&words, &ids] {
                let long = call.clone().with_query(name, list);
                let response = send(&setting, &info, &entry, &long).await;

                assert!(response.status < 500, "{} {name}: {}", info.path, response.text());
                if is_list(&parameter) {
                    assert_eq!(response.status, 400, "{} {name}: {}", info.path, response.text());
                    let details = response.json()["details"].to_string();
                    assert!(details.contains(name), "{} {name}: {details}", info.path);
                    lists.insert((info.path, name.to_owned()));
                }
            }
        }
    }

    for known in [
        ("/catalog/products", "tags"),
        ("/catalog/products", "productType"),
        ("/progress/jobs", "jobType"),
        ("/progress/jobs", "status"),
        ("/audit_logs/audit-logs/actions", "fieldName"),
        ("/audit_logs/audit-logs/actions", "actionType"),
        ("/audit_logs/audit-logs/actions/export", "fieldName"),
        ("/auth/users", "roleIds"),
        ("/events/stream", "names"),
    ] {
        assert!(lists.contains(&(known.0, known.1.to_owned())), "{known:?}: {lists:?}");
    }
}

/// Returns whether a body is a page.
fn is_page(body: &Value) -> bool {
    ["items", "total", "page", "pageSize", "totalPages"]
        .iter()
        .all(|name| body.get(name).is_some())
}

#[actix_web::test]
async fn every_list_takes_id_and_ids() {
    let setting = Setting::new(Fixture::new().await).await;
    let unknown = Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0042);
    let mut without_rows = Vec::new();

    for (info, entry) in setting.endpoints() {
        let call = setting.call(&entry);
        if entry.method != actix_web::http::Method::GET || info.path == "/events/stream" {
            continue;
        }
        let response = send(&setting, &info, &entry, &call).await;
        let body = serde_json::from_str::<Value>(&response.text()).unwrap_or_default();
        assert_eq!(is_page(&body), is_list_in_pages(&setting, &info), "{call}: {body}");
        if !is_page(&body) {
            continue;
        }
        let with = async |name: &str, value: &str| {
            let call = call.clone().with_query(name, value);
            let response = send(&setting, &info, &entry, &call).await;
            assert_shape(&info, &response, &call);
            (response.status, response.json())
        };
        for (name, value) in [
            ("id", unknown.to_string()),
            ("ids", format!("{unknown}, {}", Uuid::max())),
            ("ids", String::new()),
        ] {
            let (status, body) = with(name, &value).await;
            assert_eq!(
                (status, &body["total"], &body["items"]),
                (200, &json!(0), &json!([])),
                "{} {name}",
                info.path
            );
        }
        let many: Vec<String> = (0..201).map(|number| Uuid::from_u128(number).to_string()).collect();
        for (name, value) in [
            ("id", "x".to_owned()),
            ("id", String::new()),
            ("ids", format!("{unknown},x")),
            ("ids", many.join(",")),
        ] {
            let (status, reported) = with(name, &value).await;
            assert_eq!(status, 400, "{} {name}={value:.50}: {reported}", info.path);
            assert_eq!(reported["details"][0]["path"], name, "{}: {reported}", info.path);
        }
        let Some(item) = body["items"].as_array().and_then(|items| items.first()) else {
            without_rows.push(info.path);
            continue;
        };
        // An item of a job has no id of its own, and the contract names that of an alert by another word.
        let id_of = |item: &Value| {
            let names = ["id", "alertId", "resourceId"];
            names.iter().find_map(|name| item[name].as_str().map(str::to_owned))
        };
        let id = id_of(item).expect("an id");
        for name in ["id", "ids"] {
            let (status, found) = with(name, &id).await;
            let found_id = id_of(&found["items"][0]);
            assert_eq!(
                (status, &found["total"], found_id.as_deref()),
                (200, &json!(1), Some(id.as_str())),
                "{} {name}",
                info.path
            );
        }
    }

    assert!(without_rows.is_empty(), "{without_rows:?}");
}

/// Fields that the handler parses and validates in one step.
const BY_HAND: [&str; 4] = ["confirm", "undoToken", "logId", "locale"];

fn reported_paths(body: &Value) -> BTreeSet<String> {
    let details = body["details"].as_array().into_iter().flatten();
    let paths = details.filter_map(|detail| detail["path"].as_str());
    // The name of the outermost field of a path.
    let field = |path: &str| path.split(['.', '[']).next().unwrap_or_default().to_owned();
    paths.map(field).collect()
}

#[actix_web::test]
async fn every_field_of_a_wrong_type_is_reported_at_once() {
    let setting = Setting::new(Fixture::new().await).await;

    for (info, entry) in setting.endpoints() {
        let call = setting.call(&entry);
        if !takes_fields(&entry, &call) || malformed_status(info.path) == 200 {
            continue;
        }
        let fields = call.body.clone().unwrap_or_default();
        let fields = fields.as_object().expect("an object");
        let mut wrong = call.clone();
        let mut expected = BTreeSet::new();
        for (name, valid) in fields {
            if BY_HAND.contains(&name.as_str()) || ANY_JSON.contains(&(info.path, name)) {
                continue;
            }
            let value = if valid.is_object() { json!(7) } else { json!({"a": 1}) };
            wrong = wrong.with_field(name, value);
            expected.insert(name.clone());
        }
        if expected.is_empty() {
            continue;
        }
        let response = send(&setting, &info, &entry, &wrong).await;

        assert_eq!(
            response.status,
            malformed_status(info.path),
            "{wrong}: {}",
            response.text()
        );
        let reported = reported_paths(&response.json());
        assert!(expected.is_subset(&reported), "{wrong}: {reported:?} of {expected:?}");
        assert_shape(&info, &response, &wrong);
    }
}

#[actix_web::test]
async fn every_invalid_parameter_of_a_list_is_reported_at_once() {
    let setting = Setting::new(Fixture::new().await).await;
    let mut lists = 0;

    for (info, entry) in setting.private() {
        if !is_list_in_pages(&setting, &info) {
            continue;
        }
        lists += 1;
        let mut wrong = setting.call(&entry).with_query("page", "0").with_query("pageSize", "x");
        wrong = wrong.with_query("id", "x");
        let mut expected = BTreeSet::from(["page", "pageSize", "id"].map(str::to_owned));
        if parameters(&setting, &info, "query")
            .iter()
            .any(|one| one["name"] == "search")
        {
            wrong = wrong.with_query("search", &"x".repeat(201));
            expected.insert("search".to_owned());
        }
        let response = send(&setting, &info, &entry, &wrong).await;

        assert_eq!(response.status, 400, "{wrong}: {}", response.text());
        let reported = reported_paths(&response.json());
        assert!(expected.is_subset(&reported), "{wrong}: {reported:?} of {expected:?}");
        assert_shape(&info, &response, &wrong);

        // The named tenant is validated before the other parameters.
        wrong = wrong.with_query("tenantId", "zz");
        expected.insert("tenantId".to_owned());
        let response = send(&setting, &info, &entry, &wrong).await;

        assert_eq!(response.status, 400, "{wrong}: {}", response.text());
        let reported = reported_paths(&response.json());
        assert!(expected.is_subset(&reported), "{wrong}: {reported:?} of {expected:?}");
        assert_shape(&info, &response, &wrong);
    }

    assert!(lists > 30, "{lists}");
}

#[actix_web::test]
async fn null_for_a_field_that_cannot_be_null_is_rejected() {
    let setting = Setting::new(Fixture::new().await).await;
    let api = &setting.document;
    let mut rejected = BTreeSet::new();

    for (info, entry) in setting.endpoints() {
        let call = setting.call(&entry);
        if !takes_fields(&entry, &call) || malformed_status(info.path) == 200 {
            continue;
        }
        for (name, schema) in fields_of_body(api, &info, &entry) {
            if may_be_null(api, &schema) || name == "tenantId" {
                continue;
            }
            let null = call.clone().with_field(&name, json!(null));
            let response = send(&setting, &info, &entry, &null).await;

            assert_eq!(
                response.status,
                malformed_status(info.path),
                "{null}: {}",
                response.text()
            );
            assert_shape(&info, &response, &null);
            if !BY_HAND.contains(&name.as_str()) {
                assert!(
                    reported_paths(&response.json()).contains(&name),
                    "{null}: {}",
                    response.text()
                );
            }
            rejected.insert(format!("{} {} {name}", info.method, info.path));
        }
    }

    for known in [
        "PUT /auth/users roles",
        "PUT /auth/users organizationId",
        "PUT /auth/users email",
        "PUT /auth/users isActive",
        "POST /auth/users sendInviteEmail",
        "PUT /auth/roles name",
        "PUT /auth/profile email",
        "PUT /directory/organizations isActive",
        "PUT /directory/organizations name",
        "PUT /directory/tenants name",
        "POST /api_keys/keys roles",
    ] {
        assert!(rejected.contains(known), "{known} is not among {rejected:?}");
    }
}

/// Returns the fields of a request body with their schemas.
fn fields_of_body(api: &Value, info: &EndpointInfo, entry: &Entry) -> Vec<(String, Value)> {
    let operation = &api["paths"][info.path][entry.method.as_str().to_lowercase()];
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    let mut fields = Vec::new();
    collect(api, body, &mut fields);
    fields
}

fn collect(api: &Value, schema: &Value, fields: &mut Vec<(String, Value)>) {
    let schema = resolved(api, schema);
    for part in schema["allOf"].as_array().into_iter().flatten() {
        collect(api, part, fields);
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        fields.push((name.clone(), field.clone()));
    }
}

fn resolved<'a>(api: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str().and_then(|path| path.strip_prefix('#')) {
        Some(path) => api.pointer(path).expect("a known schema"),
        None => schema,
    }
}

fn may_be_null(api: &Value, schema: &Value) -> bool {
    let schema = resolved(api, schema);
    let is_null = |one: &Value| one["type"] == "null";
    let is_any_json = |one: &Value| {
        one["type"].is_null()
            && one
                .as_object()
                .is_some_and(|one| one.keys().all(|key| key == "description"))
    };
    is_any_json(schema)
        || schema["type"]
            .as_array()
            .is_some_and(|types| types.contains(&json!("null")))
        || ["oneOf", "anyOf"]
            .iter()
            .any(|word| schema[word].as_array().is_some_and(|list| list.iter().any(is_null)))
}

#[actix_web::test]
async fn faults_of_types_and_of_rules_are_reported_together() {
    let setting = Setting::new(Fixture::new().await).await;
    let app = &setting.fixture.app;
    let token = &setting.fixture.a.tenant_admin.token;

    let features = vec!["auth.users.list"; 51];
    let call = Call::post(
        "/auth/users",
        json!({"email": 7, "roles": features, "isActive": "yes", "name": "x".repeat(200)}),
    );
    let response = call.send(app, token).await;
    assert_eq!(response.status, 400);
    let reported = reported_paths(&response.json());
    let expected = ["email", "isActive", "name", "organizationId", "roles"].map(str::to_owned);
    assert_eq!(reported, BTreeSet::from(expected), "{}", response.text());

    let query = Call::get("/customers/deals")
        .with_query("page", "x")
        .with_query("pageSize", "1000")
        .with_query("ids", "x")
        .with_query("sortField", "color")
        .with_query("sortDir", "up");
    let response = query.send(app, token).await;
    assert_eq!(response.status, 400);
    let reported = reported_paths(&response.json());
    assert_eq!(
        reported,
        BTreeSet::from(["ids", "page", "pageSize", "sortDir", "sortField"].map(str::to_owned)),
        "{}",
        response.text()
    );

    let query = Call::get("/customers/deals")
        .with_query("pageSize", "1000")
        .with_query("ids", "x")
        .with_query("status", "gone")
        .with_query("ownerUserId", "y")
        .with_query("valueMin", "z");
    let response = query.send(app, token).await;
    let reported = reported_paths(&response.json());
    let expected = ["ids", "ownerUserId", "pageSize", "status", "valueMin"].map(str::to_owned);
    assert_eq!(reported, BTreeSet::from(expected), "{}", response.text());
}
