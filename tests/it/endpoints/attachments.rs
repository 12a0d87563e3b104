//! The entries of `attachments`. Every file has the id of its organization, so that the id of another organization is also the id of a file there.
//! The partition of a tenant has the id of its role.

use actix_web::http::Method;
use serde_json::json;

use super::table::{at, entry};
use super::{Entry, Kind, Target};
use crate::call::{Call, Place};

const ATTACHMENTS: &str = "/attachments";
const LIBRARY: &str = "/attachments/library";
const FIELDS: &str = "/attachments/fields";
const PARTITIONS: &str = "/attachments/partitions";

const fn inside(place: Place) -> Target {
    at(place, Kind::Organization)
}

/// The id in the path. It is exempt from the check of malformed ids, because a path with an empty id is a different path.
const ONE: Target = Target {
    strict: false,
    ..inside(Place::Path)
};

/// The id in the middle of the path.
const INNER: Target = Target {
    strict: false,
    ..inside(Place::Inner)
};

pub(crate) fn table() -> Vec<Entry> {
    let mut table = files();
    table.extend(library());
    table.extend(partitions());
    table.extend(fields());
    table.extend(links());
    table
}

fn files() -> Vec<Entry> {
    vec![
        entry(Method::GET, ATTACHMENTS, [inside(Place::QueryList("ids"))], |_, _| {
            Call::get(ATTACHMENTS)
                .with_query("entityId", "x.y")
                .with_query("recordId", "r1")
        }),
        entry(Method::POST, ATTACHMENTS, [], |_, _| {
            Call::upload(
                ATTACHMENTS,
                json!({"entityId": "x.y", "recordId": "r1", "file": "A note", "tags": "a,b", "customFields": "{\"a\": 1}"}),
            )
        }),
        entry(
            Method::DELETE,
            ATTACHMENTS,
            [inside(Place::Query("id"))],
            |tenant_fixture, _| Call::delete(ATTACHMENTS, tenant_fixture.parent),
        ),
        entry(Method::GET, "/attachments/file/{id}", [ONE], |tenant_fixture, _| {
            Call::get(&format!("/attachments/file/{}", tenant_fixture.child))
        }),
        entry(
            Method::GET,
            "/attachments/file",
            [inside(Place::Query("id"))],
            |tenant_fixture, _| Call::get("/attachments/file").with_query("id", &tenant_fixture.child.to_string()),
        ),
        entry(Method::GET, "/attachments/image/{id}", [ONE], |tenant_fixture, _| {
            Call::get(&format!("/attachments/image/{}", tenant_fixture.child)).with_query("width", "1")
        }),
        entry(
            Method::GET,
            "/attachments/image/{id}/{slug}",
            [INNER],
            |tenant_fixture, _| {
                Call::get(&format!("/attachments/image/{}/name", tenant_fixture.child))
                    .with_query("width", "2")
                    .with_query("height", "2")
                    .with_query("cropType", "contain")
            },
        ),
        entry(
            Method::POST,
            "/attachments/transfer",
            [inside(Place::BodyList("attachmentIds"))],
            |tenant_fixture, _| {
                Call::post(
                    "/attachments/transfer",
                    json!({"entityId": "x.y", "attachmentIds": [tenant_fixture.child], "toRecordId": "r2", "fromRecordId": "r1"}),
                )
            },
        ),
        entry(Method::GET, "/attachments/usage", [], |_, _| {
            Call::get("/attachments/usage")
        }),
    ]
}

