//! Creates, updates and deletes windows.

use backoffice_core::command::{Class, Command, EntityRef, Target, Tx};
use backoffice_core::crud::{CommandName, Create, Delete, Record, Update};
use backoffice_core::db::{KeyColumn, PreparedIf, Recurring, ReplaceRow};
use backoffice_core::input::{Input, Validator};
use backoffice_core::{Feature, Patch, Placement, Result, Timestamp};
use diesel::sql_types::{Timestamptz, Uuid as SqlUuid};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, insert_into, sql_query};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::day::Day;
use crate::documented::{CalendarReasonCode, CalendarResourceType, body};
use crate::model::{SERIES, Window, derive_all};
use crate::plan::{Absent, PlanFields};
use crate::schema::calendar_windows as windows;
use crate::subject::ResourceType;
use crate::{acl, error, resource_check};

/// Creates a window.
pub type CreateWindow = Create<Window>;

/// The fields of a window: absent fields keep their values.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = CalendarWindowFields)]
pub struct WindowFields {
    /// The id of the path.
    #[schema(value_type = Uuid)]
    pub id: Patch<String>,
    /// Type of the resource.
    #[schema(value_type = CalendarResourceType)]
    pub resource_type: Patch<String>,
    /// The resource.
    #[schema(value_type = Uuid)]
    pub resource_id: Patch<String>,
    /// First day.
    #[schema(value_type = Day)]
    pub start_date: Patch<String>,
    /// Day after the last one, at most 1096 days later.
    #[schema(value_type = Day)]
    pub end_date_exclusive: Patch<String>,
    /// A reason of the type of the resource.
    #[schema(value_type = CalendarReasonCode)]
    pub reason_code: Patch<String>,
    /// At most 500 characters; null clears.
    #[schema(value_type = Option<String>, max_length = 500)]
    pub note: Patch<String>,
}

impl WindowFields {
    fn plan(&self) -> PlanFields<'_> {
        PlanFields {
            resource_type: &self.resource_type,
            resource_id: &self.resource_id,
            start_date: &self.start_date,
            end_date_exclusive: &self.end_date_exclusive,
            reason_code: &self.reason_code,
            note: &self.note,
        }
    }
}

impl Input for WindowFields {
    /// Validates all fields as those of a creation.
    fn require(&self, validator: &mut Validator) {
        self.plan().merged(Absent::Missing, validator);
    }

    fn validate(&self, validator: &mut Validator) {
        super::validate_id(&self.id, validator);
        self.plan().merged(Absent::Unknown, validator);
    }
}

body! {
    /// The body of a creation.
    NewWindow(WindowFields) requires ["resourceType", "resourceId", "startDate", "endDateExclusive", "reasonCode"], without ["id"];
    require, validate
}

body! {
    /// The body of an update.
    WindowChanges(WindowFields) requires [], without [];
    validate
}

