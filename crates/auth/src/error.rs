//! Errors that a client of this module can act on.

use backoffice_core::{Detail, Rejection};
use serde_json::json;
use uuid::Uuid;

/// A rejection of this module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Sign-in failed; the same for every reason.
    #[error("Invalid email or password")]
    InvalidCredentials,
    /// The caller grants more than they hold.
    #[error("Not authorized to grant these rights.")]
    GrantExceedsRights {
        /// Features that are not covered.
        features: Vec<String>,
        /// Organizations that are not covered.
        organizations: Vec<Uuid>,
    },
    /// Only super administrators set that flag.
    #[error("Only super administrators can grant super admin access.")]
    SuperAdminRequired,
    /// The other user has rights that the caller lacks.
    #[error("Not authorized to change this user's credentials.")]
    CredentialsOfStronger,
    /// The command would leave no super administrator.
    #[error("The last super administrator cannot be removed.")]
    LastSuperAdmin,
    /// A global role belongs to the platform.
    #[error("Global roles can only be changed by super administrators.")]
    GlobalRole,
    /// The name `superadmin`.
    #[error("Role name is reserved")]
    ReservedRole {
        /// Whether the role was to be removed.
        deleting: bool,
    },
    /// Another role of the tenant has the name.
    #[error("Role name already in use")]
    DuplicateRoleName,
    /// Users or keys hold the role.
    #[error("Role has assigned users")]
    RoleInUse,
    /// Named roles do not exist for the caller.
    #[error("Role(s) not found: {}", quoted(.0))]
    RolesNotFound(Vec<String>),
    /// A role does not exist for the caller.
    #[error("Role not found")]
    RoleNotFound,
    /// Roles whose sidebar was to be changed do not exist for the caller.
    #[error("Invalid roles")]
    InvalidRoles(Vec<Uuid>),
    /// The role has no sidebar settings.
    #[error("Preferences not found")]
    NoRolePreference,
    /// The caller has no such sidebar variant.
    #[error("Variant not found")]
    VariantNotFound,
    /// The caller has the largest allowed number of variants in the locale.
    #[error("Too many variants")]
    TooManyVariants,
    /// Another variant of the caller has the name.
    #[error("Variant name already in use")]
    DuplicateVariantName,
    /// One request cannot change the caller's own settings and those of another tenant's roles.
    #[error("Roles of another tenant are changed one by one")]
    RolesOfAnotherTenant,
    /// The organization does not exist for the caller.
    #[error("Organization not found")]
    OrganizationNotFound,
    /// Another user of the tenant has the address.
    #[error("Email already in use")]
    DuplicateEmail,
    /// Users cannot delete themselves.
    #[error("You cannot delete your own account")]
    CannotDeleteSelf,
    /// Users cannot deactivate themselves.
    #[error("You cannot deactivate your own account")]
    CannotDeactivateSelf,
    /// A change of one's own credentials needs the current password.
    #[error("Current password is required")]
    CurrentPasswordRequired,
    /// The given current password is wrong.
    #[error("Current password is incorrect")]
    CurrentPasswordIncorrect,
    /// The password breaks a rule.
    #[error("Password does not meet the requirements")]
    PasswordPolicy(&'static str),
    /// Mail is not configured, so that no invitation can be sent.
    #[error("Invitation email is not configured")]
    InvitationNotConfigured,
    /// Another request created the consent at the same time.
    #[error("Consent was changed meanwhile")]
    ConsentExists,
    /// A reset or invitation token is unknown, used, void or expired.
    #[error("Invalid or expired token")]
    InvalidToken,
    /// The request comes from an origin that may not request mails.
    #[error("Invalid request origin")]
    InvalidOrigin,
    /// Mail is not configured, so that no reset can be sent.
    #[error("Password reset is not configured")]
    ResetNotConfigured,
    /// A deactivated user cannot be invited.
    #[error("User is deactivated")]
    UserInactive,
    /// A user with a password needs no invitation.
    #[error("User already has a password")]
    UserAlreadyActive,
    /// All hashing permits are taken and the queue is full.
    #[error("Too many requests")]
    HashingBusy,
}

fn quoted(names: &[String]) -> String {
    names
        .iter()
        .map(|name| format!("\"{name}\""))
        .collect::<Vec<_>>()
        .join(", ")
}

impl Error {
    /// Returns whether `error` is this rejection.
    #[must_use]
    pub fn is(&self, error: &backoffice_core::Error) -> bool {
        matches!(error, backoffice_core::Error::Rejected(rejection) if **rejection == self.rejection())
    }

    /// Returns the rejection of an undo or redo: names the field that the caller may not restore.
    pub(crate) fn while_restoring(self) -> backoffice_core::Error {
        let field = match self {
            Self::CannotDeleteSelf => "id",
            Self::CannotDeactivateSelf => "isActive",
            Self::CurrentPasswordRequired => "email",
            _ => return self.into(),
        };
        Rejection::undo_conflict(&[field]).into()
    }

