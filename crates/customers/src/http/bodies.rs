//! Parameters, request bodies and responses that the resources share.

use backoffice_core::http::{Describe, Extract, Incoming, Json, Schemas, given};
use backoffice_core::list::{ById, IdList, PageQuery, Window, search_pattern};
use backoffice_core::{Result, Timestamp, Violations};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use utoipa::openapi::path::OperationBuilder;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::identified::Identified;

/// Parameters of every list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Page number from 1.
    #[param(minimum = 1, maximum = 2_147_483_647, default = 1)]
    page: Option<u32>,
    /// Rows per page.
    #[param(minimum = 1, maximum = 100, default = 50)]
    page_size: Option<u32>,
    /// Part of a text, regardless of case.
    #[param(max_length = 200)]
    search: Option<String>,
    /// Only the record with this id.
    #[serde(default, deserialize_with = "given")]
    id: Option<Uuid>,
    /// Only the records with these ids, joined by commas, at most 200.
    #[param(value_type = Option<IdList>, inline)]
    ids: Option<String>,
    /// By default `asc`, and `desc` for `createdAt`.
    #[param(inline)]
    sort_dir: Option<SortDir>,
}

/// The sort direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum SortDir {
    Asc,
    Desc,
}

/// The checked parameters of every list.
#[derive(Debug, Default)]
pub(super) struct Requested {
    pub(super) window: Window,
    pub(super) pattern: Option<String>,
    pub(super) ids: Option<Vec<Uuid>>,
    sort_dir: Option<SortDir>,
}

impl ListQuery {
    pub(super) fn checked(&self) -> Result<Requested> {
        let mut violations = Violations::default();
        let by_id = ById {
            id: self.id,
            ids: self.ids.clone(),
        };
        let requested = Requested {
            window: violations.keep(PageQuery::new(self.page, self.page_size).window()),
            pattern: violations.keep(search_pattern(self.search.as_deref())),
            ids: violations.keep(by_id.requested()),
            sort_dir: self.sort_dir,
        };
        violations.check().map(|()| requested)
    }
}

impl Requested {
    /// Returns true if the order is descending, requested or by default.
    pub(super) fn is_descending(&self, by_default: bool) -> bool {
        self.sort_dir.map_or(by_default, |dir| dir == SortDir::Desc)
    }
}

/// The record that a request addresses.
#[derive(Debug, Deserialize, IntoParams, ToSchema)]
pub(super) struct Id {
    /// The id.
    pub(super) id: Uuid,
}

/// A created record.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = CreatedCustomer)]
pub(super) struct CreatedId {
    id: Uuid,
}

impl From<Uuid> for CreatedId {
    fn from(id: Uuid) -> Self {
        Self { id }
    }
}

/// An updated record.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ChangedCustomer)]
pub(super) struct Changed {
    /// Always true.
    ok: bool,
    updated_at: Timestamp,
}

impl From<Timestamp> for Changed {
    fn from(updated_at: Timestamp) -> Self {
        Self { ok: true, updated_at }
    }
}

/// The response of a write that returns no data.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = DoneForCustomers)]
pub(super) struct Done {
    /// Always true.
    ok: bool,
}

impl Done {
    pub(super) const YES: Self = Self { ok: true };
}

/// A body with the id of a record and the fields to update: absent fields keep their values, null clears.
#[derive(Debug)]
pub(super) struct Patch<T> {
    pub(super) id: Uuid,
    pub(super) fields: T,
}

impl<T: DeserializeOwned> Extract for Patch<T> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        let (Json(Id { id }), Json(fields)) = Extract::extract(incoming)?;
        Ok(Self { id, fields })
    }
}

impl<T: ToSchema> Describe for Patch<T> {
    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        Json::<Identified<T>>::describe(operation, schemas)
    }
}
