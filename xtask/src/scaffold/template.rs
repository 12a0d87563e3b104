//! The names of a new module and of its entity, and the placeholders that stand for them.

use super::plural::{plural_of, with_article};
use crate::Result;

/// Length, in bytes, above which PostgreSQL truncates a name.
const LONGEST_NAME: usize = 63;
/// The longest name in the migration.
const LONGEST_CONSTRAINT: &str = "{snake}_{entities}_tenant_id_organization_id_name_key";

/// Words that a module of Rust can't have as its name.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
    "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];
/// Types that are in scope in every file.
const PRELUDE: &[&str] = &["Box", "Option", "Result", "Self", "String", "Vec"];

/// The values of the placeholders.
#[derive(Debug)]
pub(super) struct Template {
    values: Vec<(&'static str, String)>,
}

/// The names that a person chooses, as words joined by hyphens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names<'a> {
    /// The module.
    pub(crate) module: &'a str,
    /// The entity, in the singular.
    pub(crate) entity: &'a str,
    /// The entity, in the plural; by default formed from the singular.
    pub(crate) plural: Option<&'a str>,
}

impl Template {
    /// Validates the names and derives all forms of them.
    pub(super) fn new(names: Names<'_>) -> Result<Self> {
        let plural = names.plural.map_or_else(|| plural_of(names.entity), str::to_owned);
        for name in [names.module, names.entity, &plural] {
            if !is_name(name) {
                return Err(format!("`{name}` is not a valid name; use lower-case words joined by hyphens").into());
            }
        }
        for name in [names.module, plural.as_str()] {
            if KEYWORDS.contains(&name) {
                return Err(format!("`{name}` is a keyword of Rust; choose a different word").into());
            }
        }
        if plural == names.entity {
            return Err(format!("`{plural}` is both singular and plural; choose a different word").into());
        }
        let (words, many) = (spaced(names.entity), spaced(&plural));
        let article = with_article(&words);
        let template = Self {
            values: vec![
                ("{name}", names.module.to_owned()),
                ("{snake}", snake(names.module)),
                ("{camel}", camel(names.module)),
                ("{title}", capitalized(&spaced(names.module))),
                ("{Entity}", camel(names.entity)),
                ("{entity}", snake(names.entity)),
                ("{entities}", snake(&plural)),
                ("{ENTITIES}", snake(&plural).to_uppercase()),
                ("{path}", plural),
                ("{an_entity}", article.replace(' ', "_")),
                ("{An entity}", capitalized(&article)),
                ("{an entity}", article),
                ("{One}", capitalized(&words)),
                ("{one}", words),
                ("{Many}", capitalized(&many)),
                ("{many}", many),
            ],
        };
        let longest = template.fill(LONGEST_CONSTRAINT);
        if longest.len() > LONGEST_NAME {
            return Err(
                format!("PostgreSQL would truncate `{longest}` to {LONGEST_NAME} bytes; choose shorter names").into(),
            );
        }
        Ok(template)
    }

    /// Returns the name of the type or the table if it has another meaning in a file that uses it: the file imports it, or it is in scope
    /// everywhere.
    pub(super) fn taken<'t>(&self, templates: impl IntoIterator<Item = &'t str>) -> Option<String> {
        let (entity, entities) = (self.fill("{Entity}"), self.fill("{entities}"));
        let own = |word: &&str| *word == entity || *word == entities;
        let using = templates
            .into_iter()
            .filter(|text| text.contains("struct {Entity} ") || text.contains("::{Entity};"));
        let mut words = using.flat_map(imported).chain(PRELUDE.iter().copied());
        words.find(own).map(str::to_owned)
    }

    /// Adds a placeholder.
    pub(super) fn with(mut self, placeholder: &'static str, value: String) -> Self {
        self.values.push((placeholder, value));
        self
    }

    /// Replaces the placeholders of a text.
    pub(super) fn fill(&self, text: &str) -> String {
        self.values.iter().fold(text.to_owned(), |text, (placeholder, value)| {
            text.replace(placeholder, value)
        })
    }
}

fn is_name(name: &str) -> bool {
    name.split('-').all(|word| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    })
}

