//! Where in a text the calls are.

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";
const FUNCTION: &str = "<function=";
const FUNCTION_END: &str = "</function>";

/// The bodies of calls with a tag, open, closed or both, and the text around them.
pub(super) fn tagged(text: &str) -> Option<(String, Vec<&str>)> {
    let mut rest = String::new();
    let mut bodies = Vec::new();
    let mut left = text;
    loop {
        let (open, function, close) = (left.find(OPEN), left.find(FUNCTION), left.find(CLOSE));
        let first = [open, function, close].into_iter().flatten().min();
        let Some(first) = first else { break };
        let (body, after) = if open == Some(first) {
            rest.push_str(&left[..first]);
            wrapped(&left[first + OPEN.len()..])
        } else if function == Some(first) {
            rest.push_str(&left[..first]);
            unwrapped(&left[first..])
        } else {
            // The opening tag is missing: the call begins where its JSON does.
            let start = left[..first].find('{')?;
            rest.push_str(&left[..start]);
            (&left[start..first], &left[first + CLOSE.len()..])
        };
        bodies.push(body);
        left = after;
    }
    rest.push_str(left);
    (!bodies.is_empty()).then_some((rest, bodies))
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

/// An answer that is nothing but JSON, in a fence or not.
pub(super) fn bare(text: &str) -> Option<(String, Vec<&str>)> {
    let mut body = text.trim();
    if let Some(fenced) = body.strip_prefix("```") {
        body = fenced
            .strip_suffix("```")?
            .trim_start_matches(|c: char| c.is_ascii_alphabetic())
            .trim();
    }
    body.starts_with(['{', '[']).then(|| (String::new(), vec![body]))
}
