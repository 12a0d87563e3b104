//! Every tracked column of a resource is in its snapshot, and storing the snapshot gives it back.

use std::collections::{BTreeMap, BTreeSet};

use backoffice_core::command::{Snapshot, Snapshots, Tracking};
use backoffice_test_support::TestApp;
use serde_json::Value;
use uuid::Uuid;

use super::{Invariants, Task, comparable, key, table};
use crate::fixture::text;

/// Columns that take another value in no row of the fixture, each with the reason.
const UNCHANGED: [(&str, &str); 6] = [
    (
        "attachments.attachment partition_tenant_id",
        "a partition of another tenant has another store, and a stored snapshot keeps the store of the file",
    ),
    ("attachments.partition store_id", "the tenant has one store"),
    ("auth.role_acl role_id", "every role has an ACL"),
    (
        "auth.role_sidebar_preference role_tenant_id",
        "no global role has the id of a role of the tenant",
    ),
    (
        "calendar.working_calendar organization_id",
        "a constraint makes it equal to the id",
    ),
    (
        "catalog.variant product_id",
        "every variant has a price, which refers to its product and to it",
    ),
];

const WON: &str = "status = 'won', closed_at = '2026-11-20T07:00:00Z'";
const LOST: &str = "status = 'lost', closed_at = '2026-11-20T07:00:00Z', lost_reason = 'Price'";
const DAYS: &str = "start_date = '2026-11-24', end_date_exclusive = '2026-11-26'";
const WORKER: &str = "subject_type = 'worker', subject_id = (
    select r.id from dispatch_resources r
    where r.tenant_id = dispatch_assignments.tenant_id and r.type = 'worker' order by r.id limit 1)";
const PRODUCT: &str = "min_quantity = min_quantity + 5, product_id = (
    select p.id from catalog_products p
    where p.tenant_id = catalog_prices.tenant_id and p.id <> catalog_prices.product_id order by p.id limit 1)";

/// Columns that constraints tie to others of their row, with what sets them together.
const TIED: [(&str, &str); 7] = [
    ("catalog.price product_id", PRODUCT),
    ("customers.deal closed_at", WON),
    ("customers.deal lost_reason", LOST),
    ("customers.deal status", WON),
    ("dispatch.assignment end_date_exclusive", DAYS),
    ("dispatch.assignment start_date", DAYS),
    ("dispatch.assignment subject_type", WORKER),
];

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";

/// The end of a block with an update that a constraint may reject; another value or another row is tried then.
const REJECTED: &str = "exception when integrity_constraint_violation or data_exception then null";

struct TestedColumn {
    name: String,
    data_type: String,
    /// The internal name of the type: `_text` is an array of texts.
    internal_type: String,
    is_nullable: bool,
}

/// A CHECK, or a foreign key.
struct ColumnConstraint {
    columns: Vec<String>,
    /// The words in the definition.
    words: Vec<String>,
    /// The table to which a foreign key refers, and the columns there; none of a CHECK.
    target: String,
    keys: Vec<String>,
}

/// The table of a kind, with what limits the values of its columns.
struct KindTable {
    name: String,
    columns: Vec<TestedColumn>,
    constraints: Vec<ColumnConstraint>,
}

/// What the test has found out about columns, each named with its kind.
#[derive(Default)]
struct ColumnFindings {
    /// The snapshot does not show another value.
    hidden: BTreeSet<String>,
    /// A stored snapshot does not give the value back.
    lost: BTreeSet<String>,
    unchanged: BTreeSet<String>,
}

