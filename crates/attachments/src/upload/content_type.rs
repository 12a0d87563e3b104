//! The media type of a file: from its bytes, else from its name, else from what the client states.

use crate::error::Error;

/// A recognized media type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContentType {
    /// The media type, lower-case, without parameters.
    pub(crate) mime_type: String,
    /// Whether the bytes looked at are text in UTF-8.
    pub(crate) is_utf8: bool,
}

/// Media types by extension.
const BY_EXTENSION: [(&str, &str); 18] = [
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("csv", "text/csv"),
    (
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    ("gif", "image/gif"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("json", "application/json"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    (
        "pptx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ),
    ("text", "text/plain"),
    ("txt", "text/plain"),
    ("webp", "image/webp"),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    ("zip", "application/zip"),
];

/// Types that are recognized by their first bytes.
const BY_BYTES: [&str; 7] = [
    "image/avif",
    "image/bmp",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/webp",
    "application/pdf",
];

/// The first bytes of an archive.
const ARCHIVE: &[u8] = b"PK\x03\x04";
/// The part that every office document has.
const OFFICE_PART: &[u8] = b"[Content_Types].xml";

/// The type of bytes of which nothing is known.
const BINARY: &str = "application/octet-stream";

/// Types of documents that browsers execute.
const ACTIVE_DOCUMENTS: [&str; 5] = [
    "application/xhtml+xml",
    "application/xml",
    "image/svg+xml",
    "text/html",
    "text/xml",
];

/// Types of scripts: all that the standard "MIME Sniffing" calls JavaScript. `nosniff` lets a page execute files of these types, and neither
/// `Content-Disposition` nor the policy of the file prevents it.
const SCRIPTS: [&str; 16] = [
    "application/ecmascript",
    "application/javascript",
    "application/x-ecmascript",
    "application/x-javascript",
    "text/ecmascript",
    "text/javascript",
    "text/javascript1.0",
    "text/javascript1.1",
    "text/javascript1.2",
    "text/javascript1.3",
    "text/javascript1.4",
    "text/javascript1.5",
    "text/jscript",
    "text/livescript",
    "text/x-ecmascript",
    "text/x-javascript",
];

/// Types of style sheets, which pages load like scripts.
const STYLE_SHEETS: [&str; 2] = ["text/css", "text/xsl"];

/// First bytes of programs: Windows, Linux, macOS and Java.
const PROGRAMS: [&[u8]; 9] = [
    b"MZ",
    b"\x7fELF",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
    b"\xbe\xba\xfe\xca",
    b"#!",
];

/// Beginnings of documents that browsers execute, after white space.
const DOCUMENTS: [&str; 14] = [
    "<!doctype html",
    "<!doctype svg",
    "<?xml",
    "<body",
    "<embed",
    "<frameset",
    "<head",
    "<html",
    "<iframe",
    "<math",
    "<object",
    "<script",
    "<svg",
    "<xml",
];

/// Returns whether files with this extension are of this media type; of an unknown extension, anything is.
pub(crate) fn belongs_to(mime_type: &str, extension: &str) -> bool {
    type_of(extension).is_none_or(|kind| kind == mime_type)
}

/// Returns the type under which a file of this type is stored and sent. Browsers execute scripts, XML and style sheets as parts of a page of this site, so
/// files of these types are bytes of which nothing is known.
pub(crate) fn harmless(mime_type: &str) -> &str {
    let is_part_of_pages = is_active(mime_type) || mime_type.ends_with("+xml") || STYLE_SHEETS.contains(&mime_type);
    if is_part_of_pages { BINARY } else { mime_type }
}

fn is_active(mime_type: &str) -> bool {
    ACTIVE_DOCUMENTS.contains(&mime_type) || SCRIPTS.contains(&mime_type)
}

fn type_of(extension: &str) -> Option<&'static str> {
    let known = BY_EXTENSION.iter().find(|(known, _)| *known == extension);
    known.map(|(_, kind)| *kind)
}

fn office_type_of(extension: &str) -> Option<&'static str> {
    type_of(extension).filter(|kind| kind.contains("openxmlformats"))
}

/// Returns whether the type of a file depends on its end: an archive with the name of an office document may have the part that office documents have
/// anywhere, and lists all of its parts at the end.
pub(crate) fn depends_on_end(head: &[u8], extension: &str) -> bool {
    head.starts_with(ARCHIVE) && office_type_of(extension).is_some() && !contains(head, OFFICE_PART)
}

/// Returns the media type of a file from its first 8 KiB, and from its last 64 KiB if it [depends](depends_on_end) on them.
///
/// # Errors
/// [`Error::Dangerous`] for programs, [`Error::ActiveContent`] for documents and scripts that browsers execute, by their bytes or by the type that the client states.
pub(crate) fn detect(head: &[u8], end: &[u8], extension: &str, claimed: Option<&str>) -> Result<ContentType, Error> {
    if PROGRAMS.iter().any(|first| head.starts_with(first)) {
        return Err(Error::Dangerous);
    }
    let claimed = claimed.map(str::to_ascii_lowercase);
    if is_document(head) || claimed.as_deref().is_some_and(is_active) {
        return Err(Error::ActiveContent);
    }
    let binary = |mime_type: &str| ContentType {
        mime_type: mime_type.to_owned(),
        is_utf8: false,
    };
    let by_extension = type_of(extension);
    if let Some(kind) = infer::get(head).map(|found| found.mime_type()) {
        if let Some(known) = BY_BYTES.into_iter().find(|known| *known == kind) {
            return Ok(binary(known));
        }
        if head.starts_with(ARCHIVE) {
            let is_office = contains(head, OFFICE_PART) || contains(end, OFFICE_PART);
            let office = office_type_of(extension).filter(|_| is_office);
            return Ok(binary(office.unwrap_or("application/zip")));
        }
    }
    if is_utf8_text(head) {
        let is_text = |kind: &&str| kind.starts_with("text/") || *kind == "application/json";
        return Ok(ContentType {
            mime_type: by_extension.filter(is_text).unwrap_or("text/plain").to_owned(),
            is_utf8: true,
        });
    }
    let claimed = claimed.as_deref().filter(|kind| is_well_formed(kind)).map(harmless);
    Ok(binary(by_extension.or(claimed).unwrap_or(BINARY)))
}

/// Whether browsers could take the bytes for a document that they execute.
fn is_document(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    // Every second byte of UTF-16 is zero in these texts.
    let text: Vec<u8> = text
        .iter()
        .copied()
        .skip_while(|byte| byte.is_ascii_whitespace() || matches!(byte, 0 | 0xfe | 0xff))
        .filter(|byte| *byte != 0)
        .take(64)
        .collect();
    let text = text.to_ascii_lowercase();
    DOCUMENTS.iter().any(|first| text.starts_with(first.as_bytes()))
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Whether the bytes are text in UTF-8, of which the last character may be cut.
fn is_utf8_text(head: &[u8]) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text
        .chars()
        .any(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}'))
}

/// Whether a media type has the form `type/subtype`.
fn is_well_formed(kind: &str) -> bool {
    let is_token = |part: &str| {
        let fits = (1..=63).contains(&part.len());
        fits && part
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    kind.split_once('/')
        .is_some_and(|(main, sub)| is_token(main) && is_token(sub))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(head: &[u8], extension: &str, claimed: Option<&str>) -> Result<String, Error> {
        detect(head, b"", extension, claimed).map(|found| found.mime_type)
    }

    #[test]
    fn types_follow_from_bytes_then_names_then_claims() {
        for (head, extension, claimed, expected) in [
            (
                &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..],
                "txt",
                Some("text/plain"),
                "image/png",
            ),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", "png", None, "image/jpeg"),
            (b"%PDF-1.7\n%\xe2\xe3", "bin", None, "application/pdf"),
            (b"RIFF\x24\0\0\0WEBPVP8 ", "", None, "image/webp"),
            (b"GIF89a\x01\0\x01\0", "", None, "image/gif"),
            (b"a,b\n1,2\n", "csv", Some("application/pdf"), "text/csv"),
            (b"{\"a\": 1}", "json", None, "application/json"),
            (b"plain", "png", Some("image/png"), "text/plain"),
            (
                b"PK\x03\x04\x14\0\0\0[Content_Types].xml",
                "zip",
                None,
                "application/zip",
            ),
            (b"\x00\x01\x02\x03", "mp4x", Some("video/mp4"), "video/mp4"),
            (b"\x00\x01\x02\x03", "", Some("not a type"), "application/octet-stream"),
        ] {
            assert_eq!(
                kind(head, extension, claimed).as_deref(),
                Ok(expected),
                "{head:?} {extension}"
            );
        }
        let office = kind(b"PK\x03\x04\x14\0\0\0[Content_Types].xml", "docx", None);
        assert!(office.is_ok_and(|kind| kind.ends_with("wordprocessingml.document")));
    }

    #[test]
    fn an_office_document_may_list_its_parts_at_the_end() {
        let (head, end) = (
            b"PK\x03\x04\x14\0\0\0xl/workbook.xml",
            b"PK\x01\x02[Content_Types].xmlPK\x05\x06",
        );

        assert!(depends_on_end(head, "xlsx"));
        for (head, extension) in [
            (&head[..], "zip"),
            (&head[..], "png"),
            (b"PK\x03\x04[Content_Types].xml", "xlsx"),
            (b"%PDF-1.7", "xlsx"),
        ] {
            assert!(!depends_on_end(head, extension), "{head:?} {extension}");
        }
        for (end, extension, expected) in [
            (&end[..], "xlsx", "spreadsheetml.sheet"),
            (&end[..], "zip", "application/zip"),
            (b"PK\x05\x06", "xlsx", "application/zip"),
        ] {
            let found = detect(head, end, extension, None).map(|found| found.mime_type);
            assert!(found.is_ok_and(|kind| kind.ends_with(expected)), "{end:?} {extension}");
        }
    }

    #[test]
    fn att_6_att_7_programs_and_active_documents_are_rejected() {
        for head in [
            &b"MZ\x90\0"[..],
            b"\x7fELF\x02",
            b"#!/bin/sh\n",
            b"\xca\xfe\xba\xbe\0\0",
        ] {
            assert_eq!(kind(head, "png", Some("image/png")), Err(Error::Dangerous), "{head:?}");
        }
        let utf16: Vec<u8> = "\u{feff}<html>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for head in [
            &b"<html><body>"[..],
            b" \n<!DOCTYPE html>",
            b"\xef\xbb\xbf<svg xmlns=",
            b"<?xml version=",
            b"<SCRIPT>",
            &utf16,
        ] {
            assert_eq!(
                kind(head, "txt", Some("text/plain")),
                Err(Error::ActiveContent),
                "{head:?}"
            );
        }
        assert_eq!(kind(b"\0\x01", "bin", Some("text/html")), Err(Error::ActiveContent));
    }
}
