//! The kinds of documents whose text is extracted after the upload.

/// Largest document that is parsed as a whole.
pub(super) const MAX_DOCUMENT: u64 = 100 * 1024 * 1024;
pub(super) const PDF: &str = "application/pdf";
const DOCX: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

/// A kind of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocumentKind {
    /// Text whose encoding is guessed; only the beginning is read.
    Text,
    /// The text layer of a PDF.
    Pdf,
    /// A document of a word processor in the format of Office Open XML.
    Docx,
}

impl DocumentKind {
    /// Returns the kind of a file of this media type and length whose text an upload does not read; `None` if it has no text.
    pub(crate) fn of(mime_type: &str, length: u64) -> Option<Self> {
        let is_small = length <= MAX_DOCUMENT;
        match mime_type {
            PDF if is_small => Some(Self::Pdf),
            DOCX if is_small => Some(Self::Docx),
            "application/json" => Some(Self::Text),
            text if text.starts_with("text/") => Some(Self::Text),
            _ => None,
        }
    }

    /// Returns the argument of the child process.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Pdf => "pdf",
            Self::Docx => "docx",
        }
    }

    /// Parses the argument of the child process.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        [Self::Text, Self::Pdf, Self::Docx]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}
