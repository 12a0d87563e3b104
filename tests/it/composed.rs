//! What each module contributes to the tests of all modules. A module that `cargo xtask module new` creates is added here.

use futures_util::future::LocalBoxFuture;

use crate::endpoints::Entry;
use crate::fixture::{Fixture, TenantFixture};
use crate::scenarios::Scenario;
use crate::{catalog, customers, devices, endpoints, progress, scenarios};

/// The contribution of a module.
pub(crate) struct Composed {
    /// Inserts the records of a tenant to which the requests refer.
    pub(crate) seed: for<'a> fn(&'a Fixture, &'a TenantFixture) -> LocalBoxFuture<'a, ()>,
    /// A valid request for every endpoint.
    pub(crate) endpoints: fn() -> Vec<Entry>,
    /// Requests for every undoable command.
    pub(crate) scenarios: fn() -> Vec<Scenario>,
}

/// The modules on top of accounts and the directory, in the order of their requirements.
pub(crate) const COMPOSED: &[Composed] = &[
    Composed {
        seed: |fixture, tenant| Box::pin(customers::seed(fixture, tenant)),
        endpoints: endpoints::customers::table,
        scenarios: scenarios::customers::scenarios,
    },
    Composed {
        seed: |fixture, tenant| Box::pin(catalog::seed(fixture, tenant)),
        endpoints: endpoints::catalog::table,
        scenarios: scenarios::catalog::scenarios,
    },
    Composed {
        seed: |fixture, tenant| Box::pin(progress::seed(fixture, tenant)),
        endpoints: endpoints::progress::table,
        scenarios: Vec::new,
    },
    Composed {
        seed: |fixture, tenant| Box::pin(crate::attachments::seed(fixture, tenant)),
        endpoints: endpoints::attachments::table,
        scenarios: scenarios::attachments::scenarios,
    },
    Composed {
        seed: |fixture, tenant| Box::pin(devices::seed(fixture, tenant)),
        endpoints: endpoints::devices::table,
        scenarios: scenarios::devices::scenarios,
    },
    Composed {
        seed: |fixture, tenant| Box::pin(crate::notifications::seed(fixture, tenant)),
        endpoints: endpoints::notifications::table,
        scenarios: scenarios::notifications::scenarios,
    },
    Composed {
        seed: |fixture, tenant| Box::pin(crate::onboarding::seed(fixture, tenant)),
        endpoints: endpoints::onboarding::table,
        scenarios: scenarios::onboarding::scenarios,
    },
    Composed {
        seed: |fixture, tenant| Box::pin(crate::access::seed(fixture, tenant)),
        endpoints: endpoints::access::table,
        scenarios: scenarios::access::scenarios,
    },
    Composed {
        seed: |fixture, tenant| Box::pin(crate::calendar::seed(fixture, tenant)),
        endpoints: endpoints::calendar::table,
        scenarios: scenarios::calendar::scenarios,
    },
    Composed {
        seed: |fixture, tenant| Box::pin(crate::dispatch::seed(fixture, tenant)),
        endpoints: endpoints::dispatch::table,
        scenarios: scenarios::dispatch::scenarios,
    },
    Composed {
        seed: |fixture, tenant| Box::pin(crate::alerts::seed(fixture, tenant)),
        endpoints: endpoints::alerts::table,
        scenarios: scenarios::alerts::scenarios,
    },
    Composed {
        seed: |fixture, tenant| Box::pin(crate::business_rules::seed(fixture, tenant)),
        endpoints: endpoints::business_rules::table,
        scenarios: scenarios::business_rules::scenarios,
    },
    // Modules of `xtask module new`.
];

/// Inserts the records of every module.
pub(crate) async fn seed(fixture: &Fixture, tenant: &TenantFixture) {
    for composed in COMPOSED {
        (composed.seed)(fixture, tenant).await;
    }
}
