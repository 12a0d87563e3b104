//! Filters and orders of lists.

use backoffice_core::Detail;
use backoffice_core::list::CommaList;
pub use backoffice_core::list::Order;
use diesel::dsl::sql;
use diesel::sql_types::{Array, Bool, Uuid as SqlUuid};
use uuid::Uuid;

use crate::foreign::Fragment;

/// Values of a reference that a list is filtered by; without any value it matches nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References {
    /// Any of these.
    pub ids: Vec<Uuid>,
    /// Also matches rows without a reference.
    pub or_none: bool,
}

impl References {
    /// Returns the condition on a column, which is qualified with its table.
    pub(crate) fn condition<T: 'static>(&self, column: &str) -> Fragment<T, Bool> {
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

/// Parses ids joined by commas, where `none` matches rows without a reference; an empty list matches nothing.
pub(crate) fn references(path: &str, text: &str) -> Result<References, Detail> {
    let expected = "must be UUIDs or `none`, joined by commas";
    let values = CommaList::new(path).parsed([text], expected, |part| match part {
        "none" => Some(None),
        id => id.parse().ok().map(Some),
    })?;
    Ok(References {
        or_none: values.contains(&None),
        ids: values.into_iter().flatten().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Uuid = Uuid::from_u128(1);

    #[test]
    fn none_can_be_combined_with_ids() {
        let requested = references("ownerUserId", &format!("none,{ONE}")).expect("references");

        assert_eq!((requested.ids, requested.or_none), (vec![ONE], true));
        assert!(!references("ownerUserId", "").expect("nothing").or_none);
    }
}
