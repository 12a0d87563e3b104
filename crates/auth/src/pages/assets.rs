//! Style, script and icon of the pages. Their addresses contain a hash of their content, so browsers may cache them permanently.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use actix_web::{HttpResponse, web};
use backoffice_core::http::Pages;
use backoffice_core::text::hex;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("../../assets/pages.css");
const SCRIPT: &str = include_str!("../../assets/pages.js");
const ICON: &str = include_str!("../../assets/icon.svg");

/// Name, type and content.
const FILES: [(&str, &str, &str); 3] = [
    ("pages.css", "text/css; charset=utf-8", STYLE),
    ("pages.js", "text/javascript; charset=utf-8", SCRIPT),
    ("icon.svg", "image/svg+xml", ICON),
];

/// Addresses of the files.
pub(super) struct Assets {
    pub(super) style: String,
    pub(super) script: String,
    pub(super) icon: String,
}

impl Assets {
    pub(super) fn new() -> Self {
        let version = version();
        let address = |name: &str| format!("/assets/auth/{version}/{name}");
        Self {
            style: address("pages.css"),
            script: address("pages.js"),
            icon: address("icon.svg"),
        }
    }
}

/// Declares the files. During a rollout, an address may contain the version of another release: it returns the present content, uncached.
pub(super) fn declare(pages: &mut Pages<'_>) {
    let current = version();
    for (name, content_type, content) in FILES {
        let current = current.clone();
        pages.get(
            format!("/assets/auth/{{version:[0-9a-f]{{16}}}}/{name}"),
            move |version: web::Path<String>| {
                let keep = match *version == current {
                    true => "public, max-age=31536000, immutable",
                    false => "no-store",
                };
                let response = HttpResponse::Ok()
                    .insert_header((CONTENT_TYPE, content_type))
                    .insert_header((CACHE_CONTROL, keep))
                    .body(content);
                std::future::ready(response)
            },
        );
    }
}

/// Returns the first 16 hexadecimal digits of a hash over all files.
fn version() -> String {
    let mut hash = Sha256::new();
    for (_, _, content) in FILES {
        hash.update(content);
    }
    hex(&hash.finalize()[..8])
}
