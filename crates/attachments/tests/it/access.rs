//! Who reads which bytes.

use actix_web::http::Method;
use backoffice_test_support::{Duration, TestResponse};
use serde_json::json;
use uuid::Uuid;

use crate::{NOTE, fixture, uploaded};

async fn file(fixture: &crate::TwoTenants, token: &str, id: Uuid) -> TestResponse {
    let request = fixture.app.request(Method::GET, &format!("/attachments/file/{id}"));
    let request = if token.is_empty() {
        request
    } else {
        request.bearer(token)
    };
    request.send().await
}

#[actix_web::test]
async fn att_12_public_files_are_for_everybody_and_private_ones_are_not() {
    let fixture = fixture().await;
    let private = uploaded(&fixture, &[], NOTE).await;
    let public = uploaded(&fixture, &[("partitionCode", "productsMedia")], NOTE).await;

    let unknown = file(&fixture, "", Uuid::from_u128(7)).await;
    assert_eq!(
        (unknown.status, unknown.json()),
        (404, json!({"error": "Attachment not found"}))
    );
    assert_eq!(file(&fixture, "", private).await.status, 401);
    for token in ["", "garbage", &fixture.b.token, &fixture.a.token] {
        let response = file(&fixture, token, public).await;
        assert_eq!(
            (response.status, response.text().as_str()),
            (200, "Twelve bytes"),
            "{token:.8}"
        );
        assert_eq!(
            response.header("cache-control").as_deref(),
            Some("public, max-age=86400")
        );
        assert_eq!(
            response.header("cross-origin-resource-policy").as_deref(),
            Some("cross-origin")
        );
        assert_eq!(response.header("vary"), None);
    }
}

#[actix_web::test]
async fn an_invalid_credential_for_a_private_file_clears_the_cookies() {
    let fixture = fixture().await;
    let private = uploaded(&fixture, &[], NOTE).await;
    let public = uploaded(&fixture, &[("partitionCode", "productsMedia")], NOTE).await;
    let read = async |id: Uuid, cookie: &str| {
        let request = fixture.app.request(Method::GET, &format!("/attachments/file/{id}"));
        let request = match cookie {
            "" => request,
            _ => request.cookie("auth_token", cookie),
        };
        request.send().await
    };
    let cleared = |response: &TestResponse| {
        response
            .cookie("auth_token")
            .is_some_and(|cookie| cookie.value().is_empty())
    };

    let (invalid, visitor) = (read(private, "garbage").await, read(private, "").await);
    let shown = read(public, "garbage").await;

    assert_eq!((invalid.status, cleared(&invalid)), (401, true));
    assert_eq!((visitor.status, cleared(&visitor)), (401, false));
    assert_eq!((shown.status, cleared(&shown)), (200, false));
}

#[actix_web::test]
async fn att_13_private_files_stay_in_their_tenant_and_organization() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[], NOTE).await;
    let branch = fixture.organization("Branch", None).await;
    fixture.role("Branch", &["attachments.*"], Some(&[branch])).await;
    fixture.role("Nothing", &["directory.organizations.view"], None).await;
    let (_, sibling) = fixture.user("branch@alpha.test", &["Branch"]).await;
    let (_, without) = fixture.user("nothing@alpha.test", &["Nothing"]).await;
    let unknown = file(&fixture, &fixture.a.token, Uuid::from_u128(7)).await;

    for token in [&fixture.b.token, &sibling] {
        let response = file(&fixture, token, id).await;
        assert_eq!((response.status, response.text()), (404, unknown.text()));
    }
    let missing = file(&fixture, &without, id).await;
    assert_eq!(
        (missing.status, missing.json()),
        (
            403,
            json!({"error": "Forbidden", "requiredFeatures": ["attachments.view"]})
        )
    );
    for token in [&fixture.a.token, &fixture.root] {
        assert_eq!(file(&fixture, token, id).await.status, 200);
    }
}

#[actix_web::test]
async fn a_private_download_is_logged_and_neither_head_nor_an_unchanged_one() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[], NOTE).await;
    let path = format!("/attachments/file/{id}");
    let logged = async || {
        let rows = fixture
            .app
            .rows("select access_type from audit_access_logs where resource_kind = 'attachments.attachment'");
        rows.await.len()
    };

    let head = fixture
        .app
        .request(Method::HEAD, &path)
        .bearer(&fixture.a.token)
        .send()
        .await;
    let etag = head.header("etag").expect("a tag");
    let unchanged = fixture.app.request(Method::GET, &path).bearer(&fixture.a.token);
    assert_eq!(unchanged.header("If-None-Match", &etag).send().await.status, 304);
    assert_eq!(logged().await, 0);

    assert_eq!(file(&fixture, &fixture.a.token, id).await.status, 200);
    assert_eq!(logged().await, 1);
}

#[actix_web::test]
async fn a_revoked_and_an_expired_credential_are_none() {
    let fixture = fixture().await;
    let private = uploaded(&fixture, &[], NOTE).await;
    let public = uploaded(&fixture, &[("partitionCode", "productsMedia")], NOTE).await;
    let statuses = async |token: &str| {
        let mut statuses = Vec::new();
        for id in [public, private] {
            let response = file(&fixture, token, id).await;
            let clears_cookies = response.headers.contains_key("set-cookie");
            assert_eq!(clears_cookies, response.status == 401);
            statuses.push(response.status);
        }
        statuses
    };
    fixture.role("Reader", &["attachments.view"], None).await;
    let (_, revoked) = fixture.user("reader@alpha.test", &["Reader"]).await;
    assert_eq!(statuses(&revoked).await, [200, 200]);

    let logout = fixture.app.request(Method::POST, "/auth/logout").bearer(&revoked);
    assert!(logout.send().await.status < 400);
    assert_eq!(statuses(&revoked).await, [200, 401]);

    assert_eq!(statuses(&fixture.a.token).await, [200, 200]);
    fixture.app.advance(Duration::days(40));
    assert_eq!(statuses(&fixture.a.token).await, [200, 401]);
}
