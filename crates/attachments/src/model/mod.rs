//! Rows and entities.

mod assignment;
mod attachment;
mod field;
mod link;
mod partition;
mod quota;
mod returned_file;
mod store;

pub use assignment::Assignment;
pub(crate) use attachment::AnnouncedFile;
pub use attachment::{ATTACHMENT, Attachment, NewAttachment};
pub use field::{ALL_FIELDS, FIELD, Field};
pub use link::{LINK, Link};
pub use partition::{DEFAULT_PRIVATE, DEFAULT_PUBLIC, PARTITION, Partition};
pub use quota::Quota;
pub(crate) use returned_file::{RecordOfFile, check_records};
pub(crate) use store::{CREDENTIALS, STORE_SETTINGS, Store, StoreSettings};
