//! Another tenant: its ids are unknown, its name is rejected.

use actix_web::http::Method;
use serde_json::json;

use super::{describe, is_empty, outcome, rows};
use crate::call::Call;
use crate::endpoints::Setting;

/// The admin of B sends every id of A.
pub(super) async fn targets(setting: Setting) {
    let (app, caller) = (&setting.fixture.app, &setting.fixture.b.tenant_admin.token);
    let before = rows(&setting, setting.fixture.a.tenant).await;

    for (_, entry) in setting.private() {
        for target in &entry.targets {
            let call = (entry.call)(&setting.fixture.b, &setting.b);
            let (foreign, unknown) = (target.of(&setting.fixture.a, &setting.a), target.unknown());
            let expected = call.clone().with(target.place, &unknown).send(app, caller).await;
            let named = call.with(target.place, &foreign);

            let response = named.send(app, caller).await;

            let what = format!("{named}, {}", describe(*target));
            assert_eq!(outcome(&response, &foreign), outcome(&expected, &unknown), "{what}");
            assert!(
                response.status >= 400 || named.method == Method::GET && is_empty(&response),
                "{what}: {} {}",
                response.status,
                response.text()
            );
            assert_eq!(rows(&setting, setting.fixture.a.tenant).await, before, "{what}");
        }
    }
}

/// The admin of B sends tenant A as `tenantId`, in the query and in the body, alone and after their own.
pub(super) async fn parameter(setting: Setting) {
    let (app, caller) = (&setting.fixture.app, &setting.fixture.b.tenant_admin.token);
    let (own, foreign) = (
        setting.fixture.b.tenant.to_string(),
        setting.fixture.a.tenant.to_string(),
    );
    let before = setting.fixture.app.snapshot().await;

    for (info, entry) in setting.private() {
        let call = (entry.call)(&setting.fixture.b, &setting.b);
        let once = call.clone().with_query("tenantId", &foreign);
        let duplicates = call
            .clone()
            .with_query("tenantId", &own)
            .and_query("tenantId", &foreign);
        let mut responses = vec![once.send(app, caller).await, duplicates.send(app, caller).await];
        if call.has_parts {
            responses.push(
                call.clone()
                    .with_field("tenantId", json!(foreign))
                    .send(app, caller)
                    .await,
            );
        } else if info.method != Method::GET {
            for body in [
                body(&call, &format!(r#""tenantId":"{foreign}""#)),
                body(&call, &format!(r#""tenantId":"{own}","tenantId":"{foreign}""#)),
                body(&call, &format!(r#""tenantId":"{foreign}","tenantId":"{own}""#)),
            ] {
                responses.push(call.bare(app, caller).body(body, "application/json").send().await);
            }
            let form = [("tenantId", own.as_str()), ("tenantId", foreign.as_str())];
            responses.push(call.bare(app, caller).form(&form).send().await);
        }

        for (number, response) in responses.iter().enumerate() {
            let text = &response.json()["error"];
            assert_eq!(
                (response.status, text),
                (403, &json!("Not authorized to target this tenant.")),
                "{call}, way {number}"
            );
        }
    }
    assert_eq!(setting.fixture.app.snapshot().await, before);
}

/// Returns the body with a further field, which may duplicate one.
fn body(call: &Call, field: &str) -> String {
    let text = call.body.clone().unwrap_or_else(|| json!({})).to_string();
    let rest = &text[1..];
    let comma = if rest == "}" { "" } else { "," };
    format!("{{{field}{comma}{rest}")
}
