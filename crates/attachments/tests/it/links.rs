//! Links to files for people without an account.

use actix_web::http::Method;
use backoffice_test_accounts::id_of;
use backoffice_test_support::{Duration, TestResponse};
use futures_util::future::join_all;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{LIBRARY, NOTE, TwoTenants, builder_with_limits, fixture, uploaded};

async fn share(fixture: &TwoTenants, token: &str, id: Uuid, body: Value) -> TestResponse {
    let request = fixture.app.request(Method::POST, &format!("{LIBRARY}/{id}/links"));
    request.bearer(token).json(&body).send().await
}

/// Creates a link as the administrator of Alpha and returns its path.
async fn link(fixture: &TwoTenants, id: Uuid, body: Value) -> (Uuid, String) {
    let response = share(fixture, &fixture.a.token, id, body).await;
    assert_eq!(response.status, 201, "{}", response.text());
    let url = response.json()["url"].as_str().expect("an address").to_owned();
    let path = url.strip_prefix("/api").expect("an address of the API");
    (id_of(&response.json()), path.to_owned())
}

async fn get(fixture: &TwoTenants, path: &str) -> TestResponse {
    fixture.app.request(Method::GET, path).send().await
}

async fn listed(fixture: &TwoTenants, id: Uuid) -> Value {
    let path = format!("{LIBRARY}/{id}/links");
    let (status, list) = fixture.app.get(&fixture.a.token, &path).await;
    assert_eq!(status, 200, "{list}");
    list["items"].clone()
}

#[actix_web::test]
async fn att_29_a_link_sends_the_file_to_everybody_until_it_is_revoked() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[], NOTE).await;
    let (own, path) = link(&fixture, id, json!({})).await;

    let response = get(&fixture, &path).await;

    assert_eq!((response.status, response.text().as_str()), (200, "Twelve bytes"));
    let header = |name: &str| response.header(name).unwrap_or_default();
    assert_eq!(header("cache-control"), "private, no-store");
    assert!(header("content-disposition").starts_with("attachment; "));
    assert_eq!((header("etag"), header("vary")), (String::new(), String::new()));
    assert_eq!(header("x-content-type-options"), "nosniff");
    let part = fixture.app.request(Method::GET, &path).header("Range", "bytes=7-");
    let part = part.send().await;
    assert_eq!((part.status, part.text().as_str()), (206, "bytes"));
    let head = fixture.app.request(Method::HEAD, &path).send().await;
    assert_eq!((head.status, head.text().as_str()), (200, ""));

    let items = listed(&fixture, id).await;
    let expected = json!([{
        "id": own, "createdAt": items[0]["createdAt"], "createdBy": items[0]["createdBy"],
        "expiresAt": items[0]["expiresAt"], "maxDownloads": null, "downloads": 1,
        "lastUsedAt": items[0]["lastUsedAt"], "revokedAt": null,
    }]);
    assert_eq!(items, expected, "a part and HEAD do not count");
    let instants = ["createdAt", "expiresAt"].map(|name| items[0][name].as_str().unwrap_or_default()[..10].to_owned());
    assert_eq!(instants, ["2026-11-20", "2026-11-23"], "72 hours");
    assert!(items[0]["createdBy"].is_string() && items[0]["lastUsedAt"].is_string());

    let revoke = async || {
        let request = fixture
            .app
            .request(Method::DELETE, &format!("/attachments/links/{own}"));
        let response = request.bearer(&fixture.a.token).send().await;
        (response.status, response.text())
    };
    assert_eq!(revoke().await, (200, "{\"ok\":true}".to_owned()));
    assert_eq!(revoke().await.0, 404);
    let revoked = get(&fixture, &path).await;
    let unknown = get(&fixture, "/attachments/shared/unknown").await;
    assert_eq!((revoked.status, revoked.text()), (404, unknown.text()));
    let with_nul = get(&fixture, "/attachments/shared/unknown%00").await;
    assert_eq!((with_nul.status, with_nul.text()), (404, unknown.text()));
    assert!(listed(&fixture, id).await[0]["revokedAt"].is_string());
}

