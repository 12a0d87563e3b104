//! Rejects requests by the name of a thing.

use backoffice_core::Result;
use backoffice_core::command::{Hook, Interceptor, InterceptorContext, Snapshot, Tx, Verdict};

/// Requests with this number are rejected.
const UNWANTED: i32 = 422;

pub(super) const BY_NAME: Interceptor = Interceptor {
    id: "sample.by-name",
    target: "sample.*",
    priority: 100,
    run: |tx, attempt| Box::pin(by_name(tx, attempt)),
};

async fn by_name(_tx: &mut Tx<'_>, attempt: &InterceptorContext<'_>) -> Result<Verdict> {
    let field = |snapshot: Option<&Snapshot>, name: &str| snapshot.and_then(|snapshot| snapshot.get(name)).cloned();
    let reject = |status: Option<u16>, code: Option<&str>| Verdict::Reject {
        message: "Not this one".to_owned(),
        code: code.map(str::to_owned),
        status,
        body: None,
    };
    let name = field(attempt.before, "name").unwrap_or_default();
    let meta = field(attempt.after, "meta").unwrap_or_default();
    Ok(match (attempt.hook, name.as_str()) {
        (Hook::BeforeExecute, Some("third")) => reject(Some(409), Some("every_third")),
        (Hook::BeforeExecute, Some("silent")) => reject(Some(409), None),
        (Hook::AfterExecute, Some("late")) => reject(Some(423), Some("too_late")),
        (Hook::AfterExecute, _) if meta["number"] == UNWANTED => reject(None, None),
        _ => Verdict::Continue,
    })
}
