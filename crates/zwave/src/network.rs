//! The trait for a Z-Wave network, which the tools use.

use futures_util::stream::BoxStream;
use serde_json::Value;
use switchboard_mqtt::{BrokerAddressError, PrefixError, TrustError};
use switchboard_toolcall::{BoxFuture, ErrorKind, ToolError};

/// A Z-Wave network. It connects in the background, and reconnects when the connection is lost.
pub trait Network: Send + Sync {
    /// Returns every node with its values, as the gateway has them now.
    fn nodes(&self) -> BoxFuture<'_, Result<Vec<ZwaveNode>, Error>>;

    /// Writes a value. Returns the gateway's reply, which may take long: the caller sets the limit.
    fn write<'a>(
        &'a self,
        node: &'a ZwaveNode,
        id: &'a ValueId,
        value: Value,
    ) -> BoxFuture<'a, Result<WriteAck, Error>>;

    /// Reads a value from the device itself; null if it does not respond.
    fn poll<'a>(
        &'a self,
        node: &'a ZwaveNode,
        id: &'a ValueId,
    ) -> BoxFuture<'a, Result<Value, Error>>;

    /// Returns when a value was last reported, in milliseconds of Unix time, if [`nodes`](Self::nodes) does not say.
    fn updated<'a>(&'a self, node: &'a ZwaveNode, id: &'a ValueId) -> BoxFuture<'a, Option<u64>>;

    /// Returns a stream of a value's reports from now on.
    fn watch(&self, node: &ZwaveNode, id: &ValueId) -> BoxStream<'static, Value>;

    /// Returns the hops to the devices, nearest first, as they are known now.
    fn hops(&self) -> Vec<Hop>;
}

/// A node, and what is known of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZwaveNode {
    /// Its node id.
    pub id: u64,
    /// Its name; may be empty.
    pub name: String,
    /// Where it is; may be empty.
    pub location: String,
    /// Whether it is a device: the controller and virtual nodes are not.
    pub is_device: bool,
    /// Its status.
    pub status: NodeStatus,
    /// Whether the controller has marked it as failed.
    pub failed: bool,
    /// Whether its interview is complete.
    pub ready: bool,
    /// When it last sent something, in milliseconds of Unix time.
    pub last_active: Option<u64>,
    /// Maker and product.
    pub product: Option<String>,
    /// Its values.
    pub values: Vec<ValueReading>,
}

/// The status of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeStatus {
    /// Unknown.
    #[default]
    Unknown,
    /// It sleeps to save its battery, and listens when it wakes up.
    Asleep,
    /// It usually sleeps, and listens now.
    Awake,
    /// It does not answer.
    Dead,
    /// It answers.
    Alive,
}

impl NodeStatus {
    /// Every status, in the order in which they are counted.
    pub const ALL: [Self; 5] = [Self::Alive, Self::Awake, Self::Asleep, Self::Dead, Self::Unknown];

    /// Returns its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Asleep => "asleep",
            Self::Awake => "awake",
            Self::Dead => "dead",
            Self::Alive => "alive",
        }
    }

    /// Parses a status, ignoring case.
    pub(crate) fn of_word(word: &str) -> Self {
        let is_it = |status: &Self| status.word().eq_ignore_ascii_case(word);
        Self::ALL.into_iter().find(is_it).unwrap_or_default()
    }
}

/// Identifies a value of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueId {
    /// The command class that it belongs to.
    pub command_class: u64,
    /// The endpoint of the device.
    pub endpoint: u64,
    /// A name or a number.
    pub property: Value,
    /// The property's key, if it has one.
    pub property_key: Option<Value>,
}

impl ValueId {
    /// Returns the id of another property with the same command class and endpoint.
    pub(crate) fn sibling(&self, property: &str) -> Self {
        Self { property: property.into(), property_key: None, ..self.clone() }
    }