    fn rejection(&self) -> Rejection {
        let text = self.to_string();
        let bad_request = || Rejection::bad_request(text.clone());
        let forbidden = || Rejection::forbidden(text.clone());
        match self {
            Self::InvalidCredentials => Rejection {
                message: text.clone().into(),
                ..Rejection::unauthorized()
            },
            Self::GrantExceedsRights {
                features,
                organizations,
            } => forbidden()
                .code("grant_exceeds_rights")
                .with("features", json!(features))
                .with("organizations", json!(organizations)),
            Self::SuperAdminRequired => forbidden().code("super_admin_required"),
            Self::CredentialsOfStronger | Self::GlobalRole => forbidden(),
            Self::LastSuperAdmin => bad_request().code("last_super_admin"),
            Self::ReservedRole { deleting: true } => Rejection::invalid(vec![Detail::new(
                "id",
                "must not be the role `superadmin`",
                "invalid_value",
            )]),
            Self::CannotDeactivateSelf => Rejection::invalid(vec![Detail::new(
                "isActive",
                "must not be false for oneself",
                "invalid_value",
            )]),
            Self::ReservedRole { deleting: false } | Self::RolesNotFound(_) | Self::OrganizationNotFound => {
                bad_request()
            }
            Self::RoleNotFound | Self::NoRolePreference | Self::VariantNotFound => Rejection::not_found(text.clone()),
            Self::InvalidRoles(missing) => bad_request().with("missing", json!(missing)),
            Self::TooManyVariants => Rejection::conflict(text.clone()).code("too_many_variants"),
            Self::DuplicateVariantName => Rejection::conflict(text.clone())
                .code("duplicate_name")
                .detail(Detail::new("name", "is already in use", "not_unique")),
            Self::RolesOfAnotherTenant => bad_request().code("roles_of_another_tenant"),
            Self::DuplicateRoleName => {
                bad_request()
                    .code("duplicate_name")
                    .detail(Detail::new("name", "is already in use", "not_unique"))
            }
            Self::RoleInUse => bad_request().code("role_in_use"),
            Self::DuplicateEmail => {
                bad_request()
                    .code("duplicate_email")
                    .detail(Detail::new("email", "is already in use", "not_unique"))
            }
            Self::CannotDeleteSelf => bad_request().code("cannot_delete_self"),
            Self::CurrentPasswordRequired => bad_request().code("current_password_required"),
            Self::CurrentPasswordIncorrect => bad_request().code("invalid_current_password"),
            Self::PasswordPolicy(code) => {
                bad_request()
                    .code("password_policy")
                    .detail(Detail::new("password", policy_text(code), *code))
            }
            Self::InvalidToken | Self::InvalidOrigin => bad_request(),
            Self::UserInactive => Rejection::conflict(text.clone()).code("user_inactive"),
            Self::UserAlreadyActive => Rejection::conflict(text.clone()).code("user_already_active"),
            Self::InvitationNotConfigured | Self::ResetNotConfigured => Rejection {
                message: text.clone().into(),
                ..server_error()
            },
            Self::ConsentExists => Rejection::conflict(text.clone()).code("consent_exists"),
            Self::HashingBusy => {
                let mut rejection = Rejection {
                    message: text.clone().into(),
                    ..too_many()
                };
                rejection.retry_after = Some(1);
                rejection
            }
        }
    }
}

fn server_error() -> Rejection {
    Rejection {
        status: actix_web::http::StatusCode::INTERNAL_SERVER_ERROR,
        ..Rejection::bad_request("")
    }
}

fn too_many() -> Rejection {
    Rejection {
        status: actix_web::http::StatusCode::TOO_MANY_REQUESTS,
        ..Rejection::bad_request("")
    }
}

pub(crate) fn policy_text(code: &str) -> &'static str {
    match code {
        "too_short" => "is too short",
        "too_long" => "is too long",
        "too_common" => "is too common",
        "equals_email" => "must differ from the e-mail address",
        _ => "contains a character that is not allowed",
    }
}

impl From<Error> for backoffice_core::Error {
    fn from(error: Error) -> Self {
        error.rejection().into()
    }
}

/// Maps the failed deletion of a row to which rows of other tables refer to the rejection `meaning`. The rows of a module that is not enabled remain, and
/// its interceptors do not run.
pub(crate) fn on_reference(meaning: Error) -> impl Fn(backoffice_core::Error) -> backoffice_core::Error {
    move |error| match error.violated_constraint() {
        Some(constraint) if constraint.ends_with("_fkey") => meaning.clone().into(),
        _ => error,
    }
}

/// Maps the violation of a unique or foreign key to the rejection `meaning`.
pub(crate) fn on_violation(
    constraint: &'static str,
    meaning: Error,
) -> impl Fn(backoffice_core::Error) -> backoffice_core::Error {
    move |error| {
        if error.violated_constraint() == Some(constraint) {
            meaning.clone().into()
        } else {
            error
        }
    }
}
