//! The constraints that an upload must meet.

use uuid::Uuid;

use super::belongs_to;
use crate::error::Error;
use crate::model::{ALL_FIELDS, Field};

/// What constraints look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate<'a> {
    /// Extension of the name, lower-case.
    pub(crate) extension: &'a str,
    /// The recognized media type.
    pub(crate) mime_type: &'a str,
    /// Bytes.
    pub(crate) length: u64,
}

/// The constraints of a field, and those of all files of the kind of records.
#[derive(Debug)]
pub(crate) struct Constraints<'a> {
    of_field: Option<&'a Field>,
    of_all: Option<&'a Field>,
}

impl<'a> Constraints<'a> {
    /// Finds the constraints for a field among those of the kind of records.
    ///
    /// # Errors
    /// 400 `unknown_field_key` if other fields of the kind have constraints, and this one has none.
    pub(crate) fn of(fields: &'a [Field], key: Option<&str>) -> Result<Self, Error> {
        let find = |key: &str| fields.iter().find(|field| field.field_key == key);
        let of_all = find(ALL_FIELDS);
        let Some(key) = key.filter(|key| *key != ALL_FIELDS) else {
            return Ok(Self { of_field: None, of_all });
        };
        let of_field = find(key);
        let has_others = fields.iter().any(|field| field.field_key != ALL_FIELDS);
        match of_field.is_none() && has_others {
            true => Err(Error::UnknownField),
            false => Ok(Self { of_field, of_all }),
        }
    }

    fn each(&self) -> impl Iterator<Item = &'a Field> {
        self.of_field.into_iter().chain(self.of_all)
    }

    /// Checks a file.
    ///
    /// # Errors
    /// 403 `attachment_type_not_allowed` or `attachment_too_large_for_field`.
    pub(crate) fn check(&self, file: Candidate<'_>) -> Result<(), Error> {
        for field in self.each() {
            if let Some(accepted) = &field.accept_extensions {
                let is_listed = accepted.iter().any(|accepted| accepted == file.extension);
                if !is_listed || !belongs_to(file.mime_type, file.extension) {
                    return Err(Error::TypeNotAllowed);
                }
            }
            if field.max_bytes.is_some_and(|most| file.length > most.unsigned_abs()) {
                return Err(Error::TooLargeForField);
            }
        }
        Ok(())
    }

    /// Returns the partition of files without one of their own.
    pub(crate) fn partition(&self) -> Option<Uuid> {
        self.each().find_map(|field| field.partition_id)
    }

    /// Whether the number of files is limited.
    pub(crate) fn limits_count(&self) -> bool {
        self.each().any(|field| field.max_count.is_some())
    }
}
