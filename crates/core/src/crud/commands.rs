//! The commands of plain entities.

use std::marker::PhantomData;

use uuid::Uuid;

use super::record::{Record, stored};
use crate::acl::Feature;
use crate::command::{BatchCommand, BatchItem, Class, Command, Target, Tx};
use crate::context::RequestContext;
use crate::error::{Rejection, Result};
use crate::input::{Input, Validator};
use crate::time::Timestamp;

/// Creates a record and returns its id.
#[derive(Debug, Clone)]
pub struct Create<R: Record> {
    tenant: Uuid,
    row: R,
    input: R::Input,
}

impl<R: Record> Create<R> {
    /// Validates the input and finds the placement of the record.
    ///
    /// # Errors
    /// 400 for invalid fields or without an organization, 403 for an organization in which the caller may not write.
    pub async fn new(ctx: &RequestContext, input: R::Input) -> Result<Self> {
        let mut validator = Validator::default();
        input.validate_new(&mut validator);
        validator.check()?;
        let placement = R::placement(ctx, &input).await?;
        let mut row = R::blank(placement, ctx.new_id(), ctx.now());
        row.fill(&input, &mut Validator::default());
        Ok(Self {
            tenant: placement.tenant,
            row,
            input,
        })
    }
}

impl<R: Record> Command for Create<R> {
    const ID: &'static str = R::CREATE.id;
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = R::CREATE.label;
    const FEATURES: &'static [Feature] = R::MANAGE;
    type Entity = R;
    type Output = Uuid;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.tenant,
            id: self.row.id(),
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Uuid> {
        let mut row = self.row.clone();
        row.place(tx, &self.input).await?;
        row.check(tx, &self.input, None).await?;
        for row in R::write(tx, &[row]).await.map_err(R::rejection)? {
            tx.keep_written(row.id(), row);
        }
        Ok(self.row.id())
    }
}

/// Updates a record and returns its `updatedAt`, which an update without changes keeps.
#[derive(Debug, Clone)]
pub struct Update<R: Record> {
    id: Uuid,
    input: R::Input,
    record: PhantomData<fn() -> R>,
}

impl<R: Record> Update<R> {
    /// Validates the input, as far as possible without the stored row.
    ///
    /// # Errors
    /// 400 for invalid fields.
    pub fn new(id: Uuid, input: R::Input) -> Result<Self> {
        let mut validator = Validator::default();
        input.validate_update(&mut validator);
        validator.check()?;
        Ok(Self {
            id,
            input,
            record: PhantomData,
        })
    }

    /// Returns the requested fields, for interceptors.
    #[must_use]
    pub const fn input(&self) -> &R::Input {
        &self.input
    }
}

impl<R: Record> Command for Update<R> {
    const ID: &'static str = R::UPDATE.id;
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = R::UPDATE.label;
    const FEATURES: &'static [Feature] = R::MANAGE;
    type Entity = R;
    type Output = Timestamp;

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Timestamp> {
        let mut before = stored::<R>(tx, self.id).await?;
        let named = self.input.organization().into_change();
        if named.is_some_and(|named| named != before.organization()) {
            return Err(Rejection::immutable("organizationId").into());
        }
        let (mut row, mut validator) = (before.clone(), Validator::default());
        row.fill(&self.input, &mut validator);
        validator.check()?;
        let has_written = row.check(tx, &self.input, Some(&before)).await?;
        if row == before && !has_written {
            return Ok(*before.updated_at());
        }
        *row.updated_at() = tx.now();
        for row in R::write(tx, &[row]).await.map_err(R::rejection)? {
            tx.keep_written(self.id, row);
        }
        Ok(tx.now())
    }
}

/// Deletes a record, with all rows that are deleted with it.
#[derive(Debug, Clone, Copy)]
pub struct Delete<R> {
    id: Uuid,
    record: PhantomData<fn() -> R>,
}

impl<R> Delete<R> {
    /// Creates the command for this record.
    #[must_use]
    pub fn new(id: Uuid) -> Self {
        Self {
            id,
            record: PhantomData,
        }
    }
}

impl<R: Record> Command for Delete<R> {
    const ID: &'static str = R::DELETE.id;
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = R::DELETE.label;
    const FEATURES: &'static [Feature] = R::MANAGE;
    type Entity = R;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        R::remove(tx, &[self.id]).await.map_err(R::rejection)
    }
}

impl<R: Record> BatchCommand for Delete<R> {
    async fn apply_all(tx: &mut Tx<'_>, items: &[BatchItem<'_, Self>]) -> Result<Vec<(Uuid, Rejection)>> {
        let ids: Vec<Uuid> = items.iter().map(|item| item.id).collect();
        R::remove(tx, &ids).await.map_err(R::rejection)?;
        Ok(Vec::new())
    }
}
