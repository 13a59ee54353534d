//! Describes where two requests differ, so that two pages of JSON need not be compared by eye.

use serde_json::Value;

use super::RecordedRequest;

/// The first difference, in words.
pub(super) fn between(recorded: &RecordedRequest, asked: &RecordedRequest) -> String {
    if (&recorded.method, &recorded.path) != (&asked.method, &asked.path) {
        return format!(
            "{} {}, now {} {}",
            recorded.method, recorded.path, asked.method, asked.path
        );
    }
    match of_values("", &recorded.body, &asked.body) {
        Some((place, recorded, asked)) => {
            let place = if place.is_empty() { "/" } else { &place };
            format!("the body at `{place}` was {}, now {}", value_text(recorded), value_text(asked))
        }
        None => "no difference".to_owned(),
    }
}

type Difference<'a> = (String, Option<&'a Value>, Option<&'a Value>);

/// The place of the first difference, and what stands there on both sides.
fn of_values<'a>(place: &str, one: &'a Value, other: &'a Value) -> Option<Difference<'a>> {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let missing = other.keys().filter(|key| !one.contains_key(*key));
            one.keys().chain(missing).find_map(|key| {
                let place = format!("{place}/{key}");
                of_places(place, one.get(key), other.get(key))
            })
        }
        (Value::Array(one), Value::Array(other)) => (0..one.len().max(other.len()))
            .find_map(|at| of_places(format!("{place}/{at}"), one.get(at), other.get(at))),
        (one, other) if one == other => None,
        _ => Some((place.to_owned(), Some(one), Some(other))),
    }
}

fn of_places<'a>(
    place: String,
    one: Option<&'a Value>,
    other: Option<&'a Value>,
) -> Option<Difference<'a>> {
    match (one, other) {
        (Some(one), Some(other)) => of_values(&place, one, other),
        (None, None) => None,
        _ => Some((place, one, other)),
    }
}

fn value_text(value: Option<&Value>) -> String {
    let Some(value) = value else { return "not there".to_owned() };
    let text = value.to_string();
    let start: String = text.chars().take(120).collect();
    if start.len() < text.len() { format!("{start}…") } else { start }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let asked = |path: &str, body: &Value| RecordedRequest {
            method: "POST".to_owned(),
            path: path.to_owned(),
            body: body.clone(),
        };
        let recorded = asked("/a", &json!({"model": "m", "messages": [{"content": "x"}]}));
        for (path, body, said) in [
            ("/b", json!({}), "POST /a, now POST /b"),
            (
                "/a",
                json!({"model": "n", "messages": []}),
                "the body at `/model` was \"m\", now \"n\"",
            ),
            (
                "/a",
                json!({"model": "m", "messages": [{"content": "y"}]}),
                "the body at `/messages/0/content` was \"x\", now \"y\"",
            ),
            (
                "/a",
                json!({"model": "m", "messages": [{"content": "x"}, 2]}),
                "the body at `/messages/1` was not there, now 2",
            ),
            (
                "/a",
                json!({"model": "m", "messages": [{"content": "x"}], "stream": true}),
                "the body at `/stream` was not there, now true",
            ),
            (
                "/a",
                json!([]),
                "the body at `/` was {\"model\":\"m\",\"messages\":[{\"content\":\"x\"}]}, now []",
            ),
        ] {
            assert_eq!(between(&recorded, &asked(path, &body)), said);
        }
    }
}
