//! Texts of the pages and mails, in each language.

mod de;
mod en;
mod es;
mod pl;

/// The texts of one language.
pub(crate) struct Texts {
    /// Base code.
    pub(crate) code: &'static str,
    /// Salutation of mails; `{name}` is the first name.
    pub(crate) greeting: &'static str,
    pub(crate) verification_mail: MailTexts,
    pub(crate) existing_mail: MailTexts,
    pub(crate) ready_mail: MailTexts,
    pub(crate) pages: PageTexts,
}

/// One kind of mail. `{organization}` is the name that the person entered.
pub(crate) struct MailTexts {
    pub(crate) subject: &'static str,
    pub(crate) lines: &'static [&'static str],
    pub(crate) button: &'static str,
    pub(crate) hint: &'static str,
}

/// The texts of the pages. `{min}` and `{max}` are numbers of characters.
pub(crate) struct PageTexts {
    pub(crate) sign_up_title: &'static str,
    pub(crate) sign_up_text: &'static str,
    pub(crate) email: &'static str,
    pub(crate) first_name: &'static str,
    pub(crate) last_name: &'static str,
    pub(crate) organization: &'static str,
    pub(crate) password: &'static str,
    pub(crate) password_rules: &'static str,
    pub(crate) repeat: &'static str,
    pub(crate) terms: &'static str,
    pub(crate) marketing: &'static str,
    pub(crate) submit: &'static str,
    pub(crate) to_sign_in: &'static str,
    pub(crate) invalid_link: &'static str,
    pub(crate) correct_fields: &'static str,

    pub(crate) sent_title: &'static str,
    pub(crate) sent_text: &'static str,
    pub(crate) sent_hint: &'static str,
    pub(crate) preparing_title: &'static str,
    pub(crate) preparing_text: &'static str,
    /// Shown in a browser other than that of the submission, after the confirmation.
    pub(crate) elsewhere_title: &'static str,
    pub(crate) elsewhere_text: &'static str,
    /// Shown in a browser without the cookie of the submission.
    pub(crate) unknown_title: &'static str,
    pub(crate) unknown_text: &'static str,
    pub(crate) ready_title: &'static str,
    pub(crate) ready_text: &'static str,
    pub(crate) expired_title: &'static str,
    pub(crate) expired_text: &'static str,
    pub(crate) failed_title: &'static str,
    pub(crate) failed_text: &'static str,
    pub(crate) again: &'static str,
    pub(crate) leading_title: &'static str,
    pub(crate) leading_text: &'static str,
    pub(crate) go_on: &'static str,

    pub(crate) rejected_title: &'static str,
    /// `{wait}` is the time after which another attempt is allowed.
    pub(crate) too_many: &'static str,
    /// The same, for the link of a mail.
    pub(crate) too_many_uses: &'static str,
    pub(crate) open_again: &'static str,
    pub(crate) unavailable: &'static str,
    /// The form or the origin of the request is not that of this site.
    pub(crate) unreadable: &'static str,

    pub(crate) verify_title: &'static str,
    pub(crate) verify_text: &'static str,
    pub(crate) confirm: &'static str,
    pub(crate) wrong_password: &'static str,

    pub(crate) missing: &'static str,
    pub(crate) invalid: &'static str,
    pub(crate) too_long: &'static str,
    pub(crate) email_malformed: &'static str,
    pub(crate) differs: &'static str,
    pub(crate) terms_missing: &'static str,
    pub(crate) password_too_short: &'static str,
    pub(crate) password_too_long: &'static str,
    pub(crate) password_too_common: &'static str,
    pub(crate) password_equals_email: &'static str,
}

impl Texts {
    /// Returns the texts of a locale; in English if there are none.
    pub(crate) fn of(locale: &str) -> &'static Self {
        [&en::EN, &pl::PL, &es::ES, &de::DE]
            .into_iter()
            .find(|texts| texts.code == locale)
            .unwrap_or(&en::EN)
    }
}

impl PageTexts {
    /// Returns the message for the problem with a field.
    pub(crate) const fn problem(&self, field: &str, code: &str) -> &'static str {
        match (field.as_bytes(), code.as_bytes()) {
            (b"termsAccepted", _) => self.terms_missing,
            (_, b"required") => self.missing,
            (b"confirmPassword", _) => self.differs,
            (b"email", b"invalid_value") => self.email_malformed,
            (b"password", b"too_short") => self.password_too_short,
            (b"password", b"too_long") => self.password_too_long,
            (b"password", b"too_common") => self.password_too_common,
            (b"password", b"equals_email") => self.password_equals_email,
            (_, b"too_long") => self.too_long,
            _ => self.invalid,
        }
    }
}
