//! The open streams of this process.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use uuid::Uuid;

/// Open streams of one principal at most.
const MOST: usize = 10;

/// Kind and id of a principal.
pub(crate) type Principal = (&'static str, Option<Uuid>);

type Open = HashMap<Principal, VecDeque<(u64, oneshot::Sender<()>)>>;

/// Who has which streams.
#[derive(Debug, Default)]
pub(crate) struct Seats(Mutex<(u64, Open)>);

/// The place of an open stream; given back when dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Arc<Seats>,
    principal: Principal,
    number: u64,
    lost: oneshot::Receiver<()>,
}

impl Seats {
    fn lock(&self) -> MutexGuard<'_, (u64, Open)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a stream; the principal's oldest one loses its own when there are too many.
    pub(crate) fn take(self: Arc<Self>, principal: Principal) -> Seat {
        let (sender, lost) = oneshot::channel();
        let mut inner = self.lock();
        inner.0 += 1;
        let number = inner.0;
        let open = inner.1.entry(principal).or_default();
        open.push_back((number, sender));
        if open.len() > MOST {
            // Dropping the sender tells the stream.
            open.pop_front();
        }
        drop(inner);
        Seat {
            seats: self,
            principal,
            number,
            lost,
        }
    }
}

impl Seat {
    /// Waits until a newer stream takes the place.
    pub(crate) async fn lost(&mut self) {
        let _dropped = (&mut self.lost).await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut inner = self.seats.lock();
        if let Some(open) = inner.1.get_mut(&self.principal) {
            open.retain(|(number, _)| *number != self.number);
            if open.is_empty() {
                inner.1.remove(&self.principal);
            }
        }
    }
}