impl Record for Window {
    type Input = WindowFields;
    const CREATE: CommandName = CommandName::new("calendar.window.create", "Create window");
    const UPDATE: CommandName = CommandName::new("calendar.window.update", "Update window");
    const DELETE: CommandName = CommandName::new("calendar.window.delete", "Delete window");
    const MANAGE: &'static [Feature] = &[acl::MANAGE];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        let day = Day::EPOCH;
        Self {
            tenant_id: placement.tenant,
            id,
            organization_id: placement.organization,
            resource_type: ResourceType::Worker,
            resource_id: Uuid::nil(),
            start_date: day,
            end_date_exclusive: day,
            start_at: Timestamp::UNIX_EPOCH,
            end_at: Timestamp::UNIX_EPOCH,
            reason_code: String::new(),
            note: None,
            series_id: None,
            series_date: None,
            is_exception: false,
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

    /// Fills a blank row, whose resource is the nil UUID, with the fields of a creation.
    fn fill(&mut self, input: &WindowFields, validator: &mut Validator) {
        let stored = self.plan();
        let absent = if self.resource_id.is_nil() {
            Absent::Missing
        } else {
            Absent::Stored(&stored)
        };
        if let Some(plan) = input.plan().merged(absent, validator) {
            self.set_plan(plan);
        }
    }

    async fn place(&mut self, tx: &mut Tx<'_>, _input: &WindowFields) -> Result<()> {
        Placement::lock(tx, self.organization_id).await
    }

    async fn check(&mut self, tx: &mut Tx<'_>, _input: &WindowFields, before: Option<&Self>) -> Result<bool> {
        derive_all(tx, std::slice::from_mut(self)).await?;
        if self.start_at >= self.end_at {
            return Err(error::empty_in_zone());
        }
        if before.is_none_or(|before| before.subject() != self.subject()) {
            resource_check::check(tx, self.subject()).await?;
        }
        if self.series_id.is_some() && before.is_some_and(|before| before.plan() != self.plan()) {
            self.is_exception = true;
        }
        Ok(false)
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = windows::table.filter(windows::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(windows::id.one_of(ids)).select(Self::as_select());
        Ok(rows.load(tx.conn()).await?)
    }

    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        write_windows(tx, rows).await
    }
}

/// Inserts windows, or replaces the stored ones. Their instants are those of the rows.
pub(crate) async fn write_windows(tx: &mut Tx<'_>, rows: &[Window]) -> Result<Vec<Window>> {
    let statement = insert_into(windows::table)
        .values(rows)
        .on_conflict((windows::tenant_id, windows::id))
        .do_update()
        .set(ReplaceRow::<windows::table>::default())
        .returning(Window::as_returning());
    Ok(PreparedIf(statement, rows.len() == 1).get_results(tx.conn()).await?)
}

fn series_ref(series: Option<Uuid>) -> Vec<EntityRef> {
    series.map(|id| EntityRef { kind: SERIES, id }).into_iter().collect()
}

/// Updates a window. One of a series becomes an exception, which is a change of the series.
#[derive(Debug, Clone)]
pub struct UpdateWindow {
    id: Uuid,
    series: Option<Uuid>,
    update: Update<Window>,
}

impl UpdateWindow {
    /// Validates the fields, as far as possible without the stored row. `series` is the series of the window.
    ///
    /// # Errors
    /// 400 for invalid fields.
    pub fn new(id: Uuid, series: Option<Uuid>, fields: WindowFields) -> Result<Self> {
        let update = Update::new(id, fields)?;
        Ok(Self { id, series, update })
    }

    /// Returns the requested fields, for interceptors.
    #[must_use]
    pub const fn fields(&self) -> &WindowFields {
        self.update.input()
    }
}

impl Command for UpdateWindow {
    const ID: &'static str = Window::UPDATE.id;
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = Window::UPDATE.label;
    const FEATURES: &'static [Feature] = Window::MANAGE;
    type Entity = Window;
    type Output = Timestamp;

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    fn affects(&self) -> Vec<EntityRef> {
        series_ref(self.series)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Timestamp> {
        self.update.apply(tx).await
    }
}

/// Deletes a window. The day of one of a series is left out of the series from then on.
#[derive(Debug, Clone, Copy)]
pub struct DeleteWindow {
    id: Uuid,
    series: Option<Uuid>,
}

impl DeleteWindow {
    /// Creates the command. `series` is the series of the window.
    #[must_use]
    pub const fn new(id: Uuid, series: Option<Uuid>) -> Self {
        Self { id, series }
    }
}

const LEAVE_OUT: &str = "update calendar_series s set updated_at = $3, exdates = array( \
        select distinct day from unnest(s.exdates || w.series_date) as t (day) order by day) \
    from calendar_windows w where w.tenant_id = $1 and w.id = $2 and s.tenant_id = w.tenant_id and s.id = w.series_id";

impl Command for DeleteWindow {
    const ID: &'static str = Window::DELETE.id;
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = Window::DELETE.label;
    const FEATURES: &'static [Feature] = Window::MANAGE;
    type Entity = Window;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    fn affects(&self) -> Vec<EntityRef> {
        series_ref(self.series)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        if self.series.is_some() {
            let (tenant, now) = (tx.tenant(), tx.now());
            sql_query(LEAVE_OUT)
                .bind::<SqlUuid, _>(tenant)
                .bind::<SqlUuid, _>(self.id)
                .bind::<Timestamptz, _>(now)
                .prepared()
                .execute(tx.conn())
                .await?;
        }
        Delete::<Window>::new(self.id).apply(tx).await
    }
}
