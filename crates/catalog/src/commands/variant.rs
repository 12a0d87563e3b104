//! Creates, updates and deletes variants of products.

use std::collections::BTreeMap;

use backoffice_core::command::Tx;
use backoffice_core::crud::{self, CommandName, Create, Delete, Record, Update};
use backoffice_core::db::{PreparedIf, ReplaceRow};
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Error, Feature, Patch, Placement, Rejection, RequestContext, Result, Timestamp};
use diesel::dsl::max;
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use uuid::Uuid;

use super::references::{organization_of_product, placement_of_part};
use crate::acl;
use crate::documented::{CatalogCode, CatalogTitle};
use crate::error::violation;
use crate::model::{By, Variant};
use crate::schema::catalog_variants as variants;

/// Rows of one insertion: a statement has at most 65,535 parameters.
const CHUNK: usize = 2000;

/// Creates a variant; without a position it is the last one of its product.
pub type CreateVariant = Create<Variant>;
/// Updates a variant.
pub type UpdateVariant = Update<Variant>;
/// Deletes a variant with its prices.
pub type DeleteVariant = Delete<Variant>;

/// The fields of a variant: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct VariantInput {
    /// The organization of the product, or null.
    #[schema(value_type = Option<Uuid>)]
    pub organization_id: Patch<Uuid>,
    /// The product; required for a new variant, unless it is created with its product. It cannot be changed later.
    #[schema(value_type = Uuid, required = true)]
    pub product_id: Patch<Uuid>,
    /// 1 to 255 characters; required for a new variant.
    #[schema(value_type = CatalogTitle, required = true)]
    pub name: Patch<String>,
    /// At most 191 characters, unique in the organization.
    #[schema(value_type = Option<CatalogCode>)]
    pub sku: Patch<String>,
    /// At most 191 characters.
    #[schema(value_type = Option<CatalogCode>)]
    pub barcode: Patch<String>,
    /// The options that distinguish the variant: texts by name, at most 64 KiB together.
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    pub options: Patch<BTreeMap<String, String>>,
    /// The position in the product; by default the last.
    #[schema(value_type = i32, minimum = 0, maximum = 2_147_483_647)]
    pub position: Patch<i32>,
    /// Whether the variant is offered; default true.
    #[schema(value_type = bool)]
    pub is_active: Patch<bool>,
}

impl Input for VariantInput {
    fn organization(&self) -> Patch<Uuid> {
        self.organization_id
    }

    fn require(&self, validator: &mut Validator) {
        validator.require("productId", &self.product_id);
        validator.require("name", &self.name);
    }

    fn validate(&self, validator: &mut Validator) {
        crud::validate::<Variant>(self, validator);
    }
}

impl Record for Variant {
    type Input = VariantInput;
    const CREATE: CommandName = CommandName::new("catalog.variant.create", "Create variant");
    const UPDATE: CommandName = CommandName::new("catalog.variant.update", "Update variant");
    const DELETE: CommandName = CommandName::new("catalog.variant.delete", "Delete variant");
    const MANAGE: &'static [Feature] = &[acl::PRODUCTS_MANAGE];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            organization_id: placement.organization,
            product_id: Uuid::nil(),
            name: String::new(),
            sku: None,
            barcode: None,
            options: None,
            position: 0,
            is_active: true,
            created_at: now,
            updated_at: now,
        }
    }

    fn key(&self) -> (Uuid, Uuid) {
        (self.tenant_id, self.id)
    }

    fn organization(&self) -> Option<Uuid> {
        Some(self.organization_id)
    }

    fn updated_at(&mut self) -> &mut Timestamp {
        &mut self.updated_at
    }

    fn fill(&mut self, input: &VariantInput, validator: &mut Validator) {
        validator.value("productId", &input.product_id, &mut self.product_id, rules::any);
        validator.text("name", &input.name, &mut self.name, rules::line(255));
        validator.optional_text("sku", &input.sku, &mut self.sku, rules::line(191));
        validator.optional_text("barcode", &input.barcode, &mut self.barcode, rules::line(191));
        let options = input.options.as_ref().map(|options| json!(options));
        validator.optional("options", &options, &mut self.options, rules::json);
        validator.value("position", &input.position, &mut self.position, rules::at_least(0));
        validator.value("isActive", &input.is_active, &mut self.is_active, rules::any);
    }

    async fn placement(ctx: &RequestContext, input: &VariantInput) -> Result<Placement> {
        placement_of_part(ctx, input.organization_id.value())
    }

    async fn place(&mut self, tx: &mut Tx<'_>, input: &VariantInput) -> Result<()> {
        self.organization_id = organization_of_product(tx, self.product_id, input.organization_id.value()).await?;
        Ok(())
    }

    async fn check(&mut self, tx: &mut Tx<'_>, input: &VariantInput, before: Option<&Self>) -> Result<bool> {
        match before {
            Some(before) if before.product_id != self.product_id => {
                return Err(Rejection::immutable("productId").into());
            }
            None if input.position.is_keep() => self.position = next_position(tx, self.product_id).await?,
            _ => {}
        }
        Ok(false)
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        Self::load_by(tx, By::Id, ids).await
    }

    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let mut written = Vec::with_capacity(rows.len());
        for chunk in rows.chunks(CHUNK) {
            let statement = insert_into(variants::table)
                .values(chunk)
                .on_conflict((variants::tenant_id, variants::id))
                .do_update()
                .set(ReplaceRow::<variants::table>::default())
                .returning(Self::as_returning());
            written.extend(
                PreparedIf(statement, chunk.len() == 1)
                    .get_results::<Self>(tx.conn())
                    .await?,
            );
        }
        Ok(written)
    }

    fn rejection(error: Error) -> Error {
        violation(error)
    }
}

/// Returns the position after the last variant of a product.
async fn next_position(tx: &mut Tx<'_>, product: Uuid) -> Result<i32> {
    let last: Option<i32> = variants::table
        .filter(variants::tenant_id.eq(tx.tenant()))
        .filter(variants::product_id.eq(product))
        .select(max(variants::position))
        .first(tx.conn())
        .await?;
    Ok(last.map_or(0, |last| last.saturating_add(1)))
}
