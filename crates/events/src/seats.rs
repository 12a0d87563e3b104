//! The open streams of this process.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_web::http::StatusCode;
use backoffice_core::{Refusal, Result};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::config::EventsConfig;

/// Open streams of one principal at most.
const MOST: usize = 10;
/// Seconds after which a client that found no place may try again.
const RETRY_AFTER: u64 = 30;

/// Kind and id of a principal.
pub(crate) type Principal = (&'static str, Option<Uuid>);

#[derive(Debug, Default)]
struct Open {
    last_number: u64,
    total: usize,
    tenants: HashMap<Uuid, usize>,
    principals: HashMap<Principal, VecDeque<Place>>,
}

/// What is known of an open stream. Dropping it tells the stream.
#[derive(Debug)]
struct Place {
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

/// Who has which streams.
#[derive(Debug)]
pub(crate) struct Seats {
    config: EventsConfig,
    open: Mutex<Open>,
}

/// The place of an open stream; given back when dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Arc<Seats>,
    principal: Principal,
    number: u64,
    lost: oneshot::Receiver<()>,
}

impl Seats {
    pub(crate) fn new(config: EventsConfig) -> Self {
        Self {
            config,
            open: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a stream of this tenant. The principal's oldest stream loses its own when there are too many of the principal's.
    ///
    /// # Errors
    /// 429 when the tenant or the process has too many.
    pub(crate) fn take(self: Arc<Self>, principal: Principal, tenant: Uuid) -> Result<Seat> {
        let (held, lost) = oneshot::channel();
        let mut open = self.lock();
        let own = open.principals.get(&principal).map_or(0, VecDeque::len);
        if own >= MOST
            && let Some(oldest) = open.principals.get_mut(&principal).and_then(VecDeque::pop_front)
        {
            open.leave(oldest.tenant);
        }
        let is_full = open.of_tenant(tenant) >= self.config.max_streams_per_tenant;
        if is_full || open.total >= self.config.max_streams {
            return Err(too_many().into());
        }
        open.last_number += 1;
        open.total += 1;
        *open.tenants.entry(tenant).or_default() += 1;
        let number = open.last_number;
        let place = Place {
            number,
            tenant,
            _held: held,
        };
        open.principals.entry(principal).or_default().push_back(place);
        drop(open);
        Ok(Seat {
            seats: self,
            principal,
            number,
            lost,
        })
    }
}

fn too_many() -> Refusal {
    let mut refusal =
        Refusal::new(StatusCode::TOO_MANY_REQUESTS, "Too many event streams are open").code("too_many_streams");
    refusal.retry_after = Some(RETRY_AFTER);
    refusal
}

impl Seat {
    /// Waits until a newer stream takes the place.
    pub(crate) async fn lost(&mut self) {
        let _dropped = (&mut self.lost).await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut open = self.seats.lock();
        let Some(own) = open.principals.get_mut(&self.principal) else {
            return;
        };
        let place = own.iter().position(|place| place.number == self.number);
        let place = place.and_then(|index| own.remove(index));
        if own.is_empty() {
            open.principals.remove(&self.principal);
        }
        if let Some(place) = place {
            open.leave(place.tenant);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Uuid = Uuid::from_u128(0xa);
    const B: Uuid = Uuid::from_u128(0xb);

    fn seats(max_streams_per_tenant: usize, max_streams: usize) -> Arc<Seats> {
        Arc::new(Seats::new(EventsConfig {
            max_streams_per_tenant,
            max_streams,
        }))
    }

    fn take(seats: &Arc<Seats>, principal: u128, tenant: Uuid) -> Result<Seat> {
        Arc::clone(seats).take(("user", Some(Uuid::from_u128(principal))), tenant)
    }

    #[test]
    fn a_place_of_a_tenant_and_of_the_process_is_free_again_when_its_stream_ends() {
        let seats = seats(2, 3);
        let first = take(&seats, 1, A).expect("a place");
        let _second = take(&seats, 2, A).expect("a place");
        assert!(take(&seats, 3, A).is_err(), "the tenant is full");
        let _third = take(&seats, 4, B).expect("a place");
        assert!(take(&seats, 5, B).is_err(), "the process is full");

        drop(first);

        let _again = take(&seats, 5, B).expect("a place");
        assert!(take(&seats, 1, A).is_err(), "the process is full again");
    }

    #[test]
    fn whoever_has_too_many_trades_its_oldest_place_for_a_new_one_even_in_a_full_tenant() {
        let seats = seats(10, 10);
        let places: Vec<Seat> = (0..10).map(|_| take(&seats, 1, A).expect("a place")).collect();

        let newest = take(&seats, 1, A).expect("the oldest one gives way");

        drop(places);
        drop(newest);
        let open = seats.lock();
        assert!(open.total == 0 && open.tenants.is_empty() && open.principals.is_empty());
    }
}
