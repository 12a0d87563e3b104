//! Another organization of the caller's tenant, and invalid ids.

use actix_web::http::Method;

use super::{describe, is_empty, outcome, written};
use crate::call::Place;
use crate::endpoints::{Kind, Setting, malformed_status};

/// A caller limited to one organization sends ids of another one.
pub(super) async fn targets(setting: Setting) {
    let (app, caller) = (&setting.fixture.app, &setting.fixture.a.local.token);
    let before = written(&setting, setting.fixture.a.tenant).await;

    for (_, entry) in setting.private() {
        for target in entry.targets.iter().filter(|target| !is_of_tenant(target.kind)) {
            let call = setting.call(&entry);
            let (foreign, unknown) = (target.of(&setting.fixture.a, &setting.a), target.unknown());
            let expected = call.clone().with(target.place, &unknown).send(app, caller).await;
            let named = call.with(target.place, &foreign);

            let response = named.send(app, caller).await;

            let what = format!("{named}, {}", describe(*target));
            assert_eq!(outcome(&response, &foreign), outcome(&expected, &unknown), "{what}");
            assert!(
                response.status >= 400 || named.method == Method::GET,
                "{what}: {}",
                response.text()
            );
            assert_eq!(written(&setting, setting.fixture.a.tenant).await, before, "{what}");
        }
    }
}

/// Returns whether the ids of this kind belong to the whole tenant, so that a caller of one organization may know them.
fn is_of_tenant(kind: Kind) -> bool {
    match kind {
        // Roles and the tenant have no organization; a sidebar belongs to its user. Undo and redo say why they reject an entry of another
        // organization: 403 with the scope violation of the audit specification.
        Kind::Tenant | Kind::Role | Kind::Variant | Kind::Token | Kind::Undone => true,
        Kind::Organization
        | Kind::Parent
        | Kind::User
        | Kind::Owner
        | Kind::Invited
        | Kind::Key
        | Kind::Customer(_)
        | Kind::TopCategory
        | Kind::Alerted
        | Kind::Job(_) => false,
    }
}

pub(super) async fn malformed(setting: Setting) {
    let app = &setting.fixture.app;
    let before = app.snapshot_without(&["audit_access_logs"], &[]).await;

    for (_, entry) in setting.private() {
        for target in entry.targets.iter().filter(|target| target.strict) {
            for wrong in [
                "x",
                "",
                "0190-xyz",
                "00000000-0000-0000-0000-00000000000g",
                "' or 1=1 --",
            ] {
                let call = setting.call(&entry).with(target.place, wrong);
                let response = call.send(app, &setting.sender(&entry).token).await;

                if wrong.is_empty() && matches!(target.place, Place::QueryList(_)) {
                    assert!(is_empty(&response), "an empty list means none: {call}");
                } else {
                    let expected = malformed_status(entry.path);
                    assert_eq!(response.status, expected, "{call}: {}", response.text());
                }
            }
        }
    }
    assert_eq!(app.snapshot_without(&["audit_access_logs"], &[]).await, before);
}
