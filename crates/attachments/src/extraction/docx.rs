//! The text of a word processor's document: the paragraphs of `word/document.xml` in its archive.

use std::io::{BufReader, Cursor, Error, Read, Result};

use quick_xml::Reader;
use quick_xml::events::Event;
use zip::ZipArchive;

use crate::upload::MAX_CHARACTERS;

const MAIN_PART: &str = "word/document.xml";
/// Bytes of the main part that are read at most. An archive may expand to any length.
const MAX_XML: u64 = 64 * 1024 * 1024;

/// Returns the text, one line for each paragraph, up to the longest text that is kept.
pub(super) fn text(bytes: &[u8]) -> Result<String> {
    first_part(bytes, MAX_XML)
}

/// Returns the text of so many bytes of the main part.
fn first_part(bytes: &[u8], most: u64) -> Result<String> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(Error::other)?;
    let part = archive.by_name(MAIN_PART).map_err(Error::other)?;
    let mut xml = Reader::from_reader(BufReader::new(part.take(most)));
    let (mut text, mut buffer, mut is_text) = (String::new(), Vec::new(), false);
    while text.len() < MAX_CHARACTERS * 4 {
        match xml.read_event_into(&mut buffer).map_err(Error::other)? {
            Event::Start(tag) => is_text = tag.local_name().as_ref() == b"t",
            Event::Empty(tag) => match tag.local_name().as_ref() {
                b"tab" => text.push('\t'),
                b"br" | b"cr" | b"p" => text.push('\n'),
                _ => {}
            },
            Event::Text(part) if is_text => text.push_str(&part.decode().map_err(Error::other)?),
            Event::GeneralRef(name) if is_text => text.push_str(&character(&name.decode().map_err(Error::other)?)),
            Event::End(tag) => {
                is_text = false;
                if tag.local_name().as_ref() == b"p" {
                    text.push('\n');
                }
            }
            Event::Eof => break,
            _ => {}
        }
        buffer.clear();
    }
    Ok(text)
}

/// Returns the character of a reference such as `amp` or `#8217`; an unknown reference has none.
fn character(name: &str) -> String {
    let numeric = name
        .strip_prefix('#')
        .and_then(|number| match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => number.parse().ok(),
        });
    let character = match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => numeric.and_then(char::from_u32),
    };
    character.map(String::from).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn document(body: &str) -> Vec<u8> {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        archive
            .start_file(MAIN_PART, SimpleFileOptions::default())
            .expect("a file");
        let xml = format!("<w:document xmlns:w='x'><w:body>{body}</w:body></w:document>");
        archive.write_all(xml.as_bytes()).expect("written");
        archive.finish().expect("an archive").into_inner()
    }

    #[test]
    fn paragraphs_are_lines_and_references_are_resolved() {
        let body = "<w:p><w:pPr><w:x/></w:pPr><w:r><w:t>Fish &amp; chips&#8217;</w:t><w:tab/><w:t xml:space='preserve'> 1</w:t></w:r></w:p>\
                    <w:p><w:r><w:instrText>PAGE</w:instrText><w:t>za\u{17c}\u{f3}\u{142}\u{107}</w:t><w:br/><w:t>end</w:t></w:r></w:p>";

        assert_eq!(
            text(&document(body)).expect("a text"),
            "Fish & chips\u{2019}\t 1\nza\u{17c}\u{f3}\u{142}\u{107}\nend\n"
        );
    }

    #[test]
    fn a_part_that_expands_without_end_is_cut() {
        let document = document(&format!("<w:p><w:t>{}</w:t></w:p>", "a".repeat(5000)));

        let text = first_part(&document, 1000).expect("a text");

        assert!((900..1000).contains(&text.len()), "{}", text.len());
    }

    #[test]
    fn an_archive_without_the_main_part_has_no_text() {
        assert!(text(b"PK").is_err());
        let empty = ZipWriter::new(Cursor::new(Vec::new())).finish().expect("an archive");
        assert!(text(&empty.into_inner()).is_err());
    }
}
