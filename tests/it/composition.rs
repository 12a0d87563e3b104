//! A module that is not enabled leaves no route, feature, table or path of the API document.

use std::collections::{BTreeMap, BTreeSet};

use actix_web::http::Method;
use backoffice_core::config::Config;
use backoffice_core::module::document;
use backoffice_core::{Module, NavContext, Platform, PlatformOptions};
use backoffice_test_support::TestApp;
use serde_json::{Value, json};

use crate::collections::{has_one_row, is_list, tagged};
use crate::endpoints::Setting;
use crate::fixture::{AUTH, Fixture, MODULES, builder};
use crate::scenarios::rich;

const DIRECTORY: &Module = &backoffice_directory::MODULE;
const ACCOUNTS: &Module = &backoffice_auth::MODULE;

/// Returns the tested sets of modules; each is complete.
fn sets() -> [&'static [&'static Module]; 6] {
    static SETS: [&[&Module]; 6] = [
        &[],
        &[DIRECTORY],
        &[DIRECTORY, ACCOUNTS],
        &[&backoffice_api_docs::MODULE],
        &[&backoffice_events::MODULE],
        MODULES,
    ];
    SETS
}

async fn app(modules: &[&'static Module]) -> TestApp {
    let builder = TestApp::builder(modules).compiled(MODULES);
    builder.config(AUTH).build().await
}

#[actix_web::test]
async fn each_set_serves_exactly_its_endpoints() {
    for set in sets() {
        let app = app(set).await;
        let served = app.platform().endpoints();

        for info in Fixture::new().await.app.platform().endpoints() {
            let path = info.path.replace("{file}", "index.css");
            let response = app.request(info.method.clone(), &path).send().await;

            let is_served = served
                .iter()
                .any(|one| one.path == info.path && one.method == info.method);
            let unknown = response.status == 404 && response.json() == json!({"error": "Not Found"});
            assert!(
                is_served != unknown || info.path.starts_with("/docs"),
                "{} {path}",
                info.method
            );
        }
    }
}

#[actix_web::test]
async fn each_set_documents_exactly_its_endpoints() {
    for set in sets() {
        let app = app(set).await;
        let document = document(app.platform().modules()).expect("a sound document");

        let mut documented = BTreeSet::new();
        for (path, item) in document["paths"].as_object().into_iter().flatten() {
            let methods = ["get", "post", "put", "delete", "patch"];
            let has = methods.iter().filter(|method| item.get(**method).is_some());
            documented.extend(has.map(|method| (method.to_uppercase(), path.clone())));
        }

        let endpoints = app.platform().endpoints().into_iter();
        let served: BTreeSet<_> = endpoints
            .map(|info| (info.method.to_string(), info.path.to_owned()))
            .collect();
        assert_eq!(documented, served);
        if set.iter().any(|module| module.name == "api-docs") {
            assert_eq!(app.get("", "/openapi.json").await, (200, document));
        }
    }
}

/// Adds the patterns below this part of the document.
fn collect_patterns<'a>(part: &'a Value, patterns: &mut BTreeSet<&'a str>) {
    match part {
        Value::Object(fields) => {
            patterns.extend(fields.get("pattern").and_then(Value::as_str));
            fields.values().for_each(|field| collect_patterns(field, patterns));
        }
        Value::Array(parts) => parts.iter().for_each(|one| collect_patterns(one, patterns)),
        _ => {}
    }
}

/// Ends of the names of fields whose values are words of a set.
const ENDS_OF_WORDS: [&str; 8] = [
    "status", "state", "severity", "urgency", "kind", "level", "trigger", "type",
];

