//! Commands.

mod create_attachment;
mod delete_attachment;
mod field;
mod link;
mod partition;
mod quota;
mod store;
mod transfer;
mod update_attachment;

pub use create_attachment::CreateAttachment;
pub use delete_attachment::DeleteAttachment;
pub use field::{DeleteField, SetField};
pub(crate) use link::require_share;
pub use link::{CreateLink, LinkToken, RevokeLink};
pub use partition::{CreatePartition, DeletePartition, PartitionFields, StoreConfig, UpdatePartition};
pub use quota::SetQuota;
pub(crate) use store::{DRIVERS, LOCAL, not_allowed};
pub use transfer::TransferAttachments;
pub(crate) use update_attachment::not_saved;
pub use update_attachment::{AttachmentChanges, Changed, UpdateAttachment};

use backoffice_core::registry::Registry;

use crate::model::{RecordOfFile, check_records};

pub(crate) fn register(registry: &mut Registry) {
    registry
        .command::<CreateAttachment>()
        .command::<UpdateAttachment>()
        .command::<TransferAttachments>()
        .command::<DeleteAttachment>()
        .command::<CreatePartition>()
        .command::<UpdatePartition>()
        .command::<DeletePartition>()
        .command::<SetField>()
        .command::<DeleteField>()
        .command::<CreateLink>()
        .command::<RevokeLink>()
        .command::<SetQuota>()
        .deferred_work::<RecordOfFile>(|tx, records| Box::pin(check_records(tx, records)));
}