#[actix_web::test]
async fn aud_3_snapshots_are_complete_and_storing_one_gives_back_every_column() {
    let invariants = Invariants::new().await;
    let mut findings = ColumnFindings::default();

    for kind in invariants.kinds() {
        find(&invariants, kind, &mut findings).await;
    }

    let (none, listed) = (BTreeSet::new(), BTreeMap::from(UNCHANGED));
    let expected: BTreeSet<&str> = listed.keys().copied().collect();
    let unchanged: BTreeSet<&str> = findings.unchanged.iter().map(String::as_str).collect();
    let lines: Vec<String> = unchanged
        .iter()
        .map(|column| format!("    ({column:?}, {:?}),", listed.get(column).unwrap_or(&"")))
        .collect();
    assert_eq!(
        (&findings.hidden, &findings.lost, &unchanged),
        (&none, &none, &expected),
        "columns that snapshots do not show (E3), that are not given back (E1), and that no row changed; for `UNCHANGED`:\n{}",
        lines.join("\n")
    );
}

/// Changes each tracked column of each resource of a kind, and stores the snapshot from before the change.
async fn find(invariants: &Invariants, kind: &'static str, findings: &mut ColumnFindings) {
    let app = &invariants.fixture.app;
    let entity = app.platform().registry().find_entity(kind).expect("a registered kind");
    let (tracking, table) = (entity.tracking(), KindTable::read(app, kind).await);
    let ids = invariants.ids(kind).await;
    let before = invariants.see(Task::Load, kind, &ids).await.first;
    assert!(!before.is_empty(), "{kind} has no resource here");
    for (snapshot, name) in before
        .values()
        .flat_map(|one| tracking.secret.iter().map(move |name| (one, name)))
    {
        assert!(snapshot.get(name).is_none(), "a snapshot of {kind} shows {name}");
    }
    for column in table.columns.iter().filter(|column| is_tested(column, kind, tracking)) {
        let (what, mut is_changed) = (format!("{kind} {}", column.name), false);
        for (id, snapshot) in &before {
            let one = format!(
                "where tenant_id = '{}' and {} = '{id}'",
                invariants.fixture.a.tenant,
                key(kind)
            );
            if table.change(app, column, &what, &one).await {
                is_changed = true;
                let requested = Snapshots::from([(*id, snapshot.clone())]);
                let seen = invariants.see(Task::Store(requested.clone()), kind, &[*id]).await;
                if !is_shown(&column.name, *id, &seen.first, &requested) {
                    findings.hidden.insert(what.clone());
                }
                if comparable(&seen.last) != comparable(&requested) {
                    findings.lost.insert(what.clone());
                }
            }
            table.restore(app).await;
        }
        if !is_changed {
            findings.unchanged.insert(what);
        }
    }
}

/// Whether another value of the column is a change of the resource. The key and derived columns are not changed.
fn is_tested(column: &TestedColumn, kind: &str, tracking: Tracking) -> bool {
    let name = column.name.as_str();
    let is_derived = ["id", "tenant_id", "deleted_at"].contains(&name) || name.ends_with("_norm");
    !is_derived && name != key(kind) && tracking.is_tracked(&camel(name))
}

/// Whether the snapshot has another value for the column: in the field of its name, or, if there is none, anywhere.
fn is_shown(column: &str, id: Uuid, seen: &Snapshots, requested: &Snapshots) -> bool {
    let field = camel(column);
    let value = |snapshots: &Snapshots| snapshots.get(&id).and_then(|one: &Snapshot| one.get(&field)).cloned();
    match (value(requested), value(seen)) {
        (Some(requested), Some(seen)) => requested != seen,
        _ => comparable(requested) != comparable(seen),
    }
}

