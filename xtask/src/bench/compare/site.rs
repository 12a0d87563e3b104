//! The measured tenants: one of each size, and small ones that write at the same time.

use uuid::Uuid;

use super::super::database::{APPLICATION, BYPASSING, Database, OWNER};
use super::super::subject::{ROLE_PREFIX, SPARE_PREFIX};
use crate::Result;
use crate::process::say;

/// Milliseconds of the time over which the rows of a tenant are spread, and the entries of its logs.
const YEAR: u64 = 345 * 24 * 3600 * 1000;
const TWO_YEARS: u64 = 719 * 24 * 3600 * 1000;

/// From this size on, the foreign keys of the seeded rows are not checked: PostgreSQL would look up each of them.
const UNCHECKED: u32 = 100_000;

const PREPARE: &str = include_str!("../seed/prepare.sql");
const FUNCTIONS: &str = include_str!("../seed/functions.sql");
const ROWS: [&str; 4] = [
    include_str!("../seed/accounts.sql"),
    include_str!("../seed/customers.sql"),
    include_str!("../seed/catalog.sql"),
    include_str!("../seed/logs.sql"),
];
const CALLERS: &str = include_str!("../seed/callers.sql");

/// A tenant with this many rows in each table, and what requests and references name of it.
#[derive(Debug, Clone)]
pub(super) struct Site {
    pub(super) rows: u32,
    pub(super) tenant: Uuid,
    /// The caller: an administrator.
    pub(super) email: String,
    /// The domain of the accounts to which the clients sign in.
    pub(super) domain: String,
    pub(super) user: Uuid,
    /// A stage with a twentieth of the deals.
    pub(super) stage: String,
    /// An actor of a twentieth of the entries.
    pub(super) actor: String,
    /// An organization with a twentieth of the users.
    pub(super) organization: String,
    /// The user that the search for a rare text finds.
    needle: String,
}

/// Prepares the schema for the seeds.
pub(super) fn prepare(database: &Database) -> Result<()> {
    let sql = PREPARE
        .replace("{application}", APPLICATION)
        .replace("{bypassing}", BYPASSING)
        .replace("{owner}", OWNER);
    database.execute(&sql)?;
    Ok(())
}

/// Creates a tenant with an administrator and this many rows in each table. `number` differs between the sites.
pub(super) fn create(database: &Database, rows: u32, number: usize, clients: u32) -> Result<Site> {
    say(&format!("a tenant of {rows} rows ..."));
    let (name, domain) = (format!("Tenant of {rows}"), format!("{rows}.example.com"));
    let email = format!("caller@{domain}");
    let (tenant, user) = caller(database, &name, &email)?;
    let now: u64 = database
        .text("select (extract(epoch from now()) * 1000)::bigint")?
        .parse()?;
    let fill = |sql: &str| {
        sql.replace("{tenant}", &tenant.to_string())
            .replace("{rows}", &rows.to_string())
            .replace("{tag}", &(number + 1).to_string())
            .replace("{start}", &(now - YEAR).to_string())
            .replace("{step}", &(YEAR / u64::from(rows)).to_string())
            .replace("{start_of_log}", &(now - TWO_YEARS).to_string())
            .replace("{step_of_log}", &(TWO_YEARS / u64::from(rows)).to_string())
            .replace("{role_prefix}", ROLE_PREFIX)
            .replace("{clients}", &clients.to_string())
            .replace("{domain}", &domain)
            .replace("{email}", &email)
    };
    database.execute(&fill(FUNCTIONS))?;
    if rows < UNCHECKED {
        ROWS.iter()
            .try_for_each(|sql| database.execute(&fill(sql)).map(|_| ()))?;
    } else {
        // Without foreign keys in any order.
        database.execute(&foreign_keys("disable"))?;
        let all: Vec<String> = ROWS.iter().map(|sql| fill(sql)).collect();
        at_once(&all, |sql| database.execute(sql).map(|_| ()))?;
        database.execute(&foreign_keys("enable"))?;
    }
    database.execute(&fill(CALLERS))?;
    let id = |kind: u32, of: u32| database.text(&format!("select bench.id({kind}, {of})"));
    Ok(Site {
        rows,
        tenant,
        email,
        domain,
        user,
        stage: id(17, 1)?,
        actor: id(3, 1)?,
        organization: id(1, 1)?,
        needle: id(3, 7)?,
    })
}

