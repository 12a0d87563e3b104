//! The program serves the pages of its modules.

use backoffice_test_support::TestDatabase;

use crate::server::Server;
use crate::support::{Folder, errors};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_find_the_pages_where_the_api_is() {
    let database = TestDatabase::create(&backoffice_server::modules::compiled()).await;
    let folder = Folder::new();
    let url = database.application_url();
    let output = folder.run_with(&["init", "--generate"], &[("BACKOFFICE__DATABASE__URL", &url)]);
    assert!(output.status.success(), "{}", errors(&output));

    let server = Server::start(&folder, &database);

    for path in ["/api/version", "/login", "/reset"] {
        server.wait_for(path, "").await;
    }
}
