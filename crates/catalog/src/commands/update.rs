//! Updates a row of any kind.

use std::future::Future;

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::{Detail, Error, Feature, Rejection, Result, Timestamp};
use uuid::Uuid;

use crate::error::violation;
use crate::input::{PriceInput, ProductInput, VariantInput};
use crate::rules::Rules;

/// Updates a product.
pub type UpdateProduct = Update<ProductInput>;
/// Updates a variant.
pub type UpdateVariant = Update<VariantInput>;
/// Updates a price.
pub type UpdatePrice = Update<PriceInput>;

/// The requested changes of a row.
pub trait Change: Send + Sync + 'static {
    /// Id of the command.
    const ID: &'static str;
    /// Label of the command.
    const LABEL: &'static str;
    /// The features that the command requires.
    const FEATURES: &'static [Feature];
    /// The entity of the row.
    type Entity: Entity;
    /// The row.
    type Row: Clone + PartialEq + Send + Sync;

    /// Returns the id of the row to update.
    fn id(&self) -> Option<Uuid>;

    /// Returns the time of the row's last change.
    fn updated_at(row: &mut Self::Row) -> &mut Timestamp;

    /// Creates a row without its required fields.
    fn blank(tenant_id: Uuid, id: Uuid, now: Timestamp) -> Self::Row;

    /// Writes the given fields into the row.
    fn write(&self, row: &mut Self::Row, rules: &mut Rules);

    /// Loads the row.
    fn load(tx: &mut Tx<'_>, id: Uuid) -> impl Future<Output = Result<Option<Self::Row>>> + Send;

    /// Checks what depends on stored rows, and changes rows that belong to this one. Returns whether it changed any.
    fn settle(&self, tx: &mut Tx<'_>, before: &Self::Row, row: &Self::Row)
    -> impl Future<Output = Result<bool>> + Send;

    /// Replaces the stored row.
    fn store(tx: &mut Tx<'_>, row: Self::Row) -> impl Future<Output = Result<()>> + Send;
}

/// Updates the row that the input names. Returns the row's `updatedAt`, which an update without changes keeps.
#[derive(Debug, Clone)]
pub struct Update<I> {
    id: Uuid,
    input: I,
}

impl<I: Change> Update<I> {
    /// Checks the input as far as possible without the row.
    ///
    /// # Errors
    /// 400 for invalid values, or without an id.
    pub fn new(input: I, now: Timestamp) -> Result<Self> {
        let Some(id) = input.id() else {
            return Err(Rejection::invalid(vec![Detail::new("id", "is required", "required")]).into());
        };
        let mut rules = Rules::default();
        input.write(&mut I::blank(Uuid::nil(), id, now), &mut rules);
        rules.check()?;
        Ok(Self { id, input })
    }
}

impl<I: Change> Command for Update<I> {
    const ID: &'static str = I::ID;
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = I::LABEL;
    const FEATURES: &'static [Feature] = I::FEATURES;
    type Entity = I::Entity;
    type Output = Timestamp;

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Timestamp> {
        let before = I::load(tx, self.id).await?;
        let mut before = before.ok_or_else(|| Error::from(Rejection::not_found(I::Entity::NOT_FOUND)))?;
        let (mut row, mut rules) = (before.clone(), Rules::default());
        self.input.write(&mut row, &mut rules);
        rules.check()?;
        let has_related_changes = self.input.settle(tx, &before, &row).await?;
        if row == before && !has_related_changes {
            return Ok(*I::updated_at(&mut before));
        }
        *I::updated_at(&mut row) = tx.now();
        I::store(tx, row).await.map_err(violation)?;
        Ok(tx.now())
    }
}