/// Creates a tenant for each client, which renames the role there, and returns their administrators' addresses.
pub(super) fn create_writers(database: &Database, clients: u32) -> Result<Vec<String>> {
    (0..clients)
        .map(|client| {
            let (name, email) = (format!("Writer {client}"), format!("writer{client}@example.com"));
            let (tenant, _) = caller(database, &name, &email)?;
            let sql = CALLERS
                .replace("{tenant}", &tenant.to_string())
                .replace("{role_prefix}", ROLE_PREFIX)
                .replace("{clients}", &clients.to_string())
                .replace("{domain}", &format!("writer{client}.example.com"))
                .replace("{email}", &email);
            database.execute(&sql)?;
            Ok(email)
        })
        .collect()
}

/// Completes the seeds: what maintenance does, and statistics for the planner.
pub(super) fn complete(database: &Database) -> Result<()> {
    say("statistics ...");
    database.execute("select audit_count_entries() from generate_series(1, 30)")?;
    database.execute(&format!("grant select on all tables in schema public to {BYPASSING}"))?;
    database.execute("vacuum analyze")?;
    database.execute("checkpoint")?;
    Ok(())
}

/// Vacuums the tables of the writes, which autovacuum does in a database in use.
pub(super) fn vacuum(database: &Database) -> Result<()> {
    database.execute("vacuum auth_roles, auth_users, audit_resource_versions, core_event_streams, bench.counters")?;
    Ok(())
}

/// Inserts roles that a reference deletes: their ids end with the client's number and the number of the transaction.
pub(super) fn create_spare_roles(database: &Database, site: &Site, clients: u32, each: u64) -> Result<()> {
    let tenant = site.tenant;
    database.execute(&format!(
        "delete from auth_roles where tenant_id = '{tenant}' and name like 'spare %'"
    ))?;
    database.execute(&format!(
        "insert into auth_roles (tenant_id, id, name, name_norm, created_at, updated_at) \
         select '{tenant}', ('{SPARE_PREFIX}' || lpad((c::bigint * 1000000 + n)::text, 12, '0'))::uuid, 'spare ' || c || ' ' || n, \
             'spare ' || c || ' ' || n, now(), now() \
         from generate_series(0, {clients} - 1) c, generate_series(1, {each}) n"
    ))?;
    database.execute("vacuum analyze auth_roles")?;
    Ok(())
}

/// Returns how many of these roles there still are.
pub(super) fn spare_roles(database: &Database, site: &Site) -> Result<u64> {
    let tenant = site.tenant;
    let count = database.text(&format!(
        "select count(*) from auth_roles where tenant_id = '{tenant}' and name like 'spare %'"
    ))?;
    Ok(count.parse()?)
}

fn caller(database: &Database, name: &str, email: &str) -> Result<(Uuid, Uuid)> {
    database.command(&["tenant", "create", name])?;
    database.create_administrator(email, name)?;
    let tenant = database.text(&format!("select id from directory_tenants where name = '{name}'"))?;
    let user = database.text(&format!("select id from auth_users where email_norm = '{email}'"))?;
    Ok((tenant.parse()?, user.parse()?))
}

/// Runs work for all of these concurrently.
fn at_once(all: &[String], work: impl Fn(&str) -> Result<()> + Sync) -> Result<()> {
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = all.iter().map(|one| scope.spawn(move || work(one))).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| "a seed panicked")?)
    })
}

/// Returns a statement that disables or enables the checks of all foreign keys; other triggers always run.
fn foreign_keys(state: &str) -> String {
    format!(
        "do $$ declare one record; begin \
           for one in select t.tgrelid::regclass as relation, t.tgname as name from pg_trigger t \
             join pg_constraint c on c.oid = t.tgconstraint and c.contype = 'f' \
             where t.tgisinternal and t.tgparentid = 0 loop \
             execute format('alter table %s {state} trigger %I', one.relation, one.name); \
           end loop; end $$"
    )
}

impl Site {
    /// Returns the variables of the references.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        let values = [
            ("tenant", self.tenant.to_string()),
            ("user", self.user.to_string()),
            ("stage", self.stage.clone()),
            ("actor", self.actor.clone()),
            ("needle", self.needle.clone()),
            ("domain", self.domain.clone()),
            // Later than every entry, like the bound that the server knows from its clock.
            ("future", "ffffffff-ffff-7000-8000-000000000000".to_owned()),
            ("role_prefix", ROLE_PREFIX.to_owned()),
            ("spare_prefix", SPARE_PREFIX.to_owned()),
            ("next", "0".to_owned()),
        ];
        values.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }

    /// Replaces the placeholders of a path.
    pub(super) fn path(&self, path: &str) -> String {
        path.replace("{stage}", &self.stage)
            .replace("{actor}", &self.actor)
            .replace("{organization}", &self.organization)
    }
}
