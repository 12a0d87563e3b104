//! The assignments of an upsert that replaces the stored row.

use std::marker::PhantomData;

use diesel::pg::Pg;
use diesel::query_builder::{AsChangeset, AstPass, QueryFragment, QueryId};
use diesel::{Column, QueryResult, Table};

/// `set column = excluded.column` for every column of a table outside of its primary key: the stored row becomes the one that the statement
/// would have inserted.
///
/// ```ignore
/// insert_into(roles::table).values(rows).on_conflict((roles::tenant_id, roles::id)).do_update().set(ReplaceRow::<roles::table>::default())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ReplaceRow<T>(PhantomData<fn() -> T>);

impl<T> Default for ReplaceRow<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T: Table> AsChangeset for ReplaceRow<T> {
    type Target = T;
    type Changeset = Self;

    fn as_changeset(self) -> Self {
        self
    }
}

impl<T: 'static> QueryId for ReplaceRow<T> {
    type QueryId = ReplaceRow<T>;

    const HAS_STATIC_QUERY_ID: bool = true;
}

impl<T: Table> QueryFragment<Pg> for ReplaceRow<T>
where
    T::AllColumns: ColumnNames,
    T::PrimaryKey: ColumnNames,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let columns = T::AllColumns::NAMES.iter();
        let columns = columns.filter(|name| !T::PrimaryKey::NAMES.contains(name));
        for (position, name) in columns.enumerate() {
            if position > 0 {
                out.push_sql(", ");
            }
            out.push_identifier(name)?;
            out.push_sql(" = excluded.");
            out.push_identifier(name)?;
        }
        Ok(())
    }
}

/// The names of several columns.
pub trait ColumnNames {
    /// The names, in the order of the table.
    const NAMES: &'static [&'static str];
}

macro_rules! column_names {
    ($(($($column:ident)*))*) => {$(
        impl<$($column: Column),*> ColumnNames for ($($column,)*) {
            const NAMES: &'static [&'static str] = &[$($column::NAME),*];
        }
    )*};
}

column_names! {
    (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) (A B C D E F G H) (A B C D E F G H I) (A B C D E F G H I J)
    (A B C D E F G H I J K) (A B C D E F G H I J K L) (A B C D E F G H I J K L M) (A B C D E F G H I J K L M N)
    (A B C D E F G H I J K L M N O) (A B C D E F G H I J K L M N O P) (A B C D E F G H I J K L M N O P Q)
    (A B C D E F G H I J K L M N O P Q R) (A B C D E F G H I J K L M N O P Q R S) (A B C D E F G H I J K L M N O P Q R S T)
    (A B C D E F G H I J K L M N O P Q R S T U) (A B C D E F G H I J K L M N O P Q R S T U V)
    (A B C D E F G H I J K L M N O P Q R S T U V W) (A B C D E F G H I J K L M N O P Q R S T U V W X)
    (A B C D E F G H I J K L M N O P Q R S T U V W X Y) (A B C D E F G H I J K L M N O P Q R S T U V W X Y Z)
}

#[cfg(test)]
mod tests {
    use diesel::debug_query;

    use super::*;

    diesel::table! {
        rows (tenant_id, id) {
            tenant_id -> Uuid,
            id -> Uuid,
            name -> Text,
            updated_at -> Timestamptz,
        }
    }

    #[test]
    fn every_column_outside_of_the_key_is_replaced() {
        let all = ReplaceRow::<rows::table>::default();

        assert_eq!(
            debug_query::<Pg, _>(&all).to_string(),
            r#""name" = excluded."name", "updated_at" = excluded."updated_at" -- binds: []"#
        );
    }
}
