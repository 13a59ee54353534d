//! Requests whose head could be read in two ways: a proxy in front may have decided by the other one.

use http::{HeaderName, HeaderValue, Request, header};

use crate::error::ApiError;

/// Refuses a request with two `Host` or `Authorization` headers, or with user information in its host.
pub(crate) fn check<B>(request: &Request<B>) -> Result<(), ApiError> {
    let host = only(request, &header::HOST)?;
    only(request, &header::AUTHORIZATION)?;
    let authority = request.uri().authority().map(|authority| authority.as_str().as_bytes());
    if [host.map(HeaderValue::as_bytes), authority].into_iter().flatten().any(has_user) {
        let text =
            "the host of the request has user information before an `@`, which is not allowed";
        return Err(ApiError::BadRequest(text.to_owned()));
    }
    Ok(())
}

/// Returns the header of this name, of which there may be one.
fn only<'a, B>(
    request: &'a Request<B>,
    name: &HeaderName,
) -> Result<Option<&'a HeaderValue>, ApiError> {
    let mut values = request.headers().get_all(name).iter();
    let first = values.next();
    match values.next() {
        None => Ok(first),
        Some(_) => {
            let text = format!("the request has more than one `{name}` header");
            Err(ApiError::BadRequest(text))
        }
    }
}

fn has_user(host: &[u8]) -> bool {
    host.contains(&b'@')
}
