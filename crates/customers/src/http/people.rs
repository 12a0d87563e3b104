//! Endpoints of people.

use backoffice_core::access_log::{AccessType, Record};
use backoffice_core::http::{Created, Json, Path, Query, Routes, requires};
use backoffice_core::list::{CommaList, IdList, Page};
use backoffice_core::{Detail, Error, Rejection, RequestContext, Result, Violations};
use serde::Deserialize;
use utoipa::IntoParams;

use super::bodies::{Changed, CreatedId, Done, Id, ListQuery, Patch};
use super::parties::{PartyQuery, SortColumns};
use crate::commands::people::{CreatePerson, DeletePerson, PersonFields, UpdatePerson};
use crate::model::{PERSON, Party, PersonRow};
use crate::query::people::{self, PersonItem};
use crate::{References, acl};

const LIST: &str = "/customers/people";
const ONE: &str = "/customers/people/{id}";

const COLUMNS: SortColumns = SortColumns {
    created_at: "customers_people.created_at",
    updated_at: "customers_people.updated_at",
    display_name: "customers_people.display_name",
};

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(LIST, requires(&[acl::PEOPLE_VIEW]), list_people)
        .about("List people")
        .reads(PERSON);
    routes
        .get(ONE, requires(&[acl::PEOPLE_VIEW]), get_person)
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
        .about("Delete a person; deals lose their links to it")
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
    list: Query<ListQuery>,
    query: Query<PartyQuery>,
    own: Query<PersonQuery>,
) -> Result<Json<Page<PersonItem>>> {
    let mut violations = Violations::default();
    let companies = violations.keep(own.0.companies());
    let listed = violations.keep(query.0.filter(&list.0, &COLUMNS).map(Some));
    violations.check()?;
    let Some((mut filter, window)) = listed else {
        return Err(Error::internal("filter missing although no violation was reported"));
    };
    filter.companies = companies;
    let connection = ctx.read().await?;
    let page = people::list(&connection, ctx.scope(), &filter, window).await?;
    ctx.log_reads(&connection, AccessType::List, &page.items, record)
        .await?;
    Ok(Json(page))
}

async fn get_person(ctx: RequestContext, path: Path<Id>) -> Result<Json<PersonItem>> {
    let connection = ctx.read().await?;
    let found = people::find(&connection, ctx.scope(), path.0.id).await?;
    let item = found.ok_or_else(|| Rejection::not_found(PersonRow::NOT_FOUND))?;
    ctx.log_reads(&connection, AccessType::Item, std::slice::from_ref(&item), record)
        .await?;
    Ok(Json(item))
}

async fn create_person(ctx: RequestContext, body: Json<PersonFields>) -> Result<Created<CreatedId>> {
    let command = CreatePerson::new(&ctx, body.0)?;
    ctx.execute(&command, |id| Created(CreatedId::from(id))).await
}

async fn update_person(ctx: RequestContext, body: Patch<PersonFields>) -> Result<Json<Changed>> {
    let command = UpdatePerson::new(body.id, body.fields)?;
    ctx.execute(&command, |at| Json(Changed::from(at))).await
}

async fn delete_person(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    ctx.execute(&DeletePerson::new(query.0.id), |()| Json(Done::YES)).await
}
