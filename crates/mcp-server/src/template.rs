//! Whether a URI could have come from a template (RFC 6570, as far as servers use it).

/// How many steps a match may take: templates and URIs are untrusted.
const MOST_STEPS: usize = 100_000;

/// Whether the template could expand to the URI.
pub(crate) fn matches(template: &str, uri: &str) -> bool {
    let Some(pieces) = pieces(template) else {
        return false;
    };
    fits(&pieces, uri, &mut 0)
}

enum UriTemplatePart<'a> {
    Text(&'a str),
    /// A value without a slash in it.
    Name,
    /// Any value.
    Anything,
    /// A value that may be missing, and begins with one of these.
    Optional(&'static [char]),
}

fn pieces(template: &str) -> Option<Vec<UriTemplatePart<'_>>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((text, after)) = rest.split_once('{') {
        let (expression, after) = after.split_once('}')?;
        if !text.is_empty() {
            pieces.push(UriTemplatePart::Text(text));
        }
        pieces.push(match expression.as_bytes().first()? {
            b'+' => UriTemplatePart::Anything,
            b'#' => UriTemplatePart::Optional(&['#']),
            b'?' | b'&' => UriTemplatePart::Optional(&['?', '&']),
            b'/' => UriTemplatePart::Optional(&['/']),
            b'.' => UriTemplatePart::Optional(&['.']),
            b';' => UriTemplatePart::Optional(&[';']),
            _ if expression.ends_with('*') => UriTemplatePart::Anything,
            _ => UriTemplatePart::Name,
        });
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(UriTemplatePart::Text(rest));
    }
    Some(pieces)
}

fn fits(pieces: &[UriTemplatePart<'_>], uri: &str, steps: &mut usize) -> bool {
    *steps += 1;
    if *steps > MOST_STEPS {
        return false;
    }
    let Some((first, rest)) = pieces.split_first() else {
        return uri.is_empty();
    };
    match first {
        UriTemplatePart::Text(text) => {
            uri.strip_prefix(text).is_some_and(|uri| fits(rest, uri, steps))
        }
        UriTemplatePart::Name => {
            let end = uri.find(['/', '?', '#']).unwrap_or(uri.len());
            !uri.is_empty() && any_split(rest, uri, 1, end, steps)
        }
        UriTemplatePart::Anything => any_split(rest, uri, 0, uri.len(), steps),
        UriTemplatePart::Optional(begins) => {
            fits(rest, uri, steps)
                || (uri.starts_with(*begins) && any_split(rest, uri, 1, uri.len(), steps))
        }
    }
}

/// Whether the rest matches after some value of `least` to `most` bytes.
fn any_split(
    rest: &[UriTemplatePart<'_>],
    uri: &str,
    least: usize,
    most: usize,
    steps: &mut usize,
) -> bool {
    // The longest first: usually a value ends at a slash or at the end of the URI.
    (least..=most).rev().any(|end| uri.get(end..).is_some_and(|uri| fits(rest, uri, steps)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_find_their_uris() {
        for (template, uri, expected) in [
            ("test://template/{id}/data", "test://template/7/data", true),
            ("test://template/{id}/data", "test://template//data", false),
            ("test://template/{id}/data", "test://template/7/8/data", false),
            ("test://template/{id}/data", "other://template/7/data", false),
            ("file:///{+path}", "file:///a/b/c.txt", true),
            ("file:///{path*}", "file:///a/b", true),
            ("a://{x}-{y}", "a://1-2", true),
            ("a://{x}{?q,r}", "a://1?q=2&r=3", true),
            ("a://{x}{?q}", "a://1", true),
            ("a://fixed", "a://fixed", true),
            ("a://{broken", "a://broken", false),
            ("a://{}", "a://", false),
        ] {
            assert_eq!(matches(template, uri), expected, "{template} and {uri}");
        }
    }

    #[test]
    fn a_hostile_template_costs_little() {
        let template = "{+a}x".repeat(40);
        assert!(!matches(&template, &"x".repeat(5000)));
        assert!(matches("a://{name}", "a://\u{e9}\u{20ac}"));
    }
}
