//! The measured requests, with their references and targets.

use super::reference::{self, Reference};
use super::verdict::Target;
use super::work::Work;

/// The size of most tenants, and of the comparisons that are reported once.
pub(super) const USUAL: u32 = 10_000;

/// A kind of request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject {
    /// Title in the report.
    pub(super) title: &'static str,
    pub(super) work: Work,
    /// What runs beside it.
    pub(super) beside: Reference,
    /// Target of the share of the reference's rate.
    pub(super) target: Target,
    /// Whether it is measured only in the tenant of the usual size.
    pub(super) is_usual_only: bool,
    /// Number of concurrent clients, if it differs from that of the others.
    pub(super) clients: Option<u32>,
}

/// Clients of requests of which the server admits few at the same time, or that take long.
const FEW: u32 = 2;

const fn subject(title: &'static str, work: Work, beside: Reference) -> Subject {
    Subject {
        title,
        work,
        beside,
        target: Target::None,
        is_usual_only: false,
        clients: None,
    }
}

impl Subject {
    const fn at_least(self, share: f64) -> Self {
        Self {
            target: Target::Least(share),
            ..self
        }
    }

    const fn by(self, clients: u32) -> Self {
        Self {
            clients: Some(clients),
            ..self
        }
    }

    /// The same list, unchanged since the client's `ETag`, beside one row by its key.
    const fn unchanged(title: &'static str, path: &'static str) -> Self {
        Self {
            is_usual_only: true,
            ..subject(title, Work::Unchanged(path), reference::ROW_BY_KEY).at_least(0.5)
        }
    }
}

const USERS: &str = "/api/auth/users?pageSize=50";
const ROLES: &str = "/api/auth/roles?pageSize=50";
const ORGANIZATIONS: &str = "/api/directory/organizations?pageSize=50";
const DEALS: &str = "/api/customers/deals?pipelineStageId={stage}&pageSize=50";
const PRODUCTS: &str = "/api/catalog/products?productType=virtual&isActive=true&pageSize=50";
const LOG: &str = "/api/audit_logs/audit-logs/actions?pageSize=50";
const LOG_FILTERED: &str = "/api/audit_logs/audit-logs/actions?actorUserId={actor}&pageSize=50";
const EXPORT: &str = "/api/audit_logs/audit-logs/actions/export";

/// Reads, in the order in which they are measured. Writes follow, because they change what lists contain.
pub(super) const READS: &[Subject] = &[
    subject("version", Work::Public("/api/version"), reference::VERSION),
    subject("profile", Work::Read("/api/auth/profile"), reference::PROFILE),
    subject("feature-check", Work::FeatureCheck, reference::FEATURE_CHECK),
    subject("users", Work::List(USERS), reference::USERS).at_least(0.2),
    subject("roles", Work::List(ROLES), reference::ROLES).at_least(0.2),
    subject("organizations", Work::List(ORGANIZATIONS), reference::ORGANIZATIONS),
    subject("deals by stage", Work::List(DEALS), reference::DEALS),
    subject("products with filters", Work::List(PRODUCTS), reference::PRODUCTS),
    subject("action log, page", Work::List(LOG), reference::LOG_PAGE).at_least(0.1),
    subject(
        "action log, filtered",
        Work::List(LOG_FILTERED),
        reference::LOG_FILTERED,
    ),
    subject("action log, export", Work::Read(EXPORT), reference::LOG_EXPORT).by(FEW),
    subject(
        "users, search of a rare text",
        Work::List("/api/auth/users?search=needle&pageSize=50"),
        reference::SEARCH,
    )
    .by(FEW),
    subject(
        "users, search of a common text",
        Work::List("/api/auth/users?search=example&pageSize=50"),
        reference::USERS,
    )
    .by(FEW),
    Subject::unchanged("users, unchanged", USERS),
    Subject::unchanged("roles, unchanged", ROLES),
    Subject::unchanged("organizations, unchanged", ORGANIZATIONS),
    Subject::unchanged("deals by stage, unchanged", DEALS),
    Subject::unchanged("products, unchanged", PRODUCTS),
    Subject::unchanged("action log, unchanged", LOG),
];

