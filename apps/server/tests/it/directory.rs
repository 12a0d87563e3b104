//! Tenants and organizations on the command line.

use serde_json::{Value, json};

use crate::office::office;
use crate::support::text;

fn names(list: &Value) -> Vec<&str> {
    let items = list.as_array().expect("a list");
    items
        .iter()
        .map(|item| item["name"].as_str().expect("a name"))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_is_created_with_its_organization_and_listed() {
    let (office, database) = office().await;

    let created = office.json(&["tenant", "create", "Acme", "--organization", "Head office"]);

    let tenants = office.json(&["tenant", "list"]);
    assert_eq!(
        names(&tenants),
        ["Main", "Acme"],
        "in the order in which they were made"
    );
    assert_eq!(tenants[1]["id"], created["id"]);
    let organizations = office.json(&["organization", "list", "--tenant", "Acme"]);
    assert_eq!(names(&organizations), ["Head office"]);
    assert_eq!(organizations[0]["id"], created["organizationId"]);
    assert_eq!(organizations[0]["slug"], "head-office");
    let plain = text(&office.run(&["tenant", "list"]));
    assert!(plain.lines().count() == 2 && plain.contains("active  Acme"), "{plain}");
    let logged =
        "select actor_kind, source from audit_action_logs where command_id = 'directory.tenant.create' order by seq";
    let entries = database.rows(logged).await;
    assert_eq!(
        entries.last(),
        Some(&json!({"actor_kind": "system", "source": "system"}))
    );
    let roles = "select r.name from auth_roles r join directory_tenants t on t.tenant_id = r.tenant_id where t.name = 'Acme' order by 1";
    let roles = database.rows(roles).await;
    let seeded = ["admin", "dispatcher", "employee", "viewer"].map(|name| json!({"name": name}));
    assert_eq!(roles, seeded, "what the modules seed is there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_organization_is_created_below_another_and_listed() {
    let (office, _database) = office().await;
    office.json(&["tenant", "create", "Acme"]);
    let top = office.json(&["organization", "create", "North", "--tenant", "Acme"]);
    let top = top["id"].as_str().expect("an id");

    let below = office.json(&[
        "organization",
        "create",
        "Far North",
        "--tenant",
        "Acme",
        "--parent",
        top,
    ]);

    let acme = office.json(&["organization", "list", "--tenant", "Acme"]);
    assert_eq!(names(&acme), ["Acme", "Far North", "North"]);
    assert_eq!((&acme[1]["id"], &acme[1]["parentId"]), (&below["id"], &json!(top)));
    let all = office.json(&["organization", "list"]);
    assert_eq!(names(&all), ["Acme", "Far North", "Main", "North"]);
    let plain = text(&office.run(&["organization", "list", "--tenant", "Acme"]));
    assert!(plain.contains("far-north  Far North"), "{plain}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_organizations_are_reported() {
    let (office, _database) = office().await;
    office.json(&["tenant", "create", "Acme"]);
    let foreign = office.json(&["organization", "list", "--tenant", "Main"])[0]["id"].clone();
    let foreign = foreign.as_str().expect("an id");

    let unknown = office.rejected(&["organization", "create", "X", "--tenant", "Nobody"]);
    let several = office.rejected(&["organization", "create", "X"]);
    let above = office.rejected(&["organization", "create", "X", "--tenant", "Acme", "--parent", foreign]);
    let blank = office.rejected(&["tenant", "create", "  "]);

    assert!(unknown.contains("tenant `Nobody` does not exist"), "{unknown}");
    assert!(several.contains("--tenant"), "{several}");
    assert!(above.contains("Parent organization not found"), "{above}");
    assert!(blank.contains("name: must not be blank"), "{blank}");
    assert_eq!(names(&office.json(&["organization", "list"])), ["Acme", "Main"]);
}

#[cfg(all(feature = "alerts", feature = "business-rules"))]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_for_one_tenant_reject_a_tenant_that_does_not_exist() {
    let (office, _database) = office().await;
    let main = office.json(&["tenant", "list"])[0]["id"].clone();
    let main = main.as_str().expect("an id");

    for command in [["alerts", "recompute"], ["webhooks", "list"]] {
        for unknown in ["Nobody", "019aae20-0000-7000-8000-000000000001"] {
            let rejected = office.rejected(&[&command[..], &["--tenant", unknown]].concat());
            let expected = format!("tenant `{unknown}` does not exist");
            assert!(rejected.contains(&expected), "{rejected}");
        }
        for known in ["Main", main] {
            office.json(&[&command[..], &["--tenant", known]].concat());
        }
    }
}
