//! A message that comes: told apart by its fields. The parameters of a client's request are read with it, once; other
//! payloads are kept raw.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error, IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value, value::RawValue};

use crate::RpcError;

/// An incoming message; `P` is the type of a request's parameters.
#[derive(Debug)]
pub enum IncomingMessage<P = Box<RawValue>> {
    /// The answer to a request of ours.
    Response {
        /// Our id; `None` if the other side could not parse it.
        id: Option<u64>,
        /// The result, or the error.
        outcome: Result<Box<RawValue>, RpcError>,
    },
    /// A request of theirs.
    Request {
        /// Their id, returned unchanged.
        id: Box<RawValue>,
        /// The method.
        method: String,
        /// With which parameters.
        params: Option<P>,
    },
    /// A notification.
    Notification {
        /// The method.
        method: String,
        /// The details.
        params: Option<Box<RawValue>>,
    },
}

/// Bytes that are no JSON-RPC message, and why.
#[derive(Debug, thiserror::Error)]
#[error("not JSON-RPC: {0}")]
pub struct NotJsonRpc(pub String);

/// The error of an invalid message, or one that cannot be answered.
#[derive(Debug)]
pub enum UnreadableMessage {
    /// The text is not JSON, or not a JSON-RPC message.
    NotJsonRpc(NotJsonRpc),
    /// The text is a request whose parameters cannot be read.
    Params {
        /// The request's id.
        id: Box<RawValue>,
        /// What is wrong with them.
        error: RpcError,
    },
}

/// The parameters of a client's request, read once for all who use them.
#[derive(Debug, Default)]
pub struct RequestParams {
    /// The `_meta` of the request.
    pub meta: Option<Map<String, Value>>,
    /// Everything but `_meta`.
    pub fields: Map<String, Value>,
}

/// Reads one message.
///
/// # Errors
/// The bytes are not JSON, or JSON of another kind.
pub fn parse(bytes: &[u8]) -> Result<IncomingMessage, NotJsonRpc> {
    read(bytes)
}

/// Reads one message of a client; the parameters of a request are taken apart as they are read.
///
/// # Errors
/// As [`parse`], or the parameters of a request are not an object.
pub fn parse_of_client(bytes: &[u8]) -> Result<IncomingMessage<RequestParams>, UnreadableMessage> {
    let error = match read(bytes) {
        Ok(message) => return Ok(message),
        Err(error) => error,
    };
    // Parsed again, to find out the request's id.
    let (id, params) = match parse(bytes) {
        Ok(IncomingMessage::Request { id, params, .. }) => (id, params.unwrap_or_default()),
        Ok(IncomingMessage::Notification { method, params }) => {
            return Ok(IncomingMessage::Notification { method, params });
        }
        _ => return Err(UnreadableMessage::NotJsonRpc(error)),
    };
    let text = match serde_json::from_str::<RequestParams>(params.get()) {
        Err(error) if params.get().starts_with('{') => {
            format!("the parameters are not usable: {error}")
        }
        _ => "`params` must be an object".to_owned(),
    };
    let error = RpcError::new(RpcError::INVALID_PARAMS, text);
    Err(UnreadableMessage::Params { id, error })
}

impl<'de> Deserialize<'de> for RequestParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ParamsVisitor;
        impl<'de> Visitor<'de> for ParamsVisitor {
            type Value = RequestParams;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RequestParams, A::Error> {
                let mut params = RequestParams::default();
                while let Some(key) = map.next_key::<String>()? {
                    // Duplicate keys are refused: a parser that takes the other value would see another request.
                    let is_new = match key.as_str() {
                        "_meta" => replace(&mut params.meta, &mut map)?,
                        _ => params.fields.insert(key, map.next_value()?).is_none(),
                    };
                    if !is_new {
                        return Err(A::Error::custom("a field that comes twice"));
                    }
                }
                Ok(params)
            }
        }
        deserializer.deserialize_map(ParamsVisitor)
    }
}

/// Reads the first message of the bytes, and returns how many of them it took.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_prefix(bytes: &[u8]) -> Result<(IncomingMessage, usize), NotJsonRpc> {
    let mut stream =
        serde_json::Deserializer::from_slice(bytes).into_iter::<MessageFields<'_, _>>();
    match stream.next() {
        Some(Ok(fields)) => Ok((fields.message()?, stream.byte_offset())),
        Some(Err(error)) => Err(NotJsonRpc(error.to_string())),
        None => Err(NotJsonRpc("nothing there".to_owned())),
    }
}

/// The type of a request's parameters.
trait Payload: DeserializeOwned {
    /// Returns them as they came, for what turns out to be no request.
    fn into_raw(self) -> Option<Box<RawValue>>;
}

impl Payload for Box<RawValue> {
    fn into_raw(self) -> Option<Box<RawValue>> {
        Some(self)
    }
}

impl Payload for RequestParams {
    fn into_raw(self) -> Option<Box<RawValue>> {
        // Of clients, only notifications that are called so mean anything to us; those are not read into this.
        None
    }
}

