//! Organizations with records of this module stay.

use serde_json::{Value, json};

use crate::fixture::{Fixture, JOB_SITES, RESOURCES};

#[actix_web::test]
async fn dsp_39_an_organization_with_sites_or_resources_stays() {
    let fixture = Fixture::new().await;
    for (path, body) in [
        (JOB_SITES, json!({"name": "S"})),
        (RESOURCES, json!({"type": "vehicle", "name": "V"})),
    ] {
        let organization = fixture.organization(&format!("Of {path}"), None).await;
        let request = fixture
            .app
            .request(actix_web::http::Method::POST, path)
            .bearer(&fixture.a.token);
        let created = request
            .header("X-Organization-Id", &organization.to_string())
            .json(&body)
            .send()
            .await;
        assert_eq!(created.status, 201, "{}", created.text());
        let delete = format!("/directory/organizations?id={organization}");

        let (status, body) = fixture.app.delete(&fixture.a.token, &delete, Value::Null).await;
        assert_eq!((status, &body["code"]), (409, &json!("organization_in_use")), "{body}");

        let one = format!("{path}/{}", created.json()["id"].as_str().expect("an id"));
        assert_eq!(fixture.app.delete(&fixture.a.token, &one, Value::Null).await.0, 200);
        let (status, body) = fixture.app.delete(&fixture.a.token, &delete, Value::Null).await;
        assert_eq!(status, 200, "{body}");
    }
}
