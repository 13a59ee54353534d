//! What a response's headers say beside its body: that there are more pages, that the rate limit is used up.

use std::time::{Duration, SystemTime};

use reqwest::{
    StatusCode, Url,
    header::{HeaderMap, LINK},
};
use serde_json::{Map, Value};
use switchboard_local::http::HttpFailure;
use switchboard_toolcall::HumanDuration;

use crate::{parameter::ParameterLocation, request::RequestPlan};

/// Returns what a model should know of a successful response, if anything.
pub(crate) fn of_response(plan: &RequestPlan, asked: &Url, headers: &HeaderMap) -> Option<String> {
    let hints: Vec<_> =
        [next_page(plan, asked, headers), used_up(headers)].into_iter().flatten().collect();
    (!hints.is_empty()).then(|| hints.join("\n"))
}

/// Returns what a model should know of a failure, if anything. `api` is the API's name if it can be signed in to.
pub(crate) fn of_failure(failure: &HttpFailure, api: Option<&str>) -> Option<String> {
    match failure {
        HttpFailure::Status { status, headers, .. } => match *status {
            StatusCode::UNAUTHORIZED => {
                let sign_in =
                    api.map(|api| format!(", or from a sign-in with `switchboard login {api}`"));
                let sign_in = sign_in.unwrap_or_default();
                Some(format!("Credentials come from `headers` of the API in the config{sign_in}"))
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::FORBIDDEN => used_up(headers),
            _ => None,
        },
        _ => None,
    }
}

/// Reads `Link: <…>; rel="next"`.
fn next_page(plan: &RequestPlan, asked: &Url, headers: &HeaderMap) -> Option<String> {
    let links = headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok());
    let next = links.flat_map(|links| links.split(",")).find_map(|link| {
        let (address, about) = link.trim().strip_prefix('<')?.split_once('>')?;
        let is_next =
            about.split(';').any(|part| matches!(part.trim(), "rel=\"next\"" | "rel=next"));
        is_next.then_some(address)
    })?;
    let next = asked.join(next).ok()?;
    let before: Vec<_> = asked.query_pairs().collect();
    let changed = next.query_pairs().filter(|pair| !before.contains(pair));
    let mut again = Map::new();
    for (name, value) in changed {
        let is_meant = |parameter: &&crate::parameter::ApiParameter| {
            parameter.place == ParameterLocation::Query && parameter.name == name
        };
        let parameter = plan.parameters.iter().find(is_meant)?;
        let number = value.parse::<u64>().ok().map(Value::from);
        again.insert(
            parameter.argument.clone(),
            number.unwrap_or_else(|| Value::String(value.into_owned())),
        );
    }
    match again.is_empty() {
        true => None,
        false => Some(format!("There is more: call again with {} added.", Value::Object(again))),
    }
}

/// Says until when no more requests are taken.
fn used_up(headers: &HeaderMap) -> Option<String> {
    let number = |names: [&str; 3]| {
        let mut values = names.into_iter().filter_map(|name| headers.get(name)?.to_str().ok());
        values.next()?.trim().parse::<u64>().ok()
    };
    if number(["x-ratelimit-remaining", "ratelimit-remaining", "x-rate-limit-remaining"])? > 0 {
        return None;
    }
    let reset = number(["x-ratelimit-reset", "ratelimit-reset", "x-rate-limit-reset"]);
    let now =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_secs());
    // Some say when, some say how long.
    let wait =
        reset.map(|reset| if reset > 1_000_000_000 { reset.saturating_sub(now) } else { reset });
    let wait = wait.map(|wait| format!(" for {}", HumanDuration(Duration::from_secs(wait))));
    Some(format!("The API's rate limit is used up{}.", wait.unwrap_or_default()))
}