#[actix_web::test]
async fn att_29_a_link_counts_its_downloads_exactly() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[], NOTE).await;
    let (_, path) = link(&fixture, id, json!({"maxDownloads": 2})).await;

    let responses = join_all((0..5).map(|_| get(&fixture, &path))).await;

    let complete = responses.iter().filter(|response| response.status == 200);
    assert_eq!(complete.count(), 2);
    let unknown = get(&fixture, "/attachments/shared/unknown").await.text();
    for response in responses.iter().filter(|response| response.status != 200) {
        assert_eq!((response.status, response.text()), (404, unknown.clone()));
    }
    assert_eq!(listed(&fixture, id).await[0]["downloads"], 2);
}

#[actix_web::test]
async fn att_29_a_link_ends_with_the_rights_of_its_creator() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[], NOTE).await;
    fixture.role("Sharer", &["attachments.*"], None).await;
    let (user, token) = fixture.user("sharer@alpha.test", &["Sharer"]).await;
    let response = share(&fixture, &token, id, json!({})).await;
    assert_eq!(response.status, 201, "{}", response.text());
    let url = response.json()["url"].as_str().expect("an address").to_owned();
    let path = url.strip_prefix("/api").expect("an address of the API").to_owned();
    assert_eq!(get(&fixture, &path).await.status, 200);

    let change = json!({"id": user, "roles": []});
    let (status, body) = fixture.app.put(&fixture.a.token, "/auth/users", change).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(get(&fixture, &path).await.status, 404);
    let change = json!({"id": user, "roles": ["Sharer"]});
    assert_eq!(fixture.app.put(&fixture.a.token, "/auth/users", change).await.0, 200);
    assert_eq!(get(&fixture, &path).await.status, 200);
    let delete = fixture.app.request(Method::DELETE, &format!("/auth/users?id={user}"));
    assert_eq!(delete.bearer(&fixture.a.token).send().await.status, 200);
    assert_eq!(get(&fixture, &path).await.status, 404);
}

#[actix_web::test]
async fn a_link_expires_and_is_forgotten_with_its_file() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[], NOTE).await;
    let (_, path) = link(&fixture, id, json!({"expiresInHours": 1})).await;
    assert_eq!(get(&fixture, &path).await.status, 200);
    fixture.app.advance(Duration::hours(1));
    assert_eq!(get(&fixture, &path).await.status, 404);

    let (_, path) = link(&fixture, id, json!({"expiresInHours": 720})).await;
    let delete = fixture.app.request(Method::DELETE, &format!("{LIBRARY}/{id}"));
    assert_eq!(delete.bearer(&fixture.a.token).send().await.status, 200);
    assert_eq!(get(&fixture, &path).await.status, 404);
    assert_eq!(
        fixture.app.rows("select 1 as one from attachments_links").await.len(),
        0
    );
}

#[actix_web::test]
async fn links_are_created_and_seen_by_those_who_may_share_the_file() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[], NOTE).await;
    let (own, _) = link(&fixture, id, json!({})).await;
    let branch = fixture.organization("Branch", None).await;
    fixture.role("Branch", &["attachments.*"], Some(&[branch])).await;
    fixture
        .role("Files", &["attachments.view", "attachments.manage"], None)
        .await;
    let (_, sibling) = fixture.user("branch@alpha.test", &["Branch"]).await;
    let (_, without) = fixture.user("files@alpha.test", &["Files"]).await;

    let unknown = share(&fixture, &fixture.a.token, Uuid::from_u128(7), json!({})).await;
    assert_eq!(
        (unknown.status, unknown.json()),
        (404, json!({"error": "Attachment not found"}))
    );
    for (token, expected) in [(&fixture.b.token, 404), (&sibling, 404), (&without, 403)] {
        assert_eq!(share(&fixture, token, id, json!({})).await.status, expected);
        for (method, path) in [
            (Method::GET, format!("{LIBRARY}/{id}/links")),
            (Method::DELETE, format!("/attachments/links/{own}")),
        ] {
            let response = fixture.app.request(method, &path).bearer(token).send().await;
            assert_eq!(response.status, expected, "{path}: {}", response.text());
        }
    }
    for body in [
        json!({"expiresInHours": 0}),
        json!({"expiresInHours": 721}),
        json!({"expiresInHours": null}),
        json!({"maxDownloads": 0}),
        json!({"maxDownloads": 1001}),
    ] {
        assert_eq!(
            share(&fixture, &fixture.a.token, id, body.clone()).await.status,
            400,
            "{body}"
        );
    }
    assert_eq!(listed(&fixture, id).await.as_array().map(Vec::len), Some(1));
}

