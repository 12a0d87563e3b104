//! Bodies of requests: partial updates, and one validator that collects every violated rule.

mod body;
pub(crate) mod bounded;
mod patch;
pub mod rules;
pub mod schema;
mod validator;

pub use body::Input;
pub use bounded::{Bounded, Length};
pub use patch::Patch;
pub use rules::Violation;
pub use validator::Validator;