/// Writes, each of a client's own rows of one tenant.
pub(super) const WRITES: &[Subject] = &[
    subject("create", Work::Create, reference::CREATE),
    subject("update", Work::Update, reference::UPDATE),
    subject("delete", Work::Delete, reference::DELETE),
    subject("undo", Work::Undo, reference::UNDO),
    subject("login", Work::SignIn, reference::LOGIN),
    Subject {
        is_usual_only: true,
        ..subject("update, all writers of one tenant", Work::Update, reference::HOT_ROW).at_least(0.6)
    },
];

/// The update by writers of different tenants.
pub(super) const UPDATE_OF_TENANTS: Subject = subject(
    "update, each writer of another tenant",
    Work::Update,
    reference::INSERT_AND_COMMIT,
)
.at_least(0.35);

/// A list whose cost must not depend on the number of rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct List {
    pub(super) title: &'static str,
    pub(super) path: &'static str,
    /// The same list in the largest tenant, if another page than the first one is compared.
    pub(super) far: Option<&'static str>,
}

const fn list(title: &'static str, path: &'static str) -> List {
    List { title, path, far: None }
}

const fn far(title: &'static str, path: &'static str, far: &'static str) -> List {
    List {
        title,
        path,
        far: Some(far),
    }
}

/// Maximum cost in the largest tenant, as a multiple of that in the tenant of the usual size.
pub(super) const GROWTH: Target = Target::Most(1.3);

/// Every list without a search, and page 1,000 of filters that match 50,000 rows of the largest tenant.
pub(super) const LISTS: &[List] = &[
    list("users", USERS),
    list("roles", ROLES),
    list("organizations", ORGANIZATIONS),
    list("API keys", "/api/api_keys/keys?pageSize=50"),
    list("deals", "/api/customers/deals?pageSize=50"),
    list("deals by stage", DEALS),
    list("people", "/api/customers/people?pageSize=50"),
    list("companies", "/api/customers/companies?pageSize=50"),
    list("pipelines", "/api/customers/pipelines?pageSize=50"),
    list("pipeline stages", "/api/customers/pipeline-stages?pageSize=50"),
    list("products", "/api/catalog/products?pageSize=50"),
    list("products with filters", PRODUCTS),
    list("variants", "/api/catalog/variants?pageSize=50"),
    list("prices", "/api/catalog/prices?pageSize=50"),
    list("categories", "/api/catalog/categories?pageSize=50"),
    list("progress jobs", "/api/progress/jobs?pageSize=50"),
    list("action log", LOG),
    list("action log of an actor", LOG_FILTERED),
    list("access log", "/api/audit_logs/audit-logs/access?pageSize=50"),
    far(
        "users of an organization, page 1,000",
        "/api/auth/users?organizationId={organization}&pageSize=50",
        "/api/auth/users?organizationId={organization}&pageSize=50&page=1000",
    ),
    far(
        "deals by stage, page 1,000",
        DEALS,
        "/api/customers/deals?pipelineStageId={stage}&pageSize=50&page=1000",
    ),
    far(
        "products with filters, page 1,000",
        PRODUCTS,
        "/api/catalog/products?productType=virtual&isActive=true&pageSize=50&page=1000",
    ),
    far(
        "action log of an actor, page 1,000",
        LOG_FILTERED,
        "/api/audit_logs/audit-logs/actions?actorUserId={actor}&pageSize=50&page=1000",
    ),
];

/// Maximum number of round trips of one update.
pub(super) const ROUND_TRIPS: Target = Target::Most(6.0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_unique() {
        let titles = READS.iter().chain(WRITES).map(|subject| subject.title);
        let mut titles: Vec<_> = titles.chain([UPDATE_OF_TENANTS.title]).collect();
        let count = titles.len();
        titles.sort_unstable();
        titles.dedup();

        assert_eq!(titles.len(), count);
    }

    #[test]
    fn page_1000_is_compared_with_the_first_page_of_the_same_filter() {
        for list in LISTS.iter().filter(|list| list.far.is_some()) {
            assert_eq!(list.far, Some(&*format!("{}&page=1000", list.path)), "{}", list.title);
        }
    }
}
