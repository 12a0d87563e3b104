//! Subscribers of events.

use std::collections::BTreeMap;

use diesel_async::AsyncPgConnection;
use futures_util::future::BoxFuture;

use super::StoredEvent;
use crate::acl::matches;
use crate::context::Call;
use crate::error::Result;

/// Handles an event, inside the transaction that moves the cursor: its writes on the connection take effect exactly once. The connection sees
/// only the event's tenant. Effects outside of the database (mail, HTTP) are enqueued as jobs with the event's id as `dedupe_key`.
pub type Handler = for<'a> fn(&'a mut AsyncPgConnection, &'a Call, &'a StoredEvent) -> BoxFuture<'a, Result<()>>;

/// A declared subscriber.
#[derive(Debug, Clone, Copy)]
pub struct Subscriber {
    /// The name, `<module>.<purpose>`. The cursors in the database carry it, so it never changes.
    pub id: &'static str,
    /// Names of events: exact, `prefix.*` or `*`.
    pub patterns: &'static [&'static str],
    /// The handler.
    pub handler: Handler,
    /// Whether a new subscriber starts with the oldest stored event, and not with the next one.
    pub replay: bool,
}

impl Subscriber {
    pub(super) fn wants(&self, name: &str) -> bool {
        self.patterns.iter().any(|pattern| matches(pattern, name))
    }
}

/// The subscribers of the enabled modules.
#[derive(Debug, Default)]
pub(crate) struct Subscribers(BTreeMap<&'static str, Subscriber>);

impl Subscribers {
    /// Returns false when the name is taken.
    pub(crate) fn add(&mut self, subscriber: Subscriber) -> bool {
        self.0.insert(subscriber.id, subscriber).is_none()
    }

    pub(super) fn find(&self, id: &str) -> Option<&Subscriber> {
        self.0.get(id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn names(&self) -> Vec<&'static str> {
        self.0.keys().copied().collect()
    }

    /// Returns whether a subscriber wants an event of one of these names.
    pub(crate) fn want(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.0.values().any(|one| one.wants(name)))
    }

    /// Returns the patterns of all subscribers in the form of `like`, each beside the name of its subscriber.
    pub(super) fn patterns(&self) -> (Vec<&'static str>, Vec<String>) {
        let all = self.0.values();
        all.flat_map(|one| one.like_patterns().map(|pattern| (one.id, pattern)))
            .unzip()
    }

    pub(super) fn replays(&self) -> Vec<bool> {
        self.0.values().map(|one| one.replay).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscribers_want_what_one_of_their_patterns_matches() {
        let subscriber = |id, patterns| Subscriber {
            id,
            patterns,
            handler: |_, _, _| Box::pin(async { Ok(()) }),
            replay: false,
        };
        let mut subscribers = Subscribers::default();
        assert!(subscribers.add(subscriber("sample.one", &["auth.user.deleted"])));
        assert!(subscribers.add(subscriber("sample.two", &["api_keys.*"])));
        let want = |names: &[&str]| subscribers.want(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());

        assert!(want(&["auth.user.updated", "auth.user.deleted"]));
        assert!(want(&["api_keys.key.created"]));
        assert!(!want(&["auth.user.updated", "auth.role.updated"]));
        assert!(!want(&[]));
        assert!(!Subscribers::default().want(&["auth.user.deleted".to_owned()]));
    }
}
