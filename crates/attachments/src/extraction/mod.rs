//! Text of documents, read by a child process.
//!
//! Attackers can send any bytes to the parsers of documents, and a parser may need any amount of memory and time. Parsers therefore run after the
//! upload, as a job, in a child process with limits and without an environment.

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
