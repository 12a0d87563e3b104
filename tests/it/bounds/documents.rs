//! Documents that clients store, and the pages that return them.

use std::process::Command;

use backoffice_core::document::{MOST_BYTES, MOST_RESPONSE_BYTES};
use backoffice_test_support::TestStream;
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

/// Environment variable of the processes in which memory is measured.
const MEASURED: &str = "BACKOFFICE_TEST_MEASURED";

/// Runs an ignored test of this module in a process of its own: in this one, the memory of other tests would be measured too.
fn measure(test: &str) {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args([
            "--exact",
            &format!("bounds::documents::{test}"),
            "--ignored",
            "--nocapture",
        ])
        .env(MEASURED, "1")
        .output()
        .expect("the program runs");
    let (report, log) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success() && report.contains("1 passed"),
        "{test}: {report}{log}"
    );
    eprintln!("{log}");
}

/// Returns whether this process runs one test only.
fn is_measured() -> bool {
    std::env::var_os(MEASURED).is_some()
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

/// Returns the output of the work, and by how many KiB the memory of this process grew at its peak.
async fn growth<T>(work: impl Future<Output = T>) -> (T, i64) {
    // Resets the peak.
    std::fs::write("/proc/self/clear_refs", "5").expect("Linux");
    let before = memory("VmRSS");
    let output = work.await;
    (output, memory("VmHWM") - before)
}

/// Creates a product with 101 of the largest entries.
async fn product_with_entries(fixture: &Fixture) -> Uuid {
    let product = product(fixture).await;
    for number in 1..=100 {
        let call = Call::put(PRODUCTS, json!({"id": product, "metadata": largest(number)}));
        let response = call.send(&fixture.app, &fixture.a.tenant_admin.token).await;
        assert_eq!(response.status, 200, "{}", response.text());
    }
    product
}

#[test]
fn f3_the_widest_page_of_the_largest_entries_is_bounded() {
    measure("the_page_that_is_measured");
}

#[actix_web::test]
#[ignore = "started by the test above"]
async fn the_page_that_is_measured() {
    if !is_measured() {
        return;
    }
    let fixture = Fixture::new().await;
    let token = &fixture.a.tenant_admin.token;
    let product = product_with_entries(&fixture).await;

    let call = Call::get(ACTIONS)
        .with_query("limit", "1000")
        .with_query("resourceKind", "catalog.product")
        .with_query("resourceId", &product.to_string());
    let (response, grown) = growth(call.send(&fixture.app, token)).await;

    assert_eq!(response.status, 200);
    assert!(
        response.text().len() <= MOST_RESPONSE_BYTES,
        "{}",
        response.text().len()
    );
    eprintln!("{} bytes, {grown} KiB more at the peak", response.text().len());
    assert!(grown <= 64 * 1024, "{grown} KiB");
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
}

#[test]
fn f3_the_export_of_the_largest_entries_is_bounded() {
    measure("the_export_that_is_measured");
}

/// Reads an export without keeping it. Returns the numbers of lines and bytes, and the length of the longest line.
async fn read_lines(mut export: TestStream) -> (usize, usize, usize) {
    let (mut lines, mut bytes, mut longest) = (0, 0, 0);
    let mut line = 0;
    while let Some(piece) = export.next().await {
        bytes += piece.len();
        // No cell of these entries has a line break.
        for (index, part) in piece.split("\r\n").enumerate() {
            if index > 0 {
                lines += 1;
                line = 0;
            }
            line += part.len();
            longest = longest.max(line);
        }
    }
    (lines, bytes, longest)
}

#[actix_web::test]
#[ignore = "started by the test above"]
async fn the_export_that_is_measured() {
    if !is_measured() {
        return;
    }
    let fixture = Fixture::new().await;
    let token = &fixture.a.tenant_admin.token;
    product_with_entries(&fixture).await;

    let export = Call::get(EXPORT).with_query("resourceKind", "catalog.product");
    let (read, grown) = growth(async {
        let response = export.request(&fixture.app, token).open().await;
        assert_eq!(response.status, 200);
        read_lines(response).await
    })
    .await;

    let (lines, bytes, longest) = read;
    eprintln!("export of {bytes} bytes, {grown} KiB more at the peak");
    assert!(lines > 101, "{lines}");
    assert!(longest < 2 * (32_767 * 4 + 1000), "{longest}");
    // 20 entries are in memory at a time.
    assert!(grown <= 32 * 1024, "{grown} KiB");
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
