//! Variants.

use std::collections::BTreeMap;

use backoffice_core::command::Tx;
use backoffice_core::http::{given, present};
use backoffice_core::{Feature, Result, Timestamp};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;
use uuid::Uuid;

use super::stays;
use crate::acl;
use crate::commands::Change;
use crate::documented::{CatalogCode, CatalogTitle};
use crate::model::{By, Variant, VariantRow, store_variants};
use crate::rules::{self, Rules};

/// A new variant, or the changes of an existing one: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VariantInput {
    /// The variant to update; ignored when a variant is created.
    pub id: Option<Uuid>,
    /// The organization of the product, or null.
    pub organization_id: Option<Uuid>,
    /// The product; required for a new variant, unless it is created with its product. It cannot be changed later.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, required = true)]
    pub product_id: Option<Uuid>,
    /// 1 to 255 characters; required for a new variant.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = CatalogTitle, required = true)]
    pub name: Option<Option<String>>,
    /// At most 191 characters, unique in the organization.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<CatalogCode>)]
    pub sku: Option<Option<String>>,
    /// At most 191 characters.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<CatalogCode>)]
    pub barcode: Option<Option<String>>,
    /// The options that distinguish the variant: texts by name, at most 64 KiB together.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    pub options: Option<Option<BTreeMap<String, String>>>,
    /// The position in the product; by default the last.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = i32, minimum = 0, maximum = 2_147_483_647)]
    pub position: Option<Option<i32>>,
    /// Whether the variant is offered; default true.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = bool)]
    pub is_active: Option<Option<bool>>,
}

impl Change for VariantInput {
    const ID: &'static str = "catalog.variant.update";
    const LABEL: &'static str = "Update variant";
    const FEATURES: &'static [Feature] = &[acl::PRODUCTS_MANAGE];
    type Entity = Variant;
    type Row = VariantRow;

    fn id(&self) -> Option<Uuid> {
        self.id
    }

    fn updated_at(row: &mut VariantRow) -> &mut Timestamp {
        &mut row.updated_at
    }

    fn blank(tenant_id: Uuid, id: Uuid, now: Timestamp) -> VariantRow {
        VariantRow {
            tenant_id,
            id,
            organization_id: Uuid::nil(),
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

    fn write(&self, row: &mut VariantRow, rules: &mut Rules) {
        rules.text("name", &self.name, &mut row.name, rules::line(255));
        rules.optional_text("sku", &self.sku, &mut row.sku, rules::line(191));
        rules.optional_text("barcode", &self.barcode, &mut row.barcode, rules::line(191));
        let options = self
            .options
            .as_ref()
            .map(|given| given.as_ref().map(|options| json!(options)));
        rules.optional("options", &options, &mut row.options, rules::document);
        rules.value("position", &self.position, &mut row.position, rules::at_least(0));
        rules.value("isActive", &self.is_active, &mut row.is_active, rules::any);
    }

    async fn load(tx: &mut Tx<'_>, id: Uuid) -> Result<Option<VariantRow>> {
        Ok(VariantRow::load(tx, By::Id, &[id]).await?.pop())
    }

    async fn settle(&self, _tx: &mut Tx<'_>, before: &VariantRow, _row: &VariantRow) -> Result<bool> {
        stays("organizationId", self.organization_id, before.organization_id)?;
        stays("productId", self.product_id, before.product_id)?;
        Ok(false)
    }

    async fn store(tx: &mut Tx<'_>, row: VariantRow) -> Result<()> {
        store_variants(tx, &[row]).await
    }
}
