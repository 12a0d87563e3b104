//! Example records of new tenants.

use futures_util::future::BoxFuture;

use crate::context::RequestContext;
use crate::error::Result;

/// Creates example records by commands. The context is that of the platform in a new tenant, and it writes in the tenant's organization; the text is the
/// locale of the person who signed up.
pub type CreateExamples = for<'a> fn(&'a RequestContext, &'a str) -> BoxFuture<'a, Result<()>>;

/// The example records of a module, registered with [`Registry::extend`](crate::registry::Registry::extend). The module that creates tenants for persons
/// decides whether they get examples. They are created at most once: after a crash, some may be missing.
#[derive(Clone, Copy)]
pub struct Examples {
    /// The name of the module.
    pub module: &'static str,
    /// Creates the records.
    pub create: CreateExamples,
}

impl std::fmt::Debug for Examples {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Examples")
            .field("module", &self.module)
            .finish_non_exhaustive()
    }
}

/// A text in the served locales.
#[derive(Debug, Clone, Copy)]
pub struct ExampleText {
    /// English, for other locales too.
    pub en: &'static str,
    /// Polish.
    pub pl: &'static str,
    /// Spanish.
    pub es: &'static str,
    /// German.
    pub de: &'static str,
}

impl ExampleText {
    /// Returns the text in a locale.
    #[must_use]
    pub fn in_locale(self, locale: &str) -> String {
        let text = match locale {
            "pl" => self.pl,
            "es" => self.es,
            "de" => self.de,
            _ => self.en,
        };
        text.to_owned()
    }
}
