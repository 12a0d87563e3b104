//! The commands on users.

mod create_user;
mod delete_user;
mod first_user;
mod invite_user;
mod request_reset;
mod reset_password;
mod role_links;
mod update_profile;
mod update_user;

pub use create_user::CreateUser;
pub(super) use create_user::NewUserRow;
pub use delete_user::DeleteUser;
pub use first_user::{FirstConsent, FirstUser};
pub use invite_user::InviteUser;
pub(crate) use invite_user::check as check_invitable;
pub use request_reset::RequestReset;
pub use reset_password::ResetPassword;
pub(super) use role_links::RoleLinks;
pub use update_profile::UpdateProfile;
pub use update_user::{UpdateUser, UserChanges};
