//! Owners of companies and people that undo and redo restore.

use actix_web::http::Method;
use backoffice_test_support::{Duration, UndoableWrite};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Account, Fixture};
use crate::parties::{kinds, with};

/// A company or person in `child`, with its owner, whom the tests delete or deactivate.
struct Owned<'a> {
    fixture: &'a Fixture,
    path: &'static str,
    id: Uuid,
    owner: Account,
}

impl Owned<'_> {
    async fn item(&self) -> Value {
        self.fixture.item(&self.fixture.a.admin, self.path, self.id).await
    }

    async fn change(&self, who: &Account, field: &str, value: Value) -> UndoableWrite {
        let body = with(&json!({"id": self.id}), field, value);
        self.fixture.write(who, Method::PUT, self.path, body).await
    }

    /// Sets a column of the owner's row, bypassing the command log.
    async fn set_user(&self, column: &str) {
        let sql = format!("update auth_users set {column} where id = '{}'", self.owner.id);
        assert_eq!(self.fixture.app.sql(&sql).await, 1);
    }

    /// Returns the references that the last undo or redo has left out.
    async fn dropped(&self) -> Value {
        self.fixture.last_entry(&self.fixture.a.admin).await["context"]["dropped"].clone()
    }
}

/// Creates a company and a person, with an owner each.
async fn owned(fixture: &Fixture) -> Vec<Owned<'_>> {
    let (admin, child) = (&fixture.a.admin, fixture.a.child);
    let mut created = Vec::new();
    for (path, noun, body) in kinds() {
        let email = format!("owner-of-{noun}@alpha.test");
        let owner = fixture
            .account(&fixture.a, child, &email, &["customers.*"], Some(&[child]))
            .await;
        let body = with(&body, "organizationId", child.to_string());
        let id = fixture
            .create(admin, path, with(&body, "ownerUserId", owner.id.to_string()))
            .await;
        created.push(Owned {
            fixture,
            path,
            id,
            owner,
        });
    }
    created
}

/// Returns a record without its owner and the time of its last change.
fn without_owner(mut item: Value) -> Value {
    for field in ["ownerUserId", "ownerName", "updatedAt"] {
        item[field].take();
    }
    item
}

#[actix_web::test]
async fn an_owner_who_may_no_longer_sign_in_is_left_out_and_named() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;

    for record in owned(&fixture).await {
        let before = record.item().await;
        let named = json!([format!("auth.user:{}", record.owner.id)]);
        let deleted = fixture.remove(admin, record.path, record.id).await;
        record.set_user("is_active = false").await;
        fixture.app.advance(Duration::SECOND);

        assert_eq!(fixture.app.undo(&admin.token, &deleted).await.0, 200);

        assert_eq!(record.dropped().await, named);
        let restored = record.item().await;
        assert_eq!(restored["ownerUserId"], Value::Null);
        assert_eq!(without_owner(restored), without_owner(before));

        record.set_user("is_active = true").await;
        let assigned = record.change(admin, "ownerUserId", json!(record.owner.id)).await;
        assert_eq!(fixture.app.undo(&admin.token, &assigned).await.0, 200);
        record.set_user("deleted_at = now()").await;
        fixture.app.advance(Duration::SECOND);
        assert_eq!(fixture.app.redo(&admin.token, &assigned).await.0, 200);
        assert_eq!(record.dropped().await, named);
        assert_eq!(record.item().await["ownerUserId"], Value::Null);
    }
}

#[actix_web::test]
async fn an_owner_who_is_not_restored_stays() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;

    for record in owned(&fixture).await {
        let renamed = record.change(admin, "displayName", json!("Renamed")).await;
        record.set_user("is_active = false").await;
        fixture.app.advance(Duration::SECOND);

        assert_eq!(fixture.app.undo(&admin.token, &renamed).await.0, 200);

        let item = record.item().await;
        assert_eq!(item["ownerUserId"], json!(record.owner.id));
        assert_ne!(item["displayName"], "Renamed");
        assert_eq!(record.dropped().await, Value::Null);
    }
}

#[actix_web::test]
async fn an_owner_who_may_not_own_the_record_is_a_conflict() {
    let fixture = Fixture::new().await;
    let local = &fixture.a.local;

    for record in owned(&fixture).await {
        let cleared = record.change(local, "ownerUserId", Value::Null).await;
        let elsewhere = format!(
            "update auth_user_acls set organizations = '{{{}}}' where user_id = '{}'",
            fixture.a.other, record.owner.id
        );
        assert_eq!(fixture.app.sql(&elsewhere).await, 1);
        let before = fixture.app.snapshot_without(&["audit_access_logs"], &[]).await;

        let (status, body) = fixture.app.undo(&local.token, &cleared).await;

        assert_eq!(
            (status, &body["code"], &body["fields"]),
            (400, &json!("undo_conflict"), &json!(["ownerUserId"]))
        );
        assert_eq!(fixture.app.snapshot_without(&["audit_access_logs"], &[]).await, before);

        let back = format!(
            "update auth_user_acls set organizations = '{{{}}}' where user_id = '{}'",
            fixture.a.child, record.owner.id
        );
        assert_eq!(fixture.app.sql(&back).await, 1);
        assert_eq!(fixture.app.undo(&local.token, &cleared).await.0, 200);
        assert_eq!(record.item().await["ownerUserId"], json!(record.owner.id));
    }
}

#[actix_web::test]
async fn an_owner_whom_the_caller_does_not_see_is_restored() {
    let fixture = Fixture::new().await;

    for record in owned(&fixture).await {
        // Other users do not see super administrators, and cannot assign them.
        let hidden = format!(
            "update auth_user_acls set is_super_admin = true where user_id = '{}'",
            record.owner.id
        );
        assert_eq!(fixture.app.sql(&hidden).await, 1);
        for who in [&fixture.a.admin, &fixture.a.local] {
            let cleared = record.change(who, "ownerUserId", Value::Null).await;
            let assigned = json!({"id": record.id, "ownerUserId": record.owner.id});
            assert_eq!(fixture.put(who, record.path, assigned).await.0, 400);

            let (status, body) = fixture.app.undo(&who.token, &cleared).await;
            assert_eq!(status, 200, "{body}");
            assert_eq!(record.item().await["ownerUserId"], json!(record.owner.id));

            let deleted = fixture.remove(who, record.path, record.id).await;
            fixture.app.advance(Duration::SECOND);
            let (status, body) = fixture.app.undo(&who.token, &deleted).await;
            assert_eq!(status, 200, "{body}");
            assert_eq!(record.item().await["ownerUserId"], json!(record.owner.id));
            assert_eq!(record.dropped().await, Value::Null);
        }
    }
}
