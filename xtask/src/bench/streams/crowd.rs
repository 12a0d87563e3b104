//! Clients with open streams.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::Result;
use crate::bench::database::Database;

pub(super) const TENANTS: usize = 20;
/// Users of a tenant, each with up to ten streams.
const PEOPLE: usize = 5;

/// Creates the administrators of each tenant and returns their addresses, beginning with the first administrator of every tenant.
pub(super) fn people(database: &Database) -> Result<Vec<String>> {
    let address = |tenant: usize, person: usize| format!("person{person}.{tenant}@example.com");
    for tenant in 0..TENANTS {
        let name = format!("Streams {tenant}");
        database.command(&["tenant", "create", &name])?;
        database.create_administrator(&address(tenant, 0), &name)?;
        for person in 1..PEOPLE {
            let (first, next) = (address(tenant, 0), address(tenant, person));
            database.execute(&format!(
                "with created as (
                    insert into auth_users (tenant_id, id, organization_id, email, email_norm, name, password_hash, is_active, \
                        is_confirmed, created_at, updated_at)
                    select tenant_id, gen_random_uuid(), organization_id, '{next}', '{next}', name, password_hash, true, true, now(), now()
                    from auth_users where email_norm = '{first}'
                    returning tenant_id, id
                )
                insert into auth_user_roles (tenant_id, id, user_id, role_tenant_id, role_id, created_at, updated_at)
                select created.tenant_id, gen_random_uuid(), created.id, r.role_tenant_id, r.role_id, now(), now()
                from created, auth_user_roles r join auth_users u on u.tenant_id = r.tenant_id and u.id = r.user_id
                where u.email_norm = '{first}'"
            ))?;
        }
    }
    database.execute("vacuum analyze auth_users")?;
    let people = (0..PEOPLE).flat_map(|person| (0..TENANTS).map(move |tenant| (tenant, person)));
    Ok(people.map(|(tenant, person)| address(tenant, person)).collect())
}

/// Open streams, distributed evenly over the tenants.
#[derive(Debug)]
pub(super) struct Crowd {
    runtime: Runtime,
    api: SocketAddr,
    tokens: Vec<String>,
    open: Vec<JoinHandle<()>>,
    received: Arc<AtomicU64>,
}

impl Crowd {
    pub(super) fn new(api: SocketAddr, tokens: &[String]) -> Result<Self> {
        Ok(Self {
            runtime: tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()?,
            api,
            tokens: tokens.to_vec(),
            open: Vec::new(),
            received: Arc::default(),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Returns the number of events that all streams together have received.
    pub(super) fn received(&self) -> u64 {
        self.received.load(Ordering::Acquire)
    }

    /// Opens streams until there are `streams` of them.
    pub(super) fn grow(&mut self, streams: usize) -> Result<()> {
        while self.open.len() < streams {
            let token = &self.tokens[self.open.len() % self.tokens.len()];
            let request = format!(
                "GET /api/events/stream?names=auth.role.updated HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\r\n",
                self.api
            );
            let mut stream = self.runtime.block_on(open(self.api, &request))?;
            let received = Arc::clone(&self.received);
            self.open.push(self.runtime.spawn(async move {
                let mut buffer = vec![0; 4096];
                while let Ok(read @ 1..) = stream.read(&mut buffer).await {
                    // A message, or at least its name, arrives in one piece.
                    let text = String::from_utf8_lossy(&buffer[..read]);
                    let events = text.matches("event: ").count();
                    received.fetch_add(u64::try_from(events).unwrap_or(0), Ordering::AcqRel);
                }
            }));
        }
        Ok(())
    }
}

/// Opens a stream and waits for its first comment.
async fn open(api: SocketAddr, request: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(api).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut said = Vec::new();
    while !said.ends_with(b":\n\n\r\n") {
        if stream.read_buf(&mut said).await? == 0 || said.len() > 4096 {
            let said = String::from_utf8_lossy(&said).into_owned();
            return Err(format!("no stream was opened: {said}").into());
        }
    }
    Ok(stream)
}
