//! The customers of a tenant, all in its organization `other`: two companies and two people, a deal with the first of each in the first of three
//! stages, and a pipeline without deals.

use backoffice_core::command::Command;
use backoffice_core::http::Json;
use backoffice_customers::commands::deals::{AssignOwner, ChangeStage};
use serde_json::Value;
use uuid::Uuid;

use crate::fixture::{Fixture, TenantFixture};

/// A record of a tenant that every test knows by its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Customer {
    /// Its first stage holds the deal.
    Pipeline = 1,
    /// The stage with the deal.
    Stage,
    Second,
    Third,
    /// Without deals.
    FreePipeline,
    FreeStage,
    Company,
    /// Linked to no person and no deal.
    SpareCompany,
    /// Works for the company.
    Person,
    SparePerson,
    Deal,
    /// In no pipeline.
    BareDeal,
    PersonOfDeal,
    CompanyOfDeal,
    SecondFreeStage,
}

impl Customer {
    /// Returns its id in this tenant.
    pub(crate) fn of(self, tenant_fixture: &TenantFixture) -> Uuid {
        Uuid::from_u128(tenant_fixture.tenant.as_u128() ^ (self as u128 + 0x1000))
    }
}

/// Inserts the customers with SQL, without log entries.
pub(crate) async fn seed(fixture: &Fixture, tenant_fixture: &TenantFixture) {
    use Customer::{
        BareDeal, Company, CompanyOfDeal, Deal, FreePipeline, FreeStage, Person, PersonOfDeal, Pipeline, Second,
        SecondFreeStage, SpareCompany, SparePerson, Stage, Third,
    };
    let (tenant, organization, owner) = (
        tenant_fixture.tenant,
        tenant_fixture.other,
        tenant_fixture.tenant_admin.id,
    );
    let at = "'2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z'";
    let mut sql = Vec::new();
    for (pipeline, name) in [(Pipeline, "Sales"), (FreePipeline, "Support")] {
        sql.push(format!(
            "insert into customers_pipelines values ('{tenant}', '{}', '{organization}', '{name}', {at})",
            pipeline.of(tenant_fixture)
        ));
    }
    for (stage, pipeline, label, position) in [
        (Stage, Pipeline, "New", 1),
        (Second, Pipeline, "Offered", 2),
        (Third, Pipeline, "Agreed", 3),
        (FreeStage, FreePipeline, "Open", 1),
        (SecondFreeStage, FreePipeline, "Closed", 2),
    ] {
        sql.push(format!(
            "insert into customers_pipeline_stages \
             values ('{tenant}', '{}', '{organization}', '{}', '{label}', {position}, '#00ff00', {at})",
            stage.of(tenant_fixture),
            pipeline.of(tenant_fixture)
        ));
    }
    for (company, name) in [(Company, "Acme"), (SpareCompany, "Spare")] {
        sql.push(format!(
            "insert into customers_companies (tenant_id, id, organization_id, display_name, website_url, owner_user_id, is_active, \
             created_at, updated_at) \
             values ('{tenant}', '{}', '{organization}', '{name}', 'https://example.test', '{owner}', true, {at})",
            company.of(tenant_fixture)
        ));
    }
    for (person, name, company) in [
        (Person, "Ada", format!("'{}'", Company.of(tenant_fixture))),
        (SparePerson, "Bob", "null".to_owned()),
    ] {
        sql.push(format!(
            "insert into customers_people (tenant_id, id, organization_id, first_name, last_name, display_name, company_id, owner_user_id, \
             is_active, created_at, updated_at) \
             values ('{tenant}', '{}', '{organization}', '{name}', 'Doe', '{name} Doe', {company}, '{owner}', true, {at})",
            person.of(tenant_fixture)
        ));
    }
    for (deal, place) in [
        (
            Deal,
            format!("'{}', '{}'", Pipeline.of(tenant_fixture), Stage.of(tenant_fixture)),
        ),
        (BareDeal, "null, null".to_owned()),
    ] {
        sql.push(format!(
            "insert into customers_deals (tenant_id, id, organization_id, title, status, pipeline_id, pipeline_stage_id, value_amount, \
             value_currency, owner_user_id, created_at, updated_at) \
             values ('{tenant}', '{}', '{organization}', 'A deal', 'open', {place}, 12.5, 'EUR', '{owner}', {at})",
            deal.of(tenant_fixture)
        ));
    }
    for (table, other, link, id) in [
        ("people", "person", PersonOfDeal, Person),
        ("companies", "company", CompanyOfDeal, Company),
    ] {
        sql.push(format!(
            "insert into customers_deal_{table} (tenant_id, id, deal_id, {other}_id, created_at, updated_at) \
             values ('{tenant}', '{}', '{}', '{}', {at})",
            link.of(tenant_fixture),
            Deal.of(tenant_fixture),
            id.of(tenant_fixture)
        ));
    }
    for statement in sql {
        assert_eq!(fixture.app.sql(&statement).await, 1, "{statement}");
    }
}

/// Commands that no endpoint runs itself.
pub(crate) const OF_JOBS: [&str; 2] = [AssignOwner::ID, ChangeStage::ID];

/// Runs one of the commands of [`OF_JOBS`] in tenant A, with the platform as the actor; `None` after the last.
pub(crate) async fn run_of_jobs(fixture: &Fixture, number: usize) -> Option<&'static str> {
    let (tenant_fixture, ctx) = (&fixture.a, fixture.app.system_context());
    let (deal, bare) = (Customer::Deal.of(tenant_fixture), Customer::BareDeal.of(tenant_fixture));
    let owner = |owner| AssignOwner { deal, owner };
    let stage = |deal, stage: Customer| ChangeStage {
        deal,
        stage: stage.of(tenant_fixture),
    };
    let owners = [owner(Some(tenant_fixture.admin.id)), owner(None)];
    let stages = [stage(deal, Customer::Third), stage(bare, Customer::Second)];
    let nothing = |()| Json(Value::Null);
    if let Some(command) = owners.get(number) {
        ctx.execute(command, nothing).await.expect("it runs");
        return Some(AssignOwner::ID);
    }
    ctx.execute(stages.get(number - owners.len())?, nothing)
        .await
        .expect("it runs");
    Some(ChangeStage::ID)
}
