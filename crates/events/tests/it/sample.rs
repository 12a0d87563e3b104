//! A module that announces and receives events, and callers whose features the test changes.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use backoffice_core::acl::Rights;
use backoffice_core::config::ConfigError;
use backoffice_core::events::{Event, StoredEvent, Subscriber, announce};
use backoffice_core::identity::{ActorKind, Identity};
use backoffice_core::registry::{Registry, Startup};
use backoffice_core::{Call, Error, Feature, Module, Result, Runtime, Scope};
use backoffice_test_support::{TestApp, Tokens};
use diesel::sql_query;
use diesel::sql_types::{BigInt, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use uuid::Uuid;

pub(crate) const A: Uuid = Uuid::from_u128(0xa);
pub(crate) const B: Uuid = Uuid::from_u128(0xb);

pub(crate) const THINGS: Feature = Feature::new("sample.thing.view", "See things");
pub(crate) const SECRETS: Feature = Feature::new("sample.secret.view", "See secrets");

/// The behavior of the subscriber `sample.fragile` for events that request it.
#[derive(Default)]
pub(crate) struct Fragile {
    fails: AtomicBool,
    hangs: AtomicBool,
}

impl Fragile {
    pub(crate) fn of(app: &TestApp) -> Arc<Self> {
        app.platform().provided().get::<Self>().expect("provided at the start")
    }

    /// Makes the subscriber fail; the others must not wait for it.
    pub(crate) fn fails(&self, fails: bool) {
        self.fails.store(fails, Ordering::SeqCst);
    }

    /// Makes the subscriber hang, like a crashed process.
    pub(crate) fn hangs(&self, hangs: bool) {
        self.hangs.store(hangs, Ordering::SeqCst);
    }
}

pub(crate) static MODULE: Module = Module {
    register,
    ..MODULE_WITHOUT_SUBSCRIBERS
};

/// The module without the subscriber of all events.
pub(crate) static SELECTIVE: Module = Module {
    register: register_selective,
    ..MODULE_WITHOUT_SUBSCRIBERS
};

const MODULE_WITHOUT_SUBSCRIBERS: Module = Module {
    name: "sample",
    title: "Sample",
    features: &[THINGS, SECRETS],
    start,
    ..Module::EMPTY
};

fn register_selective(registry: &mut Registry) {
    registry
        .subscribe(Subscriber {
            id: "sample.counter",
            patterns: &["sample.*"],
            handler: |connection, call, event| Box::pin(counter(connection, call, event)),
            replay: false,
        })
        .subscribe(Subscriber {
            id: "sample.fragile",
            patterns: &["sample.thing.created"],
            handler: |connection, call, event| Box::pin(fragile(connection, call, event)),
            replay: false,
        });
}

fn register(registry: &mut Registry) {
    register_selective(registry);
    registry.subscribe(Subscriber {
        id: "sample.witness",
        patterns: &["*"],
        handler: |connection, call, event| Box::pin(write(connection, call, event, "witness")),
        replay: true,
    });
}

/// Records an effect of a subscriber: a stream whose name contains subscriber and event, and whose number counts the deliveries.
async fn write(connection: &mut AsyncPgConnection, call: &Call, event: &StoredEvent, who: &str) -> Result<()> {
    sql_query(format!(
        "insert into core_event_streams as s (tenant_id, id, name, last_seq, created_at, updated_at)
         values ($1, $2, '{who}:' || lpad($3::text, 6, '0'), 1, $4, $4)
         on conflict (tenant_id, name) do update set last_seq = s.last_seq + 1"
    ))
    .bind::<SqlUuid, _>(event.tenant_id)
    .bind::<SqlUuid, _>(call.platform().ids().at(call.now))
    .bind::<BigInt, _>(event.seq)
    .bind::<Timestamptz, _>(call.now)
    .execute(connection)
    .await?;
    Ok(())
}

/// Fails for an event that is delivered after a later one.
async fn counter(connection: &mut AsyncPgConnection, call: &Call, event: &StoredEvent) -> Result<()> {
    let moved = sql_query(
        "insert into core_event_streams as s (tenant_id, id, name, last_seq, created_at, updated_at)
         values ($1, $2, 'latest', $3, $4, $4)
         on conflict (tenant_id, name) do update set last_seq = $3 where s.last_seq < $3",
    )
    .bind::<SqlUuid, _>(event.tenant_id)
    .bind::<SqlUuid, _>(call.platform().ids().at(call.now))
    .bind::<BigInt, _>(event.seq)
    .bind::<Timestamptz, _>(call.now)
    .execute(connection)
    .await?;
    if moved == 0 {
        return Err(Error::internal("late event"));
    }
    write(connection, call, event, "counter").await
}

async fn fragile(connection: &mut AsyncPgConnection, call: &Call, event: &StoredEvent) -> Result<()> {
    write(connection, call, event, "fragile").await?;
    let mood: Arc<Fragile> = call.provided()?;
    if AtomicBool::load(&mood.hangs, Ordering::SeqCst) && event.payload["hangs"] == true {
        std::future::pending::<()>().await;
    }
    if AtomicBool::load(&mood.fails, Ordering::SeqCst) && event.payload["fails"] == true {
        assert!(event.payload["panics"] != true, "this event is too much, on purpose");
        return Err(Error::internal("it does not fit"));
    }
    Ok(())
}

/// Announces an event of a tenant.
pub(crate) async fn announce_in(app: &TestApp, tenant: Uuid, organization: Option<Uuid>, event: Event) {
    announce_on(app.runtime(), tenant, organization, event)
        .await
        .expect("announced");
}

/// Announces an event without a whole application.
pub(crate) async fn announce_on(
    runtime: &Runtime,
    tenant: Uuid,
    organization: Option<Uuid>,
    event: Event,
) -> Result<()> {
    let call = Call::internal(runtime);
    let mut transaction = call.database().transaction(&Scope::tenant(tenant)).await?;
    announce(transaction.connection(), &call, tenant, organization, &[event]).await?;
    transaction.commit().await
}

/// An event for users who may see things.
pub(crate) fn created(number: u128) -> Event {
    happened("sample.thing.created", number).shown_to(THINGS)
}

/// An event that stays inside of the process.
pub(crate) fn happened(name: &str, number: u128) -> Event {
    Event::new(name, Uuid::from_u128(number))
}

/// Returns the id of the user with this token.
pub(crate) fn person(token: &str) -> Uuid {
    Uuid::from_u128(u128::from(token.as_bytes()[0]))
}

/// Returns the effects of a subscriber: number of the event, and number of deliveries.
pub(crate) async fn effects(app: &TestApp, tenant: Uuid, who: &str) -> Vec<(i64, i64)> {
    let rows = app
        .rows(&format!(
            "select substr(name, {})::bigint as seq, last_seq as times from core_event_streams \
             where tenant_id = '{tenant}' and name like '{who}:%' order by name",
            who.len() + 2
        ))
        .await;
    let pair = |row: &serde_json::Value| (row["seq"].as_i64().expect("seq"), row["times"].as_i64().expect("times"));
    rows.iter().map(pair).collect()
}

/// Tokens and their users.
#[derive(Default)]
pub(crate) struct People(Mutex<BTreeMap<String, Identity>>);

impl People {
    pub(crate) fn of(app: &TestApp) -> Arc<Self> {
        app.platform().provided().get::<Self>().expect("provided at the start")
    }

    /// Adds a user with grants in a tenant, optionally limited to organizations.
    pub(crate) fn set(&self, token: &str, tenant: Uuid, grants: &[&str], organizations: Option<&[Uuid]>) {
        let identity = Identity {
            kind: ActorKind::User,
            id: Some(person(token)),
            name: None,
            tenant,
            organization: None,
            rights: Rights::granting(grants.iter().copied(), organizations),
            roles: Vec::new(),
            session: None,
        };
        let mut people = self.0.lock().expect("no panic");
        people.insert(token.to_owned(), identity);
    }

    pub(crate) fn remove(&self, token: &str) {
        self.0.lock().expect("no panic").remove(token);
    }

    fn find(&self, token: &str) -> Option<Identity> {
        self.0.lock().expect("no panic").get(token).cloned()
    }
}

/// Organizations without descendants, all of tenant A.
struct Flat;

impl backoffice_core::identity::OrganizationTree for Flat {
    fn expand<'a>(
        &'a self,
        connection: &'a mut backoffice_core::db::Connection,
        _tenant: Option<Uuid>,
        roots: &'a [Uuid],
    ) -> BoxFuture<'a, Result<Vec<Uuid>>> {
        Box::pin(async move {
            // Sends a statement, like the real implementation.
            sql_query("select 1").execute(&mut **connection).await?;
            Ok(roots.to_vec())
        })
    }

    fn expand_each<'a>(
        &'a self,
        _connection: &'a mut backoffice_core::db::Connection,
        _tenant: Option<Uuid>,
        roots: &'a [Uuid],
    ) -> BoxFuture<'a, Result<HashMap<Uuid, Vec<Uuid>>>> {
        Box::pin(async move { Ok(roots.iter().map(|root| (*root, vec![*root])).collect()) })
    }

    fn keep<'a>(&'a self, _: &'a mut backoffice_core::db::Connection, _: Uuid, _: Uuid) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async { Ok(true) })
    }

    fn tenant_of<'a>(
        &'a self,
        _connection: &'a mut backoffice_core::db::Connection,
        _organization: Uuid,
    ) -> BoxFuture<'a, Result<Option<Uuid>>> {
        Box::pin(async { Ok(Some(A)) })
    }

    fn tenant_is_live<'a>(
        &'a self,
        _connection: &'a mut backoffice_core::db::Connection,
        _tenant: Uuid,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async { Ok(true) })
    }
}

fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    let people = Arc::new(People::default());
    startup
        .provide(Arc::clone(&people))
        .provide(Arc::new(Fragile::default()))
        .authenticator(Arc::new(Tokens(move |token: &str| people.find(token))))
        .organizations(Arc::new(Flat));
    Ok(())
}
