//! Ids by prefix, as people copy them.

use switchboard_toolcall::CallId;

use super::Reader;
use crate::error::Error;

impl Reader {
    /// Returns the ids that begin with the text, in order, at most `most` of them.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn beginning_with(&mut self, text: &str, most: usize) -> Result<Vec<CallId>, Error> {
        let Some(index) = self.fresh()? else { return Ok(Vec::new()) };
        let find = || {
            let mut rows = index.connection.prepare_cached(
                "SELECT id FROM calls WHERE id >= ?1 AND id < ?1 || '~' ORDER BY id LIMIT ?2",
            )?;
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let found =
                rows.query_map((text.to_ascii_uppercase(), most), |row| row.get::<_, String>(0))?;
            found.collect::<Result<Vec<_>, _>>()
        };
        let found = find().map_err(index.tried("read"))?;
        Ok(found.iter().filter_map(|id| CallId::parse(id)).collect())
    }
}
