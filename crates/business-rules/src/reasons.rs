//! The reasons for which rules fail, in the languages of the platform.

use backoffice_notifications::ValueTexts;

use crate::engine::TOO_DEEP;

/// A reason with its texts.
macro_rules! reason {
    ($value:expr, [$en:literal, $pl:literal, $es:literal, $de:literal]) => {
        ValueTexts {
            value: $value,
            texts: &[("en", $en), ("pl", $pl), ("es", $es), ("de", $de)],
        }
    };
}

/// The texts of reasons, by the code that a report has. A status of a response and the message of a rejection have none, and are shown as they are.
pub(crate) const REASONS: &[ValueTexts] = &[
    reason!(
        "invalid_rule",
        [
            "The rule is not valid.",
            "Reguła jest nieprawidłowa.",
            "La regla no es válida.",
            "Die Regel ist ungültig."
        ]
    ),
    reason!(
        "too_many_steps",
        [
            "Its condition needs too many comparisons.",
            "Warunek reguły wymaga zbyt wielu porównań.",
            "Su condición requiere demasiadas comparaciones.",
            "Die Bedingung braucht zu viele Vergleiche."
        ]
    ),
    reason!(
        "timeout",
        [
            "It took too long.",
            "Wykonanie trwało zbyt długo.",
            "La ejecución tardó demasiado.",
            "Die Ausführung hat zu lange gedauert."
        ]
    ),
    reason!(
        "texts_too_long",
        [
            "The texts of its actions are too long.",
            "Teksty jej akcji są zbyt długie.",
            "Los textos de sus acciones son demasiado largos.",
            "Die Texte der Aktionen sind zu lang."
        ]
    ),
    reason!(
        "document_too_deep",
        [
            "The values of an action are nested too deeply.",
            "Wartości akcji są zbyt głęboko zagnieżdżone.",
            "Los valores de una acción están anidados a demasiada profundidad.",
            "Die Werte einer Aktion sind zu tief verschachtelt."
        ]
    ),
    reason!(
        "entity_not_found",
        [
            "The record does not exist.",
            "Rekord nie istnieje.",
            "El registro no existe.",
            "Der Datensatz existiert nicht."
        ]
    ),
    reason!(
        "invalid_payload",
        [
            "The data of an event is not valid.",
            "Dane zdarzenia są nieprawidłowe.",
            "Los datos de un evento no son válidos.",
            "Die Daten eines Ereignisses sind ungültig."
        ]
    ),
    reason!(
        "invalid_link",
        [
            "The link of a notification is not valid.",
            "Odnośnik w powiadomieniu jest nieprawidłowy.",
            "El enlace de una notificación no es válido.",
            "Der Link einer Benachrichtigung ist ungültig."
        ]
    ),
    reason!(
        "invalid_url",
        [
            "The address of a webhook is not valid.",
            "Adres webhooka jest nieprawidłowy.",
            "La dirección de un webhook no es válida.",
            "Die Adresse eines Webhooks ist ungültig."
        ]
    ),
    reason!(
        "invalid_endpoint",
        [
            "The address of a call of the platform is not valid.",
            "Adres wywołania platformy jest nieprawidłowy.",
            "La dirección de una llamada a la plataforma no es válida.",
            "Die Adresse eines Aufrufs der Plattform ist ungültig."
        ]
    ),
    reason!(
        "body_too_long",
        [
            "The body of a webhook or of a call of the platform is too long.",
            "Treść webhooka lub wywołania platformy jest zbyt długa.",
            "El cuerpo de un webhook o de una llamada a la plataforma es demasiado largo.",
            "Der Body eines Webhooks oder eines Aufrufs der Plattform ist zu lang."
        ]
    ),
    reason!(
        "no_recipients",
        [
            "A notification has no recipients.",
            "Powiadomienie nie ma odbiorców.",
            "Una notificación no tiene destinatarios.",
            "Eine Benachrichtigung hat keine Empfänger."
        ]
    ),
    reason!(
        "too_many_recipients",
        [
            "The notifications have too many recipients.",
            "Powiadomienia mają zbyt wielu odbiorców.",
            "Las notificaciones tienen demasiados destinatarios.",
            "Die Benachrichtigungen haben zu viele Empfänger."
        ]
    ),
    reason!(
        "unavailable",
        [
            "The platform was not available.",
            "Platforma była niedostępna.",
            "La plataforma no estaba disponible.",
            "Die Plattform war nicht verfügbar."
        ]
    ),
    reason!(
        "internal_error",
        [
            "An internal error occurred.",
            "Wystąpił błąd wewnętrzny.",
            "Se produjo un error interno.",
            "Ein interner Fehler ist aufgetreten."
        ]
    ),
    reason!(
        TOO_DEEP,
        [
            "Rules start each other too many times.",
            "Reguły zbyt wiele razy uruchamiają się nawzajem.",
            "Las reglas se inician entre sí demasiadas veces.",
            "Regeln lösen einander zu oft aus."
        ]
    ),
    reason!(
        "CALL_PLATFORM: api_key_not_available",
        [
            "A call of the platform failed: its API key is not available.",
            "Wywołanie platformy nie powiodło się: klucz API jest niedostępny.",
            "Una llamada a la plataforma falló: su clave de API no está disponible.",
            "Ein Aufruf der Plattform ist fehlgeschlagen: Der API-Schlüssel ist nicht verfügbar."
        ]
    ),
    reason!(
        "CALL_PLATFORM: endpoint_not_available",
        [
            "A call of the platform failed: rules may not call the endpoint.",
            "Wywołanie platformy nie powiodło się: reguły nie mogą wywoływać tego punktu końcowego.",
            "Una llamada a la plataforma falló: las reglas no pueden llamar a este punto de acceso.",
            "Ein Aufruf der Plattform ist fehlgeschlagen: Regeln dürfen diesen Endpunkt nicht aufrufen."
        ]
    ),
    reason!(
        "CALL_PLATFORM: timeout",
        [
            "A call of the platform failed: it took too long.",
            "Wywołanie platformy nie powiodło się: trwało zbyt długo.",
            "Una llamada a la plataforma falló: tardó demasiado.",
            "Ein Aufruf der Plattform ist fehlgeschlagen: Er hat zu lange gedauert."
        ]
    ),
    reason!(
        "CALL_PLATFORM: unavailable",
        [
            "A call of the platform failed: the platform was not available.",
            "Wywołanie platformy nie powiodło się: platforma była niedostępna.",
            "Una llamada a la plataforma falló: la plataforma no estaba disponible.",
            "Ein Aufruf der Plattform ist fehlgeschlagen: Die Plattform war nicht verfügbar."
        ]
    ),
    reason!(
        "CALL_PLATFORM: internal_error",
        [
            "A call of the platform failed: an internal error occurred.",
            "Wywołanie platformy nie powiodło się: wystąpił błąd wewnętrzny.",
            "Una llamada a la plataforma falló: se produjo un error interno.",
            "Ein Aufruf der Plattform ist fehlgeschlagen: Ein interner Fehler ist aufgetreten."
        ]
    ),
    reason!(
        "webhook: egress_refused",
        [
            "A webhook was not sent: requests to its address are not allowed.",
            "Webhook nie został wysłany: żądania pod ten adres są niedozwolone.",
            "No se envió un webhook: no se permiten peticiones a su dirección.",
            "Ein Webhook wurde nicht gesendet: Anfragen an die Adresse sind nicht erlaubt."
        ]
    ),
    reason!(
        "webhook: invalid_request",
        [
            "A webhook was not sent: its address or one of its headers is not valid.",
            "Webhook nie został wysłany: jego adres lub jeden z nagłówków jest nieprawidłowy.",
            "No se envió un webhook: su dirección o una de sus cabeceras no es válida.",
            "Ein Webhook wurde nicht gesendet: Die Adresse oder ein Header ist ungültig."
        ]
    ),
    reason!(
        "webhook: unreadable_secret",
        [
            "A webhook was not sent: its secret can't be read.",
            "Webhook nie został wysłany: nie można odczytać jego sekretu.",
            "No se envió un webhook: no se puede leer su secreto.",
            "Ein Webhook wurde nicht gesendet: Das Geheimnis kann nicht gelesen werden."
        ]
    ),
    reason!(
        "webhook: no_client",
        [
            "A webhook was not sent: an internal error occurred.",
            "Webhook nie został wysłany: wystąpił błąd wewnętrzny.",
            "No se envió un webhook: se produjo un error interno.",
            "Ein Webhook wurde nicht gesendet: Ein interner Fehler ist aufgetreten."
        ]
    ),
    reason!(
        "webhook: timeout",
        [
            "The receiver of a webhook did not respond in time.",
            "Odbiorca webhooka nie odpowiedział na czas.",
            "El receptor de un webhook no respondió a tiempo.",
            "Der Empfänger eines Webhooks hat nicht rechtzeitig geantwortet."
        ]
    ),
    reason!(
        "webhook: no_response",
        [
            "The receiver of a webhook did not respond.",
            "Odbiorca webhooka nie odpowiedział.",
            "El receptor de un webhook no respondió.",
            "Der Empfänger eines Webhooks hat nicht geantwortet."
        ]
    ),
];