#[actix_web::test]
async fn a_link_may_be_said_to_have_no_bound() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[], NOTE).await;

    link(&fixture, id, json!({"maxDownloads": null})).await;

    assert_eq!(listed(&fixture, id).await[0]["maxDownloads"], Value::Null);
}

#[actix_web::test]
async fn a_file_has_at_most_fifty_live_links() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[], NOTE).await;
    for _ in 0..50 {
        link(&fixture, id, json!({"expiresInHours": 1})).await;
    }

    let rejected = share(&fixture, &fixture.a.token, id, json!({})).await;

    assert_eq!(crate::rejection(&rejected), crate::rejected(400, "too_many_links"));
    fixture.app.advance(Duration::hours(1));
    assert_eq!(share(&fixture, &fixture.a.token, id, json!({})).await.status, 201);
}

#[actix_web::test]
async fn a_live_link_is_listed_before_newer_ones_that_ended() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[], NOTE).await;
    let (old, _) = link(&fixture, id, json!({"maxDownloads": 2})).await;
    fixture.app.advance(Duration::SECOND);
    let (new, path) = link(&fixture, id, json!({"maxDownloads": 1})).await;
    assert_eq!(get(&fixture, &path).await.status, 200, "and is used up");
    // 200 newer ones, revoked or expired.
    let ended = format!(
        "insert into attachments_links (tenant_id, id, attachment_id, token_hash, expires_at, max_downloads, downloads, revoked_at, creator_kind,
             creator_tenant_id, created_by, created_at, updated_at)
         select l.tenant_id, gen_random_uuid(), l.attachment_id, decode(md5(n::text) || md5(n::text), 'hex'),
             case when n % 2 = 0 then l.expires_at else l.created_at end, null, 0, case when n % 2 = 0 then l.created_at end,
             l.creator_kind, l.creator_tenant_id, l.created_by, l.created_at + n * interval '1 second', l.updated_at
         from attachments_links l, generate_series(1, 200) n where l.id = '{new}'"
    );
    assert_eq!(fixture.app.sql(&ended).await, 200);

    let items = listed(&fixture, id).await;

    let items = items.as_array().expect("a list");
    assert_eq!((items.len(), id_of(&items[0])), (200, old));
    let created = |item: &Value| item["createdAt"].as_str().expect("a time").to_owned();
    assert!(items[1..].is_sorted_by(|one, next| created(one) >= created(next)));
    assert!(
        items.iter().all(|item| id_of(item) != new),
        "the oldest of those that ended"
    );
}

#[actix_web::test]
async fn a_token_is_shown_once_and_stored_nowhere() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[], NOTE).await;
    let request = || {
        let request = fixture.app.request(Method::POST, &format!("{LIBRARY}/{id}/links"));
        let request = request.bearer(&fixture.a.token).header("Idempotency-Key", "share-1");
        request.json(&json!({})).send()
    };

    let (first, repeated) = (request().await, request().await);

    let url = first.json()["url"].as_str().expect("an address").to_owned();
    let token = url.rsplit('/').next().expect("a token");
    assert_eq!(
        (repeated.json()["id"].clone(), repeated.json()["url"].clone()),
        (first.json()["id"].clone(), Value::Null)
    );
    for table in [
        "audit_action_logs",
        "core_outbox_events",
        "core_idempotency_keys",
        "attachments_links",
    ] {
        let rows = fixture
            .app
            .rows(&format!("select to_jsonb(t)::text as row from {table} t"))
            .await;
        assert!(
            !rows.is_empty() && rows.iter().all(|row| !row["row"].to_string().contains(token)),
            "{table}"
        );
    }
    let (_, log) = fixture
        .app
        .get(&fixture.a.token, "/audit_logs/audit-logs/actions")
        .await;
    assert!(!log.to_string().contains(token) && !log.to_string().contains("tokenHash\":\""));
}

