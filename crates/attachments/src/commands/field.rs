//! Sets and deletes the constraints of fields.

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::{Error as CoreError, Feature, Rejection, Result};
use uuid::Uuid;

use crate::acl;
use crate::error::Error;
use crate::model::Field;
use crate::query::fields;

/// Creates or replaces the constraints of a field.
#[derive(Debug, Clone)]
pub struct SetField {
    /// The constraints.
    pub(crate) row: Field,
}

impl Command for SetField {
    const ID: &'static str = "attachments.field.set";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Set constraints of files";
    const FEATURES: &'static [Feature] = &[acl::PARTITIONS_MANAGE];
    type Entity = Field;
    type Output = Uuid;

    fn target(&self) -> Target {
        Target::Existing(self.row.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Uuid> {
        let id = self.row.id;
        let stored = Field::read(tx, &[id]).await?.pop();
        if stored.is_none() && fields::count(tx).await? >= fields::MOST_FIELDS {
            let text = format!("at most {} fields are possible", fields::MOST_FIELDS);
            return Err(Rejection::bad_request(text).code("too_many_fields").into());
        }
        let now = tx.now();
        let created_at = stored.as_ref().map_or(now, |row| row.created_at);
        let unchanged = Field {
            created_at,
            updated_at: stored.as_ref().map_or(now, |row| row.updated_at),
            ..self.row.clone()
        };
        if stored.as_ref() == Some(&unchanged) {
            return Ok(id);
        }
        let row = Field {
            updated_at: now,
            ..unchanged
        };
        Field::write(tx, &[row]).await.map_err(rejection)?;
        Ok(id)
    }
}

/// The partition may have been deleted since it was found.
fn rejection(error: CoreError) -> CoreError {
    match error.violated_constraint() {
        Some("attachments_fields_partition_tenant_id_partition_id_fkey") => Error::UnknownPartition.into(),
        _ => error,
    }
}

/// Deletes the constraints of a field.
#[derive(Debug, Clone, Copy)]
pub struct DeleteField {
    /// The constraints.
    pub id: Uuid,
}

impl Command for DeleteField {
    const ID: &'static str = "attachments.field.delete";
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = "Delete constraints of files";
    const FEATURES: &'static [Feature] = &[acl::PARTITIONS_MANAGE];
    type Entity = Field;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        if Field::read(tx, &[self.id]).await?.is_empty() {
            return Err(Rejection::not_found(Field::NOT_FOUND).into());
        }
        Field::remove(tx, &[self.id]).await
    }
}
