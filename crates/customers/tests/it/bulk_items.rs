//! Items of bulk jobs are regular commands: they can be undone, and interceptors can reject them.

use backoffice_core::Module;
use backoffice_core::command::{Hook, Interceptor, InterceptorContext, Tx, Verdict};
use backoffice_core::registry::Registry;
use backoffice_test_support::UndoableWrite;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bulk::{OWNER, STAGE, counts};
use crate::fixture::{ACTIONS, Account, DEALS, Fixture, id_of};

static ADMIN: Module = Module {
    name: "kept-deals",
    requires: &["customers"],
    register: keep,
    ..Module::EMPTY
};

fn keep(registry: &mut Registry) {
    for (id, target) in [
        ("kept_deals.owners", "customers.deal.assign_owner"),
        ("kept_deals.stages", "customers.deal.change_stage"),
    ] {
        registry.interceptor(Interceptor {
            id,
            target,
            priority: 100,
            run: reject_kept,
        });
    }
}

/// Rejects changes of deals whose source is `kept`.
fn reject_kept<'a>(
    _tx: &'a mut Tx<'_>,
    attempt: &'a InterceptorContext<'a>,
) -> BoxFuture<'a, backoffice_core::Result<Verdict>> {
    let source = attempt.before.and_then(|deal| deal.get("source"));
    let keeps = attempt.hook == Hook::BeforeExecute && source == Some(&json!("kept"));
    async move {
        Ok(if keeps {
            Verdict::Reject {
                message: "This one stays".to_owned(),
                code: Some("kept".to_owned()),
                status: Some(409),
                body: None,
            }
        } else {
            Verdict::Continue
        })
    }
    .boxed()
}

impl Fixture {
    /// Returns the undo tokens of the items of a job, by deal.
    async fn tokens(&self, who: &Account, job: &Value) -> Vec<(Uuid, UndoableWrite)> {
        let path = format!(
            "{ACTIONS}?resourceKind=progress.job&resourceId={}&includeRelated=true&limit=1000",
            id_of(job)
        );
        let log = self.app.read(&who.token, &path).await;
        let items = log["items"].as_array().expect("entries").iter();
        let items = items.filter(|entry| entry["commandId"] == "customers.deal.assign_owner");
        items
            .map(UndoableWrite::from_entry)
            .map(|write| (write.resource, write))
            .collect()
    }
}

#[actix_web::test]
async fn crm_7_items_of_a_bulk_job_are_undone_one_by_one_by_their_requester() {
    let fixture = Fixture::new().await;
    let (admin, local, child) = (&fixture.a.admin, &fixture.a.local, fixture.a.child);
    let owned = json!({"ownerUserId": local.id});
    let [first, second, third] = [
        fixture.deal(admin, child, owned.clone()).await,
        fixture.deal(admin, child, owned.clone()).await,
        fixture.deal(admin, child, owned).await,
    ];
    let rights = &["customers.*", "audit_logs.view_tenant", "audit_logs.undo_self"];
    let other = fixture
        .account(&fixture.a, fixture.a.root, "other@alpha.test", rights, None)
        .await;
    let job = fixture
        .bulk(
            admin,
            OWNER,
            json!({"ids": [first, second, third], "ownerUserId": admin.id}),
        )
        .await;
    let tokens = fixture.tokens(admin, &job).await;
    let of = |deal: Uuid| &tokens.iter().find(|one| one.0 == deal).expect("an entry").1;

    let (status, body) = fixture.app.undo(&other.token, of(first)).await;
    assert_eq!((status, &body), (400, &json!({"error": "Undo token not available"})));
    let (status, body) = fixture.app.undo(&admin.token, of(first)).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(
        fixture.owners(&[first, second, third]).await,
        [json!(local.id), json!(admin.id), json!(admin.id)]
    );

    let edit = json!({"id": second, "title": "Edited"});
    assert_eq!(fixture.put(local, DEALS, edit).await.0, 200);
    assert_eq!(fixture.app.undo(&admin.token, of(second)).await.0, 400);
    let deal = fixture.item(admin, DEALS, second).await;
    assert_eq!(
        (&deal["title"], &deal["ownerUserId"]),
        (&json!("Edited"), &json!(admin.id))
    );
}

#[actix_web::test]
async fn crm_7_an_owner_whom_the_requester_does_not_see_comes_back() {
    let fixture = Fixture::new().await;
    let (admin, local) = (&fixture.a.admin, &fixture.a.local);
    let owned = json!({"ownerUserId": admin.id});
    let deal = fixture.deal(admin, fixture.a.child, owned).await;
    let job = fixture
        .bulk(local, OWNER, json!({"ids": [deal], "ownerUserId": local.id}))
        .await;
    assert_eq!(fixture.owners(&[deal]).await, [json!(local.id)]);
    let tokens = fixture.tokens(local, &job).await;

    let (status, body) = fixture.app.undo(&local.token, &tokens[0].1).await;

    assert_eq!(status, 200, "{body}");
    assert_eq!(fixture.owners(&[deal]).await, [json!(admin.id)]);
}

#[actix_web::test]
async fn crm_9_deals_that_an_interceptor_keeps_carry_its_status_and_code() {
    let fixture = Fixture::beside(&ADMIN).await;
    let (admin, child) = (&fixture.a.admin, fixture.a.child);
    let (_, stages) = fixture.pipeline(admin, child, &["New"]).await;
    let deals = fixture.deals(&fixture.a, child, 9).await;
    let kept: Vec<Uuid> = deals.iter().copied().skip(2).step_by(3).collect();
    for deal in &kept {
        let edit = json!({"id": deal, "source": "kept"});
        assert_eq!(fixture.put(admin, DEALS, edit).await.0, 200);
    }

    for (path, body, column) in [
        (OWNER, json!({"ids": deals, "ownerUserId": admin.id}), "owner_user_id"),
        (
            STAGE,
            json!({"ids": deals, "pipelineStageId": stages[0]}),
            "pipeline_stage_id",
        ),
    ] {
        let job = fixture.bulk(admin, path, body).await;

        assert_eq!(counts(&job), ("completed_with_errors", [9, 6, 0, 3]), "{path}");
        let failures = fixture.failures(admin, &job).await;
        let rejected = |id: &Uuid| (*id, 409, "kept".to_owned());
        assert_eq!(failures, kept.iter().map(rejected).collect::<Vec<_>>());
        assert_eq!(
            fixture.column(column, &kept).await,
            [Value::Null, Value::Null, Value::Null]
        );
    }
}
