//! The open streams of this process.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_web::http::StatusCode;
use backoffice_core::{Rejection, Result};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::config::EventsConfig;

/// Maximum number of open streams of one principal.
const MOST: usize = 10;
/// Seconds after which a client without a free slot may try again.
const RETRY_AFTER: u64 = 30;

/// Kind and id of a principal.
pub(crate) type Principal = (&'static str, Option<Uuid>);

#[derive(Debug, Default)]
struct Open {
    last_number: u64,
    total: usize,
    tenants: HashMap<Uuid, usize>,
    principals: HashMap<Principal, VecDeque<OpenStream>>,
}

/// An open stream. Dropping it notifies the stream.
#[derive(Debug)]
struct OpenStream {
    number: u64,
    tenant: Uuid,
    _held: oneshot::Sender<()>,
}

impl Open {
    fn of_tenant(&self, tenant: Uuid) -> usize {
        self.tenants.get(&tenant).copied().unwrap_or(0)
    }

    fn leave(&mut self, tenant: Uuid) {
        self.total = self.total.saturating_sub(1);
        if let Some(streams) = self.tenants.get_mut(&tenant) {
            *streams = streams.saturating_sub(1);
            if *streams == 0 {
                self.tenants.remove(&tenant);
            }
        }
    }
}

/// The slots of the open streams, by principal and tenant.
#[derive(Debug)]
pub(crate) struct StreamSlots {
    config: EventsConfig,
    open: Mutex<Open>,
}

/// The slot of an open stream; released when dropped.
#[derive(Debug)]
pub(crate) struct StreamSlot {
    slots: Arc<StreamSlots>,
    principal: Principal,
    number: u64,
    lost: oneshot::Receiver<()>,
}

impl StreamSlots {
    pub(crate) fn new(config: EventsConfig) -> Self {
        Self {
            config,
            open: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a slot for a stream of this tenant. A principal with too many streams loses the slot of its oldest stream.
    ///
    /// # Errors
    /// 429 when the tenant or the process has too many streams.
    pub(crate) fn take(self: Arc<Self>, principal: Principal, tenant: Uuid) -> Result<StreamSlot> {
        let (held, lost) = oneshot::channel();
        let mut open = self.lock();
        let own = open.principals.get(&principal);
        let oldest = own.filter(|own| own.len() >= MOST).and_then(VecDeque::front);
        let replaced = oldest.map(|stream| stream.tenant);
        // A rejected stream replaces none.
        let of_tenant = open.of_tenant(tenant) - usize::from(replaced == Some(tenant));
        let total = open.total - usize::from(replaced.is_some());
        if of_tenant >= self.config.max_streams_per_tenant || total >= self.config.max_streams {
            return Err(too_many().into());
        }
        if let Some(tenant) = replaced {
            let _closed = open.principals.get_mut(&principal).and_then(VecDeque::pop_front);
            open.leave(tenant);
        }
        open.last_number += 1;
        open.total += 1;
        *open.tenants.entry(tenant).or_default() += 1;
        let number = open.last_number;
        let stream = OpenStream {
            number,
            tenant,
            _held: held,
        };
        open.principals.entry(principal).or_default().push_back(stream);
        drop(open);
        Ok(StreamSlot {
            slots: self,
            principal,
            number,
            lost,
        })
    }
}

fn too_many() -> Rejection {
    let mut rejection =
        Rejection::new(StatusCode::TOO_MANY_REQUESTS, "Too many event streams are open").code("too_many_streams");
    rejection.retry_after = Some(RETRY_AFTER);
    rejection
}

impl StreamSlot {
    /// Waits until a newer stream takes the slot.
    pub(crate) async fn lost(&mut self) {
        let _dropped = (&mut self.lost).await;
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let mut open = self.slots.lock();
        let Some(own) = open.principals.get_mut(&self.principal) else {
            return;
        };
        let stream = own.iter().position(|stream| stream.number == self.number);
        let stream = stream.and_then(|index| own.remove(index));
        if own.is_empty() {
            open.principals.remove(&self.principal);
        }
        if let Some(stream) = stream {
            open.leave(stream.tenant);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot::error::TryRecvError;

    use super::*;

    const A: Uuid = Uuid::from_u128(0xa);
    const B: Uuid = Uuid::from_u128(0xb);

    fn slots(max_streams_per_tenant: usize, max_streams: usize) -> Arc<StreamSlots> {
        Arc::new(StreamSlots::new(EventsConfig {
            max_streams_per_tenant,
            max_streams,
        }))
    }

    fn take(slots: &Arc<StreamSlots>, principal: u128, tenant: Uuid) -> Result<StreamSlot> {
        Arc::clone(slots).take(("user", Some(Uuid::from_u128(principal))), tenant)
    }

    #[test]
    fn a_slot_of_a_tenant_and_of_the_process_is_free_again_when_its_stream_ends() {
        let slots = slots(2, 3);
        let first = take(&slots, 1, A).expect("a slot");
        let _second = take(&slots, 2, A).expect("a slot");
        assert!(take(&slots, 3, A).is_err(), "the tenant is full");
        let _third = take(&slots, 4, B).expect("a slot");
        assert!(take(&slots, 5, B).is_err(), "the process is full");

        drop(first);

        let _again = take(&slots, 5, B).expect("a slot");
        assert!(take(&slots, 1, A).is_err(), "the process is full again");
    }

    #[test]
    fn a_principal_with_too_many_streams_trades_its_oldest_slot_even_in_a_full_tenant() {
        let slots = slots(10, 10);
        let places: Vec<StreamSlot> = (0..10).map(|_| take(&slots, 1, A).expect("a slot")).collect();

        let newest = take(&slots, 1, A).expect("the slot of the oldest stream");

        drop(places);
        drop(newest);
        assert_empty(&slots);
    }

    #[test]
    fn a_rejected_stream_of_a_full_tenant_closes_no_stream_in_another_tenant() {
        let slots = slots(5, 20);
        let mut of_a: Vec<StreamSlot> = (0..5).map(|_| take(&slots, 1, A).expect("a slot")).collect();
        let of_b: Vec<StreamSlot> = (0..5).map(|_| take(&slots, 1, B).expect("a slot")).collect();

        assert!(take(&slots, 1, B).is_err(), "the tenant is full");
        assert!(
            of_a[0].lost.try_recv().is_err_and(|state| state == TryRecvError::Empty),
            "it is open"
        );
        let newest = take(&slots, 1, A).expect("the slot of the oldest stream");
        assert!(
            of_a[0]
                .lost
                .try_recv()
                .is_err_and(|state| state == TryRecvError::Closed),
            "it ended"
        );

        drop((of_a, of_b, newest));
        assert_empty(&slots);
    }

    fn assert_empty(slots: &StreamSlots) {
        let open = slots.lock();
        assert!(open.total == 0 && open.tenants.is_empty() && open.principals.is_empty());
    }
}