/// Adds the fields below this part of the document whose words are neither listed nor said to be an open set.
fn collect_unlisted(place: &str, part: &Value, found: &mut BTreeSet<String>) {
    match part {
        Value::Object(fields) => {
            let properties = fields.get("properties").and_then(Value::as_object);
            for (name, schema) in properties.into_iter().flatten() {
                let types = schema["type"].as_array();
                let is_text =
                    schema["type"] == "string" || types.is_some_and(|types| types.iter().any(|one| one == "string"));
                let ends = |end: &&str| name.to_lowercase().ends_with(end);
                let is_word = is_text && ENDS_OF_WORDS.iter().any(ends);
                let limits = ["enum", "format", "pattern"];
                let is_limited = limits.iter().any(|limit| schema.get(*limit).is_some());
                let about = schema["description"].as_str().unwrap_or_default();
                if is_word && !is_limited && !about.contains("the set is open") {
                    found.insert(format!("{place}/{name}"));
                }
            }
            for (name, field) in fields {
                collect_unlisted(&format!("{place}/{name}"), field, found);
            }
        }
        Value::Array(parts) => {
            for (index, one) in parts.iter().enumerate() {
                collect_unlisted(&format!("{place}/{index}"), one, found);
            }
        }
        _ => {}
    }
}

#[test]
fn the_document_lists_the_words_of_every_closed_set() {
    let document = document(MODULES).expect("a sound document");
    let mut unlisted = BTreeSet::new();

    collect_unlisted("", &document, &mut unlisted);

    assert_eq!(
        unlisted,
        BTreeSet::new(),
        "list the words, or describe the set: `the set is open`"
    );
}

#[test]
fn conflicts_of_assignments_have_the_words_of_their_alerts() {
    let document = document(MODULES).expect("a sound document");
    let words = |name: &str| document["components"]["schemas"][name]["enum"].as_array().cloned();

    for [of_conflicts, of_alerts] in [
        ["DispatchConflictKind", "AlertKind"],
        ["DispatchConflictUrgency", "AlertUrgency"],
    ] {
        assert!(words(of_alerts).is_some(), "{of_alerts}");
        assert_eq!(words(of_conflicts), words(of_alerts), "{of_conflicts}");
    }
}

#[actix_web::test]
async fn the_patterns_of_times_match_every_day_that_exists() {
    let app = app(MODULES).await;
    let document = document(MODULES).expect("a sound document");
    let mut patterns = BTreeSet::new();
    collect_patterns(&document, &mut patterns);
    let matches = async |pattern: &str, text: &str| {
        let sql = format!("select '{text}' ~ '{}' as is_match", pattern.replace('\'', "''"));
        app.rows(&sql).await[0]["is_match"] == json!(true)
    };
    let days = ["2026-11-30", "2026-12-31", "2026-01-29", "2028-02-29", "2000-02-29"];
    let missing = ["2026-11-31", "2026-02-29", "2100-02-29", "2026-13-01", "2026-01-00"];

    let (mut dates, mut instants) = (0, 0);
    for pattern in patterns.into_iter().filter(|pattern| pattern.contains("(0[1-9]|")) {
        let is_quoted = matches(pattern, "\"2026-11-20T08:00:00.5Z\"").await;
        if is_quoted || matches(pattern, "2026-11-20T08:00:00.5Z").await && !matches(pattern, "x").await {
            instants += 1;
            for day in days {
                let instant = format!("{day}T23:59:59.5Z");
                let text = if is_quoted { format!("\"{instant}\"") } else { instant };
                assert!(matches(pattern, &text).await, "{text}: {pattern}");
            }
            for offset in ["+14:00", "-11:30"] {
                let text = format!("2026-12-31T00:00:00{offset}");
                assert!(is_quoted || matches(pattern, &text).await, "{text}: {pattern}");
            }
        }
        if matches(pattern, "2026-11-20").await && !matches(pattern, "x").await {
            dates += 1;
            for day in days {
                assert!(matches(pattern, day).await, "{day}: {pattern}");
            }
            // The days of the calendar have a format, which excludes these.
            let is_exact = !pattern.starts_with("^(19");
            for day in missing {
                assert!(!is_exact || !matches(pattern, day).await, "{day}: {pattern}");
            }
        }
    }
    assert_eq!((dates, instants), (2, 3), "patterns of days, and of instants");
}

