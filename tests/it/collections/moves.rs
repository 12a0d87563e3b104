//! Reads of a caller whose organization moves to another place in the tree.

use serde_json::json;

use super::{Known, calls, compare, read};
use crate::call::Call;
use crate::endpoints::Setting;
use crate::fixture::Fixture;
use crate::scenarios::rich;

#[actix_web::test]
async fn no_tag_and_no_total_hides_a_move_of_the_callers_organization() {
    let setting = Setting::on_seeded(rich(Fixture::new().await).await).await;
    let (fixture, caller) = (&setting.fixture, &setting.fixture.a.local);
    let shows_pipelines = |known: &[Known]| {
        let mut lists = known.iter().filter(|one| one.call.path == "/customers/pipelines");
        lists.any(|one| one.body["total"].as_i64() > Some(0))
    };
    let mut known = Vec::new();
    for call in &calls(&setting) {
        known.push(read(&fixture.app, call, caller).await);
    }
    assert!(!shows_pipelines(&known));

    // The pipelines are in `other`; they serve the organizations below it.
    for (parent, serve) in [(fixture.a.other, true), (fixture.a.parent, false)] {
        let body = json!({"id": fixture.a.child, "parentId": parent});
        let moved = Call::put("/directory/organizations", body);
        let moved = moved.send(&fixture.app, &fixture.a.tenant_admin.token).await;
        assert_eq!(moved.status, 200, "{}", moved.text());

        known = compare(fixture, known, caller, &format!("a move to {parent}")).await;

        assert_eq!(shows_pipelines(&known), serve);
    }
}
