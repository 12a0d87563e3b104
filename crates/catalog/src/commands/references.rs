//! What rows name must be there, and the caller must see it.

use backoffice_core::db::Tx;
use backoffice_core::{RequestContext, Result};
use uuid::Uuid;

use crate::Error;
use crate::model::{CategoryRow, LinkRow, Links, PriceRow, share_categories, share_product, share_variant};

fn unknown(path: &str) -> backoffice_core::Error {
    Error::UnknownReference { path: path.to_owned() }.into()
}

/// The organization that a new row is to belong to: the named one, or where the caller writes.
pub(super) fn organization(context: &RequestContext, named: Option<Uuid>) -> Result<Uuid> {
    check_named_organization(context, named)?;
    named
        .or(context.scope().write_organization)
        .ok_or_else(|| Error::OrganizationRequired.into())
}

/// Refuses an organization that the caller does not write in.
pub(super) fn check_named_organization(context: &RequestContext, named: Option<Uuid>) -> Result<()> {
    if named.is_some() && !context.scope().reads_organization(named) {
        return Err(Error::OutOfScope.into());
    }
    Ok(())
}

/// The organization lives, in the transaction's tenant, and will until the transaction ends.
pub(super) async fn check_organization(tx: &mut Tx<'_>, organization: Uuid) -> Result<()> {
    if tx.keep_organization(organization).await? {
        return Ok(());
    }
    Err(Error::OutOfScope.into())
}

/// The organization of the product that a new row is a part of; it is the only one that may be named.
pub(super) async fn organization_of_product(tx: &mut Tx<'_>, product: Uuid, named: Option<Uuid>) -> Result<Uuid> {
    let organization = share_product(tx, product).await?;
    let organization = organization.ok_or_else(|| unknown("productId"))?;
    if named.is_some_and(|named| named != organization) {
        return Err(Error::OtherOrganization.into());
    }
    Ok(organization)
}

/// The variant of a price is one of the price's product.
pub(crate) async fn check_variant(tx: &mut Tx<'_>, price: &PriceRow) -> Result<()> {
    match price.variant_id {
        Some(variant) if !share_variant(tx, price.product_id, variant).await? => Err(unknown("variantId")),
        _ => Ok(()),
    }
}

/// The category above is one that the caller sees. That it does not lie below, too, is for the guard to say.
pub(crate) async fn check_parent(tx: &mut Tx<'_>, category: &CategoryRow) -> Result<()> {
    match category.parent_id {
        Some(parent) if share_categories(tx, &[parent]).await?.is_empty() => Err(unknown("parentId")),
        _ => Ok(()),
    }
}

/// Puts a product into exactly these categories; links that stay keep their ids. Returns whether something changed.
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
