//! A rule can't grant, reach or loop beyond its limits. Random rules, saved over the API by callers with random rights, and random changes. What happened
//! is read from the database, and compared with the rights in the plan of the case:
//!
//! - grant: users, roles, access control lists and keys stay as they are; the editor of a rule could have done each of its effects without it, and so
//!   could the caller of an execution by request;
//! - reach: rows of the other tenant stay as they are; effects, notifications and events stay in the organization of their rule with those below it, and
//!   in that of the key;
//! - loop: a chain of rules has at most `business_rules.max_depth` links, however they are counted, and all jobs end;
//! - a rejected request leaves nothing, and no rule lets a request or an action fail with 500.
//!
//! `BACKOFFICE_RANDOM_RULES_CASES` sets the number of cases, `BACKOFFICE_RANDOM_RULES_SEED` another seed than the usual one.

mod acts;
mod bodies;
mod case;
mod checks;
mod loops;
mod plan;
mod rights;
mod tally;

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use case::Case;
use plan::{Plan, plan};
use tally::Tally;

const CASES: u32 = 8;
const SEED: u64 = 1;

#[test]
fn rules_cannot_grant_reach_or_loop_beyond_their_limits() {
    let number = |name: &str| std::env::var(name).map(|text| text.parse().expect("a number"));
    let seed: u64 = number("BACKOFFICE_RANDOM_RULES_SEED").unwrap_or(SEED);
    let cases = number("BACKOFFICE_RANDOM_RULES_CASES").map_or(CASES, |cases| cases.try_into().expect("a number"));
    println!("BACKOFFICE_RANDOM_RULES_SEED={seed}, {cases} cases");
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases,
        max_shrink_iters: 30,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let tally = Tally::default();

    let outcome = runner.run(&plan(), |plan| {
        actix_web::rt::System::new().block_on(run(&plan, &tally));
        Ok(())
    });

    outcome.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
    println!("{tally:?}");
    tally.check(cases);
}

async fn run(plan: &Plan, tally: &Tally) {
    let mut case = Case::new(plan, tally).await;
    case.save_rules(plan).await;
    case.settle().await;
    let mut before = case.snapshot().await;
    for step in &plan.steps {
        before = case.step(*step, before).await;
    }
    case.repeat_effects().await;
}
