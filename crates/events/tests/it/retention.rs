//! Retention of events.

use backoffice_core::Call;
use backoffice_core::events::forget;
use backoffice_test_support::{Duration as Span, TestApp};

use crate::sample::{A, Fragile, MODULE, announce_in, created};

async fn kept(app: &TestApp) -> usize {
    app.rows("select seq from core_outbox_events").await.len()
}

async fn forget_now(app: &TestApp) -> usize {
    forget(&Call::internal(app.runtime())).await.expect("forgotten")
}

#[actix_web::test]
async fn events_go_after_a_week_once_every_subscriber_has_passed_them() {
    let app = TestApp::new(&[&MODULE]).await;
    announce_in(&app, A, None, created(1)).await;
    app.deliver_events().await;
    announce_in(&app, A, None, created(2)).await;
    assert_eq!((forget_now(&app).await, kept(&app).await), (0, 2));

    app.advance(Span::days(8));
    announce_in(&app, A, None, created(3)).await;
    assert_eq!(
        (forget_now(&app).await, kept(&app).await),
        (1, 2),
        "the second one waits for its subscribers"
    );

    app.deliver_events().await;
    assert_eq!((forget_now(&app).await, kept(&app).await), (1, 1));
    let removed = app
        .rows("select last_seq from core_event_streams where name = 'removed'")
        .await;
    assert_eq!(removed[0]["last_seq"], 2);
}

#[actix_web::test]
async fn dead_letters_go_after_90_days() {
    let app = TestApp::new(&[&MODULE]).await;
    Fragile::of(&app).fails(true);
    announce_in(&app, A, None, created(1).with("fails", true)).await;
    for _ in 0..12 {
        app.deliver_events().await;
        app.advance(Span::minutes(18));
    }
    let letters = async || app.rows("select id from core_event_dead_letters").await.len();
    assert_eq!(letters().await, 1);

    app.advance(Span::days(89));
    forget_now(&app).await;
    assert_eq!(letters().await, 1);
    app.advance(Span::days(1));
    forget_now(&app).await;
    assert_eq!(letters().await, 0);
}
