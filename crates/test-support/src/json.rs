//! Requests with JSON bodies, and fields of bodies that many tests read.

use std::borrow::Borrow;

use actix_web::http::Method;
use serde_json::Value;
use uuid::Uuid;

use crate::{TestApp, TestRequest, TestResponse};

impl TestApp {
    /// Sends `GET`. Returns status and JSON. An empty token sends no credential.
    pub async fn get(&self, token: &str, path: &str) -> (u16, Value) {
        self.exchange(Method::GET, token, path, None).await
    }

    /// Sends `POST` with a JSON body. Returns status and JSON.
    pub async fn post(&self, token: &str, path: &str, body: Value) -> (u16, Value) {
        self.exchange(Method::POST, token, path, Some(body)).await
    }

    /// Sends `PUT` with a JSON body. Returns status and JSON.
    pub async fn put(&self, token: &str, path: &str, body: Value) -> (u16, Value) {
        self.exchange(Method::PUT, token, path, Some(body)).await
    }

    /// Sends `DELETE`, with a JSON body unless it is null. Returns status and JSON.
    pub async fn delete(&self, token: &str, path: &str, body: Value) -> (u16, Value) {
        self.exchange(Method::DELETE, token, path, Some(body).filter(|body| !body.is_null()))
            .await
    }

    /// Sends a request, with a JSON body unless it is null, and returns the whole response. An empty token sends no credential.
    pub async fn send(&self, token: &str, method: Method, path: &str, body: impl Borrow<Value>) -> TestResponse {
        let (request, body) = (self.request_of(token, method, path), body.borrow());
        match body.is_null() {
            true => request.send().await,
            false => request.json(body).send().await,
        }
    }

    /// Sends `GET` for something that the caller can read. Returns the JSON.
    ///
    /// # Panics
    /// When the status is not 200.
    pub async fn read(&self, token: &str, path: &str) -> Value {
        let (status, body) = self.get(token, path).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// Creates a record by `POST` and returns its id.
    ///
    /// # Panics
    /// When the status is not 201, or the response has no field `id`.
    pub async fn create(&self, token: &str, path: &str, body: Value) -> Uuid {
        let (status, body) = self.post(token, path, body).await;
        assert_eq!(status, 201, "{path}: {body}");
        id_of(&body)
    }

    async fn exchange(&self, method: Method, token: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let request = self.request_of(token, method, path);
        let response = match body {
            Some(body) => request.json(&body).send().await,
            None => request.send().await,
        };
        (response.status, response.json())
    }

    fn request_of(&self, token: &str, method: Method, path: &str) -> TestRequest<'_> {
        let request = self.request(method, path);
        match token.is_empty() {
            true => request,
            false => request.bearer(token),
        }
    }
}

/// Returns the field `id` of a body or an item.
///
/// # Panics
/// When the field is missing or is not a valid UUID.
#[must_use]
pub fn id_of(body: &Value) -> Uuid {
    body["id"].as_str().expect("an id").parse().expect("a UUID")
}

/// Returns path and error code of every invalid field of a rejection; nothing if it reports none.
///
/// # Panics
/// When a detail has no path or no code.
#[must_use]
pub fn details(body: &Value) -> Vec<(&str, &str)> {
    let details = body["details"].as_array().into_iter().flatten();
    details
        .map(|detail| {
            let path = detail["path"].as_str().expect("a path");
            (path, detail["code"].as_str().expect("a code"))
        })
        .collect()
}