#[actix_web::test]
async fn downloads_by_links_are_limited_by_address() {
    let fixture = TwoTenants::inside(builder_with_limits().build().await).await;
    let id = uploaded(&fixture, &[], NOTE).await;
    let (_, path) = link(&fixture, id, json!({})).await;

    for _ in 0..59 {
        assert_eq!(get(&fixture, "/attachments/shared/unknown").await.status, 404);
    }
    assert_eq!(get(&fixture, &path).await.status, 200);

    let limited = get(&fixture, &path).await;
    assert_eq!(limited.status, 429);
    assert!(limited.header("retry-after").is_some());
}

#[actix_web::test]
async fn a_person_gets_a_dead_link_as_a_page_and_a_program_as_data() {
    const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[], NOTE).await;
    let (own, path) = link(&fixture, id, json!({})).await;
    let open = async |path: &str, accept: &str, language: &str| {
        let request = fixture.app.request(Method::GET, path).header("accept", accept);
        request.header("accept-language", language).send().await
    };
    let file = open(&path, BROWSER, "en").await;
    assert_eq!((file.status, file.text().as_str()), (200, "Twelve bytes"));
    let revoke = fixture
        .app
        .request(Method::DELETE, &format!("/attachments/links/{own}"));
    assert_eq!(revoke.bearer(&fixture.a.token).send().await.status, 200);

    for (language, title) in [
        ("en", "This link does not work"),
        ("pl", "Ten link nie działa"),
        ("es", "Este enlace no funciona"),
        ("de", "Dieser Link funktioniert nicht"),
    ] {
        for path in [path.as_str(), "/attachments/shared/unknown"] {
            let page = open(path, BROWSER, language).await;

            assert_eq!(page.status, 404, "{path}");
            assert_eq!(page.header("content-type").as_deref(), Some("text/html; charset=utf-8"));
            assert_eq!(page.header("content-language").as_deref(), Some(language));
            assert_eq!(page.header("cache-control").as_deref(), Some("no-store"));
            assert_eq!(page.header("referrer-policy").as_deref(), Some("no-referrer"));
            assert!(page.header("content-security-policy").is_some());
            let text = page.text();
            assert!(
                text.contains(&format!("<h1 tabindex=\"-1\">{title}</h1>")) && !text.contains("<script"),
                "{text}"
            );
        }
    }
    for accept in ["*/*", "application/json", "image/avif,*/*;q=0.8"] {
        let data = open(&path, accept, "de").await;
        assert_eq!(
            (data.status, &data.json()["error"]),
            (404, &json!("Link not found")),
            "{accept}"
        );
    }
}

#[actix_web::test]
async fn a_person_who_downloads_too_often_learns_when_to_come_back() {
    let limits = "[rate_limits.limits]\n'attachments.shared.ip' = '1/90'\n";
    let fixture = TwoTenants::inside(builder_with_limits().config(limits).build().await).await;
    let open = async || {
        let request = fixture.app.request(Method::GET, "/attachments/shared/unknown");
        request.header("accept", "text/html").send().await
    };
    assert_eq!(open().await.status, 404);

    let page = open().await;

    assert_eq!(page.status, 429);
    assert!(page.header("retry-after").is_some());
    assert!(
        page.text().contains("Wait 2 minutes and open the link again."),
        "{}",
        page.text()
    );
}