impl KindTable {
    async fn read(app: &TestApp, kind: &str) -> Self {
        let name = table(kind);
        let columns = format!(
            "select column_name as name, data_type as type, udt_name as internal, is_nullable = 'YES' as nullable
             from information_schema.columns where table_name = '{name}' and is_generated = 'NEVER'"
        );
        let columns = app.rows(&columns).await;
        // A CHECK has no keys.
        let names = |relation: &str, numbers: &str| {
            format!(
                "array(select a.attname::text from unnest(c.{numbers}) with ordinality k (number, place)
                    join pg_attribute a on a.attrelid = c.{relation} and a.attnum = k.number order by k.place)"
            )
        };
        let constraints = format!(
            "select pg_get_constraintdef(c.oid) as definition, c.confrelid::regclass::text as target,
                {} as columns, {} as keys
             from pg_constraint c where c.conrelid = '{name}'::regclass and c.contype in ('c', 'f')",
            names("conrelid", "conkey"),
            names("confrelid", "confkey")
        );
        let constraints = app.rows(&constraints).await;
        Self {
            name,
            columns: columns.iter().map(TestedColumn::from_row).collect(),
            constraints: constraints.iter().map(ColumnConstraint::from_row).collect(),
        }
    }

    /// Copies a row to the table `kept`, and gives its column another value. Returns whether it could.
    async fn change(&self, app: &TestApp, column: &TestedColumn, what: &str, one: &str) -> bool {
        let (table, name) = (&self.name, &column.name);
        let kept = format!("drop table if exists kept; create temporary table kept as select * from {table} {one}");
        app.sql(&kept).await;
        let differs =
            format!("select from {table} t join kept k using (tenant_id, id) where t.{name} is distinct from k.{name}");
        let mut tries: Vec<String> = self
            .other_values(column)
            .iter()
            .map(|query| {
                format!(
                    "for candidate in {query} loop
                        begin update {table} set {name} = candidate {one}; {REJECTED}; end;
                        if exists ({differs}) then return; end if;
                    end loop;"
                )
            })
            .collect();
        for (_, set) in TIED.iter().filter(|(tied, _)| *tied == what) {
            tries.push(format!("begin update {table} set {set} {one}; {REJECTED}; end;"));
        }
        app.sql(&format!(
            "do $change$ declare candidate {table}.{name}%type; begin set constraints all immediate; {} end $change$",
            tries.join(" ")
        ))
        .await;
        app.count(&format!("({differs}) d")).await > 0
    }

    /// Gives the row in `kept` its former values.
    async fn restore(&self, app: &TestApp) {
        let columns = self.columns.iter().map(|column| column.name.as_str());
        let values: Vec<String> = columns
            .filter(|name| !["tenant_id", "id"].contains(name))
            .map(|name| format!("{name} = k.{name}"))
            .collect();
        app.sql(&format!(
            "update {} t set {} from kept k where t.tenant_id = k.tenant_id and t.id = k.id",
            self.name,
            values.join(", ")
        ))
        .await;
    }

    /// Returns queries for other values of a column of the row in `kept`.
    fn other_values(&self, column: &TestedColumn) -> Vec<String> {
        let name = &column.name;
        let mut values = match column.data_type.as_str() {
            "text" => self.other_texts(column),
            "uuid" => self.other_ids(column),
            "boolean" => vec![of_row(&format!("not k.{name}"))],
            "integer" | "bigint" | "smallint" | "numeric" | "double precision" => vec![
                of_row(&format!("coalesce(k.{name}, 0) + 1")),
                of_row(&format!("coalesce(k.{name}, 0) - 1")),
            ],
            "timestamp with time zone" => {
                vec![of_row(&format!("coalesce(k.{name}, '2026-01-01') + interval '1 hour'"))]
            }
            "date" => vec![
                of_row(&format!("coalesce(k.{name}, '2026-01-01') + 1")),
                of_row(&format!("coalesce(k.{name}, '2026-01-01') - 1")),
            ],
            "jsonb" => vec!["select '{\"changed\": true}'::jsonb".to_owned()],
            "bytea" => vec![of_row(&format!("coalesce(k.{name}, '') || '\\x01'"))],
            "ARRAY" => {
                let mut values = vec![of_row(&format!("k.{name}[2:]")), "select '{}'".to_owned()];
                if column.internal_type == "_text" {
                    values.push(of_row(&format!("array_append(k.{name}, 'x')")));
                }
                values
            }
            other => panic!(
                "{}.{name} is of type {other}, for which the test has no value",
                self.name
            ),
        };
        if column.is_nullable {
            values.push("select null".to_owned());
        }
        values
    }

    /// Returns queries for a longer text, for the words of a CHECK, and for texts of the same form.
    fn other_texts(&self, column: &TestedColumn) -> Vec<String> {
        let name = &column.name;
        let rotated = |alphabets: &[&str]| {
            let from = alphabets.concat();
            let to: Vec<String> = alphabets.iter().map(|all| [&all[1..], &all[..1]].concat()).collect();
            let to = to.concat();
            of_row(&format!("translate(k.{name}, '{from}', '{to}')"))
        };
        let mut values = vec![of_row(&format!("coalesce(k.{name}, '') || 'x'"))];
        values.extend(self.words(column).map(|word| format!("select '{word}'")));
        values.extend([rotated(&[LOWER, UPPER]), rotated(&[DIGITS])]);
        values
    }

    /// Returns queries for the ids to which a foreign key may refer, those of other rows, that of a CHECK, and an unknown one.
    fn other_ids(&self, column: &TestedColumn) -> Vec<String> {
        let (table, name) = (&self.name, &column.name);
        let mut values = Vec::new();
        if name == "organization_id" {
            values.push(
                "select o.id from directory_organizations o join kept k using (tenant_id)
                 where o.id is distinct from k.organization_id order by 1"
                    .to_owned(),
            );
        }
        values.extend(self.constraints.iter().filter_map(|one| one.other_targets(table, name)));
        values.push(format!(
            "select distinct t.{name} from {table} t join kept k using (tenant_id) where t.{name} is distinct from k.{name} order by 1"
        ));
        let ids = self.words(column).filter(|word| word.parse::<Uuid>().is_ok());
        values.extend(ids.map(|id| format!("select '{id}'::uuid")));
        values.push("select md5('another')::uuid".to_owned());
        values
    }

    /// Returns the words of the CHECKs of a column.
    fn words(&self, column: &TestedColumn) -> impl Iterator<Item = &str> {
        let constraints = self.constraints.iter();
        let of_column = constraints.filter(move |one| one.columns.contains(&column.name));
        of_column.flat_map(|one| one.words.iter().map(String::as_str))
    }
}

