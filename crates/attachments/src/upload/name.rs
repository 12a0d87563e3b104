//! Names of files.

use backoffice_core::text::is_invisible;
use unicode_normalization::UnicodeNormalization;

use crate::error::Error;

/// Longest name in bytes.
const MAX_BYTES: usize = 255;
/// The name of a file without one.
const NO_NAME: &str = "file";

/// Extensions of programs and scripts.
const DANGEROUS: [&str; 23] = [
    "app", "apk", "bat", "cmd", "com", "dll", "exe", "hta", "jar", "js", "jse", "lnk", "msi", "pif", "ps1", "psm1",
    "reg", "scr", "sh", "vbe", "vbs", "wsf", "wsh",
];
/// Those that names have for other reasons before their last extension: `www.acme.com.pdf`.
const HARMLESS_INSIDE: [&str; 4] = ["app", "com", "js", "sh"];
/// Extensions of documents that browsers execute.
const ACTIVE: [&str; 5] = ["htm", "html", "svg", "xhtml", "xml"];

/// Returns the name under which a file is stored: without folders, invisible and control characters, normalized, at most 255 bytes.
pub(crate) fn clean_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let visible: String = last.chars().filter(|c| !is_invisible(*c)).nfc().collect();
    let name = visible.trim().trim_end_matches(['.', ' ']);
    if name.trim_matches('.').is_empty() {
        return NO_NAME.to_owned();
    }
    shortened(name)
}

/// Rejects names of programs, and of documents that browsers execute.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let parts: Vec<String> = name.split('.').skip(1).map(bare).collect();
    for (index, part) in parts.iter().enumerate() {
        let is_last = index + 1 == parts.len();
        let part = part.as_str();
        if DANGEROUS.contains(&part) && (is_last || !HARMLESS_INSIDE.contains(&part)) {
            return Err(Error::Dangerous);
        }
        if is_last && ACTIVE.contains(&part) {
            return Err(Error::ActiveContent);
        }
    }
    Ok(())
}

/// Returns the extension of a name, lower-case, without the dot; empty if there is none.
pub(crate) fn extension(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((_, extension)) => extension.to_lowercase(),
        None => String::new(),
    }
}

/// Returns the letters and digits of a part of a name, lower-case.
fn bare(part: &str) -> String {
    let lower = part.chars().flat_map(char::to_lowercase);
    lower.filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit()).collect()
}

/// Shortens a name to 255 bytes and keeps its extension.
fn shortened(name: &str) -> String {
    if name.len() <= MAX_BYTES {
        return name.to_owned();
    }
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if extension.len() < 32 => (stem, format!(".{extension}")),
        _ => (name, String::new()),
    };
    let mut end = (MAX_BYTES - extension.len()).min(stem.len());
    while !stem.is_char_boundary(end) {
        end -= 1;
    }
    let stem = stem[..end].trim_end_matches(['.', ' ']);
    format!("{stem}{extension}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for (given, expected) in [
            ("ąćę notatka.txt", "ąćę notatka.txt"),
            ("C:\\temp\\a.txt", "a.txt"),
            ("../../etc/passwd", "passwd"),
            ("a\u{202e}gnp.txt", "agnp.txt"),
            ("a\u{200b}.txt\0", "a.txt"),
            ("a.txt. . ", "a.txt"),
            ("e\u{301}.txt", "é.txt"),
            ("", "file"),
            ("..", "file"),
            ("a/", "file"),
        ] {
            assert_eq!(clean_name(given), expected, "{given:?}");
        }
        let long = clean_name(&format!("{}.pdf", "ż".repeat(300)));
        assert!(long.len() <= 255 && long.ends_with("ż.pdf"), "{long}");
    }

    #[test]
    fn att_6_names_of_programs_are_rejected() {
        for name in [
            "a.exe",
            "a.EXE .",
            "a.exe.pdf",
            "x\u{202e}gnp.exe",
            "a.e-x_e",
            "run.sh",
            "a.js",
            "b.jar.txt",
            "a.Ｅ.cmd",
        ] {
            assert_eq!(check_name(&clean_name(name)), Err(Error::Dangerous), "{name}");
        }
        for name in ["www.acme.com.pdf", "main.js.map", "exe", "a.txt", "install.sh.log"] {
            assert_eq!(check_name(&clean_name(name)), Ok(()), "{name}");
        }
    }

    #[test]
    fn att_7_names_of_active_documents_are_rejected() {
        for name in ["a.svg", "a.HTML", "a.xhtml", "b.xml", "a.pdf.htm"] {
            assert_eq!(check_name(&clean_name(name)), Err(Error::ActiveContent), "{name}");
        }
    }
}
