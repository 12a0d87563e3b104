//! Rows and entities.

mod assignment;
mod attachment;
mod field;
mod link;
mod partition;
mod quota;

pub use assignment::Assignment;
pub use attachment::{ATTACHMENT, Attachment, NewAttachment};
pub use field::{ALL_FIELDS, FIELD, Field};
pub use link::{LINK, Link};
pub use partition::{DEFAULT_PRIVATE, DEFAULT_PUBLIC, PARTITION, Partition, Store};
pub use quota::Quota;
