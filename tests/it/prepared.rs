//! Statements that recur are prepared once: preparing one costs a round trip and a plan.
//!
//! Insertions of several rows are exempt, because their text depends on the number of rows.

use std::collections::{BTreeMap, BTreeSet};

use actix_web::http::Method;
use backoffice_test_support::{FaultProxy, REDO, UNDO};
use serde_json::json;

use crate::call::Call;
use crate::endpoints::Setting;
use crate::fixture::{Fixture, builder};
use crate::scenarios::{rich, run, scenarios};
use crate::transactions::{last_entry, write_of};

/// Repetitions after the first one. A connection that keeps too many statements forgets all of them once, so only those count that each repetition prepares.
const REPETITIONS: usize = 2;

/// An endpoint whose statements are not kept, with the reason.
const NOT_KEPT: (&str, &str) = (
    "/audit_logs/audit-logs/actions/export",
    "an export declares a cursor and fetches from it; few exports run on one connection",
);

/// The statements that each repetition has prepared.
#[derive(Default)]
struct Again {
    sets: Vec<BTreeSet<String>>,
}

impl Again {
    fn add(&mut self, proxy: &FaultProxy) {
        let prepared = proxy.take_prepared().into_iter();
        let recurs = |text: &String| !(text.starts_with("INSERT INTO") && text.contains("), ($"));
        self.sets.push(prepared.filter(recurs).collect());
    }

    fn of_each(self) -> BTreeSet<String> {
        let mut repetitions = self.sets.into_iter().skip(1);
        let first = repetitions.next().unwrap_or_default();
        repetitions.fold(first, |common, one| common.intersection(&one).cloned().collect())
    }
}

#[actix_web::test]
async fn a_repeated_read_prepares_nothing() {
    let setting = Setting::new(Fixture::of(builder().through_proxy().pool_size(1)).await).await;
    let app = &setting.fixture.app;
    let mut wrong = BTreeMap::new();

    for (info, entry) in setting.endpoints() {
        if info.method != Method::GET {
            continue;
        }
        let (call, token) = (setting.call(&entry), &setting.sender(&entry).token);
        let mut again = Again::default();
        for _ in 0..=REPETITIONS {
            let _earlier = app.proxy().take_prepared();
            let response = call.send(app, token).await;
            assert!(response.status < 400, "{call}: {} {}", response.status, response.text());
            again.add(app.proxy());
        }
        let texts = again.of_each();
        assert!(
            !texts.is_empty() || info.path != NOT_KEPT.0,
            "{} is exempt: {}",
            info.path,
            NOT_KEPT.1
        );
        for text in texts.into_iter().filter(|_| info.path != NOT_KEPT.0) {
            wrong.entry(text).or_insert_with(Vec::new).push(info.path);
        }
    }

    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[actix_web::test]
async fn a_repeated_command_prepares_nothing() {
    let fixture = rich(Fixture::of(builder().through_proxy().pool_size(1)).await).await;
    let (app, admin) = (&fixture.app, &fixture.a.tenant_admin);
    let (mut wrong, mut seen) = (BTreeMap::new(), BTreeSet::new());

    for scenario in scenarios().into_iter().filter(|one| seen.insert(one.command)) {
        let mut again = Again::default();
        for _ in 0..=REPETITIONS {
            let _earlier = app.proxy().take_prepared();
            run(&fixture, admin, &(scenario.call)(&fixture.a)).await;
            let log_id = last_entry(&fixture).await;
            let undo = Call::post(UNDO, json!({"undoToken": write_of(&fixture, log_id).await.token}));
            run(&fixture, admin, &undo).await;
            run(&fixture, admin, &Call::post(REDO, json!({ "logId": log_id }))).await;
            let redone = write_of(&fixture, last_entry(&fixture).await).await;
            let (status, body) = app.undo(&admin.token, redone).await;
            assert_eq!(status, 200, "{}: {body}", scenario.command);
            app.deliver_events().await;
            again.add(app.proxy());
        }
        for text in again.of_each() {
            wrong.entry(text).or_insert_with(Vec::new).push(scenario.command);
        }
    }

    assert!(wrong.is_empty(), "{wrong:#?}");
}
