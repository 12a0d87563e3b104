//! Schemas of request fields, for the API document, where derived schemas would be too imprecise.

use backoffice_core::input::schema;
use backoffice_core::text_schemas;

use crate::commands::DRIVERS;

text_schemas! {
    /// Code of a partition.
    PartitionCode: schema::text("2 to 60 of `A-Z a-z 0-9 _ -`.", "[A-Za-z0-9_-]+", 60).min_length(Some(2));
    /// Title of a partition.
    PartitionTitle: schema::line(120);
    /// Driver of a store.
    StorageDriver: schema::words(DRIVERS.iter().copied());
}