fn library() -> Vec<Entry> {
    vec![
        entry(Method::GET, LIBRARY, [inside(Place::QueryList("ids"))], |_, _| {
            Call::get(LIBRARY)
                .with_query("tags", "a,b")
                .with_query("mimeType", "image/*")
        }),
        entry(Method::GET, "/attachments/library/{id}", [ONE], |tenant_fixture, _| {
            Call::get(&format!("{LIBRARY}/{}", tenant_fixture.child))
        }),
        entry(
            Method::PATCH,
            "/attachments/library/{id}",
            [ONE],
            |tenant_fixture, _| {
                Call::patch(
                    &format!("{LIBRARY}/{}", tenant_fixture.child),
                    json!({"tags": ["c"], "assignments": [{"type": "x.y", "id": "r1", "label": "R", "href": "/r1"}],
                    "customFields": {"a": "b"}, "fileName": "b.bmp"}),
                )
            },
        ),
        // The job checks each id: an unknown one is a failed item.
        entry(
            Method::POST,
            "/attachments/library/bulk-delete",
            [],
            |tenant_fixture, _| {
                Call::post(
                    "/attachments/library/bulk-delete",
                    json!({"ids": [tenant_fixture.child], "confirm": true}),
                )
            },
        ),
        entry(
            Method::DELETE,
            "/attachments/library/{id}",
            [ONE],
            |tenant_fixture, _| Call::new(Method::DELETE, &format!("{LIBRARY}/{}", tenant_fixture.other)),
        ),
    ]
}

fn partitions() -> Vec<Entry> {
    vec![
        entry(Method::GET, PARTITIONS, [], |_, _| Call::get(PARTITIONS)),
        entry(Method::POST, PARTITIONS, [], |_, _| {
            Call::post(
                PARTITIONS,
                json!({"code": "made", "title": "Made", "description": "D", "isPublic": false, "requiresOcr": false,
                    "ocrModel": "m", "storageDriver": "local", "configJson": {}}),
            )
        }),
        entry(
            Method::PUT,
            PARTITIONS,
            [at(Place::Body("id"), Kind::Role)],
            |tenant_fixture, _| {
                Call::put(
                    PARTITIONS,
                    json!({"id": tenant_fixture.role, "code": "docs", "title": "Renamed", "description": null, "isPublic": true,
                        "requiresOcr": true, "ocrModel": null, "storageDriver": "local", "configJson": null, "confirmPublic": true}),
                )
            },
        ),
        entry(
            Method::DELETE,
            PARTITIONS,
            [at(Place::Query("id"), Kind::Role)],
            |tenant_fixture, _| Call::delete(PARTITIONS, tenant_fixture.role),
        ),
        entry(
            Method::POST,
            "/attachments/partitions/{id}/test",
            [Target {
                strict: false,
                ..at(Place::Inner, Kind::Role)
            }],
            |tenant_fixture, _| Call::new(Method::POST, &format!("{PARTITIONS}/{}/test", tenant_fixture.role)),
        ),
    ]
}

fn fields() -> Vec<Entry> {
    vec![
        entry(
            Method::GET,
            FIELDS,
            [at(Place::QueryList("ids"), Kind::Role)],
            |_, _| Call::get(FIELDS).with_query("entityId", "a.b"),
        ),
        entry(Method::PUT, FIELDS, [], |_, _| {
            Call::put(
                FIELDS,
                json!({"entityId": "x.y", "fieldKey": "made", "acceptExtensions": ["png"], "maxBytes": 1000, "maxCount": 2,
                    "partitionCode": "productsMedia"}),
            )
        }),
        entry(
            Method::DELETE,
            FIELDS,
            [at(Place::Query("id"), Kind::Role)],
            |tenant_fixture, _| Call::delete(FIELDS, tenant_fixture.role),
        ),
    ]
}

fn links() -> Vec<Entry> {
    vec![
        entry(
            Method::GET,
            "/attachments/library/{id}/links",
            [INNER],
            |tenant_fixture, _| Call::get(&format!("{LIBRARY}/{}/links", tenant_fixture.child)),
        ),
        entry(
            Method::POST,
            "/attachments/library/{id}/links",
            [INNER],
            |tenant_fixture, _| {
                Call::post(
                    &format!("{LIBRARY}/{}/links", tenant_fixture.child),
                    json!({"expiresInHours": 1, "maxDownloads": 2}),
                )
            },
        ),
        entry(Method::DELETE, "/attachments/links/{id}", [ONE], |tenant_fixture, _| {
            Call::new(Method::DELETE, &format!("/attachments/links/{}", tenant_fixture.child))
        }),
        entry(Method::GET, "/attachments/shared/{token}", [], |tenant_fixture, _| {
            Call::get(&format!("/attachments/shared/{}", tenant_fixture.child))
        }),
    ]
}
