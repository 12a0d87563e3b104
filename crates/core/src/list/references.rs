//! Filters by a reference.

use diesel::BoxableExpression;
use diesel::dsl::sql;
use diesel::pg::Pg;
use diesel::sql_types::{Array, Bool, Uuid as SqlUuid};
use uuid::Uuid;

use super::CommaList;
use crate::error::Detail;

/// A condition or column written in SQL, for a statement on `T`.
pub type Fragment<T, S> = Box<dyn BoxableExpression<T, Pg, SqlType = S>>;

/// Values of a reference that a list is filtered by; without any value it matches nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References {
    /// Any of these.
    pub ids: Vec<Uuid>,
    /// Also matches rows without a reference.
    pub or_none: bool,
}

impl References {
    /// Parses ids joined by commas, where `none` matches rows without a reference; an empty list matches nothing.
    ///
    /// # Errors
    /// `invalid_value` when a value is malformed, `too_long` when there are too many.
    pub fn parse(path: &str, text: &str) -> Result<Self, Detail> {
        let expected = "must be UUIDs or `none`, joined by commas";
        let values = CommaList::new(path).parsed([text], expected, |part| match part {
            "none" => Some(None),
            id => id.parse().ok().map(Some),
        })?;
        Ok(Self {
            or_none: values.contains(&None),
            ids: values.into_iter().flatten().collect(),
        })
    }

    /// Creates the filter for any of these ids.
    #[must_use]
    pub fn any_of(ids: &[Uuid]) -> Self {
        Self {
            ids: ids.to_vec(),
            or_none: false,
        }
    }

    /// Returns the condition on a column, which is qualified with its table.
    #[must_use]
    pub fn condition<T: 'static>(&self, column: &str) -> Fragment<T, Bool> {
        // Rows with one reference come from an index in the order of the list; those with any of several must be sorted.
        if let ([id], false) = (self.ids.as_slice(), self.or_none) {
            return Box::new(sql::<Bool>(&format!("({column} = ")).bind::<SqlUuid, _>(*id).sql(")"));
        }
        let rest = if self.or_none {
            format!(") or {column} is null)")
        } else {
            "))".to_owned()
        };
        Box::new(
            sql::<Bool>(&format!("({column} = any("))
                .bind::<Array<SqlUuid>, _>(self.ids.clone())
                .sql(&rest),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Uuid = Uuid::from_u128(1);

    #[test]
    fn none_can_be_combined_with_ids() {
        let requested = References::parse("ownerUserId", &format!("none,{ONE}")).expect("references");

        assert_eq!((requested.ids, requested.or_none), (vec![ONE], true));
        assert!(!References::parse("ownerUserId", "").expect("nothing").or_none);
    }
}
