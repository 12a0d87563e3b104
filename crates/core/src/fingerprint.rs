//! Hashes of what a response depends on.

use sha2::{Digest, Sha256};
use uuid::Uuid;

/// A hash of values of any number. Each value is written with its length or presence, so that no two sequences of values are written alike.
#[derive(Debug, Default)]
pub(crate) struct Fingerprint(Sha256);

impl Fingerprint {
    pub(crate) fn flag(&mut self, value: bool) {
        self.0.update([u8::from(value)]);
    }

    pub(crate) fn number(&mut self, value: usize) {
        self.0.update(value.to_be_bytes());
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) {
        self.number(value.len());
        self.0.update(value);
    }

    pub(crate) fn id(&mut self, value: Option<Uuid>) {
        self.flag(value.is_some());
        if let Some(id) = value {
            self.0.update(id.as_bytes());
        }
    }

    /// Adds ids in their order; `None` differs from no ids.
    pub(crate) fn ids<'a, I>(&mut self, values: Option<I>)
    where
        I: IntoIterator<Item = &'a Uuid, IntoIter: ExactSizeIterator>,
    {
        self.flag(values.is_some());
        let values = values.map(IntoIterator::into_iter);
        self.number(values.as_ref().map_or(0, ExactSizeIterator::len));
        for id in values.into_iter().flatten() {
            self.0.update(id.as_bytes());
        }
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acl::Rights;

    fn of(write: impl FnOnce(&mut Fingerprint)) -> [u8; 32] {
        let mut fingerprint = Fingerprint::default();
        write(&mut fingerprint);
        fingerprint.finish()
    }

    #[test]
    fn sequences_of_values_differ() {
        let one = of(|to| {
            to.bytes(b"a");
            to.bytes(b"bc");
        });
        let other = of(|to| {
            to.bytes(b"ab");
            to.bytes(b"c");
        });
        assert_ne!(one, other);

        let id = Uuid::from_u128(1);
        let none: Option<&[Uuid]> = None;
        let sequences = [
            of(|to| to.ids(none)),
            of(|to| to.ids(Some(&[]))),
            of(|to| to.ids(Some(&[id]))),
            of(|to| to.ids(Some(&[id, id]))),
            of(|to| to.id(Some(id))),
            of(|to| to.id(None)),
        ];
        for (index, sequence) in sequences.iter().enumerate() {
            assert!(!sequences[..index].contains(sequence), "{index}");
        }
    }

    #[test]
    fn rights_are_identified_by_what_they_grant() {
        let digest = |rights: &Rights| of(|to| rights.identify(to));
        let (here, there) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let granting = |grants: &[&str], places: Option<&[Uuid]>| Rights::granting(grants.iter().copied(), places);
        let all = [
            Rights::none(),
            Rights::super_admin(),
            granting(&["a.b"], None),
            granting(&["a.b", "a.c"], None),
            granting(&["a.b"], Some(&[here])),
            granting(&["a.b"], Some(&[here, there])),
            granting(&["a.b"], None).confined_to(here),
            granting(&["a.b"], None).limited_by(&granting(&["a.*"], None)),
        ];
        for (index, rights) in all.iter().enumerate() {
            let same = all.iter().position(|other| digest(other) == digest(rights));
            assert_eq!(same, Some(index));
        }
        assert_eq!(digest(&granting(&["a.b"], None)), digest(&all[2].clone()));
    }
}
