//! No input of a client causes a server error: clients receive the 4xx of the contract, in the shape of the endpoint.

mod headers;

use actix_web::http::Method;
use backoffice_core::ErrorShape;
use backoffice_core::http::{Access, EndpointInfo};
use backoffice_test_support::TestResponse;
use serde_json::{Value, json};

use crate::call::Call;
use crate::endpoints::{Entry, Setting, malformed_status, status_of_nul};
use crate::fixture::{Account, Fixture};
use crate::history::EXPORT;

/// RFC 3339 instants at the ends of the calendar; the first two are outside of it in UTC.
const FAR_INSTANTS: [&str; 4] = [
    "9999-12-31T23:59:59-01:00",
    "0000-01-01T00:00:00+01:00",
    "9999-12-31T23:59:59.999Z",
    "0000-01-01T00:00:00Z",
];

pub(crate) fn takes_body(entry: &Entry, call: &Call) -> bool {
    call.body.is_some() && entry.method != Method::GET
}

/// Returns whether the call has a body of JSON fields. The parts of an upload are texts, whose rules the tests of the module try.
pub(crate) fn takes_fields(entry: &Entry, call: &Call) -> bool {
    takes_body(entry, call) && !call.has_parts
}

#[actix_web::test]
async fn a_body_that_is_no_object_is_rejected() {
    let setting = Setting::new(Fixture::new().await).await;
    let large = format!(r#"{{"name":"{}"}}"#, "x".repeat(2 * 1024 * 1024));
    let deep = format!(r#"{{"name":{}"#, "[".repeat(100_000));
    let bodies: [&[u8]; 12] = [
        b"{",
        b"{\"name\":",
        b"[]",
        b"[{\"name\":\"a\"}]",
        b"7",
        b"null",
        b"\"text\"",
        b"",
        b"{\"name\":\"\xff\xfe\"}",
        b"{\"name\":\"a\"} {}",
        large.as_bytes(),
        deep.as_bytes(),
    ];

    for (info, entry) in setting.endpoints() {
        let call = setting.call(&entry);
        if !takes_body(&entry, &call) {
            continue;
        }
        let needs_body = setting.operation(&info)["requestBody"]["required"] == json!(true);
        for body in bodies.into_iter().filter(|body| needs_body || !body.is_empty()) {
            let request = call.bare(&setting.fixture.app, &token(&setting, &info, &entry).await);
            let response = request.body(body.to_vec(), "application/json").send().await;

            let shown = String::from_utf8_lossy(&body[..body.len().min(30)]);
            assert_eq!(response.status, 400, "{call} with {shown}: {}", response.text());
            assert_shape(&info, &response, &call);
        }
    }
}

/// Fields without a type: conditions of rules refer to any JSON.
pub(crate) const ANY_JSON: [(&str, &str); 3] = [
    ("/business_rules/execute", "data"),
    ("/business_rules/execute/{ruleId}", "data"),
    ("/business_rules/sets/{id}/execute", "data"),
];

#[actix_web::test]
async fn a_field_of_another_type_is_rejected() {
    let setting = Setting::new(Fixture::new().await).await;

    for (info, entry) in setting.endpoints() {
        let call = setting.call(&entry);
        if !takes_fields(&entry, &call) {
            continue;
        }
        let fields = call.body.clone().unwrap_or_default();
        for (name, valid) in fields.as_object().expect("an object") {
            if ANY_JSON.contains(&(info.path, name)) {
                continue;
            }
            for wrong in [json!(7), json!({"a": 1}), json!([[7]])] {
                if wrong.is_object() && valid.is_object() || wrong.is_number() && valid.is_number() {
                    // Unknown fields of an object are ignored, and a number has no wrong type among numbers.
                    continue;
                }
                let wrong = call.clone().with_field(name, wrong);
                let response = send(&setting, &info, &entry, &wrong).await;

                let expected = malformed_status(info.path);
                assert_eq!(response.status, expected, "{wrong}: {}", response.text());
                assert_shape(&info, &response, &wrong);
            }
            for odd in [
                json!(null),
                json!(""),
                json!(" "),
                json!("x".repeat(5000)),
                json!(true),
                json!([]),
            ]
            .into_iter()
            .chain(FAR_INSTANTS.map(|instant| json!(instant)))
            {
                if odd == *valid {
                    continue;
                }
                let odd = call.clone().with_field(name, odd);
                let response = send(&setting, &info, &entry, &odd).await;

                assert!(response.status < 500, "{odd}: {}", response.text());
                assert_shape(&info, &response, &odd);
            }
            let mut missing = call.clone();
            let body = missing.body.as_mut().and_then(Value::as_object_mut);
            body.expect("an object").remove(name);
            let response = send(&setting, &info, &entry, &missing).await;

            assert!(response.status < 500, "{missing}: {}", response.text());
            assert_shape(&info, &response, &missing);
        }
    }
}

#[actix_web::test]
async fn violated_rules_are_reported_with_values_of_wrong_types() {
    let setting = Setting::new(Fixture::new().await).await;
    let mut tried = Vec::new();

    for (info, entry) in setting.endpoints() {
        let call = setting.call(&entry);
        if !takes_fields(&entry, &call) {
            continue;
        }
        let fields = call.body.clone().unwrap_or_default();
        let fields = fields.as_object().expect("an object").keys();
        // The policy of passwords is configured, so their handlers apply it.
        let names: Vec<&String> = fields.filter(|name| *name != "password").collect();
        let reported = async |wrong: &[(&str, Value)]| {
            let wrong = wrong
                .iter()
                .fold(call.clone(), |call, (name, value)| call.with_field(name, value.clone()));
            paths(&send(&setting, &info, &entry, &wrong).await)
        };
        for broken in &names {
            let broken = (broken.as_str(), json!("x".repeat(70_000)));
            if reported(std::slice::from_ref(&broken)).await != [broken.0] {
                continue;
            }
            for odd in names.iter().filter(|name| ***name != broken.0) {
                let odd = (odd.as_str(), json!([[7]]));
                if reported(std::slice::from_ref(&odd)).await != [odd.0] {
                    continue;
                }
                let mut expected = [broken.0, odd.0];
                expected.sort_unstable();
                let both = [broken.clone(), odd];
                assert_eq!(reported(&both).await, expected, "{call}");
                tried.push(info.path);
            }
        }
    }

    tried.dedup();
    assert!(tried.len() > 15, "{tried:?}");
}

/// Returns the paths of the details of a 400, sorted.
fn paths(response: &TestResponse) -> Vec<String> {
    if response.status != 400 {
        return Vec::new();
    }
    let body = response.json();
    let details = body["details"].as_array().into_iter().flatten();
    let mut paths: Vec<String> = details
        .filter_map(|detail| detail["path"].as_str().map(str::to_owned))
        .collect();
    paths.sort();
    paths
}

/// Endpoints of which every text is malformed in the same way, with U+0000 or without.
const OWN_RULE: [&str; 4] = [
    "/auth/reset",
    "/auth/reset/validate",
    "/auth/users/resend-invite",
    "/onboarding/onboarding/resend",
];

#[actix_web::test]
async fn nul_bytes_are_rejected() {
    let setting = Setting::new(Fixture::new().await).await;

    for (info, entry) in setting.endpoints() {
        let call = setting.call(&entry);
        if takes_fields(&entry, &call) {
            let fields = call.body.clone().unwrap_or_default();
            for name in fields.as_object().expect("an object").keys() {
                let nul = call.clone().with_field(name, json!("a\0b"));
                let response = send(&setting, &info, &entry, &nul).await;

                let expected = match OWN_RULE.contains(&info.path) {
                    true => malformed_status(info.path),
                    false => 400,
                };
                assert_eq!(response.status, expected, "{nul}: {}", response.text());
                assert_shape(&info, &response, &nul);
                if response.status == 400 && response.text().contains("U+0000") {
                    assert!(paths(&response).contains(name), "{nul}: {}", response.text());
                }
            }
            if takes_form(&setting, &info) {
                let form = call.bare(&setting.fixture.app, &token(&setting, &info, &entry).await);
                let form = form.body("email=a%00b&x=\0", "application/x-www-form-urlencoded");
                let response = form.send().await;
                assert_eq!(response.status, 400, "{call} as a form: {}", response.text());
                assert!(
                    response.text().contains("U+0000"),
                    "{call} as a form: {}",
                    response.text()
                );
            }
        }
        for name in parameters(&setting, &info, "query").iter().map(|one| &one["name"]) {
            let name = name.as_str().expect("a name");
            let nul = call.clone().with_query(name, "a\0b");
            let response = send(&setting, &info, &entry, &nul).await;

            let expected = status_of_nul(info.path, name);
            assert_eq!(response.status, expected, "{nul}: {}", response.text());
            assert_shape(&info, &response, &nul);
        }
        for name in parameters(&setting, &info, "path").iter().map(|one| &one["name"]) {
            let name = name.as_str().expect("a name");
            let rejected = async |value: &str| {
                let path = info.path.replace(&format!("{{{name}}}"), value);
                let response = send(&setting, &info, &entry, &Call::new(entry.method.clone(), &path)).await;
                (response.status, response.text())
            };
            let malformed = rejected("a!b").await;
            assert!(matches!(malformed.0, 400 | 404), "{} {name}: {malformed:?}", info.path);
            assert_eq!(rejected("a%00b").await, malformed, "{} {name}", info.path);
        }
    }
}

#[actix_web::test]
async fn parameters_out_of_range_are_rejected() {
    let setting = Setting::new(Fixture::new().await).await;

    for (info, entry) in setting.endpoints() {
        let call = setting.call(&entry);
        for parameter in parameters(&setting, &info, "query") {
            let name = parameter["name"].as_str().expect("a name");
            for wrong in wrong_values(&parameter) {
                let wrong = call.clone().with_query(name, &wrong);
                let response = send(&setting, &info, &entry, &wrong).await;

                if info.path == EXPORT && name == "limit" && wrong.target().contains("=999") {
                    assert_eq!(response.status, 200, "the one bound that larger values count as");
                    continue;
                }
                assert_eq!(response.status, 400, "{wrong}: {}", response.text());
                assert_shape(&info, &response, &wrong);
            }
            let long = "x".repeat(5000);
            for odd in ["", " ", "%", "'", "\u{1f980}", "-1", &long]
                .into_iter()
                .chain(FAR_INSTANTS)
            {
                let odd = call.clone().with_query(name, odd);
                let response = send(&setting, &info, &entry, &odd).await;

                assert!(response.status < 500, "{odd}: {}", response.text());
                assert_shape(&info, &response, &odd);
            }
        }
    }
}

#[actix_web::test]
async fn a_list_without_a_search_ignores_the_parameter() {
    let setting = Setting::new(Fixture::new().await).await;
    let mut lists = Vec::new();

    for (info, entry) in setting.private() {
        let known = parameters(&setting, &info, "query");
        let takes = |name: &str| known.iter().any(|parameter| parameter["name"] == name);
        if !takes("pageSize") || takes("search") {
            continue;
        }
        let call = setting.call(&entry);
        // A list with a search rejects a text of this length, and a repeated parameter.
        let call = call.with_query("search", &"x".repeat(201)).and_query("search", "x");
        let response = send(&setting, &info, &entry, &call).await;

        assert_eq!(response.status, 200, "{call}: {}", response.text());
        lists.push(info.path);
    }

    for list in [
        "/business_rules/logs",
        "/business_rules/webhook-deliveries",
        "/business_rules/webhook-secrets",
        "/devices",
        "/devices/admin/devices",
        "/notifications",
    ] {
        assert!(lists.contains(&list), "{list} is not among {lists:?}");
    }
}

#[actix_web::test]
async fn unknown_paths_and_methods_are_not_found_for_everybody() {
    let setting = Setting::new(Fixture::new().await).await;
    let app = &setting.fixture.app;
    let served = app.platform().endpoints();
    let methods = [
        Method::GET,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::PATCH,
        Method::OPTIONS,
    ];

    for (info, _) in setting.endpoints() {
        let path = info.path.replace("{file}", "index.html");
        let known = |method: &Method| served.iter().any(|one| one.method == *method && one.path == info.path);
        let mut unknown: Vec<Call> = methods
            .iter()
            .filter(|method| !known(method))
            .map(|method| Call::new(method.clone(), &path))
            .collect();
        if !path.starts_with("/docs") {
            let below = format!("{path}/{{");
            let takes_segment = |one: &EndpointInfo| one.method == info.method && one.path.starts_with(&below);
            let takes_rest = |one: &EndpointInfo| one.takes_rest && (takes_segment(one) || one.path == info.path);
            if !served.iter().any(takes_rest) {
                unknown.push(Call::new(info.method.clone(), &format!("{path}/")));
            }
            if !info.takes_rest && !served.iter().any(takes_segment) {
                unknown.push(Call::new(info.method.clone(), &format!("{path}/x")));
            }
            if !path.ends_with('}') {
                unknown.push(Call::new(info.method.clone(), &format!("{path}%00")));
            }
        }
        for call in unknown {
            for token in ["", "garbage", &setting.fixture.a.tenant_admin.token] {
                let response = call.send(app, token).await;

                let reported = (response.status, response.json());
                assert_eq!(reported, (404, json!({"error": "Not Found"})), "{call}");
            }
        }
    }
}

/// Returns whether an endpoint takes forms besides JSON.
fn takes_form(setting: &Setting, info: &EndpointInfo) -> bool {
    let content = &setting.operation(info)["requestBody"]["content"];
    content["application/x-www-form-urlencoded"].is_object()
}

/// Returns values outside of the declared type or range of a parameter.
fn wrong_values(parameter: &Value) -> Vec<String> {
    let schema = &parameter["schema"];
    let is = |kind: &str| {
        let types = &schema["type"];
        types == kind || types.as_array().is_some_and(|types| types.contains(&json!(kind)))
    };
    let mut wrong = Vec::new();
    if is("integer") {
        wrong.extend(["x", "1.5", "99999999999999999999", "-1"].map(str::to_owned));
        for (bound, step) in [("minimum", -1.0), ("maximum", 1.0)] {
            let bound = schema[bound].as_f64().map(|bound| bound + step);
            wrong.extend(bound.map(|value| value.to_string()));
        }
    } else if is("boolean") || schema["format"] == "uuid" {
        wrong.extend(["x", "7e"].map(str::to_owned));
    }
    if schema["enum"].is_array() {
        wrong.push("none_of_these".to_owned());
    }
    // A pattern with an excluded class describes free texts.
    if schema["pattern"]
        .as_str()
        .is_some_and(|pattern| !pattern.contains("[^"))
    {
        wrong.push("!!".to_owned());
    }
    if let Some(max) = schema["maxLength"].as_u64() {
        wrong.push("x".repeat(usize::try_from(max).expect("a short text") + 1));
    }
    wrong
}

/// Returns the parameters of an endpoint from the API document.
pub(crate) fn parameters(setting: &Setting, info: &EndpointInfo, place: &str) -> Vec<Value> {
    let parameters = setting.operation(info)["parameters"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    parameters.into_iter().filter(|one| one["in"] == place).collect()
}

pub(crate) async fn send(setting: &Setting, info: &EndpointInfo, entry: &Entry, call: &Call) -> TestResponse {
    call.send(&setting.fixture.app, &token(setting, info, entry).await)
        .await
}

/// Returns the token of a caller who may call the endpoint; logging out ends the session, so that endpoint gets a new one each time.
async fn token(setting: &Setting, info: &EndpointInfo, entry: &Entry) -> String {
    let sender: &Account = setting.sender(entry);
    match info.path {
        _ if info.access == Access::Public => String::new(),
        "/auth/logout" => setting.fixture.sign_in(&sender.email).await.token,
        _ => sender.token.clone(),
    }
}

/// Checks that a rejection has the fields of its endpoint's shape.
pub(crate) fn assert_shape(info: &EndpointInfo, response: &TestResponse, call: &Call) {
    if response.status < 400 {
        return;
    }
    let body = response.json();
    let right = match info.shape {
        ErrorShape::Error => body["error"].is_string() && body.get("ok").is_none(),
        ErrorShape::OkFalse => body["error"].is_string() && body["ok"] == false,
        ErrorShape::Code => body["code"].is_string(),
    };
    assert!(right, "{call}: {body}");
    for detail in body["details"].as_array().into_iter().flatten() {
        let code = detail["code"].as_str().unwrap_or_default();
        // In bodies with a code, a violated rule has that of its field.
        let is_known = CODES.contains(&code) || (info.shape == ErrorShape::Code && is_own_code(code));
        assert!(is_known && is_plain(detail), "{call}: {detail}");
    }
}

/// The error codes of the conventions, and those that the specifications of passwords and deals add.
const CODES: [&str; 13] = [
    "required",
    "invalid_type",
    "invalid_value",
    "too_short",
    "too_long",
    "out_of_range",
    "unknown_reference",
    "not_unique",
    "immutable",
    "too_common",
    "owner_out_of_scope",
    "stage_in_other_pipeline",
    "equals_email",
];

/// Parser messages that must not reach clients.
const JARGON: [&str; 10] = [
    "at line",
    "missing field",
    "invalid type",
    "invalid value",
    ", expected ",
    "unknown variant",
    "variant of untagged",
    "invalid digit",
    "parsing failed",
    "struct ",
];

/// Returns whether a text has the form of a code.
fn is_own_code(code: &str) -> bool {
    code.len() > 3 && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Returns whether a detail names its path and describes the error in plain words.
fn is_plain(detail: &Value) -> bool {
    let message = detail["message"].as_str().unwrap_or_default();
    detail["path"].is_string() && !message.is_empty() && !JARGON.iter().any(|words| message.contains(words))
}
