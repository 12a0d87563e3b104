use actix_web::http::Method;
use backoffice_test_support::{TestApp, TestResponse, UNDO, details};
use serde_json::{Value, json};

use crate::sign_in::{MODULES, admin, super_admin, tenant, user, worker};
use crate::{ACTIONS, each, list, organization, rename};

#[actix_web::test]
async fn pages_together_are_the_whole() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    for number in 1..=5 {
        organization(&app, &worker(&acme, 1), &format!("O{number}"), Value::Null).await;
    }
    let token = worker(&acme, 1);

    let first = list(&app, &token, "pageSize=2").await;
    let counted = list(&app, &token, "pageSize=2&page=2&includeTotal=false").await;
    let last = list(&app, &token, "limit=2&offset=4&includeTotal=no").await;

    assert_eq!(
        (&first["total"], &first["totalPages"], &first["totalExact"]),
        (&json!(5), &json!(3), &Value::Null)
    );
    assert_eq!((&counted["total"], &counted["totalExact"]), (&json!(5), &json!(false)));
    assert_eq!(counted["items"].as_array().expect("items").len(), 2);
    assert_eq!(
        (&last["total"], &last["page"], &last["pageSize"]),
        (&json!(5), &json!(3), &json!(2))
    );
    assert_eq!(
        each(&app, &token, "sortDir=asc&pageSize=3", "organizationName").await,
        ["O1", "O2", "O3"]
    );
    assert_eq!(
        each(&app, &token, "sortDir=asc&pageSize=3&page=2", "organizationName").await,
        ["O4", "O5"]
    );
}

#[actix_web::test]
async fn a_page_after_skipped_entries_is_a_part_of_the_whole() {
    for builder in [
        TestApp::builder(&MODULES),
        TestApp::builder(&MODULES).without_tenant_predicates(),
    ] {
        let app = builder.through_proxy().build().await;
        let acme = tenant(&app, "Acme").await;
        let other = tenant(&app, "Other").await;
        let id_of = |created: TestResponse| created.json()["id"].clone();
        let north = id_of(organization(&app, &worker(&acme, 1), "North", Value::Null).await);
        let far = id_of(organization(&app, &worker(&acme, 2), "Far", north.clone()).await);
        organization(&app, &worker(&other, 1), "Elsewhere", Value::Null).await;
        organization(&app, &worker(&acme, 1), "South", Value::Null).await;
        rename(&app, &worker(&acme, 1), &far, "Farther").await;
        rename(&app, &worker(&acme, 2), &north, "Norther").await;
        let north = north.as_str().expect("an id");
        let related = format!("resourceKind=directory.organization&resourceId={north}&includeRelated=true");

        for token in [admin(&acme, ""), admin(&acme, north), super_admin(&acme)] {
            for query in [
                "",
                "sortDir=asc",
                "sortField=user",
                "sortField=user&sortDir=asc",
                "sortField=action&sortDir=asc",
                "sortField=field",
                "sortField=source",
                "actionType=create",
                "undoableOnly=true",
                &related,
            ] {
                let whole = list(&app, &token, query).await;
                let all = whole["items"].as_array().expect("items");
                for (skipped, size) in [(1, 1), (2, 2), (4, 1), (3, 2), (5, 2), (30, 1)] {
                    let rest = all.iter().skip(skipped).take(size);
                    let expected: Vec<&Value> = rest.collect();
                    for more in ["", "&includeTotal=false"] {
                        let part = format!("limit={size}&offset={skipped}&{query}{more}");
                        let page = list(&app, &token, &part).await;
                        let items: Vec<&Value> = page["items"].as_array().expect("items").iter().collect();
                        assert_eq!(items, expected, "{part}");
                        assert!(!more.is_empty() || page["total"] == whole["total"], "{part}: {page}");
                    }
                }
            }
        }

        let statements = async |skipped: usize| {
            let part = format!("sortDir=asc&limit=2&offset={skipped}&includeTotal=false");
            let token = admin(&acme, "");
            // The first request fills caches.
            list(&app, &token, &part).await;
            app.count_statements(list(&app, &token, &part)).await.1
        };
        assert_eq!(statements(2).await, statements(1).await);
    }
}

