//! The schema of a change.

use std::borrow::Cow;
use std::marker::PhantomData;

use utoipa::openapi::schema::Type;
use utoipa::openapi::{AllOfBuilder, KnownFormat, ObjectBuilder, Ref, RefOr, Schema, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};

/// A body that names a record and gives members of it, for the API document. Derived, all of them would share one schema with the fields of one of them.
pub(super) struct Identified<T>(PhantomData<T>);

impl<T: ToSchema> PartialSchema for Identified<T> {
    fn schema() -> RefOr<Schema> {
        let uuid = ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid)));
        let id = ObjectBuilder::new().property("id", uuid.build()).required("id");
        let all = AllOfBuilder::new()
            .item(Ref::from_schema_name(T::name()))
            .item(id.build());
        Schema::AllOf(all.build()).into()
    }
}

impl<T: ToSchema> ToSchema for Identified<T> {
    fn name() -> Cow<'static, str> {
        Cow::Owned(format!("Identified{}", T::name()))
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(schemas);
    }
}
