//! Files of pages: styles, scripts and icons. Their addresses contain a hash of their content, so browsers may cache them permanently.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use actix_web::{HttpResponse, web};
use backoffice_core::http::Pages;
use backoffice_core::text::hex;
use sha2::{Digest, Sha256};

/// The files of the pages of this module.
pub(super) const FILES: PageFiles = PageFiles {
    module: "auth",
    files: &[
        PageFile {
            name: "pages.css",
            content_type: "text/css; charset=utf-8",
            content: include_str!("../../assets/pages.css"),
        },
        PageFile {
            name: "pages.js",
            content_type: "text/javascript; charset=utf-8",
            content: include_str!("../../assets/pages.js"),
        },
        PageFile {
            name: "icon.svg",
            content_type: "image/svg+xml",
            content: include_str!("../../assets/icon.svg"),
        },
    ],
};

/// A file of pages.
#[derive(Debug, Clone, Copy)]
pub struct PageFile {
    /// The name.
    pub name: &'static str,
    /// Value of `Content-Type`.
    pub content_type: &'static str,
    /// The content.
    pub content: &'static str,
}

/// The files of the pages of a module.
#[derive(Debug, Clone, Copy)]
pub struct PageFiles {
    /// The name of the module, which is part of the addresses.
    pub module: &'static str,
    /// The files.
    pub files: &'static [PageFile],
}

impl PageFiles {
    /// Returns the address of the file with this name.
    #[must_use]
    pub fn address(&self, name: &str) -> String {
        format!("/assets/{}/{}/{name}", self.module, self.version())
    }

    /// Declares the files. During a rollout, an address may contain the version of another release: it returns the present content, uncached.
    pub fn declare(&self, pages: &mut Pages<'_>) {
        let current = self.version();
        for file in self.files {
            let current = current.clone();
            let path = format!("/assets/{}/{{version:[0-9a-f]{{16}}}}/{}", self.module, file.name);
            pages.get(path, move |version: web::Path<String>| {
                let keep = match *version == current {
                    true => "public, max-age=31536000, immutable",
                    false => "no-store",
                };
                let response = HttpResponse::Ok()
                    .insert_header((CONTENT_TYPE, file.content_type))
                    .insert_header((CACHE_CONTROL, keep))
                    .body(file.content);
                std::future::ready(response)
            });
        }
    }

    /// Returns the first 16 hexadecimal digits of a hash over all files.
    fn version(&self) -> String {
        let mut hash = Sha256::new();
        for file in self.files {
            hash.update(file.content);
        }
        hex(&hash.finalize()[..8])
    }
}

/// Addresses of the files of this module.
pub(super) struct Assets {
    pub(super) style: String,
    pub(super) script: String,
    pub(super) icon: String,
}

impl Assets {
    pub(super) fn new() -> Self {
        Self {
            style: FILES.address("pages.css"),
            script: FILES.address("pages.js"),
            icon: FILES.address("icon.svg"),
        }
    }
}