#[actix_web::test]
async fn filters_find_what_they_name() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let token = worker(&acme, 1);
    let north = organization(&app, &token, "North", Value::Null).await.json()["id"].clone();
    let far = organization(&app, &token, "Far", north.clone()).await.json()["id"].clone();
    rename(&app, &token, &far, "Farther").await;
    let resource = format!(
        "resourceKind=directory.organization&resourceId={}",
        north.as_str().expect("an id")
    );
    let at = list(&app, &token, "fieldName=name&actionType=edit").await["items"][0]["createdAt"].clone();
    let at = at.as_str().expect("an instant");

    for (query, expected) in [
        ("actionType=create".to_owned(), 2),
        ("actionType=edit&actionType=delete".to_owned(), 1),
        ("actionType=".to_owned(), 0),
        ("actorUserId=".to_owned(), 0),
        ("fieldName=parentId".to_owned(), 1),
        ("fieldName=unknown,slug".to_owned(), 2),
        (resource.clone(), 1),
        (format!("{resource}&includeRelated=1"), 3),
        ("resourceKind=directory.organization&includeRelated=true".to_owned(), 3),
        ("resourceKind=directory".to_owned(), 0),
        (format!("before={at}"), 2),
        (format!("after={at}"), 0),
        ("after=2026-11-20&before=2026-11-21".to_owned(), 3),
        ("sortField=user".to_owned(), 3),
        ("sortField=action&sortDir=asc".to_owned(), 3),
        ("sortField=field".to_owned(), 3),
        ("sortField=source".to_owned(), 3),
    ] {
        assert_eq!(list(&app, &token, &query).await["total"], expected, "{query}");
    }
}

#[actix_web::test]
async fn undoable_entries_are_the_latest_that_the_caller_may_undo() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let id = organization(&app, &worker(&acme, 1), "North", Value::Null).await.json()["id"].clone();
    rename(&app, &worker(&acme, 1), &id, "South").await;
    organization(&app, &worker(&acme, 2), "West", Value::Null).await;
    let reader = format!("{}/1//audit_logs.view_self,audit_logs.undo_self", acme.id);

    let labels = async |token: &str| each(&app, token, "undoableOnly=true", "actionLabel").await;

    assert_eq!(labels(&worker(&acme, 1)).await, ["Update organization"]);
    assert_eq!(
        labels(&admin(&acme, "")).await,
        ["Create organization", "Update organization"]
    );
    assert_eq!(labels(&reader).await, Vec::<Value>::new());
    for token in each(&app, &admin(&acme, ""), "undoableOnly=yes", "undoToken").await {
        let (status, body) = app.post(&admin(&acme, ""), UNDO, json!({"undoToken": token})).await;
        assert_eq!(status, 200, "{body}");
    }
}

#[actix_web::test]
async fn undoable_entries_are_those_where_the_caller_holds_every_feature() {
    for app in [
        TestApp::new(&MODULES).await,
        TestApp::builder(&MODULES).without_tenant_predicates().build().await,
    ] {
        let acme = tenant(&app, "Acme").await;
        let create = async |token: &str, name: &str| {
            let id = organization(&app, token, name, Value::Null).await.json()["id"].clone();
            id.as_str().expect("an id").to_owned()
        };
        // Those of the caller, and those of another user.
        let north = create(&admin(&acme, ""), "North").await;
        create(&admin(&acme, ""), "South").await;
        let east = create(&worker(&acme, 1), "East").await;
        create(&worker(&acme, 1), "West").await;
        let manage = "directory.organizations.*";
        let view = "audit_logs.view_self,audit_logs.view_tenant";
        let split = format!("{}/9/{north},{east}/{manage}//audit_logs.*", acme.id);

        for (token, expected) in [
            (split.clone(), &["East", "North"][..]),
            (
                format!("{}/9/{north}/{manage}/{east}/{manage}//audit_logs.*", acme.id),
                &["East", "North"],
            ),
            (
                format!("{}/9//{manage},{view}/{north},{east}/audit_logs.*", acme.id),
                &["East", "North"],
            ),
            (
                format!("{}/9/{north},{east}/{manage}/{north}/audit_logs.*//{view}", acme.id),
                &["North"],
            ),
            (
                format!(
                    "{}/9//{manage},{view},audit_logs.undo_self/{east}/audit_logs.undo_tenant",
                    acme.id
                ),
                &["East", "South", "North"],
            ),
            (format!("{}/9/{north}/{manage}/{east}/audit_logs.*", acme.id), &[]),
        ] {
            let undoable = each(&app, &token, "undoableOnly=true", "organizationName").await;
            assert_eq!(undoable, expected, "{token}");
            let tokens = each(&app, &token, "undoableOnly=true", "undoToken").await;
            assert!(tokens.iter().all(Value::is_string), "{token}: {tokens:?}");
        }
        for token in each(&app, &split, "undoableOnly=true", "undoToken").await {
            let (status, body) = app.post(&split, UNDO, json!({"undoToken": token})).await;
            assert_eq!(status, 200, "{body}");
        }
    }
}

