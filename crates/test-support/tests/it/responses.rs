//! Responses that can't be serialized.

use actix_web::http::Method;
use backoffice_core::http::{Access, Json};
use backoffice_core::{ErrorShape, Module, Result, Visitor};
use backoffice_test_support::TestApp;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::json;
use utoipa::ToSchema;

static MODULE: Module = Module {
    name: "broken",
    title: "Broken",
    routes: |routes| {
        routes.get("/broken/plain", Access::Public, get_plain);
        routes
            .get("/broken/coded", Access::Public, get_coded)
            .errors(ErrorShape::Code);
    },
    ..Module::EMPTY
};

#[derive(Debug, Default, Serialize, ToSchema)]
struct Broken {
    #[serde(serialize_with = "fail")]
    text: String,
}

fn fail<S: Serializer>(_text: &str, _serializer: S) -> Result<S::Ok, S::Error> {
    Err(S::Error::custom("on purpose"))
}

async fn get_plain(_visitor: Visitor) -> Result<Json<Broken>> {
    Ok(Json(Broken::default()))
}

async fn get_coded(visitor: Visitor) -> Result<Json<Broken>> {
    get_plain(visitor).await
}

#[actix_web::test]
async fn a_response_that_cannot_be_serialized_is_an_error_in_the_shape_of_its_endpoint() {
    let app = TestApp::new(&[&MODULE]).await;
    let get = async |path: &str| {
        let request = app.request(Method::GET, path).header("X-Request-Id", "mine-1");
        let response = request.send().await;
        (response.status, response.json())
    };

    let (plain, coded) = (get("/broken/plain").await, get("/broken/coded").await);

    let body = json!({"error": "Internal server error", "requestId": "mine-1"});
    assert_eq!(plain, (500, body));
    let body = json!({"code": "internal_error", "error": "Internal server error", "requestId": "mine-1"});
    assert_eq!(coded, (500, body));
}
