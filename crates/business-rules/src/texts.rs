//! The types of notifications of this module.

use backoffice_notifications::{Channels, NotificationType, TypeTexts};

use crate::reasons::REASONS;

/// What a rule notifies users of, in its own words.
pub(crate) const NOTIFIED: NotificationType = NotificationType {
    id: "business_rules.notified",
    channels: Channels {
        in_app: true,
        push: false,
        email: false,
    },
    texts: &[
        TypeTexts {
            locale: "en",
            name: "Notifications of business rules",
            title: "{subject}",
            body: "{message}",
        },
        TypeTexts {
            locale: "pl",
            name: "Powiadomienia reguł biznesowych",
            title: "{subject}",
            body: "{message}",
        },
        TypeTexts {
            locale: "es",
            name: "Notificaciones de reglas de negocio",
            title: "{subject}",
            body: "{message}",
        },
        TypeTexts {
            locale: "de",
            name: "Benachrichtigungen der Geschäftsregeln",
            title: "{subject}",
            body: "{message}",
        },
    ],
    values: &[],
};

/// A rule that an event has started has failed.
pub(crate) const FAILED: NotificationType = NotificationType {
    id: "business_rules.rule.execution_failed",
    channels: Channels {
        in_app: true,
        push: false,
        email: false,
    },
    texts: &[
        TypeTexts {
            locale: "en",
            name: "Failed business rules",
            title: "The rule {rule} has failed",
            body: "{reason}",
        },
        TypeTexts {
            locale: "pl",
            name: "Nieudane reguły biznesowe",
            title: "Reguła „{rule}” nie powiodła się",
            body: "Przyczyna: {reason}",
        },
        TypeTexts {
            locale: "es",
            name: "Reglas de negocio fallidas",
            title: "La regla «{rule}» ha fallado",
            body: "Motivo: {reason}",
        },
        TypeTexts {
            locale: "de",
            name: "Fehlgeschlagene Geschäftsregeln",
            title: "Die Regel „{rule}“ ist fehlgeschlagen",
            body: "Grund: {reason}",
        },
    ],
    values: REASONS,
};
