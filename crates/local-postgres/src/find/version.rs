//! PostgreSQL's version numbers.

use std::fmt;

/// A version of PostgreSQL, such as 17.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The major number. Versions with the same one can read each other's data.
    pub major: u32,
    /// The number of the update; 0 for the first release and for previews.
    pub minor: u32,
}

impl Version {
    /// Parses `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`, also `17rc1`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (_, number) = text.split_once("(PostgreSQL) ")?;
        let number = number.split_whitespace().next()?;
        let mut parts = number.split('.').map(leading_number);
        let major = parts.next()??;
        Some(Self {
            major,
            minor: parts.next().flatten().unwrap_or(0),
        })
    }
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_servers_print() {
        let parsed = |text| Version::parse(text).map(|version| version.to_string());

        assert_eq!(
            parsed("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n").as_deref(),
            Some("15.18")
        );
        assert_eq!(parsed("postgres (PostgreSQL) 18rc1").as_deref(), Some("18.0"));
        assert_eq!(parsed("postgres (PostgreSQL) 9.6.24").as_deref(), Some("9.6"));
        assert_eq!(parsed("nonsense"), None);
    }
}
