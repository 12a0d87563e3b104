//! Two tenants with an administrator each, and a super administrator, in an application of this module.

use std::ops::Deref;

use backoffice_core::Module;
use backoffice_test_accounts::TwoTenants;
pub(crate) use backoffice_test_accounts::{CONFIG, NO_LIMITS, PASSWORD, account, id_of, login};
use backoffice_test_support::{TestApp, TestAppBuilder};

/// The modules of every fixture.
pub(crate) const MODULES: [&Module; 3] = [
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_audit_logs::MODULE,
];

fn builder(extra: &[&'static Module]) -> TestAppBuilder {
    TestApp::builder(&[&MODULES, extra].concat())
}

pub(crate) struct Fixture(TwoTenants);

impl Deref for Fixture {
    type Target = TwoTenants;

    fn deref(&self) -> &TwoTenants {
        &self.0
    }
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with_config(NO_LIMITS).await
    }

    pub(crate) async fn with_config(extra: &str) -> Self {
        Self::build(extra, &[]).await
    }

    /// Creates a fixture with further modules of the test.
    pub(crate) async fn with_modules(modules: &[&'static Module]) -> Self {
        Self::build(NO_LIMITS, modules).await
    }

    /// Creates a fixture with this length of the queue for hashing.
    pub(crate) async fn with_queue(places: usize) -> Self {
        Self::replacing("memory_kib = 8", &format!("memory_kib = 8\nqueue = {places}")).await
    }

    /// Creates a fixture with one of the settings replaced, and without limits.
    pub(crate) async fn replacing(setting: &str, by: &str) -> Self {
        assert!(CONFIG.contains(setting), "{setting} is set");
        let config = format!("{}{NO_LIMITS}", CONFIG.replace(setting, by));
        Self::inside(builder(&[]).config(&config).build().await).await
    }

    /// Creates a fixture on a connection that counts statements.
    pub(crate) async fn counting() -> Self {
        Self::counting_with("").await
    }

    /// Like [`Self::counting`], with more configuration.
    pub(crate) async fn counting_with(extra: &str) -> Self {
        let config = format!("{CONFIG}{extra}{NO_LIMITS}");
        Self::inside(builder(&[]).config(&config).through_proxy().build().await).await
    }

    async fn build(extra: &str, modules: &[&'static Module]) -> Self {
        Self::inside(builder(modules).config(&format!("{CONFIG}{extra}")).build().await).await
    }

    pub(crate) async fn inside(app: TestApp) -> Self {
        Self(TwoTenants::inside(app).await)
    }
}
