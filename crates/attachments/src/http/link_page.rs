//! Pages for people who open a link that sends no file.

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use backoffice_core::http::{PageNotice, Raw, rejection_page};
use backoffice_core::{Call, Rejection};

/// Title and text of a page.
type Words = (&'static str, &'static str);

/// The pages in one language.
struct Texts {
    code: &'static str,
    /// The link does not work any more, or never has.
    dead: Words,
    /// `{wait}` is the time after which the link may be opened again.
    too_many: Words,
    /// The file can't be read.
    failed: Words,
}

const ALL: [Texts; 4] = [
    Texts {
        code: "en",
        dead: (
            "This link does not work",
            "It has expired, was used as often as allowed, was withdrawn, or is incomplete. Ask the person who sent it to you for a new one.",
        ),
        too_many: ("Too many downloads", "Wait {wait} and open the link again."),
        failed: ("The file can't be downloaded at the moment", "Try again later."),
    },
    Texts {
        code: "pl",
        dead: (
            "Ten link nie działa",
            "Wygasł, został użyty dozwoloną liczbę razy, został wycofany albo jest niepełny. Poproś o nowy osobę, która go wysłała.",
        ),
        too_many: ("Zbyt wiele pobrań", "Odczekaj {wait} i otwórz link ponownie."),
        failed: ("Pliku nie można teraz pobrać", "Spróbuj ponownie później."),
    },
    Texts {
        code: "es",
        dead: (
            "Este enlace no funciona",
            "Ha caducado, se ha usado todas las veces permitidas, se ha retirado o está incompleto. Pide uno nuevo a la persona que te lo envió.",
        ),
        too_many: ("Demasiadas descargas", "Espera {wait} y vuelve a abrir el enlace."),
        failed: (
            "El archivo no se puede descargar en este momento",
            "Inténtalo más tarde.",
        ),
    },
    Texts {
        code: "de",
        dead: (
            "Dieser Link funktioniert nicht",
            "Er ist abgelaufen, wurde so oft wie erlaubt benutzt, wurde zurückgezogen oder ist unvollständig. Bitten Sie die Person, die ihn geschickt hat, um einen neuen.",
        ),
        too_many: (
            "Zu viele Downloads",
            "Warten Sie {wait} und öffnen Sie den Link erneut.",
        ),
        failed: (
            "Die Datei kann zurzeit nicht heruntergeladen werden",
            "Versuchen Sie es später erneut.",
        ),
    },
];

/// Writes a rejection as a page; `None` for programs.
pub(super) fn rejection(call: &Call, request: &HttpRequest, rejection: &Rejection) -> Option<Raw> {
    rejection_page(call, request, rejection, &|language: &str| {
        let texts = ALL.iter().find(|texts| texts.code == language).unwrap_or(&ALL[0]);
        let (title, text) = match rejection.status {
            StatusCode::TOO_MANY_REQUESTS => texts.too_many,
            status if status.is_server_error() => texts.failed,
            _ => texts.dead,
        };
        PageNotice {
            title,
            text,
            links: Vec::new(),
        }
    })
}
