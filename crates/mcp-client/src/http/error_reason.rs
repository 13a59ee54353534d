//! Describes in a few words why a connection failed.

use std::{error::Error, io};

type Cause<'a> = &'a (dyn Error + 'static);

/// Returns the most helpful reason of an error and its causes.
pub(super) fn reason(error: Cause<'_>) -> String {
    let root = chain(error).last().unwrap_or(error);
    if chain(error).any(|cause| cause.to_string() == "dns error") {
        return format!("no address found: {root}");
    }
    // The innermost cause is the most specific.
    let mut causes: Vec<_> = chain(error).collect();
    causes.reverse();
    causes.into_iter().find_map(spoken).unwrap_or_else(|| root.to_string())
}

fn spoken(cause: Cause<'_>) -> Option<String> {
    if let Some(error) = cause.downcast_ref::<rustls::Error>() {
        return Some(format!("TLS failed: {error}"));
    }
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        let is_closed = error.is_incomplete_message() || error.is_canceled() || error.is_closed();
        return match error.is_parse() {
            true => Some(not_http(error)),
            false => {
                is_closed.then(|| "the server closed the connection before it answered".to_owned())
            }
        };
    }
    let error = cause.downcast_ref::<io::Error>()?;
    let words = match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::ConnectionReset => "connection reset by the server",
        // Our own timeout error says how long that took.
        io::ErrorKind::TimedOut if error.get_ref().is_some() => return Some(error.to_string()),
        io::ErrorKind::TimedOut => "the connection timed out",
        io::ErrorKind::HostUnreachable => "host unreachable",
        io::ErrorKind::NetworkUnreachable => "network unreachable",
        io::ErrorKind::UnexpectedEof => "the server closed the connection",
        // An error in the framing of a body.
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData if error.source().is_none() => {
            return Some(not_http(error));
        }
        _ => return None,
    };
    Some(words.to_owned())
}

fn not_http(error: &dyn Error) -> String {
    format!("the server does not speak HTTP: {error}")
}

/// Iterates over an error and its causes, including those inside of I/O errors.
fn chain(error: Cause<'_>) -> impl Iterator<Item = Cause<'_>> {
    std::iter::successors(Some(error), |&error| {
        let carried = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        carried.map(|inner| inner as Cause<'_>).or_else(|| error.source())
    })
}
