//! Texts of the mails that the types do not have.

/// The texts of a language.
#[derive(Debug)]
pub(crate) struct MailTexts {
    code: &'static str,
    /// The button that opens the page of the notification.
    pub(crate) open: &'static str,
    /// The last paragraph.
    pub(crate) hint: &'static str,
}

const ALL: [MailTexts; 4] = [
    MailTexts {
        code: "en",
        open: "Open",
        hint: "You get this mail because your notification settings ask for it.",
    },
    MailTexts {
        code: "pl",
        open: "Otwórz",
        hint: "Ta wiadomość została wysłana zgodnie z Twoimi ustawieniami powiadomień.",
    },
    MailTexts {
        code: "es",
        open: "Abrir",
        hint: "Recibes este correo porque así lo indican tus ajustes de notificaciones.",
    },
    MailTexts {
        code: "de",
        open: "Öffnen",
        hint: "Sie erhalten diese E-Mail, weil Ihre Einstellungen für Benachrichtigungen es so vorsehen.",
    },
];

/// Returns the texts of a language; in English if there are none.
pub(crate) fn of(locale: &str) -> &'static MailTexts {
    ALL.iter().find(|texts| texts.code == locale).unwrap_or(&ALL[0])
}
