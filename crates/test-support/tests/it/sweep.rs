//! Removal of ended windows of limits and of expired idempotency keys.

use backoffice_core::{Call, rate_limit};
use backoffice_test_support::TestApp;

/// More rows than two statements delete, and three that are not due.
async fn insert(app: &TestApp) {
    let ends_at = format!(
        "timestamptz '{}' + case when n <= 11000 then interval '-1 minute' else interval '1 minute' end",
        app.now()
    );
    for sql in [
        format!(
            "insert into core_rate_limits (key, points, window_ends_at)
             select sha256(n::text::bytea), 1, {ends_at} from generate_series(1, 11003) n"
        ),
        format!(
            "insert into core_idempotency_keys
                (tenant_id, id, actor_kind, actor_id, route, key, body_hash, status, headers, body, expires_at)
             select gen_random_uuid(), gen_random_uuid(), 'user', gen_random_uuid(), 'POST /x', n::text, '', 200, '{{}}', '{{}}', {ends_at}
             from generate_series(1, 11003) n"
        ),
    ] {
        assert_eq!(app.sql(&sql).await, 11003);
    }
}

async fn left(app: &TestApp) -> [i64; 2] {
    [
        app.count("core_rate_limits").await,
        app.count("core_idempotency_keys").await,
    ]
}

#[actix_web::test]
async fn due_rows_are_removed_batch_by_batch_and_locked_ones_later() {
    let app = TestApp::new(&[]).await;
    insert(&app).await;
    let call = Call::internal(app.runtime());
    app.sql(
        "begin; select 1 from core_rate_limits where key = sha256('1') for update;
         select 1 from core_idempotency_keys where key = '1' for update",
    )
    .await;

    let swept = rate_limit::sweep(&call).await;

    swept.expect("waits for no lock");
    assert_eq!(left(&app).await, [4, 4]);
    app.sql("commit").await;
    rate_limit::sweep(&call).await.expect("swept");
    assert_eq!(left(&app).await, [3, 3]);
}