#[actix_web::test]
async fn a_caller_limited_to_organizations_finds_the_undoable_entries_in_them() {
    for app in [
        TestApp::new(&MODULES).await,
        TestApp::builder(&MODULES).without_tenant_predicates().build().await,
    ] {
        let acme = tenant(&app, "Acme").await;
        let token = worker(&acme, 1);
        let create = async |name: &str| organization(&app, &token, name, Value::Null).await.json()["id"].clone();
        let (north, east, west) = (create("North").await, create("East").await, create("West").await);
        rename(&app, &token, &north, "Norther").await;
        rename(&app, &token, &west, "Wester").await;
        let limit = [&north, &east].map(|id| id.as_str().expect("an id")).join(",");
        let limited = admin(&acme, &limit);

        let page = list(&app, &limited, "undoableOnly=true").await;
        let export = app.request(Method::GET, &format!("{ACTIONS}/export?undoableOnly=true"));
        let export = export.bearer(&limited).send().await;

        let items = page["items"].as_array().expect("items");
        let found: Vec<(&Value, &Value)> = items
            .iter()
            .map(|item| (&item["organizationName"], &item["actionType"]))
            .collect();
        let expected = [(json!("Norther"), json!("edit")), (json!("East"), json!("create"))];
        assert_eq!(found, expected.each_ref().map(|(name, action)| (name, action)));
        assert_eq!(page["total"], 2);
        assert_eq!(
            each(&app, &admin(&acme, ""), "undoableOnly=true", "organizationName").await,
            ["Wester", "Norther", "East"]
        );
        assert_eq!(export.status, 200, "{}", export.text());
        let found: Vec<&Value> = items.iter().map(|item| &item["id"]).collect();
        let all = each(&app, &admin(&acme, ""), "", "id").await;
        let exported = all
            .iter()
            .filter(|id| export.text().contains(id.as_str().expect("an id")));
        assert_eq!(exported.collect::<Vec<_>>(), found);
    }
}

#[actix_web::test]
async fn a_list_costs_three_statements_at_most() {
    let app = TestApp::builder(&MODULES).through_proxy().build().await;
    let acme = tenant(&app, "Acme").await;
    let query = format!("organizationId={}", acme.organization_id);
    list(&app, &admin(&acme, ""), &query).await;
    // The first read of others' entries in a quarter of an hour is recorded, too.
    list(&app, &admin(&acme, ""), "").await;

    let (_, plain) = app.count_statements(list(&app, &admin(&acme, ""), "")).await;
    let (_, filtered) = app.count_statements(list(&app, &admin(&acme, ""), &query)).await;
    let (_, uncounted) = app
        .count_statements(list(&app, &admin(&acme, ""), "includeTotal=false"))
        .await;

    // The page with its total, and the documents of its entries; for an empty page, the check of the organization.
    assert_eq!((plain, filtered, uncounted), (2, 2, 2));
}

#[actix_web::test]
async fn an_export_beyond_the_limit_is_not_recorded() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    for number in 0..45 {
        organization(&app, &worker(&acme, 1), &format!("O{number}"), Value::Null).await;
    }
    let export = async |number| {
        let request = app.request(Method::GET, &format!("{ACTIONS}/export"));
        request.bearer(&worker(&acme, number)).open().await
    };
    let recorded = async |number: &str| {
        let of_user = format!(
            "audit_access_logs where access_type = 'export' and actor_id = '{}'",
            user(number)
        );
        app.count(&of_user).await
    };

    // Its client reads nothing, so it keeps the only permit of the tenant.
    let open = export(1).await;
    let rejected = export(2).await;

    assert_eq!((open.status, rejected.status), (200, 429));
    assert_eq!((recorded("1").await, recorded("2").await), (1, 0));
}

#[actix_web::test]
async fn invalid_filters_are_reported() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;

    for query in [
        "pageSize=201",
        "limit=0",
        "offset=-1",
        "page=x",
        "actionType=x",
        "resourceKind=",
        "sortDir=a&sortDir=b",
    ] {
        let (status, body) = app.get(&worker(&acme, 1), &format!("{ACTIONS}?{query}")).await;

        assert_eq!((status, &body["error"]), (400, &json!("Invalid filters")), "{query}");
        assert_eq!(body["details"].as_array().map(Vec::len), Some(1), "{query}");
    }
    // A tenant that can't be read does not hide the filters.
    for path in [
        ACTIONS.to_owned(),
        format!("{ACTIONS}/export"),
        "/audit_logs/audit-logs/access".to_owned(),
    ] {
        let path = format!("{path}?tenantId=zz&resourceKind=&limit=0");
        let (status, body) = app.get(&worker(&acme, 1), &path).await;

        let mut paths: Vec<&str> = details(&body).into_iter().map(|(path, _)| path).collect();
        paths.sort_unstable();
        assert_eq!(
            (status, paths),
            (400, vec!["limit", "resourceKind", "tenantId"]),
            "{path}"
        );
    }
}
