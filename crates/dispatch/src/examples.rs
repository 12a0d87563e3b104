//! Example records of new tenants: a job site, an item of equipment, and an assignment of it there tomorrow.

use backoffice_calendar::Day;
use backoffice_core::examples::{ExampleText, Examples};
use backoffice_core::http::Created;
use backoffice_core::{Error, Patch, RequestContext, Result, crud};

use crate::commands::{AssignmentFields, CreateAssignment, JobSiteFields, NewAssignment, ResourceFields};
use crate::model::{JobSite, Resource};

pub(crate) const EXAMPLES: Examples = Examples {
    module: "dispatch",
    create: |ctx, locale| Box::pin(create(ctx, locale)),
};

const SITE: ExampleText = ExampleText {
    en: "Example site",
    pl: "Przykładowa budowa",
    es: "Obra de ejemplo",
    de: "Beispielbaustelle",
};
const EQUIPMENT: ExampleText = ExampleText {
    en: "Example excavator",
    pl: "Przykładowa koparka",
    es: "Excavadora de ejemplo",
    de: "Beispielbagger",
};

async fn create(ctx: &RequestContext, locale: &str) -> Result<()> {
    let site = JobSiteFields {
        name: Patch::Set(SITE.in_locale(locale)),
        ..JobSiteFields::default()
    };
    let Created(site) = crud::create::<JobSite>(ctx, site).await?;
    let equipment = ResourceFields {
        type_: Patch::Set("equipment".to_owned()),
        name: Patch::Set(EQUIPMENT.in_locale(locale)),
        ..ResourceFields::default()
    };
    let Created(equipment) = crud::create::<Resource>(ctx, equipment).await?;
    let today = Day::from_date(ctx.now().get().date());
    let day = |offset: i64| {
        let day = today.and_then(|today| today.plus_days(offset));
        day.map(|day| Patch::Set(day.to_string()))
            .ok_or_else(|| Error::internal("the clock is past the last day"))
    };
    let assignment = AssignmentFields {
        job_site_id: Patch::Set(site.id),
        subject_type: Patch::Set("equipment".to_owned()),
        subject_id: Patch::Set(equipment.id),
        start_date: day(1)?,
        end_date_exclusive: day(2)?,
        ..AssignmentFields::default()
    };
    let command = CreateAssignment::new(ctx, &NewAssignment(assignment), false)?;
    ctx.execute(&command, Created).await?;
    Ok(())
}
