//! Searches the arguments, the result or the error of calls for a text.

use switchboard_audit::{Error, Filter, Reader, Record};

use super::PAGE;

/// How many calls are searched.
const SEARCHED: usize = 20_000;

/// A case-insensitive search.
pub(super) struct TextSearch(String);

impl TextSearch {
    pub(super) fn new(text: &str) -> Self {
        Self(text.to_lowercase())
    }

    /// Whether `text` contains the searched text.
    pub(super) fn is_in(&self, text: &str) -> bool {
        text.to_lowercase().contains(&self.0)
    }

    /// Returns the calls of the store that contain it. Arguments are in the index; results and errors are read from the journal.
    pub(super) fn stored(
        &self,
        reader: &mut Reader,
        mut filter: Filter,
        visible: impl Fn(&Record) -> bool,
        most: usize,
    ) -> Result<Vec<Record>, Error> {
        let (mut records, mut seen) = (Vec::new(), 0);
        filter.limit = Some(PAGE);
        loop {
            let page = reader.list(&filter)?;
            seen += page.len();
            let is_last = page.len() < PAGE || seen >= SEARCHED;
            filter.after = page.last().map(|record| record.id);
            for record in page.into_iter().filter(&visible) {
                if self.is_in(&record.arguments) || self.is_in_end(reader, &record)? {
                    records.push(record);
                }
                if records.len() >= most {
                    return Ok(records);
                }
            }
            if is_last {
                return Ok(records);
            }
        }
    }

    fn is_in_end(&self, reader: &mut Reader, record: &Record) -> Result<bool, Error> {
        let Some(detail) = reader.show(record.id)? else { return Ok(false) };
        // The text as people read it: a line break is not the two characters `\n` of JSON.
        let text = detail.text().or(detail.result);
        Ok([text, detail.error].into_iter().flatten().any(|text| self.is_in(&text)))
    }
}
