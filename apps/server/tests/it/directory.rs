//! Tenants and organizations on the command line.

use std::process::Output;

use backoffice_test_support::TestDatabase;
use serde_json::{Value, json};

use crate::support::{Folder, errors, text};

struct Setting {
    folder: Folder,
    database: TestDatabase,
}

impl Setting {
    async fn new() -> Self {
        let modules = backoffice_server::modules::compiled();
        let setting = Self {
            folder: Folder::new(),
            database: TestDatabase::create(&modules).await,
        };
        text(&setting.run(&["init", "--generate"]));
        setting
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let url = self.database.application_url();
        self.folder.run_with(arguments, &[("BACKOFFICE__DATABASE__URL", &url)])
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        serde_json::from_str(&text(&output)).expect("JSON")
    }

    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        errors(&output)
    }
}

fn names(list: &Value) -> Vec<&str> {
    let items = list.as_array().expect("a list");
    items
        .iter()
        .map(|item| item["name"].as_str().expect("a name"))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_is_made_with_its_organization_and_listed() {
    let setting = Setting::new().await;

    let made = setting.json(&["tenant", "create", "Acme", "--organization", "Head office"]);

    let tenants = setting.json(&["tenant", "list"]);
    assert_eq!(
        names(&tenants),
        ["Main", "Acme"],
        "in the order in which they were made"
    );
    assert_eq!(tenants[1]["id"], made["id"]);
    let organizations = setting.json(&["organization", "list", "--tenant", "Acme"]);
    assert_eq!(names(&organizations), ["Head office"]);
    assert_eq!(organizations[0]["id"], made["organizationId"]);
    assert_eq!(organizations[0]["slug"], "head-office");
    let plain = text(&setting.run(&["tenant", "list"]));
    assert!(plain.lines().count() == 2 && plain.contains("active  Acme"), "{plain}");
    let logged =
        "select actor_kind, source from audit_action_logs where command_id = 'directory.tenant.create' order by seq";
    let entries = setting.database.rows(logged).await;
    assert_eq!(
        entries.last(),
        Some(&json!({"actor_kind": "system", "source": "system"}))
    );
    let roles = "select r.name from auth_roles r join directory_tenants t on t.tenant_id = r.tenant_id where t.name = 'Acme' order by 1";
    let roles = setting.database.rows(roles).await;
    assert_eq!(
        roles,
        [json!({"name": "admin"}), json!({"name": "employee"})],
        "what the modules seed is there"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_organization_is_made_below_another_and_listed() {
    let setting = Setting::new().await;
    setting.json(&["tenant", "create", "Acme"]);
    let top = setting.json(&["organization", "create", "North", "--tenant", "Acme"]);
    let top = top["id"].as_str().expect("an id");

    let below = setting.json(&[
        "organization",
        "create",
        "Far North",
        "--tenant",
        "Acme",
        "--parent",
        top,
    ]);

    let acme = setting.json(&["organization", "list", "--tenant", "Acme"]);
    assert_eq!(names(&acme), ["Acme", "Far North", "North"]);
    assert_eq!((&acme[1]["id"], &acme[1]["parentId"]), (&below["id"], &json!(top)));
    let all = setting.json(&["organization", "list"]);
    assert_eq!(names(&all), ["Acme", "Far North", "Main", "North"]);
    let plain = text(&setting.run(&["organization", "list", "--tenant", "Acme"]));
    assert!(plain.contains("far-north  Far North"), "{plain}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_can_not_be_made_is_said() {
    let setting = Setting::new().await;
    setting.json(&["tenant", "create", "Acme"]);
    let foreign = setting.json(&["organization", "list", "--tenant", "Main"])[0]["id"].clone();
    let foreign = foreign.as_str().expect("an id");

    let unknown = setting.refused(&["organization", "create", "X", "--tenant", "Nobody"]);
    let several = setting.refused(&["organization", "create", "X"]);
    let above = setting.refused(&["organization", "create", "X", "--tenant", "Acme", "--parent", foreign]);
    let blank = setting.refused(&["tenant", "create", "  "]);

    assert!(unknown.contains("there is no tenant `Nobody`"), "{unknown}");
    assert!(several.contains("--tenant"), "{several}");
    assert!(above.contains("Parent organization not found"), "{above}");
    assert!(blank.contains("name: must not be blank"), "{blank}");
    assert_eq!(names(&setting.json(&["organization", "list"])), ["Acme", "Main"]);
}
