//! Where in a text the calls are.

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";
const FUNCTION: &str = "<function=";
const FUNCTION_END: &str = "</function>";

/// Returns the bodies of the calls if the text is nothing but calls: with tags, or bare JSON.
pub(super) fn nothing_else(text: &str) -> Option<Vec<&str>> {
    match tagged(text) {
        Some((before, bodies)) => before.trim().is_empty().then_some(bodies),
        None => {
            let body = text.trim();
            body.starts_with(['{', '[']).then(|| vec![body])
        }
    }
}

/// Returns the bodies of the calls with which the text ends.
pub(super) fn after_text(text: &str) -> Option<Vec<&str>> {
    tagged(text).map(|(_, bodies)| bodies)
}

/// The text before the first tag, and the bodies of the calls; `None` if there are none, or if anything but white space
/// follows one of them. Opening or closing tags may be missing.
fn tagged(text: &str) -> Option<(&str, Vec<&str>)> {
    let mut before = None;
    let mut bodies = Vec::new();
    let mut left = text;
    loop {
        let (open, function, close) = (left.find(OPEN), left.find(FUNCTION), left.find(CLOSE));
        let Some(first) = [open, function, close].into_iter().flatten().min() else { break };
        let (start, (body, after)) = if open == Some(first) {
            (first, wrapped(&left[first + OPEN.len()..]))
        } else if function == Some(first) {
            (first, unwrapped(&left[first..]))
        } else {
            // The opening tag is missing: the call begins where its JSON does.
            let start = left[..first].find('{')?;
            (start, (&left[start..first], &left[first + CLOSE.len()..]))
        };
        match before {
            None => before = Some(&left[..start]),
            Some(_) if left[..start].trim().is_empty() => {}
            Some(_) => return None,
        }
        bodies.push(body);
        left = after;
    }
    before.filter(|_| left.trim().is_empty()).map(|before| (before, bodies))
}

/// The body after an opening tag, up to the closing one, the next call or the end.
fn wrapped(text: &str) -> (&str, &str) {
    let close = text.find(CLOSE);
    let next = text.find(OPEN);
    match (close, next) {
        (Some(close), next) if next.is_none_or(|next| close < next) => {
            (&text[..close], &text[close + CLOSE.len()..])
        }
        (_, Some(next)) => (&text[..next], &text[next..]),
        _ => (text, ""),
    }
}

/// A function without a wrapper around it.
fn unwrapped(text: &str) -> (&str, &str) {
    let end = text.find(FUNCTION_END).map(|end| end + FUNCTION_END.len());
    let (body, after) = text.split_at(end.unwrap_or(text.len()));
    // What is left of a wrapper whose beginning was lost.
    let trimmed = after.trim_start();
    (body, trimmed.strip_prefix(CLOSE).unwrap_or(after))
}
