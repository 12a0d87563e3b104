//! Output on standard output, human-readable or machine-readable.

use std::io::{self, Write as _};

use serde_json::Value;

use crate::{Error, Result};

/// The output format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    /// Whether the output is JSON.
    pub(crate) json: bool,
}

impl Output {
    /// Prints the text, or the value as JSON.
    pub(crate) fn print(self, text: &str, value: &Value) -> Result<()> {
        if self.json {
            return print_lines(&format!("{value:#}"));
        }
        match text {
            "" => Ok(()),
            text => print_lines(text.trim_end()),
        }
    }
}

/// Prints these lines on standard output. The command fails if they can't be written, for example because their reader has ended.
pub(crate) fn print_lines(lines: &str) -> Result<()> {
    let mut output = io::stdout().lock();
    let written = writeln!(output, "{lines}").and_then(|()| output.flush());
    written.map_err(Error::file("standard output"))
}

/// Formats columns as wide as their widest cell.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
