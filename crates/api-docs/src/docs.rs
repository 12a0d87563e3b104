//! The served documents: created once, kept for the life of the process.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use actix_web::web::Bytes;
use backoffice_core::module::document;
use backoffice_core::text::hex;
use backoffice_core::{Error, Module, Result};
use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};
use utoipa_swagger_ui::Config;

/// Path of the document, relative to the page.
const DOCUMENT: &str = "../openapi.json";
/// Lets the page be as wide as the screen of a phone.
const VIEWPORT: &str = r#"<meta name="viewport" content="width=device-width, initial-scale=1">"#;

/// Bytes with their entity tag.
#[derive(Debug, Clone)]
pub(crate) struct Tagged {
    pub(crate) bytes: Bytes,
    pub(crate) tag: String,
}

impl Tagged {
    fn new(bytes: Vec<u8>) -> Self {
        let hash = Sha256::digest(&bytes);
        Self {
            tag: format!("\"{}\"", hex(&hash[..16])),
            bytes: bytes.into(),
        }
    }
}

/// The version, the document and the settings of its browser.
pub(crate) struct Docs {
    /// The version as a JSON string.
    pub(crate) version_json: Tagged,
    /// The version as bare text.
    pub(crate) version_text: Tagged,
    document: OnceLock<Tagged>,
    browser: Arc<Config<'static>>,
    /// The files that were requested without compression, by name. Their number is that of the files in the program.
    inflated: Mutex<HashMap<String, Bytes>>,
}

/// A file of the API browser.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) bytes: Bytes,
    pub(crate) content_type: String,
    /// Whether the bytes are compressed with gzip.
    pub(crate) compressed: bool,
}

impl Docs {
    pub(crate) fn new(version: String) -> Self {
        let browser = Config::from(DOCUMENT)
            .use_base_layout()
            .validator_url("none")
            .display_operation_id(true)
            .persist_authorization(false);
        Self {
            version_json: Tagged::new(format!("\"{version}\"").into_bytes()),
            version_text: Tagged::new(version.into_bytes()),
            document: OnceLock::new(),
            browser: Arc::new(browser),
            inflated: Mutex::default(),
        }
    }

    /// Returns the OpenAPI document of `modules`, which are the modules of the platform.
    ///
    /// # Errors
    /// 500 for modules whose types or handlers contradict each other in the document.
    pub(crate) fn document(&self, modules: &[&'static Module]) -> Result<Tagged> {
        if let Some(document) = self.document.get() {
            return Ok(document.clone());
        }
        let document = document(modules).map_err(|error| Error::internal(error.to_string()))?;
        let document = Tagged::new(serde_json::to_vec(&document)?);
        Ok(self.document.get_or_init(|| document).clone())
    }

    /// Returns a file of the API browser, `""` being the page: as it is in the program, where most files are compressed, or inflated for a
    /// client that does not accept gzip. The page is small, and always inflated.
    ///
    /// # Errors
    /// 500 for a file of the program that can't be inflated.
    pub(crate) fn file(&self, name: &str, accepts_gzip: bool) -> Result<Option<File>> {
        // An error means assets that are not valid UTF-8; such a page does not exist.
        let Some(file) = utoipa_swagger_ui::serve(name, Arc::clone(&self.browser)).ok().flatten() else {
            return Ok(None);
        };
        let stored = match file.bytes {
            Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            Cow::Owned(bytes) => Bytes::from(bytes),
        };
        let is_page = matches!(name, "" | "index.html");
        let compressed = file.gzpipped && accepts_gzip && !is_page;
        let bytes = match file.gzpipped && !compressed {
            true => self.inflated(name, &stored)?,
            false => stored,
        };
        let bytes = if is_page { with_viewport(&bytes) } else { bytes };
        Ok(Some(File {
            bytes,
            content_type: file.content_type,
            compressed,
        }))
    }

    /// Inflates a file once: clients that accept no gzip are rare, and repeat their requests.
    fn inflated(&self, name: &str, stored: &[u8]) -> Result<Bytes> {
        let known = || self.inflated.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = known().get(name) {
            return Ok(bytes.clone());
        }
        let mut bytes = Vec::new();
        GzDecoder::new(stored)
            .read_to_end(&mut bytes)
            .map_err(|error| Error::Internal(Box::new(error)))?;
        let bytes = Bytes::from(bytes);
        known().insert(name.to_owned(), bytes.clone());
        Ok(bytes)
    }
}

/// Adds to the page that it is as wide as the screen of a phone.
fn with_viewport(page: &[u8]) -> Bytes {
    let page = String::from_utf8_lossy(page);
    page.replacen("<title>", &format!("{VIEWPORT}<title>"), 1).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(docs: &Docs, name: &str) -> String {
        let file = docs.file(name, false).expect("readable").expect("a file");
        String::from_utf8(file.bytes.to_vec()).expect("text")
    }

    #[test]
    fn the_page_names_no_other_address() {
        let docs = Docs::new("1".to_owned());

        for name in ["", "swagger-initializer.js", "index.css"] {
            let text = text(&docs, name);
            assert!(
                !text.contains("http://") && !text.contains("https://") && !text.contains("\"//"),
                "{name}: {text}"
            );
        }
    }

    #[test]
    fn the_page_is_as_wide_as_the_screen() {
        let docs = Docs::new("1".to_owned());

        for name in ["", "index.html"] {
            let text = text(&docs, name);
            assert!(text.contains(&format!("{VIEWPORT}<title>")), "{text}");
        }
        let page = docs.file("", true).expect("readable").expect("a file");
        assert!(!page.compressed);
    }

    #[test]
    fn the_page_reads_the_document_beside_it() {
        let script = text(&Docs::new("1".to_owned()), "swagger-initializer.js");

        assert!(script.contains("../openapi.json"), "{script}");
        assert!(script.contains("\"validatorUrl\": \"none\""), "{script}");
    }

    #[test]
    fn a_file_is_inflated_once_for_clients_without_gzip() {
        let docs = Docs::new("1".to_owned());
        let file = |accepts_gzip| {
            docs.file("swagger-ui.css", accepts_gzip)
                .expect("readable")
                .expect("a file")
        };

        let (compressed, first, second) = (file(true), file(false), file(false));

        assert!(compressed.compressed && !first.compressed);
        assert!(compressed.bytes.len() * 3 < first.bytes.len());
        assert_eq!(first.bytes.as_ptr(), second.bytes.as_ptr());
        let mut inflated = Vec::new();
        GzDecoder::new(&compressed.bytes[..])
            .read_to_end(&mut inflated)
            .expect("gzip");
        assert_eq!(inflated, first.bytes);
    }

    #[test]
    fn an_unknown_file_is_absent() {
        let docs = Docs::new("1".to_owned());

        for accepts_gzip in [false, true] {
            assert!(docs.file("nothing.js", accepts_gzip).expect("readable").is_none());
            assert!(docs.file("../Cargo.toml", accepts_gzip).expect("readable").is_none());
        }
    }

    #[test]
    fn the_document_is_created_once() {
        let docs = Docs::new("1".to_owned());

        let first = docs.document(&[]).expect("a document");
        let second = docs.document(&[]).expect("a document");

        assert_eq!(first.bytes.as_ptr(), second.bytes.as_ptr());
        let read: serde_json::Value = serde_json::from_slice(&first.bytes).expect("JSON");
        assert_eq!(read["openapi"], "3.1.0");
    }
}
