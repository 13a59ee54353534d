//! The trace that a request is part of.

use std::sync::Arc;

use http::HeaderMap;
use switchboard_toolcall::TraceContext;

pub(crate) fn of(headers: &HeaderMap) -> Option<Arc<TraceContext>> {
    let values = |name| headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    TraceContext::from_headers(values).map(Arc::new)
}
