//! A part of an artifact: characters of a text, or bytes.

use std::ops::RangeInclusive;

use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use switchboard_runtime::artifacts::ArtifactContent;

use crate::error::ApiError;

const TOTAL: HeaderName = HeaderName::from_static("x-total-characters");

/// Returns a number of characters from an offset.
pub(super) fn characters(
    stored: &ArtifactContent,
    offset: Option<u64>,
    limit: Option<u64>,
) -> Result<Response, ApiError> {
    let no_text = |_| {
        let kind = &stored.media_type;
        ApiError::BadRequest(format!(
            "it is {kind}, not text: `offset` and `limit` count characters"
        ))
    };
    let text = std::str::from_utf8(&stored.bytes).map_err(no_text)?;
    let clamp = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let begin = byte_of(text, clamp(offset.unwrap_or(0)));
    let length = byte_of(&text[begin..], clamp(limit.unwrap_or(u64::MAX)));
    let part = stored.bytes.slice(begin..begin + length);
    Ok(([(TOTAL, text.chars().count())], part).into_response())
}

/// Returns the byte where the character number `index` begins, or the end.
fn byte_of(text: &str, index: usize) -> usize {
    text.char_indices().nth(index).map_or(text.len(), |(at, _)| at)
}

/// Returns all bytes, or those of the range; an invalid range means all, as in HTTP.
pub(super) fn bytes(stored: &ArtifactContent, range: Option<&HeaderValue>) -> Response {
    let length = stored.bytes.len();
    let accepted = (header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let asked = range.and_then(|range| range.to_str().ok()).and_then(|range| read(range, length));
    match asked {
        None => ([accepted], stored.bytes.clone()).into_response(),
        Some(None) => {
            let all = format!("bytes */{length}");
            (StatusCode::RANGE_NOT_SATISFIABLE, [(header::CONTENT_RANGE, all)]).into_response()
        }
        Some(Some(range)) => {
            let which = format!("bytes {}-{}/{length}", range.start(), range.end());
            let part = stored.bytes.slice(range);
            let which = [(header::CONTENT_RANGE, which)];
            (StatusCode::PARTIAL_CONTENT, [accepted], which, part).into_response()
        }
    }
}

/// Parses one range of bytes: `None` if it is invalid, `Some(None)` if there are no such bytes.
fn read(range: &str, length: usize) -> Option<Option<RangeInclusive<usize>>> {
    let (first, last) = range.trim().strip_prefix("bytes=")?.split_once('-')?;
    let end = length.checked_sub(1);
    Some(match (first.trim(), last.trim()) {
        ("", last) => {
            let last: usize = last.parse().ok()?;
            end.filter(|_| last > 0).map(|end| length.saturating_sub(last)..=end)
        }
        (first, last) => {
            let first: usize = first.parse().ok()?;
            let last = if last.is_empty() { usize::MAX } else { last.parse().ok()? };
            let range = end.map(|end| first..=last.min(end));
            (first <= last).then_some(range.filter(|range| !range.is_empty()))?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_http_has_them() {
        let of_ten = |range: &str| read(range, 10);
        assert_eq!(of_ten("bytes=0-3"), Some(Some(0..=3)));
        assert_eq!(of_ten("bytes=4-"), Some(Some(4..=9)));
        assert_eq!(of_ten("bytes=-3"), Some(Some(7..=9)));
        assert_eq!(of_ten("bytes=-99"), Some(Some(0..=9)));
        assert_eq!(of_ten("bytes=8-99"), Some(Some(8..=9)));
        for beyond in ["bytes=10-", "bytes=10-12", "bytes=-0"] {
            assert_eq!(of_ten(beyond), Some(None), "{beyond}");
        }
        assert_eq!(read("bytes=0-", 0), Some(None));
        for strange in ["lines=1-2", "bytes=1", "bytes=a-b", "bytes=0-1,3-4", "bytes=3-1"] {
            assert_eq!(of_ten(strange), None, "{strange}");
        }
    }
}
