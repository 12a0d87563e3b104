//! Rejections of this module.

use actix_web::http::StatusCode;
use backoffice_core::{Error as CoreError, Rejection};

/// Text of the rejection of one file more than a field accepts.
const LIMIT: &str = "The field has as many files as it accepts";

/// A reason for which a file is not accepted, served or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// No visible file has the id.
    NotFound,
    /// A required part of an upload is missing.
    MissingField(&'static str),
    /// A part of an upload can't be used.
    InvalidField(&'static str),
    /// An upload without a file.
    FileRequired,
    /// An upload with several files.
    MultipleFiles,
    /// A file of no bytes.
    EmptyFile,
    /// A file that is too large.
    TooLarge,
    /// No space is left for the tenant.
    QuotaExceeded,
    /// Too many uploads at once.
    Busy,
    /// The folder of uploads can't be written at present.
    StorageUnavailable,
    /// A bucket does not respond to a request for the bytes of a file.
    UnreadableAtPresent,
    /// The store did not accept the file.
    StorageFailed,
    /// A program, by its name or its first bytes.
    Dangerous,
    /// A document or a script that browsers execute.
    ActiveContent,
    /// The virus scanner found something.
    Infected,
    /// The virus scanner does not respond.
    ScanUnavailable,
    /// The record does not exist, or is not visible.
    RecordNotFound,
    /// No visible partition has the code.
    UnknownPartition,
    /// A public partition that the caller may not choose.
    PublicPartition,
    /// Partitions can't be written in a demonstration.
    DemoLocked,
    /// The type of record has constraints, and none for this field.
    UnknownField,
    /// The field does not accept files of this type.
    TypeNotAllowed,
    /// The field does not accept files of this length.
    TooLargeForField,
    /// The field of the record has as many files as it may have.
    LimitReached,
    /// A move would give the field of a record more files than it may have.
    LimitOfTarget,
    /// The file has another extension than its old name.
    ExtensionFixed,
    /// The bytes are missing in the store.
    BytesMissing,
    /// The store of the partition can't be opened.
    Misconfigured,
    /// The size of an image is invalid.
    InvalidSize,
    /// The file is not an image that can be rendered.
    NotAnImage,
    /// The image has more pixels or bytes than are rendered.
    ImageTooLarge,
    /// The image can't be rendered.
    RenderFailed,
    /// Too many images are waiting to be rendered.
    RenderBusy,
}

type Parts = (StatusCode, &'static str, Option<&'static str>);

const fn bad(text: &'static str, code: &'static str) -> Parts {
    (StatusCode::BAD_REQUEST, text, Some(code))
}

/// A rejection of a request that the client may repeat a second later.
const fn busy(text: &'static str, code: &'static str) -> Parts {
    (StatusCode::SERVICE_UNAVAILABLE, text, Some(code))
}

impl Error {
    fn parts(self) -> (StatusCode, String, Option<&'static str>) {
        let (status, text, code) = match self {
            Self::NotFound => (StatusCode::NOT_FOUND, "Attachment not found", None),
            Self::MissingField(name) => {
                let text = format!("part `{name}` is required");
                return (StatusCode::BAD_REQUEST, text, Some("missing_field"));
            }
            Self::InvalidField(name) => {
                let text = format!("part `{name}` is invalid");
                return (StatusCode::BAD_REQUEST, text, Some("invalid_field"));
            }
            Self::FileRequired => bad("A file is required", "file_required"),
            Self::MultipleFiles => bad("Only one file is accepted", "multiple_files"),
            Self::EmptyFile => bad("The file is empty", "empty_file"),
            Self::TooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "The file is too large",
                Some("attachment_too_large"),
            ),
            Self::QuotaExceeded => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "The storage space of the tenant is used up",
                Some("attachment_quota_exceeded"),
            ),
            Self::Busy => busy("Too many uploads at once", "uploads_busy"),
            Self::StorageUnavailable => busy("Files can't be stored at present", "storage_unavailable"),
            Self::UnreadableAtPresent => busy("Files can't be read at present", "storage_unavailable"),
            Self::StorageFailed => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "Failed to store file",
                Some("storage_failed"),
            ),
            Self::Dangerous => bad("Programs and scripts are not accepted", "dangerous_file"),
            Self::ActiveContent => bad(
                "Documents and scripts that browsers execute are not accepted",
                "active_content",
            ),
            Self::Infected => bad("The file is infected", "file_infected"),
            Self::ScanUnavailable => busy("Files can't be scanned at present", "scan_unavailable"),
            Self::RecordNotFound => bad("Record not found", "record_not_found"),
            Self::UnknownPartition => bad("Unknown partition", "unknown_partition"),
            Self::PublicPartition => (
                StatusCode::FORBIDDEN,
                "This public partition can't be chosen",
                Some("public_partition_refused"),
            ),
            Self::DemoLocked => (
                StatusCode::FORBIDDEN,
                "Partitions are locked in demo mode",
                Some("demo_locked"),
            ),
            Self::UnknownField => bad("The type of record has no such field", "unknown_field_key"),
            Self::TypeNotAllowed => (
                StatusCode::FORBIDDEN,
                "The field does not accept files of this type",
                Some("attachment_type_not_allowed"),
            ),
            Self::TooLargeForField => (
                StatusCode::FORBIDDEN,
                "The file is too large for the field",
                Some("attachment_too_large_for_field"),
            ),
            Self::LimitReached => (StatusCode::FORBIDDEN, LIMIT, Some("attachment_limit_reached")),
            Self::LimitOfTarget => bad(LIMIT, "attachment_limit_reached"),
            Self::ExtensionFixed => bad("The extension of a file can't be changed", "extension_fixed"),
            Self::BytesMissing => (StatusCode::NOT_FOUND, "File not available", None),
            Self::Misconfigured => (StatusCode::INTERNAL_SERVER_ERROR, "Partition misconfigured", None),
            Self::InvalidSize => bad("Invalid size", "invalid_size"),
            Self::NotAnImage => bad("Not an image", "not_an_image"),
            Self::ImageTooLarge => bad("The image is too large", "image_too_large"),
            Self::RenderFailed => (StatusCode::INTERNAL_SERVER_ERROR, "Failed to render image", None),
            Self::RenderBusy => busy("Too many images at once", "renders_busy"),
        };
        (status, text.to_owned(), code)
    }
}

impl From<Error> for Rejection {
    fn from(error: Error) -> Self {
        let (status, text, code) = error.parts();
        let rejection = Self {
            retry_after: (status == StatusCode::SERVICE_UNAVAILABLE).then_some(1),
            ..Self::new(status, text)
        };
        match code {
            Some(code) => rejection.code(code),
            None => rejection,
        }
    }
}

impl From<Error> for CoreError {
    fn from(error: Error) -> Self {
        Rejection::from(error).into()
    }
}
