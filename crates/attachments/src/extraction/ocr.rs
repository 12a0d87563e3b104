//! Recognition of texts in images, by a program or service that a module of the embedder offers. Without one nothing leaves the server.

use std::time::Duration;

use backoffice_core::http::Pieces;
use backoffice_core::{Call, Error, Platform, Result};
use futures_util::future::BoxFuture;
use tokio::time::timeout;

use super::kind::{MAX_DOCUMENT, PDF};

/// Time of a recognition, with the reading of the image.
const LONGEST: Duration = Duration::from_secs(60);

/// Recognizes texts in images and scanned documents. A module registers it with
/// [`Registry::extend`](backoffice_core::registry::Registry::extend), and the setting `attachments.ocr.provider` names it.
#[derive(Clone, Copy)]
pub struct OcrProvider {
    /// The name in the configuration.
    pub name: &'static str,
    /// Returns the text, which may be blank. It is called in a job of the queue `network`, has 60 seconds, and is called three times at most for
    /// a file. The call leads to the configuration and to what modules provide.
    pub recognize: for<'a> fn(&'a Call, ScannedDocument<'a>) -> BoxFuture<'a, Result<String>>,
}

impl std::fmt::Debug for OcrProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OcrProvider")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// An image, or a PDF without a text layer.
pub struct ScannedDocument<'a> {
    /// The media type that the upload recognized: `image/…` or `application/pdf`.
    pub mime_type: &'a str,
    /// Bytes, at most 100 MiB.
    pub length: u64,
    /// `ocrModel` of the partition.
    pub model: Option<&'a str>,
    /// The bytes, piece by piece.
    pub contents: Pieces,
}

impl std::fmt::Debug for ScannedDocument<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScannedDocument")
            .field("mime_type", &self.mime_type)
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

impl OcrProvider {
    /// Finds the provider with this name.
    pub(crate) fn named(platform: &Platform, name: Option<&str>) -> Option<Self> {
        let name = name?;
        platform
            .extensions::<Self>()
            .find(|provider| provider.name == name)
            .copied()
    }

    /// Whether texts are recognized in files of this media type and length.
    pub(crate) fn reads(mime_type: &str, length: u64) -> bool {
        length <= MAX_DOCUMENT && (mime_type == PDF || mime_type.starts_with("image/"))
    }

    /// Recognizes the text.
    ///
    /// # Errors
    /// As the provider reports, or after 60 seconds.
    pub(crate) async fn text(&self, call: &Call, document: ScannedDocument<'_>) -> Result<String> {
        match timeout(LONGEST, (self.recognize)(call, document)).await {
            Ok(recognized) => recognized,
            Err(_elapsed) => Err(Error::internal("the recognition took too long")),
        }
    }
}
