//! Statements of the extraction of texts.

use backoffice_core::Result;
use diesel::sql_types::{BigInt, Bool, Nullable, Text as SqlText, Uuid as SqlUuid};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, QueryableByName, SelectableHelper, sql_query, update};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::{AnnouncedFile, StoreSettings};
use crate::schema::attachments_attachments as attachments;
use crate::upload::Text;

/// A file that waits for its text.
#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct PendingFile {
    #[diesel(sql_type = SqlText)]
    pub(crate) mime_type: String,
    #[diesel(sql_type = BigInt)]
    pub(crate) file_size: i64,
    #[diesel(sql_type = SqlText)]
    pub(crate) storage_key: String,
    #[diesel(sql_type = Bool)]
    pub(crate) requires_ocr: bool,
    #[diesel(sql_type = Nullable<SqlText>)]
    pub(crate) ocr_model: Option<String>,
    #[diesel(embed)]
    pub(crate) store: StoreSettings,
}

/// The store may be one of the platform.
const PENDING: &str = "\
select a.mime_type, a.file_size, a.storage_key, p.requires_ocr, p.ocr_model,
    t.tenant_id as store_tenant_id, t.id as store_id, t.driver, t.config, t.credentials
from attachments_attachments a join attachments_stores t on t.tenant_id = a.partition_tenant_id and t.id = a.store_id
join attachments_partitions p on p.tenant_id = a.partition_tenant_id and p.id = a.partition_id
where a.tenant_id = $1 and a.id = $2 and a.content_state = 'pending'";

/// Returns a file if it waits for its text.
pub(crate) async fn pending(connection: &AsyncPgConnection, tenant: Uuid, id: Uuid) -> Result<Option<PendingFile>> {
    let statement = sql_query(PENDING).bind::<SqlUuid, _>(tenant).bind::<SqlUuid, _>(id);
    Ok(statement.get_result(&mut &*connection).await.optional()?)
}

/// Stores the text of a file that waits for it. The file itself does not change, so its `updated_at` stays. Returns what its event says; `None` if no such file waits.
pub(crate) async fn store(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    id: Uuid,
    text: Option<&Text>,
    state: &str,
) -> Result<Option<AnnouncedFile>> {
    let own = attachments::table
        .filter(attachments::tenant_id.eq(tenant))
        .filter(attachments::id.eq(id))
        .filter(attachments::content_state.eq("pending"));
    let stored = update(own).set((
        attachments::content.eq(text.map(|text| text.first.as_str())),
        attachments::content_rest.eq(text.and_then(|text| text.rest.as_deref())),
        attachments::content_state.eq(state),
    ));
    let file = stored
        .returning(AnnouncedFile::as_returning())
        .get_result(connection)
        .await;
    Ok(file.optional()?)
}
