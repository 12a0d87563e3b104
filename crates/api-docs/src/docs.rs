//! The served documents: created once, kept for the life of the process.

use std::sync::{Arc, OnceLock};

use actix_web::web::Bytes;
use backoffice_core::module::document;
use backoffice_core::text::hex;
use backoffice_core::{Error, Module, Result};
use sha2::{Digest, Sha256};
use utoipa_swagger_ui::Config;

/// Path of the document, relative to the page.
const DOCUMENT: &str = "../openapi.json";

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

    /// Returns a file of the API browser with its content type; `""` is the page.
    pub(crate) fn file(&self, name: &str) -> Option<(Bytes, String)> {
        // An error means assets that are not valid UTF-8; such a page does not exist.
        let file = utoipa_swagger_ui::serve(name, Arc::clone(&self.browser))
            .ok()
            .flatten()?;
        let bytes = match file.bytes {
            std::borrow::Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            std::borrow::Cow::Owned(bytes) => Bytes::from(bytes),
        };
        Some((bytes, file.content_type))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(docs: &Docs, name: &str) -> String {
        let (bytes, _) = docs.file(name).expect("a file");
        String::from_utf8(bytes.to_vec()).expect("text")
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
    fn the_page_reads_the_document_beside_it() {
        let script = text(&Docs::new("1".to_owned()), "swagger-initializer.js");

        assert!(script.contains("../openapi.json"), "{script}");
        assert!(script.contains("\"validatorUrl\": \"none\""), "{script}");
    }

    #[test]
    fn an_unknown_file_is_absent() {
        let docs = Docs::new("1".to_owned());

        assert!(docs.file("nothing.js").is_none());
        assert!(docs.file("../Cargo.toml").is_none());
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
