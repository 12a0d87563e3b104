//! Ids of preferences.

use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

/// Returns the id of the preference of a user or a role in a locale. It is derived from both, so that concurrent first writes mean the same
/// row. It keeps the time of the owner's id.
pub(crate) fn row_id(owner: Uuid, locale: &str) -> Uuid {
    let digest = Sha256::new()
        .chain_update(owner.as_bytes())
        .chain_update(locale.as_bytes())
        .finalize();
    let mut random = [0; 10];
    random.copy_from_slice(&digest[..10]);
    let millis = owner.as_u128() >> 80;
    Builder::from_unix_timestamp_millis(u64::try_from(millis).unwrap_or_default(), &random).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_one_id_in_each_locale() {
        let owner = Uuid::from_u128(0x0190_1234_5678_7000_8000_0000_0000_0042);

        let id = row_id(owner, "en");

        assert_eq!(id, row_id(owner, "en"));
        assert_ne!(id, row_id(owner, "pl"));
        assert_ne!(id, row_id(Uuid::from_u128(owner.as_u128() + 1), "en"));
        assert_eq!(id.get_version_num(), 7);
        assert_eq!(id.as_bytes()[..6], owner.as_bytes()[..6]);
    }
}
