//! Compares what a client knows with what the database holds.

use std::collections::BTreeMap;

use backoffice_test_support::TestDatabase;

use super::client::Client;
use super::ledger::{Role, What, Write, string, write_of};

impl Client {
    /// Checks that the log holds exactly the acknowledged writes, in that order, and at most the one write more that was in flight, and that the last
    /// of them determine the roles.
    pub(super) async fn check(&mut self, database: &TestDatabase) {
        let log = format!(
            "select l.id, l.command_id, l.history_action, l.resource_id, l.snapshot_after ->> 'name' as name, r.name as present
             from audit_action_logs l join auth_users u on u.tenant_id = l.tenant_id and u.id = l.actor_id
             left join auth_roles r on r.tenant_id = l.tenant_id and r.id::text = l.resource_id
             where u.email = '{}' order by l.seq",
            self.email
        );
        let rows = database.rows(&log).await;
        let stored: Vec<Write> = rows.iter().map(write_of).collect();
        let known = self.ledger.len();
        assert_eq!(
            stored.get(..known),
            Some(&self.ledger[..]),
            "what was acknowledged is there"
        );
        assert!(
            stored.len() <= known + 1,
            "one write was under way: {:#?}",
            &stored[known..]
        );
        let sent = self.sent.take();
        if let Some(extra) = stored.get(known) {
            let sent = sent.unwrap_or_else(|| panic!("unsent write: {extra:?}"));
            assert_eq!((sent.what, &sent.name), (extra.what, &extra.name));
            assert!(sent.role == extra.role || sent.what == What::Create);
            self.lost += 1;
            self.ledger.push(extra.clone());
        }
        let mut last: BTreeMap<&str, &str> = BTreeMap::new();
        for write in &self.ledger {
            last.insert(&write.role, &write.name);
        }
        for row in &rows {
            let role = string(&row["resource_id"]);
            assert_eq!(row["present"].as_str(), last.get(role.as_str()).copied(), "{role}");
        }
        // A client does not undo or redo the write that was in flight: it has no undo token of it.
        self.roles = last
            .iter()
            .map(|(id, name)| Role {
                id: (*id).to_owned(),
                name: (*name).to_owned(),
                undo: None,
                redo: None,
            })
            .collect();
    }
}
