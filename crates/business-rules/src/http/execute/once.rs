//! What makes an execution with an `Idempotency-Key` happen once while it is under way.
//!
//! The transaction that stores the response begins when the rules have run, which takes up to a minute, and nothing scarce is held until then. A second
//! request with the key gets 409 in the process that executes the first one. On another node, or after a crash, it runs the rules again with the same
//! occasion: the requests of its rules to the platform have the same keys as before, and the stored response of the first one decides.

use aws_lc_rs::digest::{SHA256, digest};
use backoffice_core::http::{Describe, Extract, Incoming, Schemas};
use backoffice_core::shares::{Share, Shares};
use backoffice_core::{Rejection, RequestContext, Result};
use utoipa::openapi::path::OperationBuilder;
use uuid::{Builder, Uuid};

/// The `Idempotency-Key` of a request, which core has validated.
pub(super) struct RequestKey(Option<String>);

impl Extract for RequestKey {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        let header = incoming.request.headers().get("idempotency-key");
        Ok(Self(header.and_then(|key| key.to_str().ok()).map(str::to_owned)))
    }
}

/// Core describes the header for all endpoints.
impl Describe for RequestKey {
    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        operation
    }
}

impl RequestKey {
    /// Returns the occasion that follows from the key, its caller and its route; `None` without a key.
    pub(super) fn occasion(&self, ctx: &RequestContext, tenant: Uuid, route: &str) -> Option<Uuid> {
        let key = self.0.as_deref()?;
        let caller = ctx.identity();
        let id = caller.id.unwrap_or_default();
        let kind = caller.kind.as_str();
        Some(occasion(&[
            tenant.as_bytes(),
            kind.as_bytes(),
            id.as_bytes(),
            route.as_bytes(),
            key.as_bytes(),
        ]))
    }
}

fn occasion(parts: &[&[u8]]) -> Uuid {
    let hash = digest(&SHA256, &parts.join(&0_u8));
    let hash: &[u8] = hash.as_ref();
    let mut bytes = [0_u8; 16];
    bytes.iter_mut().zip(hash).for_each(|(byte, own)| *byte = *own);
    Builder::from_custom_bytes(bytes).into_uuid()
}

/// The executions with keys that are under way in this process.
#[derive(Debug, Default)]
pub(crate) struct RunningExecutions(Shares<Uuid>);

impl RunningExecutions {
    /// Notes that an execution is under way, until the result is dropped.
    ///
    /// # Errors
    /// 409 while another one of the same occasion is under way.
    pub(super) fn begin(&self, occasion: Uuid) -> Result<Share<Uuid>> {
        self.0.take(occasion, 1).ok_or_else(|| {
            Rejection::conflict("A request with this Idempotency-Key is in progress")
                .code("idempotency_in_progress")
                .into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_occasion_follows_from_all_parts_of_a_key() {
        let of = |parts: [&str; 3]| occasion(&parts.map(str::as_bytes));

        assert_eq!(of(["a", "b", "c"]), of(["a", "b", "c"]));
        for other in [["x", "b", "c"], ["a", "x", "c"], ["a", "b", "x"], ["ab", "", "c"]] {
            assert_ne!(of(other), of(["a", "b", "c"]), "{other:?}");
        }
    }

    #[test]
    fn an_occasion_is_under_way_once() {
        let running = RunningExecutions::default();
        let first = running.begin(Uuid::from_u128(1)).expect("the first one");

        assert_eq!(
            running
                .begin(Uuid::from_u128(1))
                .expect_err("a second one")
                .to_rejection()
                .status,
            409
        );
        assert!(running.begin(Uuid::from_u128(2)).is_ok());
        drop(first);
        assert!(running.begin(Uuid::from_u128(1)).is_ok());
    }
}
