//! Deletes a row of any kind.

use std::marker::PhantomData;

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::{Error, Feature, Result};
use uuid::Uuid;

use crate::acl;
use crate::model::{Price, Product, Variant};

/// Deletes a product with its variants, prices and links to categories.
pub type DeleteProduct = Delete<Product>;
/// Deletes a variant with its prices.
pub type DeleteVariant = Delete<Variant>;
/// Deletes a price.
pub type DeletePrice = Delete<Price>;

/// A kind that clients may delete.
pub trait Removal: Entity {
    /// Id of the command.
    const ID: &'static str;
    /// Label of the command.
    const LABEL: &'static str;
    /// The features that the command requires.
    const FEATURES: &'static [Feature];

    /// Converts a database error to the error that the client receives.
    #[must_use]
    fn rejected(error: Error) -> Error {
        error
    }
}

/// Deletes the resource with this id.
#[derive(Debug)]
pub struct Delete<E> {
    id: Uuid,
    entity: PhantomData<E>,
}

impl<E> Delete<E> {
    /// Creates the command for this resource.
    #[must_use]
    pub fn new(id: Uuid) -> Self {
        Self {
            id,
            entity: PhantomData,
        }
    }
}

impl<E: Removal> Command for Delete<E> {
    const ID: &'static str = E::ID;
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = E::LABEL;
    const FEATURES: &'static [Feature] = E::FEATURES;
    type Entity = E;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        E::remove(tx, &[self.id]).await.map_err(E::rejected)
    }
}

impl Removal for Product {
    const ID: &'static str = "catalog.product.delete";
    const LABEL: &'static str = "Delete product";
    const FEATURES: &'static [Feature] = &[acl::PRODUCTS_MANAGE];
}

impl Removal for Variant {
    const ID: &'static str = "catalog.variant.delete";
    const LABEL: &'static str = "Delete variant";
    const FEATURES: &'static [Feature] = &[acl::PRODUCTS_MANAGE];
}

impl Removal for Price {
    const ID: &'static str = "catalog.price.delete";
    const LABEL: &'static str = "Delete price";
    const FEATURES: &'static [Feature] = &[acl::PRODUCTS_MANAGE];
}