impl TestedColumn {
    fn from_row(row: &Value) -> Self {
        Self {
            name: text(&row["name"]),
            data_type: text(&row["type"]),
            internal_type: text(&row["internal"]),
            is_nullable: row["nullable"] == true,
        }
    }
}

impl ColumnConstraint {
    fn from_row(row: &Value) -> Self {
        let texts = |value: &Value| -> Vec<String> { value.as_array().expect("an array").iter().map(text).collect() };
        let definition = text(&row["definition"]);
        // Every other part is within quotes. Patterns are not words.
        let is_word =
            |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        let words = definition.split('\'').skip(1).step_by(2).filter(is_word);
        Self {
            words: words.map(str::to_owned).collect(),
            columns: texts(&row["columns"]),
            target: text(&row["target"]),
            keys: texts(&row["keys"]),
        }
    }

    /// Returns a query for the other rows to which the column may refer while the other columns of a foreign key stay. In a tree these are roots, so that
    /// no cycle results.
    fn other_targets(&self, table: &str, column: &str) -> Option<String> {
        let pairs = || self.columns.iter().zip(&self.keys);
        let (_, key) = pairs().find(|(own, _)| *own == column)?;
        let others = pairs().filter(|(own, _)| *own != column);
        let mut conditions: Vec<String> = others.map(|(own, key)| format!("r.{key} = k.{own}")).collect();
        conditions.push(format!("r.{key} is distinct from k.{column}"));
        if self.target == table {
            conditions.push(format!("r.id <> k.id and r.{column} is null"));
        }
        Some(format!(
            "select r.{key} from {} r join kept k on {} order by 1",
            self.target,
            conditions.join(" and ")
        ))
    }
}

fn of_row(expression: &str) -> String {
    format!("select {expression} from kept k")
}

fn camel(column: &str) -> String {
    let mut words = column.split('_');
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        name.push_str(&word[..1].to_uppercase());
        name.push_str(&word[1..]);
    }
    name
}
