//! What an upload must be, and what is derived from its bytes.

mod constraints;
mod content_type;
mod form;
mod image;
mod name;
mod scan;
mod text;

pub(crate) use constraints::{Candidate, Constraints};
pub(crate) use content_type::{ContentType, belongs_to, depends_on_end, detect, harmless};
pub(crate) use form::{Described, Form, UploadForm};
pub(crate) use image::{ImageSize, image_size};
pub(crate) use name::{check_name, clean_name, extension};
pub use scan::Scanner;
pub(crate) use text::{MAX_CHARACTERS, Text, decode, decode_beginning, is_read_at_once, parts, read_text};
