//! No principal ever holds or grants more than the actors held (accounts specification, 4.4 and ACC-22). Random sequences of operations on roles,
//! ACLs, users and API keys, including undo and redo, by users and keys with random rights. After every step the test computes the rights of all
//! holders from the database: the actor of the step must have held every right that a holder gained. `BACKOFFICE_MODEL_CASES` sets the number of
//! runs.

mod calls;
mod model;
mod picture;
mod strategy;

use proptest::prelude::*;

use model::{Model, Tally};
use strategy::{acl, step};

use crate::random::runs;

const STEPS: usize = 120;
const CASES: u32 = 5;

#[test]
fn acc_22_no_holder_gains_what_no_actor_held() {
    let tally = Tally::default();
    let acls = prop::collection::vec(acl(), 4);
    let steps = prop::collection::vec(step(), STEPS / 2..=STEPS);
    runs(CASES, &(acls, steps), async |(acls, steps)| {
        let mut model = Model::new(&acls, &tally).await;
        for step in &steps {
            model.run(*step).await;
        }
    });
    assert!(tally.shows_something(), "{tally:?}");
}
