//! Example records of new tenants: a company, a person who works there, and a deal with both.

use backoffice_core::examples::{ExampleText, Examples};
use backoffice_core::http::{Created, CreatedId};
use backoffice_core::{Patch, RequestContext, Result, crud};

use crate::commands::deals::{CreateDeal, DealFields};
use crate::commands::{CompanyFields, PersonFields};
use crate::model::{Company, Person};

pub(crate) const EXAMPLES: Examples = Examples {
    module: "customers",
    create: |ctx, locale| Box::pin(create(ctx, locale)),
};

const COMPANY: ExampleText = ExampleText {
    en: "Example Company",
    pl: "Przykładowa firma",
    es: "Empresa de ejemplo",
    de: "Beispielfirma",
};
const FIRST_NAME: ExampleText = ExampleText {
    en: "Alex",
    pl: "Anna",
    es: "Ana",
    de: "Anna",
};
const LAST_NAME: ExampleText = ExampleText {
    en: "Example",
    pl: "Przykład",
    es: "Ejemplo",
    de: "Beispiel",
};
const DEAL: ExampleText = ExampleText {
    en: "Example deal",
    pl: "Przykładowa transakcja",
    es: "Oportunidad de ejemplo",
    de: "Beispielgeschäft",
};

async fn create(ctx: &RequestContext, locale: &str) -> Result<()> {
    let text = |text: ExampleText| Patch::Set(text.in_locale(locale));
    let company = CompanyFields {
        display_name: text(COMPANY),
        ..CompanyFields::default()
    };
    let Created(company) = crud::create::<Company>(ctx, company).await?;
    let person = PersonFields {
        first_name: text(FIRST_NAME),
        last_name: text(LAST_NAME),
        company_id: Patch::Set(company.id),
        ..PersonFields::default()
    };
    let Created(person) = crud::create::<Person>(ctx, person).await?;
    let deal = DealFields {
        title: text(DEAL),
        person_ids: Patch::Set(vec![person.id]),
        company_ids: Patch::Set(vec![company.id]),
        ..DealFields::default()
    };
    let command = CreateDeal::new(ctx, deal)?;
    ctx.execute(&command, |id| Created(CreatedId { id })).await?;
    Ok(())
}
