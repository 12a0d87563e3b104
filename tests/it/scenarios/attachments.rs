//! Scenarios of the commands of `attachments`.

use actix_web::http::Method;
use serde_json::json;

use super::{Scenario, scenario};
use crate::call::Call;

const LIBRARY: &str = "/attachments/library";
const FIELDS: &str = "/attachments/fields";
const PARTITIONS: &str = "/attachments/partitions";

pub(crate) fn scenarios() -> Vec<Scenario> {
    vec![
        scenario("attachments.attachment.update", "all fields", |tenant| {
            Call::patch(
                &format!("{LIBRARY}/{}", tenant.child),
                json!({"tags": ["c", "a"], "assignments": [{"type": "x.y", "id": "r9"}], "cf_color": "red", "fileName": "b.bmp"}),
            )
        }),
        scenario("attachments.attachment.transfer", "of three files", |tenant| {
            Call::post(
                "/attachments/transfer",
                json!({"entityId": "x.y", "attachmentIds": [tenant.child, tenant.other, tenant.parent], "toRecordId": "r2"}),
            )
        }),
        // A new partition belongs to a tenant; a caller without a tenant must select one first.
        Scenario {
            by_anybody: false,
            ..scenario("attachments.partition.create", "all fields", |_| {
                Call::post(
                    PARTITIONS,
                    json!({"code": "new", "title": "New", "description": "D", "isPublic": true}),
                )
            })
        },
        scenario("attachments.partition.update", "all fields", |tenant| {
            Call::put(
                PARTITIONS,
                json!({"id": tenant.role, "title": "Renamed", "description": "D", "isPublic": true, "requiresOcr": true, "ocrModel": "m"}),
            )
        }),
        Scenario {
            by_anybody: false,
            ..scenario("attachments.field.set", "a new field", |_| {
                Call::put(
                    FIELDS,
                    json!({"entityId": "x.y", "fieldKey": "new", "acceptExtensions": ["png"], "maxBytes": 5}),
                )
            })
        },
        scenario("attachments.field.delete", "of a field", |tenant| {
            Call::new(Method::DELETE, FIELDS).with_query("id", &tenant.role.to_string())
        }),
        scenario("attachments.partition.delete", "without files", |tenant| {
            Call::new(Method::DELETE, PARTITIONS).with_query("id", &tenant.role.to_string())
        }),
    ]
}
