//! JSON bodies of responses.

use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde::Serialize;

/// A body of JSON that ends with a newline, so that a shell's prompt begins on a line of its own after `curl`.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        let mut body = Vec::with_capacity(128);
        match serde_json::to_writer(&mut body, &self.0) {
            Ok(()) => {
                body.push(b'\n');
                ([(header::CONTENT_TYPE, "application/json")], body).into_response()
            }
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
        }
    }
}
