//! Filters by tags, the tags of all tenants, and what the access log records of a file's detail.

use actix_web::http::Method;
use serde_json::json;
use uuid::Uuid;

use crate::{ATTACHMENTS, LIBRARY, NOTE, RECORD, Upload, fixture, ids, request, upload, uploaded};

#[actix_web::test]
async fn a_list_of_no_tags_matches_no_file() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[("tags", "a")], NOTE).await;

    for (query, expected) in [
        ("", vec![id]),
        ("?tags=a,a,", vec![id]),
        ("?tags=", vec![]),
        ("?tags=,", vec![]),
        ("?tags=%20,%20", vec![]),
    ] {
        let (status, page) = fixture.app.get(&fixture.a.token, &format!("{LIBRARY}{query}")).await;
        assert_eq!((status, ids(&page)), (200, expected.clone()), "{query}");
        assert_eq!(page["total"], json!(expected.len()), "{query}");
        assert_eq!(page["availableTags"], json!(["a"]), "{query}");
    }
}

#[actix_web::test]
async fn a_filter_has_at_most_twenty_tags() {
    let fixture = fixture().await;
    let list = |count: u32| {
        (0..count)
            .map(|number| number.to_string())
            .collect::<Vec<_>>()
            .join(",")
    };

    let (most, _) = fixture
        .app
        .get(&fixture.a.token, &format!("{LIBRARY}?tags={}", list(20)))
        .await;
    let (more, body) = fixture
        .app
        .get(&fixture.a.token, &format!("{LIBRARY}?tags={}", list(5000)))
        .await;

    assert_eq!((most, more), (200, 400), "{body}");
    assert_eq!(body["error"], "Invalid query");
    let expected = json!([{"path": "tags", "message": "must be at most 20 values", "code": "too_long"}]);
    assert_eq!(body["details"], expected);
}

#[actix_web::test]
async fn a_file_matches_if_it_has_all_of_the_tags_whatever_their_number() {
    let fixture = fixture().await;
    let all = uploaded(&fixture, &[("tags", "a,b,c,d,e,f,g")], NOTE).await;
    let some = uploaded(&fixture, &[("tags", "a,b,c,d,e")], NOTE).await;
    uploaded(&fixture, &[("tags", "a")], NOTE).await;
    let response = upload(&fixture.app, &fixture.b.token, &[("tags", "a,b,c,d,e,f")], NOTE).await;
    assert_eq!(response.status, 200, "{}", response.text());

    for (tags, mut expected) in [
        ("b", vec![all, some]),
        ("e,d,b,b", vec![all, some]),
        ("a,b,c,d,e", vec![all, some]),
        ("a,b,c,d,f", vec![all]),
        ("a,b,c,d,e,f", vec![all]),
        ("a,b,c,d,e,f,g", vec![all]),
        ("a,b,z", vec![]),
        ("a,b,c,d,e,f,z", vec![]),
    ] {
        let path = format!("{LIBRARY}?tags={tags}");
        let page = fixture.app.read(&fixture.a.token, &path).await;
        let mut found = ids(&page);
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!((&page["total"], &found), (&json!(expected.len()), &expected), "{tags}");
    }
}

#[actix_web::test]
async fn a_caller_of_one_organization_sees_the_tags_in_use_there() {
    sees_the_tags_of(1).await;
}

#[actix_web::test]
async fn a_caller_of_many_organizations_sees_the_tags_in_use_there() {
    sees_the_tags_of(51).await;
}

/// Checks the tags that a caller of so many organizations sees: files are in the first one, and in an organization of others.
async fn sees_the_tags_of(organizations: usize) {
    let fixture = fixture().await;
    let mut own = Vec::new();
    for number in 0..organizations {
        own.push(fixture.organization(&format!("Branch {number}"), None).await);
    }
    let branch = own[0];
    fixture.role("Branch", &["attachments.*"], Some(&own)).await;
    let (_, local) = fixture.user("local@alpha.test", &["Branch"]).await;
    uploaded(&fixture, &[("tags", "head,shared")], NOTE).await;
    for tags in ["shared", "shared,branch"] {
        let parts = [RECORD[0], RECORD[1], ("tags", tags)];
        let upload = request(&fixture.app, &local, &parts, Some(NOTE));
        let response = upload.header("X-Organization-Id", &branch.to_string()).send().await;
        assert_eq!(response.status, 200, "{}", response.text());
    }

    let page = fixture.app.read(&local, LIBRARY).await;

    let whole = fixture.app.read(&fixture.a.token, LIBRARY).await;
    assert_eq!(page["availableTags"], json!(["branch", "shared"]));
    assert_eq!(whole["availableTags"], json!(["branch", "head", "shared"]));
    assert_eq!(page["partitions"], whole["partitions"]);

    let more = "insert into attachments_tags (tenant_id, id, organization_id, attachment_id, tag, created_at, updated_at) \
        select tenant_id, gen_random_uuid(), organization_id, attachment_id, 'a' || n, created_at, updated_at \
        from attachments_tags, generate_series(1, 1000) n where tag = 'head'";
    fixture.app.sql(more).await;
    let page = fixture.app.read(&local, LIBRARY).await;
    assert_eq!(
        page["availableTags"],
        json!(["branch", "shared"]),
        "with many other tags"
    );
    let whole = fixture.app.read(&fixture.a.token, LIBRARY).await;
    assert_eq!(whole["availableTags"].as_array().map(Vec::len), Some(500));
}