#[actix_web::test]
async fn each_set_shows_exactly_its_pages() {
    for set in sets() {
        let app = app(set).await;

        for (path, module) in [("/login", "auth"), ("/reset", "auth")] {
            let page = app.request_outside(Method::GET, path).send().await;

            let is_enabled = set.iter().any(|one| one.name == module);
            assert_eq!(page.status, if is_enabled { 200 } else { 404 }, "{path}");
        }
    }
}

#[actix_web::test]
async fn a_module_that_is_not_enabled_has_no_table() {
    for set in sets() {
        let tables = app(set).await.tables().await;

        for (module, prefix) in [
            ("directory", "directory_"),
            ("auth", "auth_"),
            ("api-keys", "api_keys_"),
            ("customers", "customers_"),
            ("catalog", "catalog_"),
            ("devices", "devices_"),
            ("notifications", "notifications_"),
            ("onboarding", "onboarding_"),
        ] {
            let is_enabled = set.iter().any(|one| one.name == module);
            let has_tables = tables.iter().any(|table| table.starts_with(prefix));
            assert_eq!(is_enabled, has_tables, "{prefix} in {tables:?}");
        }
    }
}

#[actix_web::test]
async fn a_module_that_is_not_enabled_has_no_feature_in_the_catalogue() {
    let modules = [DIRECTORY, ACCOUNTS];
    let app = TestApp::builder(&modules).compiled(MODULES).config(AUTH).build().await;
    let fixture = Fixture::inside(app).await;

    let (status, catalogue) = fixture.app.get(&fixture.a.tenant_admin.token, "/auth/features").await;

    assert_eq!(status, 200);
    let of = |field: &str| -> BTreeSet<String> {
        let items = catalogue["items"].as_array().expect("a list").iter();
        items
            .map(|item| item[field].as_str().expect("text").to_owned())
            .collect()
    };
    assert_eq!(
        of("module"),
        BTreeSet::from(["auth".to_owned(), "directory".to_owned()])
    );
    assert!(!of("id").contains("audit_logs.undo_self"));
    let question = json!({"features": ["audit_logs.undo_self", "auth.users.list"]});
    let (_, outcome) = fixture
        .app
        .post(&fixture.a.tenant_admin.token, "/auth/feature-check", question)
        .await;
    assert_eq!(
        (&outcome["ok"], &outcome["granted"]),
        (&json!(false), &json!(["auth.users.list"]))
    );
}

fn needs(module: &Module, required: &str) -> bool {
    let has = |name: &str| {
        let mut modules = MODULES.iter().copied();
        modules.any(|one| one.name == name && needs(one, required))
    };
    module.requires.iter().any(|name| *name == required || has(name))
}

#[actix_web::test]
async fn a_missing_requirement_is_named() {
    for &module in MODULES {
        for required in module.requires {
            // Without the other modules that depend on it as well: the error must name this module.
            let stays = |one: &&Module| one.name != *required && (one.name == module.name || !needs(one, required));
            let rest: Vec<_> = MODULES.iter().copied().filter(stays).collect();
            let options = PlatformOptions::new(&rest, Config::from_toml(AUTH).expect("TOML"));

            let error = Platform::new(options).expect_err("it is missing").to_string();

            assert!(error.contains(module.name) && error.contains(required), "{error}");
        }
    }
}

