//! Writes that expect an earlier state of their record.

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::fixture::{Fixture, id_of};

const ROLES: &str = "/auth/roles";
const ROLE_ACL: &str = "/auth/roles/acl";
const USERS: &str = "/auth/users";
const USER_ACL: &str = "/auth/users/acl";
const PROFILE: &str = "/auth/profile";
const CONSENTS: &str = "/auth/profile/consents";
const PREFERENCES: &str = "/auth/sidebar/preferences";
const VARIANTS: &str = "/auth/sidebar/variants";

/// A time at which no record was changed.
const STALE: &str = "2020-01-01T00:00:00.000Z";

/// A valid write of the administrator of Alpha.
struct Write {
    method: Method,
    path: String,
    body: Value,
}

impl Write {
    fn put(path: &str, body: Value) -> Self {
        Self {
            method: Method::PUT,
            path: path.to_owned(),
            body,
        }
    }

    fn delete(path: String) -> Self {
        Self {
            method: Method::DELETE,
            path,
            body: Value::Null,
        }
    }

    async fn send(&self, fixture: &Fixture, expected: Option<(&str, &str)>) -> (u16, Value) {
        let request = fixture.app.request(self.method.clone(), &self.path);
        let request = request.bearer(&fixture.a.token).json(&self.body);
        let request = match expected {
            Some((name, value)) => request.header(name, value),
            None => request,
        };
        let response = request.send().await;
        (response.status, response.json())
    }

    /// Sends the write with a stale time, by either header; `current` is the present time of change, or null.
    async fn is_rejected(&self, fixture: &Fixture, current: &Value) {
        let before = fixture.app.snapshot().await;
        for (name, value) in [
            ("If-Match", format!("\"{STALE}\"")),
            ("X-Expected-Updated-At", STALE.to_owned()),
        ] {
            let (status, mut body) = self.send(fixture, Some((name, &value))).await;
            let what = format!("{} {} with {name}: {body}", self.method, self.path);
            assert_eq!(status, 409, "{what}");
            body.as_object_mut().expect("an object").remove("ok");
            assert_eq!(
                body,
                json!({"error": "record_modified", "code": "optimistic_lock_conflict",
                    "currentUpdatedAt": current, "expectedUpdatedAt": STALE}),
                "{what}"
            );
        }
        assert_eq!(fixture.app.snapshot().await, before, "{} {}", self.method, self.path);
    }

    /// Sends the write with the present time of change.
    async fn is_accepted(&self, fixture: &Fixture, current: &Value) {
        let current = current.as_str().expect("a time");
        let (status, body) = self.send(fixture, Some(("X-Expected-Updated-At", current))).await;
        assert_eq!(status, 200, "{} {}: {body}", self.method, self.path);
    }
}

#[actix_web::test]
async fn a_stale_write_is_rejected_with_both_times_and_changes_nothing() {
    let fixture = Fixture::new().await;
    let read = async |path: String, pointer: &str| {
        let body = fixture.app.read(&fixture.a.token, &path).await;
        body.pointer(pointer).expect("a time").clone()
    };
    let settings = json!({"groupOrder": ["a"]});
    let role = fixture.role("Dispatcher", &["auth.users.list"], None).await;
    let (user, _) = fixture.user("ann@alpha.test", &[]).await;
    let acl = json!({"userId": user, "features": ["auth.users.list"]});
    let consent = |is_granted| json!({"consentType": "news", "isGranted": is_granted});
    let of_role = |group: &str| json!({"scope": {"type": "role", "roleId": role}, "groupOrder": [group]});
    for (path, body) in [
        (USER_ACL, acl),
        (CONSENTS, consent(true)),
        (PREFERENCES, settings.clone()),
        (PREFERENCES, of_role("a")),
    ] {
        let (status, body) = fixture.app.put(&fixture.a.token, path, body).await;
        assert_eq!(status, 200, "{path}: {body}");
    }
    let (_, variant) = fixture.app.post(&fixture.a.token, VARIANTS, settings).await;
    let variant = format!("{VARIANTS}/{}", id_of(&variant["variant"]));

    for (write, path, time) in [
        (
            Write::put(ROLES, json!({"id": role, "name": "Planner"})),
            format!("{ROLES}?id={role}"),
            "/items/0/updatedAt",
        ),
        (
            Write::put(ROLE_ACL, json!({"roleId": role, "features": []})),
            format!("{ROLE_ACL}?roleId={role}"),
            "/updatedAt",
        ),
        (
            Write::put(USERS, json!({"id": user, "name": "Ann"})),
            format!("{USERS}?id={user}"),
            "/items/0/updatedAt",
        ),
        (
            Write::put(USER_ACL, json!({"userId": user, "features": ["auth.users.*"]})),
            format!("{USER_ACL}?userId={user}"),
            "/updatedAt",
        ),
        (
            Write::put(PROFILE, json!({"name": "Administrator"})),
            PROFILE.to_owned(),
            "/updatedAt",
        ),
        (
            Write::put(CONSENTS, consent(false)),
            CONSENTS.to_owned(),
            "/items/0/updatedAt",
        ),
        (
            Write::put(PREFERENCES, json!({"groupOrder": ["b"]})),
            PREFERENCES.to_owned(),
            "/updatedAt",
        ),
        (
            Write::put(PREFERENCES, of_role("b")),
            format!("{PREFERENCES}?roleId={role}"),
            "/updatedAt",
        ),
        (
            Write::put(&variant, json!({"name": "Mine"})),
            variant.clone(),
            "/variant/updatedAt",
        ),
        (Write::delete(variant.clone()), variant.clone(), "/variant/updatedAt"),
        (
            Write::delete(format!("{PREFERENCES}?roleId={role}")),
            format!("{PREFERENCES}?roleId={role}"),
            "/updatedAt",
        ),
        (
            Write::delete(format!("{ROLES}?id={role}")),
            format!("{ROLES}?id={role}"),
            "/items/0/updatedAt",
        ),
        (
            Write::delete(format!("{USERS}?id={user}")),
            format!("{USERS}?id={user}"),
            "/items/0/updatedAt",
        ),
    ] {
        let current = read(path, time).await;

        write.is_rejected(&fixture, &current).await;
        write.is_accepted(&fixture, &current).await;
    }
}

#[actix_web::test]
async fn a_first_write_that_expects_a_record_is_rejected_without_a_present_time() {
    let fixture = Fixture::new().await;
    let (_, role) = fixture
        .app
        .post(&fixture.a.token, ROLES, json!({"name": "Dispatcher"}))
        .await;
    let role = id_of(&role);
    let (user, _) = fixture.user("ann@alpha.test", &[]).await;
    let of_role = json!({"scope": {"type": "role", "roleId": role}, "groupOrder": ["a"]});

    for write in [
        Write::put(ROLE_ACL, json!({"roleId": role, "features": ["auth.users.list"]})),
        Write::put(USER_ACL, json!({"userId": user, "features": ["auth.users.list"]})),
        Write::put(CONSENTS, json!({"consentType": "news", "isGranted": true})),
        Write::put(PREFERENCES, json!({"groupOrder": ["a"]})),
        Write::delete(format!("{PREFERENCES}?roleId={role}")),
        Write::put(PREFERENCES, of_role),
    ] {
        write.is_rejected(&fixture, &Value::Null).await;
        let (status, body) = write.send(&fixture, None).await;
        assert_eq!(status, 200, "{} {}: {body}", write.method, write.path);
    }
}
