//! Refuses by the name of a thing.

use backoffice_core::Result;
use backoffice_core::command::{Attempt, Hook, Interceptor, Snapshot, Verdict};
use backoffice_core::db::Tx;

/// No request may want this number.
const UNWANTED: i32 = 422;

pub(super) const BY_NAME: Interceptor = Interceptor {
    id: "sample.by-name",
    target: "sample.*",
    priority: 100,
    run: |tx, attempt| Box::pin(by_name(tx, attempt)),
};

async fn by_name(_tx: &mut Tx<'_>, attempt: &Attempt<'_>) -> Result<Verdict> {
    let member = |image: Option<&Snapshot>, name: &str| image.and_then(|image| image.get(name)).cloned();
    let refuse = |status: Option<u16>, code: Option<&str>| Verdict::Refuse {
        message: "Not this one".to_owned(),
        code: code.map(str::to_owned),
        status,
        body: None,
    };
    let name = member(attempt.before, "name").unwrap_or_default();
    let meta = member(attempt.after, "meta").unwrap_or_default();
    Ok(match (attempt.hook, name.as_str()) {
        (Hook::BeforeExecute, Some("third")) => refuse(Some(409), Some("every_third")),
        (Hook::BeforeExecute, Some("silent")) => refuse(Some(409), None),
        (Hook::AfterExecute, Some("late")) => refuse(Some(423), Some("too_late")),
        (Hook::AfterExecute, _) if meta["number"] == UNWANTED => refuse(None, None),
        _ => Verdict::Continue,
    })
}
