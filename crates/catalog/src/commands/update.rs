//! Changes a row of any kind.

use std::future::Future;

use backoffice_core::command::{Class, Command, Entity, Target};
use backoffice_core::db::Tx;
use backoffice_core::{Detail, Error, Feature, Rejection, Result, Timestamp};
use uuid::Uuid;

use crate::error::violation;
use crate::input::{CategoryInput, PriceInput, ProductInput, VariantInput};
use crate::rules::Rules;

/// Changes a product.
pub type UpdateProduct = Update<ProductInput>;
/// Changes a variant.
pub type UpdateVariant = Update<VariantInput>;
/// Changes a price.
pub type UpdatePrice = Update<PriceInput>;
/// Changes a category.
pub type UpdateCategory = Update<CategoryInput>;

/// What a client wants to be different in a row.
pub trait Change: Send + Sync + 'static {
    /// Id of the command.
    const ID: &'static str;
    /// Its label.
    const LABEL: &'static str;
    /// Who may.
    const FEATURES: &'static [Feature];
    /// The entity of the row.
    type Entity: Entity;
    /// The row.
    type Row: Clone + PartialEq + Send + Sync;

    /// The row that it names.
    fn id(&self) -> Option<Uuid>;

    /// When a row was last changed.
    fn updated_at(row: &mut Self::Row) -> &mut Timestamp;

    /// A row without any of the members that are needed.
    fn blank(tenant_id: Uuid, id: Uuid, now: Timestamp) -> Self::Row;

    /// Writes what is given.
    fn write(&self, row: &mut Self::Row, rules: &mut Rules);

    /// The row, in the transaction.
    fn load(tx: &mut Tx<'_>, id: Uuid) -> impl Future<Output = Result<Option<Self::Row>>> + Send;

    /// Checks what only the present rows can tell, and changes what lies beside the row. Returns whether something did.
    fn settle(&self, tx: &mut Tx<'_>, before: &Self::Row, row: &Self::Row)
    -> impl Future<Output = Result<bool>> + Send;

    /// Makes the stored row this one.
    fn store(tx: &mut Tx<'_>, row: Self::Row) -> impl Future<Output = Result<()>> + Send;
}

/// Changes the row that the input names. It answers with the row's `updatedAt`, which stays when nothing differs.
#[derive(Debug, Clone)]
pub struct Update<I> {
    id: Uuid,
    input: I,
}

impl<I: Change> Update<I> {
    /// Checks the input, as far as it can be without the row.
    ///
    /// # Errors
    /// 400 for values out of their rules, and without an id.
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
        let is_after_transition = self.input.settle(tx, &before, &row).await?;
        if row == before && !is_after_transition {
            return Ok(*I::updated_at(&mut before));
        }
        *I::updated_at(&mut row) = tx.now();
        I::store(tx, row).await.map_err(violation)?;
        Ok(tx.now())
    }
}
