//! The API document (OpenAPI 3.1) of exactly the enabled modules, built from the declarations.

use std::collections::BTreeMap;

use actix_web::http::Method;
use utoipa::ToSchema;
use utoipa::openapi::path::{HttpMethod, OperationBuilder, PathItem, PathsBuilder};
use utoipa::openapi::schema::{ComponentsBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::server::ServerBuilder;
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{ContentBuilder, InfoBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, ResponseBuilder};

use super::routes::{Access, EndpointInfo, Routes};
use crate::error::ErrorShape;
use crate::module::Module;
use crate::platform::{API_PREFIX, INTERFACE_VERSION};

/// Schemas that the document refers to.
#[derive(Debug, Default)]
pub struct Schemas {
    known: BTreeMap<String, RefOr<Schema>>,
}

impl Schemas {
    /// A reference to the schema of `T`, which is added with all that it refers to.
    pub fn reference<T: ToSchema>(&mut self) -> RefOr<Schema> {
        let name = T::name().into_owned();
        if !self.known.contains_key(&name) {
            self.known.insert(name.clone(), T::schema());
            let mut inner = Vec::new();
            T::schemas(&mut inner);
            self.known.extend(inner);
        }
        RefOr::Ref(Ref::from_schema_name(name))
    }
}

/// The document of these modules.
#[must_use]
pub fn document(modules: &[&'static Module]) -> OpenApi {
    let routes = Routes::of(modules);
    let mut schemas = Schemas::default();
    let mut paths = PathsBuilder::new();
    for one in routes.declared() {
        let operation = (one.describe)(operation(&one.info), &mut schemas);
        paths = paths.path(
            one.info.path,
            PathItem::new(method(&one.info.method), operation.build()),
        );
    }
    let mut components = ComponentsBuilder::new()
        .security_scheme(
            "bearer",
            SecurityScheme::Http(
                HttpBuilder::new()
                    .scheme(HttpAuthScheme::Bearer)
                    .bearer_format("JWT")
                    .build(),
            ),
        )
        .security_scheme(
            "cookie",
            SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::new("auth_token"))),
        )
        .schema("Error", error_schema(&["error"]))
        .schema("NotOk", error_schema(&["ok", "error"]))
        .schema("Code", error_schema(&["code", "error"]));
    for (name, schema) in schemas.known {
        components = components.schema(name, schema);
    }
    let tags = modules
        .iter()
        .map(|module| TagBuilder::new().name(module.title).build());
    OpenApiBuilder::new()
        .info(
            InfoBuilder::new()
                .title("Backoffice")
                .version(INTERFACE_VERSION)
                .description(Some(
                    "Multi-tenant back-office platform. The document covers exactly the enabled modules.",
                ))
                .build(),
        )
        .servers(Some([ServerBuilder::new().url(API_PREFIX).build()]))
        .tags(Some(tags))
        .paths(paths.build())
        .components(Some(components.build()))
        .build()
}

fn operation(info: &EndpointInfo) -> OperationBuilder {
    let mut operation = OperationBuilder::new()
        .operation_id(Some(info.operation))
        .summary(Some(info.summary))
        .tag(info.tag);
    let mut statuses = vec![400];
    if let Access::Authenticated | Access::Features(_) = info.access {
        operation = operation
            .security(SecurityRequirement::new("bearer", Vec::<String>::new()))
            .security(SecurityRequirement::new("cookie", Vec::<String>::new()));
        statuses.extend([401, 403]);
    }
    if let Access::Features(features) = info.access {
        let required: Vec<&str> = features.iter().map(|feature| feature.id).collect();
        operation = operation.description(Some(format!("Requires {}.", required.join(", "))));
    }
    if !info.limits.is_empty() {
        statuses.push(429);
    }
    statuses.extend(info.refusals);
    statuses.sort_unstable();
    statuses.dedup();
    for status in statuses {
        operation = operation.response(status.to_string(), refusal(status, info.shape));
    }
    operation
}

fn refusal(status: u16, shape: ErrorShape) -> utoipa::openapi::Response {
    let schema = match shape {
        ErrorShape::Error => "Error",
        ErrorShape::OkFalse => "NotOk",
        ErrorShape::Code => "Code",
    };
    let reason = actix_web::http::StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason());
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name(schema)))
        .build();
    ResponseBuilder::new()
        .description(reason.unwrap_or("Refused"))
        .content("application/json", content)
        .build()
}

fn error_schema(members: &[&str]) -> Schema {
    let mut object = ObjectBuilder::new();
    for member in members {
        let kind = if *member == "ok" { Type::Boolean } else { Type::String };
        object = object
            .property(*member, ObjectBuilder::new().schema_type(kind).build())
            .required(*member);
    }
    Schema::Object(object.build())
}

fn method(method: &Method) -> HttpMethod {
    match *method {
        Method::POST => HttpMethod::Post,
        Method::PUT => HttpMethod::Put,
        Method::DELETE => HttpMethod::Delete,
        Method::PATCH => HttpMethod::Patch,
        _ => HttpMethod::Get,
    }
}
