//! The job id of a path.

use backoffice_core::Result;
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use crate::Error;

/// The job of the path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct JobId {
    /// The id.
    #[param(value_type = Uuid)]
    id: String,
}

impl JobId {
    /// Returns the id. An invalid id is treated as an unknown job.
    pub(super) fn get(&self) -> Result<Uuid> {
        self.id.parse().map_err(|_| Error::NotFound.into())
    }
}
