//! The users of teams are the accounts of the fixture; nothing is inserted.

use crate::fixture::{Fixture, TenantFixture};

/// Inserts nothing.
pub(crate) async fn seed(_fixture: &Fixture, _tenant: &TenantFixture) {}
