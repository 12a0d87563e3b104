//! E-mail addresses.

/// Longest address in characters.
pub(crate) const MAX_LENGTH: usize = 254;

/// Returns the form in which addresses are compared.
#[must_use]
pub fn normalized(address: &str) -> String {
    address.trim().to_ascii_lowercase()
}

/// Returns whether the trimmed text has the form of HTML's `input type=email`, in 3 to 254 ASCII characters.
#[must_use]
pub fn is_valid(address: &str) -> bool {
    let address = address.trim();
    if !address.is_ascii() || !(3..=MAX_LENGTH).contains(&address.len()) {
        return false;
    }
    let Some((local, domain)) = address.rsplit_once('@') else {
        return false;
    };
    let local_ok = !local.is_empty()
        && local
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&b));
    let label_ok = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    local_ok && domain.split('.').all(label_ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_that_of_html() {
        for (address, expected) in [
            ("a@b", true),
            (" Ann.O'Hara+x@example.com ", true),
            ("ann@example..com", false),
            ("ann@-example.com", false),
            ("ann", false),
            ("@example.com", false),
            ("ann@exämple.com", false),
            ("a b@example.com", false),
        ] {
            assert_eq!(is_valid(address), expected, "{address}");
        }
    }
}
