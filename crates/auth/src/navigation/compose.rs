//! Composes the entries of all modules into one menu for a caller.

use backoffice_core::{Module, NavContext, NavEntry, Translations};

use crate::sidebar::SidebarSettings;

/// The viewer of a menu.
#[derive(Debug)]
pub(crate) struct Viewer<'a, F> {
    /// Whether the caller holds a feature.
    pub(crate) holds: F,
    /// The locale of the titles.
    pub(crate) locale: &'a str,
    /// Prefix of all paths.
    pub(crate) console_path: &'a str,
    /// The sidebar settings that apply to the caller.
    pub(crate) settings: &'a SidebarSettings,
    /// Whether hidden items are kept, and marked.
    pub(crate) include_hidden: bool,
}

/// A menu.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Menu {
    pub(crate) main: Vec<Group>,
    pub(crate) settings: Vec<Group>,
    pub(crate) profile: Vec<Group>,
}

/// Entries under one title.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) id: &'static str,
    pub(crate) title: String,
    pub(crate) items: Vec<Item>,
}

/// An entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) id: &'static str,
    pub(crate) title: String,
    pub(crate) href: String,
    pub(crate) is_hidden: bool,
}

/// An entry with its title in the locale.
struct Titled {
    entry: &'static NavEntry,
    title: String,
    group: &'static str,
    group_title: String,
}

