//! Texts of the pages, in each language.

mod de;
mod en;
mod es;
mod pl;

/// All languages; the first is the fallback.
pub(super) const ALL: [&Texts; 4] = [&en::EN, &pl::PL, &es::ES, &de::DE];

/// The texts of one language. `{wait}` is a duration with its unit, `{min}` and `{max}` are numbers of characters.
pub(super) struct Texts {
    /// Base code, for `lang`.
    pub(super) code: &'static str,
    /// The name of the language in that language.
    pub(super) name: &'static str,
    pub(super) language: &'static str,
    pub(super) no_script: &'static str,

    pub(super) sign_in_title: &'static str,
    pub(super) email: &'static str,
    pub(super) password: &'static str,
    pub(super) remember: &'static str,
    pub(super) sign_in: &'static str,
    pub(super) forgot: &'static str,
    pub(super) show_password: &'static str,
    pub(super) hide_password: &'static str,
    pub(super) show: &'static str,
    pub(super) hide: &'static str,
    pub(super) choose_title: &'static str,
    pub(super) choose_text: &'static str,
    pub(super) back: &'static str,
    pub(super) signed_in: &'static str,

    pub(super) home_title: &'static str,
    pub(super) signed_in_as: &'static str,
    pub(super) tenant: &'static str,
    pub(super) organization: &'static str,
    pub(super) sign_out: &'static str,
    pub(super) documentation: &'static str,

    pub(super) request_title: &'static str,
    pub(super) request_text: &'static str,
    pub(super) send: &'static str,
    pub(super) sent_title: &'static str,
    pub(super) sent_text: &'static str,
    pub(super) sent_hint: &'static str,
    pub(super) to_sign_in: &'static str,
    pub(super) checking: &'static str,
    pub(super) retry: &'static str,
    pub(super) dead_title: &'static str,
    pub(super) dead_text: &'static str,
    pub(super) new_title: &'static str,
    pub(super) new_password: &'static str,
    pub(super) repeat: &'static str,
    pub(super) rules: &'static str,
    pub(super) save: &'static str,
    pub(super) saved: &'static str,

    pub(super) email_missing: &'static str,
    pub(super) email_malformed: &'static str,
    pub(super) password_missing: &'static str,
    pub(super) new_password_missing: &'static str,
    pub(super) differs: &'static str,
    pub(super) too_short: &'static str,
    pub(super) too_long: &'static str,
    pub(super) too_common: &'static str,
    pub(super) equals_email: &'static str,
    pub(super) rejected: &'static str,
    pub(super) wrong: &'static str,
    pub(super) forbidden: &'static str,
    pub(super) too_many: &'static str,
    pub(super) no_mail: &'static str,
    pub(super) no_cookies: &'static str,
    pub(super) offline: &'static str,
    pub(super) failed: &'static str,
}