/// Returns the last words of the paths that a template imports, without the braces of its own names.
fn imported(template: &str) -> impl Iterator<Item = &str> {
    let uses = template.split("\nuse ").skip(1);
    let uses = uses.filter_map(|rest| Some(rest.split_once(';')?.0));
    let names = uses.flat_map(|paths| paths.split([',', ' ', '\n']));
    names.map(|name| {
        let name = name.rsplit_once("::").map_or(name, |(_, last)| last);
        name.trim_start_matches('{').trim_end_matches('}')
    })
}

fn spaced(name: &str) -> String {
    name.replace('-', " ")
}

fn snake(name: &str) -> String {
    name.replace('-', "_")
}

fn camel(name: &str) -> String {
    name.split('-').map(capitalized).collect()
}

fn capitalized(text: &str) -> String {
    text.get(..1).map(str::to_uppercase).unwrap_or_default() + text.get(1..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<'a>(module: &'a str, entity: &'a str) -> Names<'a> {
        Names {
            module,
            entity,
            plural: None,
        }
    }

    #[test]
    fn placeholders_stand_for_every_form_of_a_name() {
        let template = Template::new(names("work-orders", "time-entry")).expect("valid names");

        for (text, expected) in [
            (
                "{name} {snake} {camel} {title}",
                "work-orders work_orders WorkOrders Work orders",
            ),
            ("{Entity} {entity} {entities}", "TimeEntry time_entry time_entries"),
            ("\"{{ENTITIES}}/{id}\" {path}", "\"{TIME_ENTRIES}/{id}\" time-entries"),
            (
                "{an entity} {An entity} {an_entity}",
                "a time entry A time entry a_time_entry",
            ),
            ("{one} {One} {many}", "time entry Time entry time entries"),
        ] {
            assert_eq!(template.fill(text), expected);
        }
    }

    #[test]
    fn a_given_plural_is_used() {
        let chosen = Names {
            plural: Some("people"),
            ..names("staff", "person")
        };

        let template = Template::new(chosen).expect("valid names");

        assert_eq!(template.fill("{entities}"), "people");
    }

    #[test]
    fn names_are_words_joined_by_hyphens() {
        assert!(is_name("price-lists"));
        for name in ["", "Price", "price_lists", "-a", "a-", "1a"] {
            assert!(!is_name(name), "{name}");
            assert!(Template::new(names(name, "item")).is_err(), "{name}");
            assert!(Template::new(names("price-lists", name)).is_err(), "{name}");
        }
    }

    #[test]
    fn a_keyword_is_not_a_name_of_a_module() {
        let plural = Names {
            plural: Some("where"),
            ..names("price-lists", "place")
        };

        for rejected in [names("type", "item"), names("match", "item"), plural] {
            let error = Template::new(rejected).expect_err("a keyword");
            assert!(error.to_string().contains("is a keyword of Rust"), "{error}");
        }
        for accepted in [names("type-checks", "item"), names("price-lists", "type")] {
            assert!(Template::new(accepted).is_ok(), "{accepted:?}");
        }
    }

    #[test]
    fn a_name_that_a_file_imports_is_taken() {
        let file = "//! A file.\n\nuse a::b::{Patch, rules, schema};\nuse a::{\n    Page, Query,\n};\nuse crate::model::{Entity};\n";
        let other = "//! Another file.\n\nuse a::Call;\n";
        let taken = |entity| {
            let template = Template::new(names("price-lists", entity)).expect("valid names");
            template.taken([file, other])
        };

        for (entity, name) in [
            ("rule", "rules"),
            ("patch", "Patch"),
            ("page", "Page"),
            ("query", "Query"),
            ("option", "Option"),
        ] {
            assert_eq!(taken(entity).as_deref(), Some(name), "{entity}");
        }
        for entity in ["item", "price-rule", "schematic", "call"] {
            assert_eq!(taken(entity), None, "{entity}");
        }
    }

    #[test]
    fn a_name_that_postgresql_would_truncate_is_rejected() {
        let error = Template::new(names("service-contracts", "contract-line")).expect_err("too long");

        assert!(error.to_string().contains("choose shorter names"), "{error}");
    }
}
