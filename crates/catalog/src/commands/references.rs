//! Checks of references: the referenced rows must exist and be visible to the caller.

use backoffice_core::command::Tx;
use backoffice_core::{RequestContext, Result};
use uuid::Uuid;

use crate::Error;
use crate::model::{Category, LinkRow, Links, PriceRow, share_categories, share_product, share_variant};

fn unknown(path: &str) -> backoffice_core::Error {
    Error::UnknownReference { path: path.to_owned() }.into()
}

/// Returns the organization of a new row: the named one, or the one in which the caller writes.
pub(super) fn organization(context: &RequestContext, named: Option<Uuid>) -> Result<Uuid> {
    check_named_organization(context, named)?;
    named
        .or(context.scope().write_organization)
        .ok_or_else(|| Error::OrganizationRequired.into())
}

/// Rejects an organization in which the caller can't write.
pub(super) fn check_named_organization(context: &RequestContext, named: Option<Uuid>) -> Result<()> {
    if named.is_some() && !context.scope().reads_organization(named) {
        return Err(Error::OutOfScope.into());
    }
    Ok(())
}

/// Checks that the organization exists in the transaction's tenant, and keeps it until the transaction ends.
pub(super) async fn check_organization(tx: &mut Tx<'_>, organization: Uuid) -> Result<()> {
    if tx.keep_organization(organization).await? {
        return Ok(());
    }
    Err(Error::OutOfScope.into())
}

/// Returns the organization of the product of a new row; rejects any other named organization.
pub(super) async fn organization_of_product(tx: &mut Tx<'_>, product: Uuid, named: Option<Uuid>) -> Result<Uuid> {
    let organization = share_product(tx, product).await?;
    let organization = organization.ok_or_else(|| unknown("productId"))?;
    if named.is_some_and(|named| named != organization) {
        return Err(Error::OtherOrganization.into());
    }
    Ok(organization)
}

/// Checks that the variant of a price belongs to the price's product.
pub(crate) async fn check_variant(tx: &mut Tx<'_>, price: &PriceRow) -> Result<()> {
    match price.variant_id {
        Some(variant) if !share_variant(tx, price.product_id, variant).await? => Err(unknown("variantId")),
        _ => Ok(()),
    }
}

/// Checks that the parent category is visible to the caller. The guard rejects cycles.
pub(crate) async fn check_parent(tx: &mut Tx<'_>, category: &Category) -> Result<()> {
    match category.parent_id {
        Some(parent) if share_categories(tx, &[parent]).await?.is_empty() => Err(unknown("parentId")),
        _ => Ok(()),
    }
}

/// Replaces the categories of a product; links that remain keep their ids. Returns whether something changed.
pub(crate) async fn place_product(tx: &mut Tx<'_>, product_id: Uuid, requested: &[Uuid]) -> Result<bool> {
    let present = Links::OfProducts.load(tx, &[product_id]).await?;
    let is_present = |id: &Uuid| present.iter().any(|link| link.category_id == *id);
    let added: Vec<Uuid> = requested.iter().copied().filter(|id| !is_present(id)).collect();
    if added.is_empty() && present.len() == requested.len() {
        return Ok(false);
    }
    if share_categories(tx, &added).await?.len() != added.len() {
        return Err(unknown("categoryIds"));
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
    let kept = present.into_iter().filter(|link| requested.contains(&link.category_id));
    let links = kept.chain(new).collect();
    if Links::OfProducts.replace(tx, &[product_id], links).await?.is_empty() {
        return Ok(true);
    }
    Err(unknown("categoryIds"))
}
