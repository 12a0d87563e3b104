//! Text of documents, read by a child process.
//!
//! Parsers of documents are the part of the platform that attackers reach with any bytes they like, and they may need any amount of memory and
//! time. So they run in a child process without an environment and with limits, after the upload, as a job.

mod child;
mod docx;
mod job;
mod kind;
mod ocr;
mod pdf;
mod process;

pub use child::run_child;
pub(crate) use job::ExtractText;
pub(crate) use kind::DocumentKind;
pub use ocr::{OcrProvider, ScannedDocument};
pub(crate) use process::Extractor;
