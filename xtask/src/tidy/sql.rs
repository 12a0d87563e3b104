//! The tokens of scripts in SQL, as far as the rules for migrations need them.

/// A word, a text in quotes or another character of a script.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
}

/// Returns the tokens of a script that begins on a line, without comments and without the bodies of functions. The body of a `do` statement runs at once, so
/// its statements count.
pub(super) fn tokens(script: &str, line: usize) -> Vec<Token<'_>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let (mut rest, mut line) = (script, line);
    while !rest.is_empty() {
        let (text, after) = rest.split_at(length(rest));
        if let Some(mark) = mark(text) {
            if tokens.last().is_some_and(|token| token.text == "do") {
                let body = text.get(mark.len()..text.len().saturating_sub(mark.len()));
                let end = Token { text: ";", line };
                tokens.push(end);
                tokens.extend(self::tokens(body.unwrap_or_default(), line));
                tokens.push(end);
            }
        } else if !text.starts_with("--") && !text.starts_with(char::is_whitespace) {
            tokens.push(Token { text, line });
        }
        line += text.matches('\n').count();
        rest = after;
    }
    tokens
}

/// Returns the length of the comment, body, text in quotes, word or character at the beginning of a script that is not empty.
fn length(script: &str) -> usize {
    let quoted = |mark: &str| {
        let end = script[mark.len()..].find(mark);
        end.map_or(script.len(), |at| at + 2 * mark.len())
    };
    if script.starts_with("--") {
        return script.find('\n').unwrap_or(script.len());
    }
    if script.starts_with('\'') {
        return quoted("'");
    }
    if let Some(mark) = mark(script) {
        return quoted(mark);
    }
    match script.find(|c: char| !is_part_of_name(c)) {
        Some(0) => script.chars().next().map_or(0, char::len_utf8),
        Some(end) => end,
        None => script.len(),
    }
}

/// Returns the mark before a body, `$$` or `$name$`, if the script begins with one.
fn mark(script: &str) -> Option<&str> {
    let name = script.strip_prefix('$')?.split_once('$')?.0;
    let is_mark = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    script.get(..name.len() + 2).filter(|_| is_mark)
}

fn is_part_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}
