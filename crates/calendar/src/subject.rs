//! Resources whose time is planned, and the lock that serializes the writers of one of them.

use std::collections::BTreeSet;

use backoffice_core::db::Prepared;
use backoffice_core::list::parameters::word;
use backoffice_core::{Result, Tx, Violations};
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::dsl::sql;
use diesel::expression::{AsExpression, SqlLiteral};
use diesel::pg::{Pg, PgValue};
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_query;
use diesel::sql_types::{Array, Bool, Text, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// The type of a resource.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema, AsExpression, FromSqlRow,
)]
#[serde(rename_all = "snake_case")]
#[diesel(sql_type = Text)]
pub enum ResourceType {
    /// A person.
    Worker,
    /// A machine or a tool.
    Equipment,
    /// A vehicle.
    Vehicle,
}

impl ResourceType {
    /// All types.
    pub const ALL: [Self; 3] = [Self::Worker, Self::Equipment, Self::Vehicle];
    /// All types on the wire.
    pub const WORDS: [&str; 3] = ["worker", "equipment", "vehicle"];

    /// Returns the value on the wire and in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Equipment => "equipment",
            Self::Vehicle => "vehicle",
        }
    }

    /// Parses the value of the wire.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == text)
    }

    /// Parses a query parameter; reports an invalid one with the code `invalid_value`.
    pub fn from_parameter(path: &str, text: Option<&str>, violations: &mut Violations) -> Option<Self> {
        word(path, text, &Self::WORDS, violations).and_then(Self::parse)
    }

    /// Returns the condition that a column, which is qualified with its table, has one of all types. It excludes no row: with it, a search by ids without
    /// a type can use an index that begins with the type. The types are a part of the statement, because PostgreSQL plans every execution of a
    /// statement that shows it a list.
    pub fn any_in(column: &str) -> SqlLiteral<Bool> {
        sql(&format!("{column} = any('{{{}}}')", Self::WORDS.join(",")))
    }
}

impl FromSql<Text, Pg> for ResourceType {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        let text = <String as FromSql<Text, Pg>>::from_sql(value)?;
        Self::parse(&text).ok_or_else(|| format!("`{text}` is not a type of resources").into())
    }
}

impl ToSql<Text, Pg> for ResourceType {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        <str as ToSql<Text, Pg>>::to_sql(self.as_str(), out)
    }
}

/// A resource in an organization. It need not exist as a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Subject {
    /// The organization.
    pub organization: Uuid,
    /// The type.
    pub resource_type: ResourceType,
    /// The id.
    pub id: Uuid,
}

/// Locks these subjects until the end of the transaction, each once, in one order, with one statement. Rows that depend on a subject are read
/// after this lock, so two transactions that change the same subject see each other's rows.
///
/// # Errors
/// When the database can't be reached, or a lock is not granted in time.
pub async fn lock_subjects(tx: &mut Tx<'_>, subjects: &[Subject]) -> Result<()> {
    let tenant = tx.tenant();
    lock_subjects_of(tx.conn(), tenant, subjects).await
}

/// Locks subjects of a tenant as [`lock_subjects`] does, in a transaction that is not that of a command.
///
/// The working calendars of their organizations are locked before, shared: a transaction that replaces one of them finds the subjects that its new days
/// concern, and would not see a row that is still being written.
///
/// # Errors
/// When the database can't be reached, or a lock is not granted in time.
pub async fn lock_subjects_of(connection: &mut AsyncPgConnection, tenant: Uuid, subjects: &[Subject]) -> Result<()> {
    if subjects.is_empty() {
        return Ok(());
    }
    let mut ordered = subjects.to_vec();
    ordered.sort_unstable();
    ordered.dedup();
    let key = |subject: &Subject| {
        let Subject {
            organization,
            resource_type,
            id,
        } = subject;
        format!("{tenant}{organization}{}{id}", resource_type.as_str())
    };
    let keys: Vec<String> = ordered.iter().map(key).collect();
    let organizations: BTreeSet<Uuid> = ordered.iter().map(|subject| subject.organization).collect();
    let statement = sql_query(LOCK)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Array<SqlUuid>, _>(Vec::from_iter(organizations))
        .bind::<Array<Text>, _>(keys);
    Prepared(statement).execute(connection).await?;
    Ok(())
}

/// Both parts run one after the other, in the order of their arrays.
const LOCK: &str = "\
select pg_advisory_xact_lock_shared(calendar_zone_lock($1, id)) from unnest((select $2)) with ordinality as t (id, n)
union all
select pg_advisory_xact_lock(hashtextextended(key, 0)) from unnest((select $3)) with ordinality as t (key, n)";
