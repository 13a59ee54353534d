//! The words that the full-text search knows.

use rusqlite::{Connection, OptionalExtension};

/// How many words with the same beginning are looked for one by one.
const MOST: usize = 256;

/// A view of the words, in the order of their bytes, in the database of this connection that is not stored.
const TABLE: &str = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.calls_words
     USING fts5vocab (main, calls_text, instance)";

/// Returns the words that begin like this, which is as the index has words: in lower case. `None` if they are many.
pub(crate) fn beginning(
    connection: &Connection,
    beginning: &str,
) -> rusqlite::Result<Option<Vec<String>>> {
    connection.execute_batch(TABLE)?;
    // One row of each word is read, however many calls have it.
    let mut next =
        connection.prepare_cached("SELECT term FROM temp.calls_words WHERE term >= ?1 LIMIT 1")?;
    let mut words: Vec<String> = Vec::new();
    let mut from = beginning.to_owned();
    while let Some(word) = next.query_row([&from], |row| row.get::<_, String>(0)).optional()? {
        if !word.starts_with(beginning) {
            break;
        }
        if words.len() == MOST {
            return Ok(None);
        }
        // No word has this character, and all that follow have a later one.
        from = format!("{word}\u{1}");
        words.push(word);
    }
    Ok(Some(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(texts: impl IntoIterator<Item = String>) -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        let table = "CREATE VIRTUAL TABLE calls_text USING fts5 (text, content = '', contentless_delete = 1)";
        connection.execute_batch(table).unwrap();
        for text in texts {
            connection.execute("INSERT INTO calls_text (text) VALUES (?1)", [text]).unwrap();
        }
        connection
    }

    #[test]
    fn few_words_are_listed_and_many_are_not() {
        let texts = ["rain rains raining", "Rain in Ra", "snow", "rain1", "rains"];
        let connection = index(texts.map(str::to_owned));
        let check = |text| beginning(&connection, text).unwrap().unwrap();
        assert_eq!(check("rain"), ["rain", "rain1", "raining", "rains"]);
        assert_eq!(check("ra"), ["ra", "rain", "rain1", "raining", "rains"]);
        assert_eq!(check("snow"), ["snow"]);
        assert!(check("z").is_empty());
        let many = index((0..=MOST).map(|number| format!("x{number}")));
        assert_eq!(beginning(&many, "x").unwrap(), None);
        assert_eq!(beginning(&many, "x2").unwrap().unwrap().len(), 68);
    }
}
