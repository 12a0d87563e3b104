//! The form of the sign-up, and its rules.

use backoffice_auth::{AccountEmail, Accounts, is_valid_address};
use backoffice_core::input::{Input, Validator, rules, schema};
use backoffice_core::{Detail, text_schemas};
use backoffice_directory::config::Settings;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};
use utoipa::openapi::schema::{AnyOfBuilder, Type};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Longest first name and last name, in characters.
const LONGEST_NAME: usize = 120;
/// Longest name of a tenant, in characters.
const LONGEST_ORGANIZATION: usize = 200;
/// Longest address, in characters.
const LONGEST_EMAIL: usize = 254;

/// Values of a ticked box.
const TICKED: [&str; 3] = ["true", "on", "1"];
/// Values of a box that is not ticked.
const NOT_TICKED: [&str; 4] = ["false", "off", "0", ""];

/// A box that is ticked or not: a boolean, or the value that forms send.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ticked(pub(crate) bool);

impl<'de> Deserialize<'de> for Ticked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Value;

        impl Visitor<'_> for Value {
            type Value = Ticked;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a boolean")
            }

            fn visit_bool<E>(self, value: bool) -> Result<Ticked, E> {
                Ok(Ticked(value))
            }

            fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Ticked, E> {
                if TICKED.contains(&value) {
                    Ok(Ticked(true))
                } else if NOT_TICKED.contains(&value) {
                    Ok(Ticked(false))
                } else {
                    Err(E::invalid_value(serde::de::Unexpected::Str(value), &self))
                }
            }
        }

        deserializer.deserialize_any(Value)
    }
}

impl PartialSchema for Ticked {
    fn schema() -> RefOr<Schema> {
        let words = TICKED.into_iter().chain(NOT_TICKED);
        AnyOfBuilder::new()
            .item(ObjectBuilder::new().schema_type(Type::Boolean))
            .item(ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)))
            .description(Some("A boolean, or the value of a box in a form."))
            .into()
    }
}

impl ToSchema for Ticked {}

text_schemas! {
    /// A first name or last name.
    PersonName: schema::line(LONGEST_NAME);
    /// The name of a tenant and of its first organization.
    OrganizationName: schema::line(LONGEST_ORGANIZATION);
}

/// The form of the sign-up.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Submission {
    /// Address to which the mail is sent.
    #[serde(default)]
    #[schema(required = true, value_type = AccountEmail)]
    pub(crate) email: String,
    /// First name.
    #[serde(default)]
    #[schema(required = true, value_type = PersonName)]
    pub(crate) first_name: String,
    /// Last name.
    #[serde(default)]
    #[schema(required = true, value_type = PersonName)]
    pub(crate) last_name: String,
    /// Name of the future tenant and of its first organization.
    #[serde(default)]
    #[schema(required = true, value_type = OrganizationName)]
    pub(crate) organization_name: String,
    /// 8 to 256 characters in NFC, unless the configuration has other bounds; not a common password, and not the address.
    #[serde(default)]
    #[schema(required = true, value_type = String, format = Password, min_length = 8, max_length = 256)]
    pub(crate) password: SecretString,
    /// The same password.
    #[serde(default)]
    #[schema(required = true, value_type = String, format = Password)]
    pub(crate) confirm_password: SecretString,
    /// Must be true.
    #[serde(default)]
    #[schema(required = true)]
    pub(crate) terms_accepted: Ticked,
    /// Whether the person agrees to advertising.
    #[serde(default)]
    pub(crate) marketing_consent: Ticked,
    /// Language of the mails; by default, and if it is not supported, that of the platform.
    pub(crate) locale: Option<String>,
    /// Token of the form, 43 characters of base64url. A further submission with the same token and the same values is the same request, and the token is
    /// its `statusToken`. Without a token, every submission is a request of its own.
    pub(crate) form_token: Option<String>,
    /// For a client that accepts HTML: shows the form with the given values in this language, and submits nothing. Passwords are not shown again.
    pub(crate) language: Option<String>,
}

/// The values of a valid form.
#[derive(Debug, Clone)]
pub(crate) struct Checked {
    pub(crate) email: String,
    pub(crate) first_name: String,
    pub(crate) last_name: String,
    pub(crate) organization_name: String,
    pub(crate) locale: String,
}

impl Input for Submission {
    /// The repetition as well: it must be the same.
    const ACCEPTS_NUL: &'static [&'static str] = &["password", "confirmPassword"];

    /// Validates all but the password, whose policy is configured.
    fn validate(&self, validator: &mut Validator) {
        let email = self.email.trim();
        if email.is_empty() {
            validator.reject("email", "is required", "required");
        } else if email.chars().count() > LONGEST_EMAIL {
            validator.reject("email", "must be at most 254 characters long", "too_long");
        } else if !is_valid_address(email) {
            validator.reject("email", "must be an e-mail address", "invalid_value");
        }
        line(validator, "firstName", &self.first_name, LONGEST_NAME);
        line(validator, "lastName", &self.last_name, LONGEST_NAME);
        line(
            validator,
            "organizationName",
            &self.organization_name,
            LONGEST_ORGANIZATION,
        );
        if self.password.expose_secret().is_empty() {
            validator.reject("password", "is required", "required");
        }
        let (password, repeated) = (self.password.expose_secret(), self.confirm_password.expose_secret());
        if repeated.is_empty() {
            validator.reject("confirmPassword", "is required", "required");
        } else if !password.is_empty() && repeated != password {
            validator.reject("confirmPassword", "must be the same as the password", "invalid_value");
        }
        if !self.terms_accepted.0 {
            validator.reject("termsAccepted", "must be true", "required");
        }
    }
}

/// Returns a required text of one line, without surrounding spaces; empty if it is rejected.
fn line(validator: &mut Validator, path: &str, text: &str, max: usize) -> String {
    let text = text.trim();
    if text.is_empty() {
        validator.reject(path, "is required", "required");
        return String::new();
    }
    validator.accept(path, rules::line(max)(text)).unwrap_or_default()
}

impl Submission {
    /// Validates the form; returns everything that is wrong with it.
    pub(crate) fn check(&self, accounts: &Accounts, settings: &Settings) -> Result<Checked, Vec<Detail>> {
        let mut validator = Validator::default();
        self.validate(&mut validator);
        if !self.password.expose_secret().is_empty()
            && let Some(problem) = accounts.password_problem(&self.password, self.email.trim())
        {
            validator.note(problem.into());
        }
        let details = validator.into_details();
        if !details.is_empty() {
            return Err(details);
        }
        let line = |text: &str, max| rules::line(max)(text.trim()).unwrap_or_default();
        Ok(Checked {
            email: self.email.trim().to_owned(),
            first_name: line(&self.first_name, LONGEST_NAME),
            last_name: line(&self.last_name, LONGEST_NAME),
            organization_name: line(&self.organization_name, LONGEST_ORGANIZATION),
            locale: self.supported_locale(settings),
        })
    }

    fn supported_locale(&self, settings: &Settings) -> String {
        let requested = self.locale.as_deref().unwrap_or_default();
        let base = requested.split(['-', '_']).next().unwrap_or_default();
        let served = &settings.i18n.locales;
        let found = served.iter().find(|locale| locale.eq_ignore_ascii_case(base));
        found.unwrap_or(&settings.i18n.default).clone()
    }
}
