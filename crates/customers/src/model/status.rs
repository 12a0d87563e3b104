//! The statuses of a deal.

use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::{Pg, PgValue};
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types::Text;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The status of a deal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, AsExpression, FromSqlRow)]
#[serde(rename_all = "camelCase")]
#[diesel(sql_type = Text)]
pub enum DealStatus {
    /// Not yet won or lost.
    Open,
    /// The deal was concluded.
    Won,
    /// The deal will not be concluded.
    Lost,
}

impl DealStatus {
    /// All values on the wire.
    pub const WORDS: [&str; 3] = ["open", "won", "lost"];

    /// Returns the value on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Won => "won",
            Self::Lost => "lost",
        }
    }
}

impl FromSql<Text, Pg> for DealStatus {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        let word = <String as FromSql<Text, Pg>>::from_sql(value)?;
        [Self::Open, Self::Won, Self::Lost]
            .into_iter()
            .find(|status| status.as_str() == word)
            .ok_or_else(|| format!("`{word}` is not a status of a deal").into())
    }
}

impl ToSql<Text, Pg> for DealStatus {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        <str as ToSql<Text, Pg>>::to_sql(self.as_str(), out)
    }
}
