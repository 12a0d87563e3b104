//! The schemas that a document refers to: one per Rust type.

use std::any::type_name;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Ref, RefOr};

/// Schemas that the document refers to.
#[derive(Debug, Default)]
pub struct Schemas {
    known: BTreeMap<String, Known>,
    problems: BTreeSet<String>,
}

#[derive(Debug)]
struct Known {
    schema: RefOr<Schema>,
    /// The Rust type, if known: types inside of other types come without theirs.
    of: Option<&'static str>,
}

impl Schemas {
    /// Returns a reference to the schema of `T`, and adds the schema with all schemas that it refers to. For a type of the standard library,
    /// returns its schema itself: all types `Vec<T>` have one name. The schema of a `Vec<T>` contains that of `T`; the derived schema of a struct
    /// around the list refers to it.
    pub fn reference<T: ToSchema>(&mut self) -> RefOr<Schema> {
        let of = type_name::<T>();
        if is_of_standard_library(of) {
            return self.inline::<T>();
        }
        let name = T::name().into_owned();
        if self.known.get(&name).is_none_or(|known| known.of != Some(of)) {
            self.add(name.clone(), T::schema(), Some(of));
            self.add_inner::<T>();
        }
        RefOr::Ref(Ref::from_schema_name(name))
    }

    /// Returns the schema of `T` itself, where a reference is not possible; adds the schemas that it refers to.
    pub fn inline<T: ToSchema>(&mut self) -> RefOr<Schema> {
        self.add_inner::<T>();
        T::schema()
    }

    fn add_inner<T: ToSchema>(&mut self) {
        let mut inner = Vec::new();
        T::schemas(&mut inner);
        for (name, schema) in inner {
            self.add(name, schema, None);
        }
    }

    fn add(&mut self, name: String, schema: RefOr<Schema>, of: Option<&'static str>) {
        let Some(known) = self.known.get_mut(&name) else {
            self.known.insert(name, Known { schema, of });
            return;
        };
        let is_another = known.schema != schema || known.of.zip(of).is_some_and(|(one, other)| one != other);
        if is_another {
            let types: Vec<&str> = known.of.into_iter().chain(of).collect();
            self.problems.insert(format!(
                "two types have the schema name `{name}` ({}): give one another name with #[schema(as = ...)]",
                types.join(", ")
            ));
        }
        known.of = known.of.or(of);
    }

    /// Returns the schemas by name, and the problems found.
    pub(super) fn finish(self) -> (Map<String, Value>, BTreeSet<String>) {
        let schemas = self.known.into_iter().map(|(name, known)| (name, json!(known.schema)));
        (schemas.collect(), self.problems)
    }
}

/// Returns whether the standard library has this type: the name of the schema of a generic one (`Vec`) says nothing of its parameters.
fn is_of_standard_library(type_name: &str) -> bool {
    ["alloc::", "core::", "std::"]
        .iter()
        .any(|library| type_name.starts_with(library))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::Page;

    mod one {
        #[derive(utoipa::ToSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        pub(super) struct Item {
            id: String,
        }
    }

    mod other {
        #[derive(utoipa::ToSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        pub(super) struct Item {
            id: String,
        }

        #[derive(utoipa::ToSchema)]
        #[schema(as = Thing)]
        #[expect(dead_code, reason = "only its schema is used")]
        pub(super) struct Nested {
            item: Inner,
        }

        #[derive(utoipa::ToSchema)]
        #[schema(as = Item)]
        #[expect(dead_code, reason = "only its schema is used")]
        pub(super) struct Inner {
            count: u32,
        }
    }

    #[test]
    fn a_page_has_a_schema_for_each_type_of_item() {
        let mut schemas = Schemas::default();
        schemas.reference::<Page<one::Item>>();
        schemas.reference::<Page<other::Nested>>();

        let (known, problems) = schemas.finish();

        assert!(
            known.contains_key("PageOfItem") && known.contains_key("PageOfThing"),
            "{known:?}"
        );
        assert_eq!(
            known["PageOfItem"]["properties"]["items"]["items"]["$ref"],
            "#/components/schemas/Item"
        );
        // The nested type of the second page has the name of the item of the first one.
        assert_eq!(problems.len(), 1, "{problems:?}");
    }

    #[test]
    fn lists_of_several_types_have_their_schemas_in_place() {
        let mut schemas = Schemas::default();
        let list = json!(schemas.reference::<Vec<one::Item>>());
        let other = json!(schemas.reference::<Vec<other::Inner>>());

        let (known, problems) = schemas.finish();

        assert_eq!((known, problems), (Map::new(), BTreeSet::new()));
        for (list, field) in [(list, "id"), (other, "count")] {
            assert_eq!(list["type"], "array", "{list}");
            assert_eq!(list["items"]["required"], json!([field]), "{list}");
        }
    }

    #[test]
    fn two_types_with_one_name_are_a_problem_even_when_they_look_alike() {
        let mut schemas = Schemas::default();
        schemas.reference::<one::Item>();
        schemas.reference::<one::Item>();
        schemas.reference::<other::Item>();

        let (_, problems) = schemas.finish();

        let problem = problems.first().expect("a problem");
        assert!(
            problem.contains("`Item`") && problem.contains("other::Item"),
            "{problem}"
        );
    }
}
