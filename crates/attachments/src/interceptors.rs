//! Keeps organizations with attachments from being deleted.

use backoffice_core::command::{Entity, Interceptor, InterceptorContext, Tx, Verdict};
use backoffice_core::{Rejection, Result};
use diesel::dsl::exists;
use diesel::{ExpressionMethods, QueryDsl, select};
use diesel_async::RunQueryDsl;

use crate::model::Attachment;
use crate::schema::attachments_attachments as attachments;

/// Rejects the deletion of an organization with attachments.
pub(crate) const KEEP_ORGANIZATIONS_WITH_ATTACHMENTS: Interceptor = Interceptor {
    id: "attachments.organization_attachments",
    target: "directory.organization.*",
    priority: 100,
    run: |tx, context| Box::pin(keep_organization(tx, context)),
};

async fn keep_organization(tx: &mut Tx<'_>, context: &InterceptorContext<'_>) -> Result<Verdict> {
    if !context.removes("directory.organization.delete") {
        return Ok(Verdict::Continue);
    }
    let own = attachments::table
        .filter(attachments::tenant_id.eq(tx.tenant()))
        .filter(attachments::organization_id.eq(context.id));
    let has_attachments: bool = select(exists(own)).get_result(tx.conn()).await?;
    if !has_attachments {
        return Ok(Verdict::Continue);
    }
    let rejection = Rejection::conflict("Organization is in use").code("organization_in_use");
    Ok(context.keep(rejection, Attachment::KIND))
}
