//! Endpoints of people.

use backoffice_core::access_log::{AccessType, Record};
use backoffice_core::command::Entity;
use backoffice_core::http::{Created, CreatedId, Done, Id, Identified, Json, Path, Query, Routes, Updated, requires};
use backoffice_core::list::{CommaList, IdList, ListQuery, Page, References};
use backoffice_core::{Detail, Rejection, RequestContext, Result, Violations, crud};
use serde::Deserialize;
use utoipa::IntoParams;

use super::parties::PartyQuery;
use crate::acl;
use crate::commands::PersonFields;
use crate::model::{PERSON, Person};
use crate::query::parties::PartyFilter;
use crate::query::people::{self, PersonItem};

const LIST: &str = "/customers/people";
const ONE: &str = "/customers/people/{id}";

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(LIST, requires(&[acl::PEOPLE_VIEW]), list_people)
        .shows(&["customers.person", "customers.company", "auth.user"])
        .about("List people")
        .reads(PERSON);
    routes
        .get(ONE, requires(&[acl::PEOPLE_VIEW]), get_person)
        .shows(&["customers.person", "customers.company", "customers.deal", "auth.user"])
        .about("One person")
        .reads(PERSON)
        .rejects(&[404]);
    routes
        .post(LIST, requires(&[acl::PEOPLE_MANAGE]), create_person)
        .about("Create a person")
        .rejects(&[409, 422]);
    routes
        .put(LIST, requires(&[acl::PEOPLE_MANAGE]), update_person)
        .about("Change a person")
        .rejects(&[404, 409, 422]);
    routes
        .delete(LIST, requires(&[acl::PEOPLE_MANAGE]), delete_person)
        .about("Delete a person; deals lose their links to them")
        .rejects(&[404, 409, 422]);
}

/// Additional parameters of the list of people.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct PersonQuery {
    /// Only people of these companies: ids joined by commas, at most 200.
    #[param(value_type = Option<IdList>, inline)]
    company_ids: Option<String>,
}

impl PersonQuery {
    fn companies(&self) -> Result<Option<References>, Detail> {
        let ids = self.company_ids.as_deref();
        let ids = ids.map(|text| CommaList::new("companyIds").ids([text])).transpose()?;
        Ok(ids.map(|ids| References { ids, or_none: false }))
    }
}

fn record(item: &PersonItem) -> Record {
    Record::new(item.row.id, Some(item.row.tenant_id)).of(Some(item.row.organization_id))
}

async fn list_people(
    ctx: RequestContext,
    list: ListQuery<Person>,
    query: Query<PartyQuery>,
    own: Query<PersonQuery>,
) -> Result<Json<Page<PersonItem>>> {
    let mut violations = Violations::default();
    let request = list.validate_with(&mut violations);
    let filter = PartyFilter {
        companies: violations.keep(own.0.companies()),
        ..query.0.filter(&mut violations)
    };
    violations.check()?;
    let connection = ctx.read().await?;
    let page = people::list(&connection, &ctx, &filter, &request).await?;
    ctx.log_reads(&connection, AccessType::List, &page.items, record)
        .await?;
    Ok(Json(page))
}

async fn get_person(ctx: RequestContext, path: Path<Id>) -> Result<Json<PersonItem>> {
    let connection = ctx.read().await?;
    let item = people::find(&connection, ctx.scope(), path.0.id).await?;
    let item = item.ok_or_else(|| Rejection::not_found(Person::NOT_FOUND))?;
    ctx.log_reads(&connection, AccessType::Item, std::slice::from_ref(&item), record)
        .await?;
    Ok(Json(item))
}

async fn create_person(ctx: RequestContext, body: Json<PersonFields>) -> Result<Created<CreatedId>> {
    crud::create::<Person>(&ctx, body.0).await
}

async fn update_person(ctx: RequestContext, body: Identified<PersonFields>) -> Result<Json<Updated>> {
    crud::update::<Person>(&ctx, body.id, body.fields).await
}

async fn delete_person(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    crud::delete::<Person>(&ctx, query.0.id).await
}
