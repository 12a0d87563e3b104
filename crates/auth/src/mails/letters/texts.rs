//! Texts of the mails. `{tenant}` is the name of the recipient's tenant, `{name}` that of the recipient, and `{life}` how long a link works.

use super::life::Units;

/// One kind of mail.
pub(super) struct Letter {
    pub(super) subject: &'static str,
    pub(super) lines: &'static [&'static str],
    /// Label of the link; unused without a link.
    pub(super) button: &'static str,
    pub(super) hint: &'static str,
}

/// The mails in one language.
pub(super) struct Texts {
    pub(super) code: &'static str,
    pub(super) units: Units,
    pub(super) greeting: &'static str,
    pub(super) greeting_name: &'static str,
    pub(super) reset: Letter,
    pub(super) invitation: Letter,
    pub(super) address_changed: Letter,
    pub(super) password_set: Letter,
}

impl Texts {
    /// Returns the texts of a locale; in English if there are none.
    pub(super) fn of(locale: &str) -> &'static Self {
        [&EN, &PL, &ES, &DE]
            .into_iter()
            .find(|texts| texts.code == locale)
            .unwrap_or(&EN)
    }
}

static EN: Texts = Texts {
    code: "en",
    units: Units {
        days: ["day", "days", "days"],
        hours: ["hour", "hours", "hours"],
        minutes: ["minute", "minutes", "minutes"],
        seconds: ["second", "seconds", "seconds"],
    },
    greeting: "Hello,",
    greeting_name: "Hello {name},",
    reset: Letter {
        subject: "Set a new password for {tenant}",
        lines: &["Somebody asked for a new password for your account at {tenant}. If that was you, choose one here:"],
        button: "Choose a new password",
        hint: "The link works once, for {life}. If you did not ask for it, do nothing: your password stays as it is.",
    },
    invitation: Letter {
        subject: "Your account at {tenant}",
        lines: &["An account at {tenant} has been created for you. Choose a password to sign in:"],
        button: "Choose a password",
        hint: "The link works once, for {life}. If it has expired, ask the person who invited you to send another one.",
    },
    address_changed: Letter {
        subject: "Your e-mail address at {tenant} was changed",
        lines: &[
            "Your account at {tenant} has a new e-mail address. From now on you sign in with that one, and no further mail comes to this address.",
        ],
        button: "",
        hint: "If you did not change it, tell an administrator at once.",
    },
    password_set: Letter {
        subject: "Your password at {tenant} was set",
        lines: &[
            "Somebody else, usually an administrator, has set the password of your account at {tenant}. All your sessions have ended; sign in with the new one, which this mail does not contain.",
        ],
        button: "",
        hint: "If you did not expect this, tell an administrator at once.",
    },
};

static PL: Texts = Texts {
    code: "pl",
    units: Units {
        days: ["dzień", "dni", "dni"],
        hours: ["godzinę", "godziny", "godzin"],
        minutes: ["minutę", "minuty", "minut"],
        seconds: ["sekundę", "sekundy", "sekund"],
    },
    greeting: "Dzień dobry,",
    greeting_name: "Dzień dobry, {name},",
    reset: Letter {
        subject: "Ustaw nowe hasło: {tenant}",
        lines: &["Ktoś poprosił o nowe hasło do Twojego konta ({tenant}). Jeśli to Ty, ustaw je tutaj:"],
        button: "Ustaw nowe hasło",
        hint: "Link działa tylko raz, przez {life}. Jeśli to nie Ty, nic nie rób: Twoje hasło pozostanie bez zmian.",
    },
    invitation: Letter {
        subject: "Twoje konto: {tenant}",
        lines: &["Utworzono dla Ciebie konto ({tenant}). Ustaw hasło, aby się zalogować:"],
        button: "Ustaw hasło",
        hint: "Link działa tylko raz, przez {life}. Jeśli wygasł, poproś osobę, która Cię zaprosiła, o wysłanie nowego.",
    },
    address_changed: Letter {
        subject: "Zmieniono Twój adres e-mail: {tenant}",
        lines: &[
            "Twoje konto ({tenant}) ma nowy adres e-mail. Od teraz logujesz się tym adresem, a na ten nie przyjdą już żadne wiadomości.",
        ],
        button: "",
        hint: "Jeśli to nie Ty zmieniłeś lub zmieniłaś adres, natychmiast powiadom administratora.",
    },
    password_set: Letter {
        subject: "Ustawiono Twoje hasło: {tenant}",
        lines: &[
            "Ktoś inny, zwykle administrator, ustawił hasło do Twojego konta ({tenant}). Wszystkie Twoje sesje zostały zakończone; zaloguj się nowym hasłem, którego ta wiadomość nie zawiera.",
        ],
        button: "",
        hint: "Jeśli się tego nie spodziewasz, natychmiast powiadom administratora.",
    },
};

