//! The text layer of a PDF.

use lopdf::Document;

use crate::upload::MAX_CHARACTERS;

/// Returns the text of all pages, up to the longest text that is kept. A page that can't be read is left out.
pub(super) fn text(bytes: &[u8]) -> std::io::Result<String> {
    let document = Document::load_mem(bytes).map_err(std::io::Error::other)?;
    let (mut text, mut characters) = (String::new(), 0);
    for page in document.get_pages().into_keys() {
        if characters >= MAX_CHARACTERS {
            break;
        }
        if let Ok(page) = document.extract_text(&[page]) {
            characters += page.chars().count();
            text.push_str(page.trim_end());
            text.push('\n');
        }
    }
    Ok(text)
}
