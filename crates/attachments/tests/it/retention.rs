//! Files of records that can't come back.

use actix_web::http::Method;
use backoffice_core::Call;
use backoffice_core::jobs::enqueue_due;
use backoffice_test_accounts::{id_of, login};
use backoffice_test_support::Duration;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{NOTE, TwoTenants, builder, deal, fixture, request, stored, uploaded};

/// Lets the daily job run.
async fn daily(fixture: &TwoTenants) {
    let due = enqueue_due(&Call::internal(fixture.app.runtime())).await;
    due.expect("the database can be read");
    fixture.app.run_jobs().await;
}

async fn attached(fixture: &TwoTenants, deal: Uuid) -> Uuid {
    let record = deal.to_string();
    let parts = [("entityId", "customers.deal"), ("recordId", record.as_str())];
    let response = request(&fixture.app, &fixture.a.token, &parts, Some(NOTE)).send().await;
    assert_eq!(response.status, 200, "{}", response.text());
    id_of(&response.json()["item"])
}

#[actix_web::test]
async fn files_of_a_deleted_record_are_deleted_when_nothing_can_bring_it_back() {
    let builder = builder().config("[audit.action]\nretention_months = 1\n");
    let fixture = TwoTenants::inside(builder.build().await).await;
    daily(&fixture).await;
    let (gone, kept) = (deal(&fixture).await, deal(&fixture).await);
    let lost = attached(&fixture, gone).await;
    attached(&fixture, kept).await;
    uploaded(&fixture, &[], NOTE).await;
    let path = format!("/customers/deals?id={gone}");
    let (status, _) = fixture.app.delete(&fixture.a.token, &path, Value::Null).await;
    assert_eq!(status, 200);
    let absent = async || {
        let rows = fixture
            .app
            .rows("select id, absent_since from attachments_attachments where absent_since is not null");
        rows.await
    };

    fixture.app.advance(Duration::days(1));
    daily(&fixture).await;
    let noted = absent().await;
    assert_eq!((noted.len(), &noted[0]["id"]), (1, &json!(lost)));
    fixture.app.advance(Duration::days(7));
    daily(&fixture).await;
    assert_eq!(stored(&fixture.app).await.2, 3, "the deletion can still be undone");
    assert_eq!(absent().await, noted, "since the first day");
    fixture.app.advance(Duration::days(35));
    daily(&fixture).await;

    assert_eq!(stored(&fixture.app).await, (2, 0, 2, 24));
    assert_eq!(absent().await, [] as [Value; 0]);
    let entries = fixture
        .app
        .rows("select actor_kind from audit_action_logs where command_id = 'attachments.attachment.delete'")
        .await;
    assert_eq!(entries, [json!({"actor_kind": "system"})]);
}

#[actix_web::test]
async fn a_record_that_comes_back_keeps_its_files() {
    let mut fixture = fixture().await;
    daily(&fixture).await;
    fixture.app.advance(Duration::days(1));
    fixture.a.token = login(&fixture.app, "admin@alpha.test").await;
    let deal = deal(&fixture).await;
    attached(&fixture, deal).await;
    let path = format!("/customers/deals?id={deal}");
    let deleted = fixture.app.request(Method::DELETE, &path).bearer(&fixture.a.token);
    let deleted = deleted.send().await;
    let noted = async || {
        let rows = fixture
            .app
            .rows("select 1 as one from attachments_attachments where absent_since is not null");
        rows.await.len()
    };
    daily(&fixture).await;
    assert_eq!(noted().await, 1);

    let (status, body) = fixture.app.undo(&fixture.a.token, &deleted).await;
    assert_eq!(status, 200, "{body}");
    fixture.app.advance(Duration::days(1));
    daily(&fixture).await;

    assert_eq!(noted().await, 0);
    assert_eq!(stored(&fixture.app).await.2, 1);
}