#[actix_web::test]
async fn a_list_costs_the_same_number_of_statements_whatever_its_page_size() {
    let fixture = Fixture::of(builder().through_proxy().pool_size(1)).await;
    let many: Vec<Value> = (0..120).map(|number| json!(number)).collect();
    for number in many {
        let role = format!(
            "insert into auth_roles select tenant_id, gen_random_uuid(), 'Role {number}', 'role {number}', created_at, \
            updated_at from auth_roles where id = '{}'",
            fixture.a.role
        );
        fixture.app.sql(&role).await;
        let user = format!(
            "insert into auth_users select tenant_id, gen_random_uuid(), organization_id, 'u{number}@alpha.test', \
            'u{number}@alpha.test', name, null, true, true, null, null, created_at, updated_at from auth_users where id = '{}'",
            fixture.a.user.id
        );
        fixture.app.sql(&user).await;
        let organization = format!(
            "insert into directory_organizations (tenant_id, id, name, slug, parent_id, is_active, created_at, \
            updated_at) values ('{}', gen_random_uuid(), 'O {number}', 'o-{number}', '{}', true, now(), now())",
            fixture.a.tenant, fixture.a.other
        );
        fixture.app.sql(&organization).await;
        for (table, columns, values) in [
            ("customers_deals", "title, status", "'Deal', 'open'".to_owned()),
            ("customers_pipelines", "name", format!("'Pipeline {number}'")),
        ] {
            let record = format!(
                "insert into {table} (tenant_id, id, organization_id, {columns}, created_at, updated_at) \
                 values ('{}', gen_random_uuid(), '{}', {values}, now(), now())",
                fixture.a.tenant, fixture.a.other
            );
            fixture.app.sql(&record).await;
        }
    }
    fixture.app.start_background();
    let (token, root) = (&fixture.a.tenant_admin.token, &fixture.root.token);

    for (path, token, most) in [
        ("/auth/users", token, 2),
        ("/auth/roles", token, 2),
        ("/directory/organizations", token, 3),
        ("/directory/tenants", root, 3),
        ("/audit_logs/audit-logs/actions", token, 3),
        ("/customers/deals", token, 2),
        ("/customers/pipelines", token, 2),
    ] {
        let mut counts = BTreeSet::new();
        for size in [1, 10, 100] {
            let target = format!("{path}?pageSize={size}");
            counts.insert(fewest(&fixture.app, token, &target).await);
        }
        assert_eq!(counts.len(), 1, "{path}: {counts:?}");
        assert!(counts.iter().all(|count| *count <= most), "{path}: {counts:?}");
    }
}

#[actix_web::test]
async fn a_list_costs_as_many_statements_for_two_rows_as_for_one() {
    let fixture = Fixture::of(builder().through_proxy().pool_size(1)).await;
    let setting = Setting::on_seeded(rich(fixture).await).await;
    let app = &setting.fixture.app;
    while app.deliver_events().await + app.run_jobs().await > 0 {}
    app.start_background();
    let mut different = Vec::new();

    for (info, entry) in tagged(&setting) {
        if !is_list(&setting, &info) || has_one_row(&info) {
            continue;
        }
        let (call, token) = (setting.call(&entry), &setting.sender(&entry).token);
        let [one, two] = ["1", "2"].map(|size| call.clone().with_query("pageSize", size));
        let page = two.send(app, token).await.json();
        assert_eq!(page["items"].as_array().map(Vec::len), Some(2), "{two}: {page}");

        let costs = (
            fewest(app, token, &one.target()).await,
            fewest(app, token, &two.target()).await,
        );

        if costs.0 != costs.1 {
            different.push((info.path, costs));
        }
    }

    assert!(different.is_empty(), "{different:?}");
}

/// Returns the number of statements of a request with warm caches.
async fn fewest(app: &TestApp, token: &str, target: &str) -> u64 {
    app.fewest_statements(async || {
        let response = app.request(Method::GET, target).bearer(token).send().await;
        assert_eq!(response.status, 200, "{target}: {}", response.text());
    })
    .await
}

#[test]
fn a_group_of_the_navigation_has_one_title_in_each_language() {
    let mut titles: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for module in MODULES {
        let english = module.navigation.iter().map(|entry| match entry.context {
            NavContext::Main { group, title } => (group, "en", title),
            NavContext::Settings { section, title } | NavContext::Profile { section, title } => (section, "en", title),
        });
        let others = module.nav_titles.groups.iter().flat_map(|(group, translations)| {
            let titled = translations.iter();
            titled.map(move |(locale, title)| (*group, *locale, *title))
        });
        for (group, locale, title) in english.chain(others) {
            let known = *titles.entry((group, locale)).or_insert(title);
            assert_eq!(title, known, "{group} in {locale}, of the module {}", module.name);
        }
    }
    assert_eq!(titles[&("dispatch", "pl")], "Dyspozytornia");
}
