//! Parameters of the lists that can be sorted by `updatedAt`.

use backoffice_core::http::{Describe, Extract, Incoming, Query, Schemas};
use backoffice_core::list::{ListQuery, ListRequest, Sortable};
use backoffice_core::{Result, Violations};
use serde::Deserialize;
use utoipa::openapi::path::OperationBuilder;

/// The parameters of a list that begins with the oldest change when it is sorted by `updatedAt` without a direction; other modules begin with
/// the latest.
#[derive(Debug)]
pub(super) struct OldestChangeFirst<R> {
    list: ListQuery<R>,
    direction: Direction,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Direction {
    sort_field: Option<String>,
    sort_dir: Option<String>,
}

impl<R: Sortable> OldestChangeFirst<R> {
    /// Validates the parameters and records invalid ones.
    pub(super) fn validate_with(&self, violations: &mut Violations) -> ListRequest {
        let mut request = self.list.validate_with(violations);
        if self.direction.sort_dir.is_none() && self.direction.sort_field.as_deref() == Some("updatedAt") {
            request.order.descending = false;
        }
        request
    }
}

impl<R: Sortable> Extract for OldestChangeFirst<R> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        let (list, Query(direction)) = Extract::extract(incoming)?;
        Ok(Self { list, direction })
    }
}

impl<R: Sortable> Describe for OldestChangeFirst<R> {
    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        ListQuery::<R>::describe(operation, schemas)
    }
}
