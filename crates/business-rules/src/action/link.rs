//! Links of notifications: paths of the console, or pages of this site.

use backoffice_core::Platform;
use backoffice_core::http::Pages;

use super::Template;
use super::parse::LONGEST_LINK;
use super::template::{Exceeded, Part};
use super::webhook::has_dots;
use crate::condition::Facts;

/// A path on this site with references in it.
#[derive(Debug, Clone)]
pub(crate) struct LinkTemplate {
    template: Template,
    is_confined: bool,
}

impl LinkTemplate {
    pub(super) fn parse(text: &str, platform: &Platform) -> Self {
        let template = Template::parse(text);
        let is_confined = is_confined(&template, platform);
        Self { template, is_confined }
    }

    /// Whether the part without references leads below the console or to a page.
    pub(super) const fn is_confined(&self) -> bool {
        self.is_confined
    }

    /// Returns the path with values in place of references; `None` if it leads elsewhere.
    ///
    /// # Errors
    /// If the budget of the run is used up.
    pub(crate) fn text(&self, facts: &Facts<'_>) -> Result<Option<String>, Exceeded> {
        let text = self.template.text(facts, LONGEST_LINK)?;
        Ok((self.is_confined && is_path(&text)).then_some(text))
    }
}

fn is_confined(template: &Template, platform: &Platform) -> bool {
    let fixed = match template.0.first() {
        Some(Part::Text(text)) => text.as_str(),
        _ => return false,
    };
    let console = platform.app().console_path.trim_end_matches('/');
    let is_below = fixed.strip_prefix(console).is_some_and(|rest| rest.starts_with('/'));
    let (path, _) = fixed.split_at(fixed.find(['?', '#']).unwrap_or(fixed.len()));
    let is_whole = path.len() < fixed.len() || template.0.len() == 1;
    let is_page = || {
        let pages = Pages::of(platform).into_infos();
        path == console || pages.iter().any(|page| page.path == path)
    };
    is_path(fixed) && (is_below || is_whole && is_page())
}

/// Whether a text is a path on this site that does not leave the path with which it begins.
fn is_path(text: &str) -> bool {
    let path = text.split(['?', '#']).next().unwrap_or_default();
    text.starts_with('/')
        && !text.contains(char::is_control)
        && !path.starts_with("//")
        && !path.contains('\\')
        && !has_dots(path)
}
