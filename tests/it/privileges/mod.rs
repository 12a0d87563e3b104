//! Nobody ever holds or hands out more than the actors held (accounts specification, 4.4 and ACC-22). Random sequences of operations on
//! roles, ACLs, users and API keys, undo and redo among them, by users and keys with random rights. After every step the rights of all
//! holders are computed from the database: whatever somebody gained, the actor of the step held. `BACKOFFICE_MODEL_CASES` sets how many
//! runs are tried.

mod calls;
mod model;
mod picture;
mod strategy;

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};

use model::{Model, Tally};
use strategy::{acl, step};

const STEPS: usize = 120;
const CASES: u32 = 5;

#[test]
fn acc_22_nobody_gains_what_no_actor_held() {
    let cases = std::env::var("BACKOFFICE_MODEL_CASES")
        .ok()
        .and_then(|text| text.parse().ok());
    let mut runner = TestRunner::new(Config {
        cases: cases.unwrap_or(CASES),
        max_shrink_iters: 60,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..Config::default()
    });
    let tally = Tally::default();
    let runs = (
        prop::collection::vec(acl(), 4),
        prop::collection::vec(step(), STEPS / 2..=STEPS),
    );
    let outcome = runner.run(&runs, |(acls, steps)| {
        actix_web::rt::System::new().block_on(async {
            let mut model = Model::new(&acls, &tally).await;
            for step in &steps {
                model.run(*step).await;
            }
        });
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    assert!(tally.shows_something(), "{tally:?}");
}
