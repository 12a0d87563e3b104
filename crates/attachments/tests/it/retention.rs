//! Files of records that can't come back.

use std::sync::atomic::{AtomicUsize, Ordering};

use actix_web::http::Method;
use backoffice_core::command::{Hook, Interceptor, InterceptorContext, Verdict};
use backoffice_core::jobs::enqueue_due;
use backoffice_core::{Call, Module, Result};
use backoffice_test_accounts::{id_of, login};
use backoffice_test_support::Duration;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{MODULES, NOTE, TwoTenants, Upload, builder, builder_of, deal, fixture, request, stored, uploaded};

/// Keeps files named `kept.txt`, as a rule of a tenant may.
static KEPT_FILES: Module = Module {
    name: "kept-files",
    requires: &["attachments"],
    register: |registry| {
        registry.interceptor(KEEP);
    },
    ..Module::EMPTY
};

const KEEP: Interceptor = Interceptor {
    id: "kept_files.deletions",
    target: "attachments.attachment.delete",
    priority: 100,
    run: |_tx, context| Box::pin(keep(context)),
};

/// Number of deletions of kept files.
static DELETIONS: AtomicUsize = AtomicUsize::new(0);

async fn keep(context: &InterceptorContext<'_>) -> Result<Verdict> {
    let name = context.before.and_then(|file| file.get("fileName"));
    if context.hook != Hook::BeforeExecute || name != Some(&json!("kept.txt")) {
        return Ok(Verdict::Continue);
    }
    // A run that tries without end shall fail, not hang.
    Ok(match DELETIONS.fetch_add(1, Ordering::Relaxed) {
        100.. => Verdict::Continue,
        _ => Verdict::Reject {
            message: "This one stays".to_owned(),
            code: None,
            status: None,
            body: None,
        },
    })
}

/// Lets the daily job run.
async fn daily(fixture: &TwoTenants) {
    let due = enqueue_due(&Call::internal(fixture.app.runtime())).await;
    due.expect("the database can be read");
    fixture.app.run_jobs().await;
}

async fn attached(fixture: &TwoTenants, deal: Uuid, file: Upload<'_>) -> Uuid {
    let record = deal.to_string();
    let parts = [("entityId", "customers.deal"), ("recordId", record.as_str())];
    let response = request(&fixture.app, &fixture.a.token, &parts, Some(file)).send().await;
    assert_eq!(response.status, 200, "{}", response.text());
    id_of(&response.json()["item"])
}

#[actix_web::test]
async fn files_of_a_deleted_record_are_deleted_when_nothing_can_bring_it_back() {
    let builder = builder().config("[audit.action]\nretention_months = 1\n");
    let fixture = TwoTenants::inside(builder.build().await).await;
    daily(&fixture).await;
    let (gone, kept) = (deal(&fixture).await, deal(&fixture).await);
    let lost = attached(&fixture, gone, NOTE).await;
    attached(&fixture, kept, NOTE).await;
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
async fn a_shorter_retention_deletes_no_file_before_the_log_is_shorter() {
    let builder = builder().config("[audit.action]\nretention_months = 1\n");
    let fixture = TwoTenants::inside(builder.build().await).await;
    // The retention that `migrate` has stored.
    let keep = async |kept: &str| {
        let sql = format!("update core_monthly_tables set kept = '{kept}' where name = 'audit_action_logs'");
        assert_eq!(fixture.app.sql(&sql).await, 1);
    };
    keep("24 months").await;
    daily(&fixture).await;
    let deal = deal(&fixture).await;
    attached(&fixture, deal, NOTE).await;
    let path = format!("/customers/deals?id={deal}");
    let (status, _) = fixture.app.delete(&fixture.a.token, &path, Value::Null).await;
    assert_eq!(status, 200);
    fixture.app.advance(Duration::days(1));
    daily(&fixture).await;

    fixture.app.advance(Duration::days(42));
    daily(&fixture).await;

    assert_eq!(stored(&fixture.app).await.2, 1, "the deletion can still be undone");
    keep("1 month").await;
    fixture.app.advance(Duration::days(1));
    daily(&fixture).await;
    assert_eq!(stored(&fixture.app).await, (0, 0, 0, 0));
}

#[actix_web::test]
async fn a_record_that_comes_back_keeps_its_files() {
    let mut fixture = fixture().await;
    daily(&fixture).await;
    fixture.app.advance(Duration::days(1));
    fixture.a.token = login(&fixture.app, "admin@alpha.test").await;
    let deal = deal(&fixture).await;
    attached(&fixture, deal, NOTE).await;
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

#[actix_web::test]
async fn a_file_that_a_rule_keeps_is_tried_once_in_a_run_and_delays_no_others() {
    let modules = [MODULES.as_slice(), &[&KEPT_FILES]].concat();
    let builder = builder_of(&modules).config("[audit.action]\nretention_months = 1\n");
    let fixture = TwoTenants::inside(builder.build().await).await;
    daily(&fixture).await;
    let deal = deal(&fixture).await;
    let kept = Upload {
        name: "kept.txt",
        ..NOTE
    };
    attached(&fixture, deal, kept).await;
    attached(&fixture, deal, NOTE).await;
    let path = format!("/customers/deals?id={deal}");
    let (status, _) = fixture.app.delete(&fixture.a.token, &path, Value::Null).await;
    assert_eq!(status, 200);
    fixture.app.advance(Duration::days(1));
    daily(&fixture).await;
    assert_eq!(stored(&fixture.app).await.2, 2, "the deletion can still be undone");

    fixture.app.advance(Duration::days(42));
    daily(&fixture).await;

    let names = fixture.app.rows("select file_name from attachments_attachments").await;
    assert_eq!(names, [json!({"file_name": "kept.txt"})]);
    assert_eq!(DELETIONS.load(Ordering::Relaxed), 1);
    fixture.app.advance(Duration::days(1));
    daily(&fixture).await;
    assert_eq!(DELETIONS.load(Ordering::Relaxed), 2, "again in the next run");
    assert_eq!(stored(&fixture.app).await, (1, 0, 1, 12));
}