static ES: Texts = Texts {
    code: "es",
    units: Units {
        days: ["día", "días", "días"],
        hours: ["hora", "horas", "horas"],
        minutes: ["minuto", "minutos", "minutos"],
        seconds: ["segundo", "segundos", "segundos"],
    },
    greeting: "Hola:",
    greeting_name: "Hola, {name}:",
    reset: Letter {
        subject: "Nueva contraseña para {tenant}",
        lines: &["Alguien ha pedido una contraseña nueva para tu cuenta en {tenant}. Si has sido tú, elígela aquí:"],
        button: "Elegir una contraseña nueva",
        hint: "El enlace funciona una sola vez, durante {life}. Si no lo has pedido, no hagas nada: tu contraseña no cambia.",
    },
    invitation: Letter {
        subject: "Tu cuenta en {tenant}",
        lines: &["Se ha creado una cuenta para ti en {tenant}. Elige una contraseña para iniciar sesión:"],
        button: "Elegir una contraseña",
        hint: "El enlace funciona una sola vez, durante {life}. Si ha caducado, pide otro a la persona que te invitó.",
    },
    address_changed: Letter {
        subject: "Tu dirección de correo en {tenant} ha cambiado",
        lines: &[
            "Tu cuenta en {tenant} tiene una dirección de correo nueva. A partir de ahora inicias sesión con ella y no llegarán más mensajes a esta.",
        ],
        button: "",
        hint: "Si no la has cambiado tú, avisa de inmediato a un administrador.",
    },
    password_set: Letter {
        subject: "Se estableció tu contraseña en {tenant}",
        lines: &[
            "Otra persona, normalmente un administrador, ha establecido la contraseña de tu cuenta en {tenant}. Todas tus sesiones han terminado; inicia sesión con la nueva, que este correo no contiene.",
        ],
        button: "",
        hint: "Si no lo esperabas, avisa de inmediato a un administrador.",
    },
};

static DE: Texts = Texts {
    code: "de",
    units: Units {
        days: ["Tag", "Tage", "Tage"],
        hours: ["Stunde", "Stunden", "Stunden"],
        minutes: ["Minute", "Minuten", "Minuten"],
        seconds: ["Sekunde", "Sekunden", "Sekunden"],
    },
    greeting: "Guten Tag,",
    greeting_name: "Guten Tag {name},",
    reset: Letter {
        subject: "Neues Passwort für {tenant}",
        lines: &[
            "Für Ihr Konto bei {tenant} wurde ein neues Passwort angefordert. Wenn Sie das waren, legen Sie es hier fest:",
        ],
        button: "Neues Passwort festlegen",
        hint: "Der Link funktioniert einmal, {life} lang. Haben Sie ihn nicht angefordert, tun Sie nichts: Ihr Passwort bleibt, wie es ist.",
    },
    invitation: Letter {
        subject: "Ihr Konto bei {tenant}",
        lines: &["Für Sie wurde ein Konto bei {tenant} angelegt. Legen Sie ein Passwort fest, um sich anzumelden:"],
        button: "Passwort festlegen",
        hint: "Der Link funktioniert einmal, {life} lang. Ist er abgelaufen, bitten Sie die Person, die Sie eingeladen hat, um einen neuen.",
    },
    address_changed: Letter {
        subject: "Ihre E-Mail-Adresse bei {tenant} wurde geändert",
        lines: &[
            "Ihr Konto bei {tenant} hat eine neue E-Mail-Adresse. Ab jetzt melden Sie sich mit ihr an, und an diese Adresse kommen keine Nachrichten mehr.",
        ],
        button: "",
        hint: "Wenn Sie das nicht waren, informieren Sie sofort einen Administrator.",
    },
    password_set: Letter {
        subject: "Ihr Passwort bei {tenant} wurde gesetzt",
        lines: &[
            "Jemand anderes, meist die Verwaltung, hat das Passwort Ihres Kontos bei {tenant} gesetzt. Alle Ihre Sitzungen sind beendet; melden Sie sich mit dem neuen an, das diese Nachricht nicht enthält.",
        ],
        button: "",
        hint: "Wenn Sie das nicht erwartet haben, wenden Sie sich sofort an die Verwaltung.",
    },
};
