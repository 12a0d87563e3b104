//! Checks of references: the referenced rows must exist and be visible to the caller.

use std::collections::BTreeSet;

use backoffice_core::command::Tx;
use backoffice_core::{Placement, Rejection, RequestContext, Result};
use uuid::Uuid;

use crate::model::{Category, LinkRow, Links, Price, share_categories, share_product, share_variant};

/// Returns the tenant of a new variant or price, whose organization is that of its product: [`organization_of_product`].
pub(super) fn placement_of_part(ctx: &RequestContext, named: Option<Uuid>) -> Result<Placement> {
    if named.is_some() && !ctx.scope().reads_organization(named) {
        return Err(Rejection::organization_out_of_scope().into());
    }
    Ok(Placement {
        tenant: ctx.tenant()?,
        ..Placement::UNKNOWN
    })
}

/// Returns the organization of the product of a new row; rejects any other named organization.
pub(super) async fn organization_of_product(tx: &mut Tx<'_>, product: Uuid, named: Option<Uuid>) -> Result<Uuid> {
    let organization = share_product(tx, product).await?;
    let organization = organization.ok_or_else(|| Rejection::unknown_reference("productId"))?;
    if named.is_some_and(|named| named != organization) {
        let message = "must be the organization of the product";
        return Err(Rejection::invalid_field("organizationId", message, "invalid_value").into());
    }
    Ok(organization)
}

/// Checks that the variant of a price belongs to the price's product.
pub(super) async fn check_variant(tx: &mut Tx<'_>, price: &Price) -> Result<()> {
    match price.variant_id {
        Some(variant) if !share_variant(tx, price.product_id, variant).await? => {
            Err(Rejection::unknown_reference("variantId").into())
        }
        _ => Ok(()),
    }
}

/// Checks that the parent category is visible to the caller. The guard rejects cycles.
pub(super) async fn check_parent(tx: &mut Tx<'_>, category: &Category) -> Result<()> {
    match category.parent_id {
        Some(parent) if share_categories(tx, &[parent]).await?.is_empty() => {
            Err(Rejection::unknown_reference("parentId").into())
        }
        _ => Ok(()),
    }
}

/// Replaces the categories of a stored product; links that remain keep their ids. Returns whether something changed.
pub(super) async fn assign_categories(tx: &mut Tx<'_>, product_id: Uuid, requested: &BTreeSet<Uuid>) -> Result<bool> {
    let stored = Links::of_products(tx, &[product_id]).await?;
    let is_stored = |id: &Uuid| stored.iter().any(|link| link.category_id == *id);
    let added: Vec<Uuid> = requested.iter().copied().filter(|id| !is_stored(id)).collect();
    if added.is_empty() && stored.len() == requested.len() {
        return Ok(false);
    }
    if share_categories(tx, &added).await?.len() != added.len() {
        return Err(Rejection::unknown_reference("categoryIds").into());
    }
    let (tenant_id, now) = (tx.tenant(), tx.now());
    let new: Vec<LinkRow> = added
        .into_iter()
        .map(|category_id| LinkRow {
            tenant_id,
            id: tx.new_id(),
            product_id,
            category_id,
            created_at: now,
            updated_at: now,
        })
        .collect();
    let kept = stored.into_iter().filter(|link| requested.contains(&link.category_id));
    let links = kept.chain(new).collect();
    if Links::OfProducts.replace(tx, &[product_id], links).await?.is_empty() {
        return Ok(true);
    }
    Err(Rejection::unknown_reference("categoryIds").into())
}
