//! The job that a path names.

use backoffice_core::Result;
use garde::Validate;
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use crate::Error;

/// The job of the path.
#[derive(Debug, Deserialize, Validate, IntoParams)]
#[into_params(parameter_in = Path)]
#[garde(allow_unvalidated)]
pub(super) struct JobId {
    /// Its id.
    #[param(value_type = Uuid)]
    id: String,
}

impl JobId {
    /// The id; what is none names no job.
    pub(super) fn get(&self) -> Result<Uuid> {
        self.id.parse().map_err(|_| Error::NotFound.into())
    }
}
