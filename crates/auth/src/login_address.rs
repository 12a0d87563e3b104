//! The address of the sign-in, which may have a query of its own.

/// Returns an address of the sign-in with further parameters: an encoded query, which may be empty. With a fragment they are added to the fragment, by
/// which an application in the browser distinguishes its pages.
#[must_use]
pub fn login_address(login_path: &str, query: &str) -> String {
    if query.is_empty() {
        return login_path.to_owned();
    }
    let last = login_path.rsplit('#').next().unwrap_or_default();
    let separator = if last.contains('?') { '&' } else { '?' };
    format!("{login_path}{separator}{query}")
}

#[cfg(test)]
mod tests {
    use super::login_address;

    #[test]
    fn parameters_are_added_to_those_of_the_configuration() {
        for (path, query, expected) in [
            ("/login", "", "/login"),
            ("/login", "tenant=x", "/login?tenant=x"),
            ("/login?client=office", "", "/login?client=office"),
            (
                "/login?client=office",
                "redirect=%2F&tenant=x",
                "/login?client=office&redirect=%2F&tenant=x",
            ),
            (
                "https://id.example/?v=1#/login",
                "a=b",
                "https://id.example/?v=1#/login?a=b",
            ),
            (
                "https://id.example/#/login?v=1",
                "a=b",
                "https://id.example/#/login?v=1&a=b",
            ),
        ] {
            assert_eq!(login_address(path, query), expected);
        }
    }
}
