//! Finds what serves a path.

use matchit::InsertError;

use super::routes::Routes;

/// Values by the paths of endpoints, in a tree: the cost of a search depends on the length of the path, not on the number of endpoints. A literal
/// segment takes precedence over a parameter in its place.
pub(super) struct Router<T>(matchit::Router<Entry<T>>);

struct Entry<T> {
    /// Names of the parameters, in the order of the path.
    names: Vec<&'static str>,
    value: T,
}

/// The value of a path, with the parameters of a request: names, and values as they were sent.
pub(super) struct Found<'a, T> {
    pub(super) value: &'a T,
    pub(super) parameters: Vec<(&'static str, String)>,
}

impl<T> Default for Router<T> {
    fn default() -> Self {
        Self(matchit::Router::new())
    }
}

impl<T: Clone> Router<T> {
    /// Adds the value of a path. With `takes_rest` the last parameter is the rest of the path, which may contain slashes or be empty.
    ///
    /// # Errors
    /// When a path with the same literal segments was added before.
    pub(super) fn insert(&mut self, path: &'static str, takes_rest: bool, value: T) -> Result<(), InsertError> {
        let names: Vec<&str> = path
            .split('{')
            .skip(1)
            .filter_map(|after| Some(after.split_once('}')?.0))
            .collect();
        let entry = Entry { names, value };
        let Some((start, rest)) = path.rsplit_once('{').filter(|_| takes_rest) else {
            return self.0.insert(path, entry);
        };
        // The library's parameter for a rest is never empty.
        let empty = Entry {
            names: entry.names.clone(),
            value: entry.value.clone(),
        };
        self.0.insert(start, empty)?;
        self.0.insert(format!("{start}{{*{rest}"), entry)
    }

    /// Returns the value of the path of a request.
    pub(super) fn find(&self, path: &str) -> Option<Found<'_, T>> {
        let found = self.0.at(path).ok()?;
        let values = found.params.iter().map(|(_, value)| value.to_owned());
        let values = values.chain(std::iter::once(String::new()));
        Some(Found {
            parameters: found.value.names.iter().copied().zip(values).collect(),
            value: &found.value.value,
        })
    }
}

/// Finds the declared path of a request.
pub struct Paths(Router<&'static str>);

impl std::fmt::Debug for Paths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Paths").finish_non_exhaustive()
    }
}

impl Paths {
    /// Returns the paths of all declarations.
    ///
    /// # Errors
    /// A text that names two paths with the same literal segments: every request for one of them may be meant for the other.
    pub fn of(routes: &Routes) -> Result<Self, String> {
        let mut paths = Router::default();
        for (path, declared) in routes.by_path() {
            let takes_rest = declared.iter().any(|one| one.info.takes_rest);
            let added = paths.insert(path, takes_rest, path);
            added.map_err(|error| format!("{path}: {error}"))?;
        }
        Ok(Self(paths))
    }

    /// Returns the declared path, such as `/auth/users/{id}`, of a request for this path below the API prefix.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<&'static str> {
        self.0.find(path).map(|found| *found.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn router(paths: &[&'static str]) -> Router<&'static str> {
        let mut router = Router::default();
        for path in paths {
            router.insert(path, path.ends_with("rest}"), *path).expect("a new path");
        }
        router
    }

    fn found(router: &Router<&'static str>, path: &str) -> Option<(&'static str, Vec<(&'static str, String)>)> {
        router.find(path).map(|found| (*found.value, found.parameters))
    }

    #[test]
    fn literal_segments_take_precedence_and_parameters_have_one_segment() {
        let router = router(&[
            "/a",
            "/a/{id}",
            "/a/{id}/b",
            "/a/b",
            "/a/b/{key}/c/{id}",
            "/feeds/{token}.ics",
        ]);
        let id = |value: &str| vec![("id", value.to_owned())];

        assert_eq!(found(&router, "/a"), Some(("/a", Vec::new())));
        assert_eq!(found(&router, "/a/b"), Some(("/a/b", Vec::new())));
        assert_eq!(found(&router, "/a/bc"), Some(("/a/{id}", id("bc"))));
        // The only path that fits has a parameter where another one has this literal segment.
        assert_eq!(found(&router, "/a/b/b"), Some(("/a/{id}/b", id("b"))));
        assert_eq!(
            found(&router, "/a/b/1%2F2/c/3"),
            Some((
                "/a/b/{key}/c/{id}",
                vec![("key", "1%2F2".to_owned()), ("id", "3".to_owned())]
            ))
        );
        assert_eq!(
            found(&router, "/feeds/x.y.ics"),
            Some(("/feeds/{token}.ics", vec![("token", "x.y".to_owned())]))
        );
        for unknown in ["", "/", "/a/", "/a//b", "/a/1/b/", "/A", "/feeds/x", "/feeds/.ics"] {
            assert_eq!(found(&router, unknown), None, "{unknown}");
        }
    }

    #[test]
    fn a_rest_may_be_empty_and_contain_slashes() {
        let router = router(&["/files/{id}/{rest}"]);
        for (path, rest) in [("/files/1/", ""), ("/files/1/a", "a"), ("/files/1/a/b/", "a/b/")] {
            let expected = vec![("id", "1".to_owned()), ("rest", rest.to_owned())];
            assert_eq!(found(&router, path), Some(("/files/{id}/{rest}", expected)), "{path}");
        }
        assert_eq!(found(&router, "/files/1"), None);
    }

    #[test]
    fn two_paths_for_the_same_requests_are_an_error() {
        let mut router = router(&["/a/{id}"]);

        assert!(router.insert("/a/{key}", false, "").is_err());
        assert!(router.insert("/a/{key}/b", false, "").is_ok());
    }
}
