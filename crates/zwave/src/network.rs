//! The seam: what the tools need of a Z-Wave network, whoever speaks with it.

use futures_util::stream::BoxStream;
use serde_json::Value;
use switchboard_mqtt::{BrokerAddressError, PrefixError, TrustError};
use switchboard_toolcall::{BoxFuture, ErrorKind, ToolError};

/// A Z-Wave network. It connects by itself, and again when the connection is lost.
pub trait Network: Send + Sync {
    /// Every node with its values, as the gateway has them now.
    fn nodes(&self) -> BoxFuture<'_, Result<Vec<ZwaveNode>, Error>>;

    /// Writes a value and returns what the gateway says of it, which may take long: the caller sets the limit.
    fn write<'a>(
        &'a self,
        node: &'a ZwaveNode,
        id: &'a ValueId,
        value: Value,
    ) -> BoxFuture<'a, Result<WriteAck, Error>>;

    /// Asks the device itself for a value; null if it does not answer.
    fn poll<'a>(
        &'a self,
        node: &'a ZwaveNode,
        id: &'a ValueId,
    ) -> BoxFuture<'a, Result<Value, Error>>;

    /// When a value was last reported, in milliseconds of Unix time, where [`nodes`](Self::nodes) does not say.
    fn updated<'a>(&'a self, node: &'a ZwaveNode, id: &'a ValueId) -> BoxFuture<'a, Option<u64>>;

    /// A value each time the network reports it from now on.
    fn watch(&self, node: &ZwaveNode, id: &ValueId) -> BoxStream<'static, Value>;

    /// The way to the devices, nearest first, as it is known now.
    fn hops(&self) -> Vec<Hop>;
}

/// A node, and what is known of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZwaveNode {
    /// Its number in the network.
    pub id: u64,
    /// What people call it; may be empty.
    pub name: String,
    /// Where it is; may be empty.
    pub location: String,
    /// The controller and virtual nodes are none.
    pub is_device: bool,
    /// Whether it answers.
    pub status: NodeStatus,
    /// Whether the controller has given it up.
    pub failed: bool,
    /// Whether it has been asked for all that it can do.
    pub ready: bool,
    /// When it was last heard, in milliseconds of Unix time.
    pub last_active: Option<u64>,
    /// Maker and product.
    pub product: Option<String>,
    /// Its values.
    pub values: Vec<ValueReading>,
}

/// Whether a node answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeStatus {
    /// Nobody knows.
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

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Asleep => "asleep",
            Self::Awake => "awake",
            Self::Dead => "dead",
            Self::Alive => "alive",
        }
    }

    /// The status with this word, in any case.
    pub(crate) fn of_word(word: &str) -> Self {
        let is_it = |status: &Self| status.word().eq_ignore_ascii_case(word);
        Self::ALL.into_iter().find(is_it).unwrap_or_default()
    }
}

/// Which value of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueId {
    /// The command class that it belongs to.
    pub command_class: u64,
    /// The part of the device.
    pub endpoint: u64,
    /// A word or a number.
    pub property: Value,
    /// A further word or number, where the property is not enough.
    pub property_key: Option<Value>,
}

impl ValueId {
    /// The same value's sibling with another property.
    pub(crate) fn sibling(&self, property: &str) -> Self {
        Self { property: property.into(), property_key: None, ..self.clone() }
    }

    /// As both gateways write it.
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

/// A value, and what is known of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueReading {
    /// Which one.
    pub id: ValueId,
    /// What people call it.
    pub label: String,
    /// What its number counts.
    pub unit: Option<String>,
    /// Whether it can be read.
    pub readable: bool,
    /// The value if known.
    pub value: Option<Value>,
    /// What single values stand for.
    pub states: Vec<(Value, String)>,
    /// When it was last reported, in milliseconds of Unix time.
    pub updated: Option<u64>,
}

/// What the gateway says of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteAck {
    /// Z-Wave JS's `SetValueStatus`.
    pub status: u64,
    /// What it says beside it.
    pub message: Option<String>,
}

impl WriteAck {
    /// Whether the device took it, as far as the gateway knows.
    pub fn is_ok(&self) -> bool {
        matches!(self.status, 255 | 254 | 1)
    }

    /// Whether the device itself has said that it did it (supervision). All else that is reported right after a write may
    /// be the gateway's guess: zwave-js takes a value for the device's as soon as the radio frame is acknowledged.
    pub fn is_supervised(&self) -> bool {
        self.status == 255
    }

    /// The word for the status.
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

/// One step of the way to the devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// `broker`, `gateway`, `server` or `driver`.
    pub name: &'static str,
    /// Whether it is there.
    pub state: HopState,
    /// Which one, or why not.
    pub detail: String,
}

/// Whether a hop is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HopState {
    /// It is.
    Up,
    /// It is not.
    Down,
    /// It has not been heard of.
    Unknown,
}

impl HopState {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Unknown => "unknown",
        }
    }
}

/// What can go wrong on the way to the devices.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The broker's address in the settings cannot be used.
    #[error(transparent)]
    Broker(#[from] BrokerAddressError),
    /// An address in the settings cannot be used.
    #[error("`{address}` is no address of {what}: {reason}")]
    Address {
        /// What it should lead to, with an example.
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
    /// It is not there; nothing was asked.
    #[error("{service} could not be reached: {reason}. Check: {check}")]
    Unreachable {
        /// What was to be reached.
        service: String,
        /// Why it could not be.
        reason: String,
        /// What people can look at.
        check: &'static str,
    },
    /// It was asked, and then the connection broke or no answer came.
    #[error("{service} could not be reached any more: {reason}. Check: {check}")]
    Lost {
        /// What was asked.
        service: String,
        /// What happened.
        reason: String,
        /// What people can look at.
        check: &'static str,
    },
    /// It answered that it would not.
    #[error("the Z-Wave gateway refused `{asked}`: {reason}")]
    Refused {
        /// What was asked for.
        asked: String,
        /// Its words.
        reason: String,
    },
}

impl Error {
    /// The error of a tool that met this one.
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
