//! Nobody ever holds or hands out more than the actors held (accounts specification, 4.4 and ACC-22). Random sequences of operations on
//! roles, ACLs, users and API keys, undo and redo among them, by users and keys with random rights. After every step the rights of all
//! holders are computed from the database: whatever somebody gained, the actor of the step held. `BACKOFFICE_MODEL_CASES` sets how many
//! runs are tried.

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
fn acc_22_nobody_gains_what_no_actor_held() {
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
