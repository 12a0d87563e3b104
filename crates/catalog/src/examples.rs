//! Example records of new tenants: a category with a product.

use backoffice_core::examples::{ExampleText, Examples};
use backoffice_core::http::{Created, CreatedId};
use backoffice_core::{Patch, RequestContext, Result, crud};

use crate::commands::{CategoryInput, CreateProduct, ProductInput};
use crate::model::Category;

pub(crate) const EXAMPLES: Examples = Examples {
    module: "catalog",
    create: |ctx, locale| Box::pin(create(ctx, locale)),
};

const CATEGORY: ExampleText = ExampleText {
    en: "Examples",
    pl: "Przykłady",
    es: "Ejemplos",
    de: "Beispiele",
};
const PRODUCT: ExampleText = ExampleText {
    en: "Example product",
    pl: "Przykładowy produkt",
    es: "Producto de ejemplo",
    de: "Beispielprodukt",
};

async fn create(ctx: &RequestContext, locale: &str) -> Result<()> {
    let category = CategoryInput {
        name: Patch::Set(CATEGORY.in_locale(locale)),
        ..CategoryInput::default()
    };
    let Created(category) = crud::create::<Category>(ctx, category).await?;
    let product = ProductInput {
        title: Patch::Set(PRODUCT.in_locale(locale)),
        category_ids: Patch::Set(vec![category.id]),
        ..ProductInput::default()
    };
    let command = CreateProduct::new(ctx, &product)?;
    ctx.execute(&command, |id| Created(CreatedId { id })).await?;
    Ok(())
}