impl<F: Fn(&str) -> bool> Viewer<'_, F> {
    /// Returns the menu of these modules.
    pub(crate) fn menu(&self, modules: &[&'static Module]) -> Menu {
        let mut shown: Vec<(Kind, Titled)> = modules
            .iter()
            .flat_map(|module| module.navigation)
            .filter(|entry| entry.features.iter().all(|feature| (self.holds)(feature.id)))
            .map(|entry| self.titled(entry, modules))
            .collect();
        shown.sort_by(|(_, one), (_, other)| {
            (one.entry.order, &one.title, one.entry.id).cmp(&(other.entry.order, &other.title, other.entry.id))
        });
        let mut menu = Menu::default();
        for (kind, titled) in shown {
            let groups = match kind {
                Kind::Main => &mut menu.main,
                Kind::Settings => &mut menu.settings,
                Kind::Profile => &mut menu.profile,
            };
            self.add(groups, titled);
        }
        self.arrange(&mut menu.main);
        self.arrange(&mut menu.settings);
        self.arrange(&mut menu.profile);
        menu
    }

    fn titled(&self, entry: &'static NavEntry, modules: &[&'static Module]) -> (Kind, Titled) {
        let (kind, group, title) = match entry.context {
            NavContext::Main { group, title } => (Kind::Main, group, title),
            NavContext::Settings { section, title } => (Kind::Settings, section, title),
            NavContext::Profile { section, title } => (Kind::Profile, section, title),
        };
        let entries = modules.iter().flat_map(|module| module.nav_titles.entries);
        let groups = modules.iter().flat_map(|module| module.nav_titles.groups);
        let titled = Titled {
            title: self.translated(entries, entry.id).unwrap_or(entry.title).to_owned(),
            group_title: self.translated(groups, group).unwrap_or(title).to_owned(),
            entry,
            group,
        };
        (kind, titled)
    }

    fn translated(
        &self,
        mut known: impl Iterator<Item = &'static (&'static str, Translations)>,
        id: &str,
    ) -> Option<&'static str> {
        let (_, translations) = known.find(|(known, _)| *known == id)?;
        let found = translations.iter().find(|(locale, _)| *locale == self.locale);
        found.map(|(_, title)| *title)
    }

    fn add(&self, groups: &mut Vec<Group>, titled: Titled) {
        let is_hidden = self.settings.hidden_items.iter().any(|id| id == titled.entry.id);
        if is_hidden && !self.include_hidden {
            return;
        }
        let labels = &self.settings.item_labels;
        let item = Item {
            id: titled.entry.id,
            title: labels.get(titled.entry.id).cloned().unwrap_or(titled.title),
            href: format!("{}/{}", self.console_path.trim_end_matches('/'), titled.entry.href),
            is_hidden,
        };
        match groups.iter_mut().find(|group| group.id == titled.group) {
            Some(group) => group.items.push(item),
            None => groups.push(Group {
                id: titled.group,
                title: self
                    .settings
                    .group_labels
                    .get(titled.group)
                    .cloned()
                    .unwrap_or(titled.group_title),
                items: vec![item],
            }),
        }
    }

    /// Moves the groups and items listed in the settings to the front, in that order; the others keep theirs.
    fn arrange(&self, groups: &mut [Group]) {
        groups.sort_by_key(|group| place(&self.settings.group_order, group.id));
        for group in groups {
            if let Some(order) = self.settings.item_order.get(group.id) {
                group.items.sort_by_key(|item| place(order, item.id));
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Main,
    Settings,
    Profile,
}

fn place(order: &[String], id: &str) -> usize {
    order.iter().position(|one| one == id).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use backoffice_core::{Feature, NavTitles};

    use super::*;

    const SECRET: Feature = Feature::new("things.view", "View things");
    const STOCK: NavContext = NavContext::Main {
        group: "stock",
        title: "Stock",
    };
    const SALES: NavContext = NavContext::Main {
        group: "sales",
        title: "Sales",
    };

    const fn entry(id: &'static str, title: &'static str, context: NavContext, order: i32) -> NavEntry {
        NavEntry {
            id,
            href: id,
            title,
            features: &[],
            context,
            order,
        }
    }

    static THINGS: Module = Module {
        name: "things",
        navigation: &[
            entry("zebras", "Zebras", STOCK, 5),
            entry("apples", "Apples", STOCK, 5),
            NavEntry {
                features: &[SECRET],
                ..entry("secrets", "Secrets", STOCK, 1)
            },
            entry("orders", "Orders", SALES, 2),
        ],
        nav_titles: NavTitles {
            entries: &[("apples", &[("pl", "Jabłka")])],
            groups: &[("stock", &[("pl", "Magazyn")])],
        },
        ..Module::EMPTY
    };

    fn menu(settings: &SidebarSettings, locale: &str, include_hidden: bool) -> Menu {
        let viewer = Viewer {
            holds: |feature: &str| feature != SECRET.id,
            locale,
            console_path: "/backend/",
            settings,
            include_hidden,
        };
        viewer.menu(&[&THINGS])
    }

    fn ids(menu: &Menu) -> Vec<(&str, Vec<&str>)> {
        let items = |group: &Group| group.items.iter().map(|item| item.id).collect();
        menu.main.iter().map(|group| (group.id, items(group))).collect()
    }

    #[test]
    fn entries_stand_by_order_then_title_and_need_their_features() {
        let menu = menu(&SidebarSettings::default(), "en", false);

        assert_eq!(
            ids(&menu),
            [("sales", vec!["orders"]), ("stock", vec!["apples", "zebras"])]
        );
        assert_eq!(menu.main[1].items[0].href, "/backend/apples");
    }

    #[test]
    fn titles_are_in_the_locale_and_english_otherwise() {
        let menu = menu(&SidebarSettings::default(), "pl", false);

        assert_eq!(
            (menu.main[1].title.as_str(), menu.main[0].title.as_str()),
            ("Magazyn", "Sales")
        );
        assert_eq!(menu.main[1].items[0].title, "Jabłka");
    }

    #[test]
    fn settings_order_rename_and_hide() {
        let settings: SidebarSettings = serde_json::from_value(serde_json::json!({
            "groupOrder": ["unknown", "stock"], "itemOrder": {"stock": ["zebras"]}, "hiddenItems": ["orders"],
            "itemLabels": {"zebras": "Stripes"}, "groupLabels": {"stock": "Zoo"}
        }))
        .expect("settings");

        let (seen, all) = (menu(&settings, "en", false), menu(&settings, "en", true));

        assert_eq!(ids(&seen), [("stock", vec!["zebras", "apples"])]);
        assert_eq!(
            (seen.main[0].title.as_str(), seen.main[0].items[0].title.as_str()),
            ("Zoo", "Stripes")
        );
        assert_eq!(
            ids(&all),
            [("stock", vec!["zebras", "apples"]), ("sales", vec!["orders"])]
        );
        assert!(all.main[1].items[0].is_hidden && !all.main[0].items[0].is_hidden);
    }
}
