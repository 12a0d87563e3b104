//! Documents that clients store, and the pages that return them.

use backoffice_core::document::{MOST_BYTES, MOST_RESPONSE_BYTES};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::call::Call;
use crate::fixture::Fixture;
use crate::history::{ACTIONS, EXPORT};

const PRODUCTS: &str = "/catalog/products";

/// Returns the largest valid metadata, built from the values that take the most memory; each number gives a different document.
fn largest(number: usize) -> Value {
    let empty = MOST_BYTES / 3 - 8;
    let metadata = json!({format!("k{number:04}"): vec![json!([]); empty]});
    assert!((MOST_BYTES - 64..=MOST_BYTES).contains(&metadata.to_string().len()));
    metadata
}

async fn product(fixture: &Fixture) -> Uuid {
    let call = Call::post(PRODUCTS, json!({"title": "Large", "metadata": largest(0)}));
    let response = call.send(&fixture.app, &fixture.a.tenant_admin.token).await;
    assert_eq!(response.status, 201, "{}", response.text());
    response.json()["id"].as_str().expect("an id").parse().expect("a UUID")
}

#[actix_web::test]
async fn f3_documents_beyond_their_bounds_are_rejected() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.tenant_admin.token;
    let product = product(&fixture).await;
    let long = "x".repeat(MOST_BYTES);
    let deep = (0..17).fold(json!(1), |inner, _| json!({"a": inner}));
    let options: Map<String, Value> = [("a".to_owned(), json!(long))].into_iter().collect();
    let groups: Vec<String> = (0..500).map(|number| format!("{number:0>128}")).collect();
    let settings = json!({"itemOrder": {"a": groups, "b": groups}});
    let filter = json!({"tags": (0..200).map(|number| format!("{number}{}", "x".repeat(400))).collect::<Vec<_>>()});

    for (call, path, code) in [
        (
            Call::put(PRODUCTS, json!({"id": product, "metadata": {"a": long}})),
            "metadata",
            "too_long",
        ),
        (
            Call::put(PRODUCTS, json!({"id": product, "metadata": deep})),
            "metadata",
            "invalid_value",
        ),
        (
            Call::post(
                "/catalog/variants",
                json!({"productId": product, "name": "S", "options": options}),
            ),
            "options",
            "too_long",
        ),
        (
            Call::post(
                PRODUCTS,
                json!({"title": "a", "variants": [{"name": "S"}, {"name": "T", "options": options}]}),
            ),
            "variants[1].options",
            "too_long",
        ),
        (
            Call::post("/auth/sidebar/variants", json!({"settings": settings})),
            "settings",
            "too_long",
        ),
        (Call::put("/auth/sidebar/preferences", settings.clone()), "", "too_long"),
        (
            Call::post(
                "/catalog/bulk-delete",
                json!({"confirm": true, "scope": "filtered", "filter": filter}),
            ),
            "filter",
            "too_long",
        ),
    ] {
        let response = call.send(&fixture.app, token).await;

        assert_eq!(response.status, 400, "{path}: {}", response.text());
        let detail = &response.json()["details"][0];
        assert_eq!(
            (&detail["path"], &detail["code"]),
            (&json!(path), &json!(code)),
            "{}",
            call.path
        );
    }
}

/// Returns a line of `/proc/self/status`, in KiB.
fn memory(name: &str) -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status
        .lines()
        .find(|line| line.starts_with(name))
        .expect("a known line");
    line.split_whitespace()
        .nth(1)
        .expect("a number")
        .parse()
        .expect("a number")
}

#[actix_web::test]
async fn f3_the_widest_page_of_the_largest_entries_is_bounded() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.tenant_admin.token;
    let product = product(&fixture).await;
    for number in 1..=100 {
        let call = Call::put(PRODUCTS, json!({"id": product, "metadata": largest(number)}));
        let response = call.send(&fixture.app, token).await;
        assert_eq!(response.status, 200, "{}", response.text());
    }

    let call = Call::get(ACTIONS)
        .with_query("limit", "1000")
        .with_query("resourceKind", "catalog.product")
        .with_query("resourceId", &product.to_string());
    // Resets the peak.
    std::fs::write("/proc/self/clear_refs", "5").expect("Linux");
    let before = memory("VmRSS");
    let response = call.send(&fixture.app, token).await;
    let grown = memory("VmHWM") - before;

    assert_eq!(response.status, 200);
    assert!(
        response.text().len() <= MOST_RESPONSE_BYTES,
        "{}",
        response.text().len()
    );
    eprintln!("{} bytes, {grown} KiB more at the peak", response.text().len());
    // Other tests of the same process would be measured too.
    if std::env::var_os("NEXTEST").is_some() {
        assert!(grown <= 64 * 1024, "{grown} KiB");
    }
    let page = response.json();
    let items = page["items"].as_array().expect("a page");
    assert_eq!(items.len(), 101);
    let (whole, cut): (Vec<&Value>, Vec<&Value>) = items.iter().partition(|item| item.get("truncated").is_none());
    assert!(whole.len() >= 10 && cut.len() >= 70, "{} {}", whole.len(), cut.len());
    assert!(whole.iter().all(|item| item["snapshotAfter"]["metadata"].is_object()));
    let nothing = |item: &&Value| {
        item["truncated"] == true
            && ["snapshotBefore", "snapshotAfter", "changes"]
                .iter()
                .all(|name| item[*name].is_null())
    };
    assert!(cut.iter().all(nothing));
    // The single entry contains what a page omits.
    let one = Call::get(ACTIONS).with_query("id", cut[0]["id"].as_str().expect("an id"));
    let one = one.send(&fixture.app, token).await.json();
    assert!(one["items"][0].get("truncated").is_none());
    assert!(one["items"][0]["changes"]["metadata"]["to"].is_object());

    let export = Call::get(EXPORT).with_query("resourceKind", "catalog.product");
    std::fs::write("/proc/self/clear_refs", "5").expect("Linux");
    let before = memory("VmRSS");
    let response = export.send(&fixture.app, token).await;
    let grown = memory("VmHWM") - before;
    assert_eq!(response.status, 200);
    let longest = response.text().split("\r\n").map(str::len).max().unwrap_or(0);
    eprintln!(
        "export of {} bytes, {grown} KiB more at the peak",
        response.text().len()
    );
    assert!(longest < 2 * (32_767 * 4 + 1000), "{longest}");
}

#[actix_web::test]
async fn f3_a_page_of_products_leaves_out_metadata_that_has_no_room() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.tenant_admin.token;
    for _ in 0..60 {
        product(&fixture).await;
    }

    let call = Call::get(PRODUCTS).with_query("pageSize", "100");
    let response = call.send(&fixture.app, token).await;

    assert!(response.text().len() <= MOST_RESPONSE_BYTES);
    let page = response.json();
    let items = page["items"].as_array().expect("a page");
    let cut = items
        .iter()
        .find(|item| item["truncated"] == true)
        .expect("one without room");
    assert!(cut["metadata"].is_null());
    assert!(items.iter().any(|item| item["metadata"].is_object()));
    let path = format!("{PRODUCTS}/{}", cut["id"].as_str().expect("an id"));
    let one = Call::get(&path).send(&fixture.app, token).await.json();
    assert!(one["metadata"].is_object() && one.get("truncated").is_none());
}
