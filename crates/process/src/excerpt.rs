//! Shows foreign bytes in a log without trusting them.

/// Returns the first characters of the bytes as text: without colours and control characters, and with a mark if it was
/// cut.
pub fn excerpt(bytes: &[u8], limit: usize) -> String {
    // No character takes more than four bytes; the rest of a huge line need not be looked at.
    let start = &bytes[..bytes.len().min(4 * limit + 4)];
    let text = String::from_utf8_lossy(start);
    let mut plain = without_control(&text);
    let mut shown: String = plain.by_ref().take(limit).collect();
    if start.len() < bytes.len() || plain.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Leaves out control characters and the escape sequences that colour terminals.
fn without_control(text: &str) -> impl Iterator<Item = char> {
    let mut characters = text.chars();
    std::iter::from_fn(move || {
        loop {
            match characters.next()? {
                '\u{1b}' => skip_sequence(&mut characters),
                '\t' => return Some(' '),
                character if character.is_control() => {}
                character => return Some(character),
            }
        }
    })
}

/// Skips `[` and everything up to the letter that ends the sequence.
fn skip_sequence(characters: &mut std::str::Chars<'_>) {
    if let Some(rest) = characters.as_str().strip_prefix('[') {
        let end = rest.find(|character: char| ('@'..='~').contains(&character));
        *characters = end.map_or("", |end| &rest[end + 1..]).chars();
    }
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    #[test]
    fn foreign_bytes_become_a_short_plain_line() {
        assert_eq!(excerpt(b"plain", 10), "plain");
        assert_eq!(excerpt(b"\x1b[1;31mred\x1b[0m\tand\x07 plain\r", 20), "red and plain");
        assert_eq!(excerpt("ünïcödé".as_bytes(), 4), "ünïc…");
        assert_eq!(excerpt(b"\xff\xfe", 10), "\u{fffd}\u{fffd}");
        assert_eq!(excerpt(&[b'x'; 100_000], 3), "xxx…");
        assert_eq!(excerpt(b"\x1b[", 3), "");
        assert_eq!(excerpt(b"", 0), "");
    }
}
