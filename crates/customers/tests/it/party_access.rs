//! Access to companies and people, and their lists.

use actix_web::http::Method;
use backoffice_test_support::Duration;
use serde_json::{Value, json};

use crate::fixture::{Fixture, TenantFixture, id_of};
use crate::parties::{kinds, rejected, with};

#[actix_web::test]
async fn others_records_are_not_there() {
    let fixture = Fixture::new().await;
    let TenantFixture {
        child,
        admin,
        local,
        stranger,
        ..
    } = &fixture.a;

    for (path, _, body) in kinds() {
        let id = fixture
            .create(admin, path, with(&body, "organizationId", child.to_string()))
            .await;
        assert_eq!(fixture.list(local, path).await, [id]);
        let unknown = uuid::Uuid::from_u128(1);
        for who in [&fixture.b.admin, stranger] {
            assert!(fixture.list(who, path).await.is_empty());
            assert!(fixture.list(who, &format!("{path}?ids={id}")).await.is_empty());
            for (method, target, body) in [
                (Method::GET, format!("{path}/ID"), None),
                (
                    Method::PUT,
                    path.to_owned(),
                    Some(json!({"id": "ID", "isActive": false})),
                ),
                (Method::DELETE, format!("{path}?id=ID"), None),
            ] {
                let named = async |id: uuid::Uuid| {
                    let put = |text: String| text.replace("ID", &id.to_string());
                    let body: Option<Value> = body
                        .as_ref()
                        .map(|body| serde_json::from_str(&put(body.to_string())).expect("JSON"));
                    let response = fixture
                        .app
                        .send(
                            &who.token,
                            method.clone(),
                            &put(target.clone()),
                            body.unwrap_or_default(),
                        )
                        .await;
                    (response.status, response.text())
                };
                let foreign = named(id).await;
                assert_eq!(foreign.0, 404, "{method}: {}", foreign.1);
                assert_eq!(foreign, named(unknown).await);
            }
        }
    }
}

#[actix_web::test]
async fn seeing_and_managing_are_two_rights() {
    let fixture = Fixture::new().await;

    for (path, noun, body) in kinds() {
        let (view, manage) = (format!("customers.{noun}.view"), format!("customers.{noun}.manage"));
        let email = |who: &str| format!("{who}@{noun}.test");
        let viewer = fixture
            .account(&fixture.a, fixture.a.root, &email("viewer"), &[&view], None)
            .await;
        let manager = fixture
            .account(&fixture.a, fixture.a.root, &email("manager"), &[&manage], None)
            .await;

        let id = fixture.create(&manager, path, body.clone()).await;
        assert_eq!(fixture.list(&viewer, path).await, [id]);
        for (who, method, target, feature) in [
            (&manager, Method::GET, path.to_owned(), &view),
            (&manager, Method::GET, format!("{path}/{id}"), &view),
            (&viewer, Method::POST, path.to_owned(), &manage),
            (&viewer, Method::PUT, path.to_owned(), &manage),
            (&viewer, Method::DELETE, format!("{path}?id={id}"), &manage),
        ] {
            let (status, reported) = rejected(&fixture, who, method, &target, body.clone()).await;
            assert_eq!(
                (status, reported),
                (403, json!({"error": "Forbidden", "requiredFeatures": [feature]}))
            );
        }
        assert_eq!(fixture.get(&fixture.a.plain, path).await.0, 403);
    }
}

#[actix_web::test]
async fn a_list_is_filtered_searched_and_sorted() {
    let fixture = Fixture::new().await;
    let TenantFixture { admin, local, .. } = &fixture.a;

    for (path, noun, _) in kinds() {
        let mut created = Vec::new();
        for (name, owner, is_active, email) in [
            ("Beta 50%", Some(admin.id), true, "x@one.test"),
            ("Alpha_x", None, true, "y@two.test"),
            ("Gamma", Some(local.id), false, "z@one.test"),
        ] {
            fixture.app.advance(Duration::SECOND);
            let mut body = json!({"displayName": name, "ownerUserId": owner, "isActive": is_active,
                "primaryEmail": email, "organizationId": fixture.a.child});
            if noun == "people" {
                body["firstName"] = json!("First");
                body["lastName"] = json!(format!("L{name}"));
            } else {
                body["legalName"] = json!(format!("L{name}"));
            }
            created.push(fixture.create(admin, path, body).await);
        }
        let [beta, alpha, gamma] = created[..] else {
            panic!("three")
        };
        fixture.app.advance(Duration::SECOND);
        fixture
            .write(admin, Method::PUT, path, json!({"id": beta, "primaryPhone": "1"}))
            .await;

        for (query, expected) in [
            (String::new(), vec![gamma, alpha, beta]),
            ("?sortDir=asc".to_owned(), vec![beta, alpha, gamma]),
            ("?sortField=updatedAt".to_owned(), vec![alpha, gamma, beta]),
            ("?sortField=updatedAt&sortDir=desc".to_owned(), vec![beta, gamma, alpha]),
            ("?sortField=displayName".to_owned(), vec![alpha, beta, gamma]),
            ("?isActive=false".to_owned(), vec![gamma]),
            (format!("?ownerUserId={}", admin.id), vec![beta]),
            (format!("?ownerUserId={},none", local.id), vec![gamma, alpha]),
            ("?ownerUserId=none".to_owned(), vec![alpha]),
            ("?ownerUserId=".to_owned(), vec![]),
            (format!("?ids={alpha},{gamma}"), vec![gamma, alpha]),
            ("?ids=".to_owned(), vec![]),
            ("?search=BETA".to_owned(), vec![beta]),
            ("?search=%25".to_owned(), vec![beta]),
            ("?search=a_x".to_owned(), vec![alpha]),
            ("?search=lgam".to_owned(), vec![gamma]),
            ("?search=one.test&isActive=true".to_owned(), vec![beta]),
        ] {
            assert_eq!(
                fixture.list(admin, &format!("{path}{query}")).await,
                expected,
                "{path}{query}"
            );
        }
        let (_, page) = fixture.get(admin, &format!("{path}?page=2&pageSize=2")).await;
        assert_eq!(
            (id_of(&page["items"][0]), &page["total"], &page["totalPages"]),
            (beta, &json!(3), &json!(2))
        );
        for query in [
            "page=0",
            "pageSize=101",
            "ids=x",
            "ownerUserId=x",
            "isActive=x",
            "sortField=id",
            "sortDir=up",
        ] {
            assert_eq!(fixture.get(admin, &format!("{path}?{query}")).await.0, 400, "{query}");
        }
        let many = (0..201)
            .map(|number| uuid::Uuid::from_u128(number).to_string())
            .collect::<Vec<_>>();
        let many = format!("{path}?ids={}", many.join(","));
        assert_eq!(fixture.get(admin, &many).await.0, 400, "too many ids");
    }
}

#[actix_web::test]
async fn reading_is_recorded() {
    let fixture = Fixture::new().await;
    let who = &fixture.a.admin;

    for (path, noun, body) in kinds() {
        let kind = if noun == "people" {
            "customers.person"
        } else {
            "customers.company"
        };
        let id = fixture.create(who, path, body).await;
        fixture.list(who, path).await;
        fixture.item(who, path, id).await;

        let query = format!(
            "select access_type, resource_id, organization_id from audit_access_logs where resource_kind = '{kind}' order by 1"
        );
        let row = |access: &str| json!({"access_type": access, "resource_id": id, "organization_id": fixture.a.root});
        assert_eq!(fixture.app.rows(&query).await, [row("read:item"), row("read:list")]);
    }
}