#[actix_web::test]
async fn the_tags_of_all_tenants_are_shown_to_a_super_administrator_who_selects_them() {
    let fixture = fixture().await;
    uploaded(&fixture, &[("tags", "b,shared")], NOTE).await;
    let response = upload(&fixture.app, &fixture.b.token, &[("tags", "a,shared")], NOTE).await;
    assert_eq!(response.status, 200, "{}", response.text());

    let request = fixture.app.request(Method::GET, LIBRARY).bearer(&fixture.root);
    let page = request.header("X-Tenant-Id", "all").send().await.json();

    assert_eq!(page["total"], 2, "{page}");
    assert_eq!(page["availableTags"], json!(["a", "b", "shared"]));
}

#[actix_web::test]
async fn the_detail_of_a_file_is_logged_and_neither_head_nor_an_unchanged_one() {
    let fixture = fixture().await;
    let id: Uuid = uploaded(&fixture, &[], NOTE).await;
    let path = format!("{LIBRARY}/{id}");
    let detail = |method| fixture.app.request(method, &path).bearer(&fixture.a.token);
    let logged = async || {
        let rows = "select access_type from audit_access_logs where resource_kind = 'attachments.attachment'";
        fixture.app.rows(rows).await
    };

    let head = detail(Method::HEAD).send().await;
    assert_eq!((head.status, head.text().as_str()), (200, ""));
    let etag = head.header("etag").expect("a tag");
    let unchanged = detail(Method::GET).header("If-None-Match", &etag).send().await;
    assert_eq!(unchanged.status, 304);
    assert_eq!(logged().await.len(), 0);

    assert_eq!(detail(Method::GET).send().await.status, 200);
    assert_eq!(logged().await, [json!({"access_type": "read:item"})]);
}

/// A control character takes six bytes in JSON.
#[actix_web::test]
async fn a_page_leaves_out_the_texts_that_no_longer_fit_into_the_response() {
    let fixture = fixture().await;
    let bytes = format!("a{}", "\u{1b}".repeat(19_999)).into_bytes();
    let long = Upload { bytes: &bytes, ..NOTE };
    for _ in 0..65 {
        uploaded(&fixture, &[], long).await;
    }

    for path in [
        format!("{LIBRARY}?pageSize=100"),
        format!(
            "{ATTACHMENTS}?entityId={}&recordId={}&pageSize=100",
            RECORD[0].1, RECORD[1].1
        ),
    ] {
        let response = fixture
            .app
            .request(Method::GET, &path)
            .bearer(&fixture.a.token)
            .send()
            .await;
        assert_eq!(response.status, 200, "{path}");
        assert!(response.text().len() < 8 * 1024 * 1024, "{path}");
        let items = response.json()["items"].as_array().cloned().unwrap_or_default();
        let (shown, left_out): (Vec<_>, Vec<_>) = items.iter().partition(|item| item["content"].is_string());
        assert_eq!((shown.len(), left_out.len()), (61, 4), "{path}");
        assert!(shown.iter().all(|item| item.get("truncated").is_none()), "{path}");
        for item in left_out {
            let flags = (&item["content"], &item["truncated"], &item["contentTruncated"]);
            assert_eq!(flags, (&json!(null), &json!(true), &json!(true)), "{path}");
            let detail = format!("{LIBRARY}/{}", crate::id_of(item));
            let (status, detail) = fixture.app.get(&fixture.a.token, &detail).await;
            assert_eq!(status, 200, "{detail}");
            assert!(detail["item"]["content"].is_string(), "{detail}");
            assert!(detail["item"].get("truncated").is_none(), "{detail}");
        }
    }
}
