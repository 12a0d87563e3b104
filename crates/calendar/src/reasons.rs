//! The dictionary of reasons for unavailability. The rows of `calendar_reasons` are the same; a test compares both.

use std::collections::BTreeSet;

use crate::subject::ResourceType;
use crate::subject::ResourceType::{Equipment, Vehicle, Worker};

/// The known reasons: type of the resource and code.
pub(crate) const REASONS: [(ResourceType, &str); 18] = [
    (Worker, "vacation"),
    (Worker, "sick_leave"),
    (Worker, "personal_leave"),
    (Worker, "training"),
    (Worker, "public_holiday"),
    (Worker, "other"),
    (Equipment, "maintenance"),
    (Equipment, "breakdown"),
    (Equipment, "inspection"),
    (Equipment, "in_use_elsewhere"),
    (Equipment, "rental_return"),
    (Equipment, "other"),
    (Vehicle, "maintenance"),
    (Vehicle, "breakdown"),
    (Vehicle, "inspection"),
    (Vehicle, "accident"),
    (Vehicle, "registration_expired"),
    (Vehicle, "other"),
];

/// Longest code of a reason, in characters.
pub(crate) const CODE_LENGTH: usize = 50;

/// Returns the codes of all types, each once.
pub(crate) fn codes() -> Vec<&'static str> {
    let codes: BTreeSet<&str> = REASONS.iter().map(|(_, code)| *code).collect();
    codes.into_iter().collect()
}

/// Whether resources of this type can be unavailable for this reason.
pub(crate) fn is_known(resource_type: ResourceType, code: &str) -> bool {
    REASONS.contains(&(resource_type, code))
}