fn read<P: Payload>(bytes: &[u8]) -> Result<IncomingMessage<P>, NotJsonRpc> {
    let fields = serde_json::from_slice::<MessageFields<'_, P>>(bytes);
    fields.map_err(|error| NotJsonRpc(error.to_string()))?.message()
}

/// All fields that a message can have.
struct MessageFields<'a, P> {
    jsonrpc: Option<Text<'a>>,
    id: Option<&'a RawValue>,
    method: Option<Text<'a>>,
    params: Option<FieldParams<'a, P>>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

/// The parameters: read at once if the method came before them, as it nearly always does.
enum FieldParams<'a, P> {
    Read(P),
    Raw(&'a RawValue),
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum MessageKey {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    #[serde(other)]
    Other,
}

impl<'de, P: Deserialize<'de>> Deserialize<'de> for MessageFields<'de, P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MessageVisitor(PhantomData))
    }
}

struct MessageVisitor<P>(PhantomData<P>);

impl<'de, P: Deserialize<'de>> Visitor<'de> for MessageVisitor<P> {
    type Value = MessageFields<'de, P>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut jsonrpc, mut id, mut method) = (None, None, None::<Text<'de>>);
        let (mut params, mut result, mut error) = (None, None, None);
        while let Some(key) = map.next_key()? {
            let is_new = match key {
                MessageKey::Jsonrpc => replace(&mut jsonrpc, &mut map)?,
                MessageKey::Id => replace(&mut id, &mut map)?,
                MessageKey::Method => replace(&mut method, &mut map)?,
                MessageKey::Result => replace(&mut result, &mut map)?,
                MessageKey::Error => replace(&mut error, &mut map)?,
                MessageKey::Params => {
                    let next = match &method {
                        Some(Text(method)) if !method.starts_with("notifications/") => {
                            map.next_value::<Option<P>>()?.map(FieldParams::Read)
                        }
                        _ => map.next_value::<Option<&RawValue>>()?.map(FieldParams::Raw),
                    };
                    params.replace(next).is_none()
                }
                MessageKey::Other => {
                    map.next_value::<IgnoredAny>()?;
                    true
                }
            };
            if !is_new {
                return Err(A::Error::custom("a field that comes twice"));
            }
        }
        let params = params.flatten();
        Ok(MessageFields { jsonrpc, id, method, params, result, error })
    }
}

/// Takes the next value, and returns whether it is the first of its name.
fn replace<'de, T, A>(field: &mut Option<T>, map: &mut A) -> Result<bool, A::Error>
where
    T: Deserialize<'de>,
    A: MapAccess<'de>,
{
    let is_first = field.is_none();
    *field = map.next_value()?;
    Ok(is_first)
}

impl<P: Payload> MessageFields<'_, P> {
    fn message(self) -> Result<IncomingMessage<P>, NotJsonRpc> {
        if self.jsonrpc.is_none_or(|version| version.0 != "2.0") {
            return Err(NotJsonRpc("no \"jsonrpc\":\"2.0\"".to_owned()));
        }
        // `"id": null` is as good as none.
        let id = self.id.filter(|id| id.get() != "null");
        match (self.method, id) {
            (Some(method), Some(id)) => Ok(IncomingMessage::Request {
                id: id.to_owned(),
                method: method.0.into_owned(),
                params: match self.params {
                    Some(FieldParams::Read(params)) => Some(params),
                    Some(FieldParams::Raw(raw)) => {
                        let params = serde_json::from_str(raw.get());
                        Some(params.map_err(|error| NotJsonRpc(error.to_string()))?)
                    }
                    None => None,
                },
            }),
            (Some(method), None) => Ok(IncomingMessage::Notification {
                method: method.0.into_owned(),
                params: match self.params {
                    Some(FieldParams::Read(params)) => params.into_raw(),
                    Some(FieldParams::Raw(raw)) => Some(raw.to_owned()),
                    None => None,
                },
            }),
            (None, id) => {
                let outcome = match (self.result, self.error) {
                    (_, Some(error)) if error.get() != "null" => Err(RpcError::read(error)),
                    (Some(result), _) => Ok(result.to_owned()),
                    _ => return Err(NotJsonRpc("no method, result or error".to_owned())),
                };
                Ok(IncomingMessage::Response { id: id.and_then(our_id), outcome })
            }
        }
    }
}

/// Some servers give our number back as a string.
fn our_id(id: &RawValue) -> Option<u64> {
    id.get().trim_matches('"').parse().ok()
}

/// Removes `serverInfo` from a result: it is meant for one hop only.
pub fn without_server_info(fields: &mut Map<String, Value>) {
    if let Some(Value::Object(meta)) = fields.get_mut("_meta") {
        meta.remove(&format!("{}serverInfo", crate::META));
        if meta.is_empty() {
            fields.remove("_meta");
        }
    }
}

#[cfg(test)]
mod tests;
