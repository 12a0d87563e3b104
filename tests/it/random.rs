//! Runs of random operations, each on a fixture of its own.

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};

/// Runs as many cases as `BACKOFFICE_MODEL_CASES` says, by default `default`.
pub(crate) fn runs<S: Strategy>(default: u32, strategy: &S, run: impl AsyncFn(S::Value)) {
    let cases = std::env::var("BACKOFFICE_MODEL_CASES").ok();
    let mut runner = TestRunner::new(Config {
        cases: cases.and_then(|text| text.parse().ok()).unwrap_or(default),
        max_shrink_iters: 60,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..Config::default()
    });
    let outcome = runner.run(strategy, |input| {
        actix_web::rt::System::new().block_on(run(input));
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}
