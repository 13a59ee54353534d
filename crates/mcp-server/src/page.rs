//! Lists in pages, with opaque cursors.

use std::ops::Range;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use switchboard_mcp_wire::RpcError;

/// Which part of a list a page shows, and the cursor of the next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) range: Range<usize>,
    pub(crate) next: Option<String>,
}

/// Returns the page of list `list` that begins at the cursor. A cursor names the entry before the page, so that pages fit
/// together even if the list changes in between.
///
/// # Errors
/// Fails if the cursor is invalid or of another list.
pub(crate) fn page<'a>(
    list: &str,
    length: usize,
    key: impl Fn(usize) -> &'a str,
    cursor: Option<&str>,
    size: usize,
) -> Result<Page, RpcError> {
    let start = match cursor {
        None => 0,
        Some(cursor) => {
            let (after, entry) = read(list, cursor).ok_or_else(|| {
                RpcError::new(RpcError::INVALID_PARAMS, format!("invalid cursor for {list}"))
            })?;
            let there = (after > 0 && after <= length && key(after - 1) == entry)
                .then_some(after)
                .or_else(|| (0..length).find(|at| key(*at) == entry).map(|at| at + 1));
            there.unwrap_or(after.min(length))
        }
    };
    let end = start.saturating_add(size.max(1)).min(length);
    let next = (end < length).then(|| write(list, end, key(end - 1)));
    Ok(Page { range: start..end, next })
}

fn write(list: &str, after: usize, entry: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{list}\n{after}\n{entry}"))
}

fn read(list: &str, cursor: &str) -> Option<(usize, String)> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let (own, rest) = text.split_once('\n')?;
    let (after, entry) = rest.split_once('\n')?;
    (own == list).then_some((after.parse().ok()?, entry.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(page: &Page, list: &[&str]) -> String {
        list[page.range.clone()].join(" ")
    }

    #[test]
    fn pages_fit_together_though_the_list_changes() {
        let at = |list: &'static [&'static str], cursor: Option<&str>| {
            let page = page("tools", list.len(), |at| list[at], cursor, 2).unwrap();
            (names(&page, list), page.next)
        };
        const LIST: &[&str] = &["a", "b", "c", "d", "e"];
        let (first, next) = at(LIST, None);
        let (second, last) = at(LIST, next.as_deref());
        let (third, end) = at(LIST, last.as_deref());
        assert_eq!((&*first, &*second, &*third, end), ("a b", "c d", "e", None));
        // An entry before it was removed or added: the next page still begins after `b`.
        assert_eq!(at(&["b", "c", "d"], next.as_deref()).0, "c d");
        assert_eq!(at(&["x", "a", "b", "c", "d"], next.as_deref()).0, "c d");
        // The entry itself was removed.
        assert_eq!(at(&["a", "c", "d"], next.as_deref()).0, "d");
        assert_eq!(at(&[], next.as_deref()), (String::new(), None));
    }

    #[test]
    fn foreign_cursors_are_refused() {
        let other = write("prompts", 1, "a");
        for cursor in ["", "nonsense", "%%%", &other, &URL_SAFE_NO_PAD.encode("tools\n-1\na")] {
            let error = page("tools", 3, |_| "a", Some(cursor), 2).unwrap_err();
            assert_eq!(error.code, RpcError::INVALID_PARAMS, "{cursor}");
        }
    }
}
