//! Creates, updates and deletes windows.

use backoffice_core::command::Tx;
use backoffice_core::crud::{self, CommandName, Create, Delete, Record, Update};
use backoffice_core::db::{PreparedIf, ReplaceRow};
use backoffice_core::input::{Input, Validator, rules, schema};
use backoffice_core::{Error, Feature, Patch, Placement, Rejection, Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::acl;
use crate::model::Window;
use crate::schema::calendar_windows as windows;

/// Creates a window.
pub type CreateWindow = Create<Window>;
/// Updates a window.
pub type UpdateWindow = Update<Window>;
/// Deletes a window.
pub type DeleteWindow = Delete<Window>;

backoffice_core::text_schemas! {
    /// Name of a window.
    CalendarWindowName: schema::line(200);
}

/// The fields of a window: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = CalendarWindowInput)]
pub struct WindowInput {
    /// The organization of a new window, by default the one in which the request writes; cannot be changed later.
    #[schema(value_type = Option<Uuid>)]
    pub organization_id: Patch<Uuid>,
    /// 1 to 200 characters, unique in the organization; required for a new window.
    #[schema(value_type = CalendarWindowName, required = true)]
    pub name: Patch<String>,
    /// At most 4000 characters.
    #[schema(value_type = Option<String>, max_length = 4000)]
    pub note: Patch<String>,
}

impl Input for WindowInput {
    fn organization(&self) -> Patch<Uuid> {
        self.organization_id
    }

    fn require(&self, validator: &mut Validator) {
        validator.require("name", &self.name);
    }

    fn validate(&self, validator: &mut Validator) {
        crud::validate::<Window>(self, validator);
    }
}

impl Record for Window {
    type Input = WindowInput;
    const CREATE: CommandName = CommandName::new("calendar.window.create", "Create window");
    const UPDATE: CommandName = CommandName::new("calendar.window.update", "Update window");
    const DELETE: CommandName = CommandName::new("calendar.window.delete", "Delete window");
    const MANAGE: &'static [Feature] = &[acl::WINDOWS_MANAGE];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            organization_id: placement.organization,
            name: String::new(),
            note: None,
            created_at: now,
            updated_at: now,
        }
    }

    fn key(&self) -> (Uuid, Uuid) {
        (self.tenant_id, self.id)
    }

    fn organization(&self) -> Option<Uuid> {
        Some(self.organization_id)
    }

    fn updated_at(&mut self) -> &mut Timestamp {
        &mut self.updated_at
    }

    fn fill(&mut self, input: &WindowInput, validator: &mut Validator) {
        validator.text("name", &input.name, &mut self.name, rules::line(200));
        validator.optional_text("note", &input.note, &mut self.note, rules::text(4000));
    }

    async fn place(&mut self, tx: &mut Tx<'_>, _input: &WindowInput) -> Result<()> {
        Placement::lock(tx, self.organization_id).await
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = windows::table.filter(windows::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(windows::id.eq_any(ids)).select(Self::as_select());
        Ok(rows.load(tx.conn()).await?)
    }

    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let statement = insert_into(windows::table)
            .values(rows)
            .on_conflict((windows::tenant_id, windows::id))
            .do_update()
            .set(ReplaceRow::<windows::table>::default())
            .returning(Self::as_returning());
        Ok(PreparedIf(statement, rows.len() == 1).get_results(tx.conn()).await?)
    }

    fn rejection(error: Error) -> Error {
        match error.violated_constraint() {
            Some("calendar_windows_tenant_id_organization_id_name_key") => Rejection::not_unique("name").into(),
            _ => error,
        }
    }
}
