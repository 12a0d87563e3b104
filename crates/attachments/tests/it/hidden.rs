//! Files whose record was deleted.

use actix_web::http::Method;
use backoffice_test_support::{Duration, TestResponse};
use image::ImageFormat;
use serde_json::json;
use uuid::Uuid;

use crate::images::landscape;
use crate::{LIBRARY, TwoTenants, Upload, deal, fixture, id_of, request};

/// Attaches an image to a deal, with further parts.
async fn attached(fixture: &TwoTenants, deal: Uuid, parts: &[(&str, &str)]) -> Uuid {
    let (record, bytes) = (deal.to_string(), landscape(ImageFormat::Png));
    let file = Upload {
        name: "a.png",
        bytes: &bytes,
        kind: "image/png",
    };
    let own = [("entityId", "customers.deal"), ("recordId", record.as_str())];
    let parts: Vec<_> = own.iter().chain(parts).copied().collect();
    let response = request(&fixture.app, &fixture.a.token, &parts, Some(file)).send().await;
    assert_eq!(response.status, 200, "{}", response.text());
    id_of(&response.json()["item"])
}

async fn status(fixture: &TwoTenants, token: Option<&str>, path: &str) -> u16 {
    let request = fixture.app.request(Method::GET, path);
    let request = match token {
        Some(token) => request.bearer(token),
        None => request,
    };
    request.send().await.status
}

async fn deleted(fixture: &TwoTenants, deal: Uuid) -> TestResponse {
    let path = format!("/customers/deals?id={deal}");
    let request = fixture.app.request(Method::DELETE, &path).bearer(&fixture.a.token);
    let response = request.send().await;
    assert_eq!(response.status, 200, "{}", response.text());
    response
}

#[actix_web::test]
async fn the_bytes_of_a_deleted_record_are_hidden_until_the_deletion_is_undone() {
    let fixture = fixture().await;
    let deal = deal(&fixture).await;
    let id = attached(&fixture, deal, &[]).await;
    let links = format!("{LIBRARY}/{id}/links");
    let (_, link) = fixture.app.post(&fixture.a.token, &links, json!({})).await;
    let link = link["url"].as_str().expect("an address").replace("/api", "");
    let shown = async || {
        let own = Some(fixture.a.token.as_str());
        [
            status(&fixture, own, &format!("/attachments/file/{id}")).await,
            status(&fixture, own, &format!("/attachments/image/{id}?width=10")).await,
            status(&fixture, own, &format!("/attachments/image/{id}")).await,
            status(&fixture, None, &link).await,
        ]
    };
    assert_eq!(shown().await, [200; 4]);

    let deletion = deleted(&fixture, deal).await;
    // A node knows for a second that a record exists.
    fixture.app.advance(Duration::SECOND);
    assert_eq!(shown().await, [404; 4]);

    let undone = fixture.app.undo(&fixture.a.token, &deletion).await;
    assert_eq!(undone.0, 200, "{}", undone.1);
    assert_eq!(shown().await, [200; 4]);
}

#[actix_web::test]
async fn a_public_file_does_not_depend_on_its_record() {
    let fixture = fixture().await;
    let deal = deal(&fixture).await;
    let id = attached(&fixture, deal, &[("partitionCode", "productsMedia")]).await;

    deleted(&fixture, deal).await;

    assert_eq!(status(&fixture, None, &format!("/attachments/file/{id}")).await, 200);
}