    /// Returns it as JSON, in the format of both gateways.
    pub(crate) fn to_json(&self) -> Value {
        let mut id = serde_json::json!({
            "commandClass": self.command_class, "endpoint": self.endpoint, "property": self.property,
        });
        if let Some(key) = &self.property_key {
            id["propertyKey"] = key.clone();
        }
        id
    }
}

/// A value with its metadata.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueReading {
    /// Which one.
    pub id: ValueId,
    /// What people call it.
    pub label: String,
    /// The unit of its number.
    pub unit: Option<String>,
    /// Whether it can be read.
    pub readable: bool,
    /// The value if known.
    pub value: Option<Value>,
    /// The labels of single values.
    pub states: Vec<(Value, String)>,
    /// When it was last reported, in milliseconds of Unix time.
    pub updated: Option<u64>,
}

/// The gateway's reply to a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteAck {
    /// Z-Wave JS's `SetValueStatus`.
    pub status: u64,
    /// Its message.
    pub message: Option<String>,
}

impl WriteAck {
    /// Whether the device accepted it, as far as the gateway knows.
    pub fn is_ok(&self) -> bool {
        matches!(self.status, 255 | 254 | 1)
    }

    /// Whether the device itself has confirmed it (supervision). Any other report right after a write may be the gateway's
    /// guess: zwave-js assumes the new value as soon as the radio frame is acknowledged.
    pub fn is_supervised(&self) -> bool {
        self.status == 255
    }

    /// Returns the status's name.
    pub fn word(&self) -> &'static str {
        match self.status {
            255 => "Success",
            254 => "SuccessUnsupervised",
            0 => "NoDeviceSupport",
            1 => "Working",
            2 => "Fail",
            3 => "EndpointNotFound",
            4 => "NotImplemented",
            5 => "InvalidValue",
            _ => "unknown status",
        }
    }
}

/// One hop on the way to the devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// `broker`, `gateway`, `server` or `driver`.
    pub name: &'static str,
    /// Whether it is reachable.
    pub state: HopState,
    /// Which one it is, or why it is not reachable.
    pub detail: String,
}

/// Whether a hop is reachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HopState {
    /// It is reachable.
    Up,
    /// It is not reachable.
    Down,
    /// Unknown.
    Unknown,
}

impl HopState {
    /// Returns its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Unknown => "unknown",
        }
    }
}

/// An error on the way to the devices.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The broker's address in the settings cannot be used.
    #[error(transparent)]
    Broker(#[from] BrokerAddressError),
    /// An address in the settings cannot be used.
    #[error("`{address}` is not an address of {what}: {reason}")]
    Address {
        /// What it should look like, with an example.
        what: &'static str,
        /// As it was given, without its password.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The prefix in the settings cannot begin a topic.
    #[error(transparent)]
    Prefix(#[from] PrefixError),
    /// The certificates in the settings cannot be used.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The settings name a broker and a server.
    #[error("Z-Wave is reached over `mqtt` or over `server`; only one of them can be set")]
    TwoWays,
    /// It could not be reached; nothing was sent.
    #[error("{service} could not be reached: {reason}. Check: {check}")]
    Unreachable {
        /// What could not be reached.
        service: String,
        /// Why it could not be.
        reason: String,
        /// What people can look at.
        check: &'static str,
    },
    /// The request was sent, and then the connection broke or no reply came.
    #[error("{service} could not be reached any more: {reason}. Check: {check}")]
    Lost {
        /// The request.
        service: String,
        /// What happened.
        reason: String,
        /// What people can look at.
        check: &'static str,
    },
    /// The gateway refused the request.
    #[error("the Z-Wave gateway refused `{asked}`: {reason}")]
    Refused {
        /// The request.
        asked: String,
        /// The gateway's message.
        reason: String,
    },
}

impl Error {
    /// Converts it to the error of a tool.
    pub(crate) fn of_tool(self, tool: &str) -> ToolError {
        match &self {
            Self::Unreachable { .. } | Self::Lost { .. } => ToolError::new(
                ErrorKind::Unavailable,
                format!("Tool '{tool}' is unavailable: {self}"),
            ),
            _ => ToolError::failed(&self),
        }
    }
}
