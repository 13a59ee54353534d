//! A network made of code.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{StreamExt, stream::BoxStream};
use serde_json::{Value, json};
use switchboard_runtime::{
    ToolExecutor,
    toolcall::{BoxFuture, ToolResult},
};
use switchboard_zwave::{
    Config, Error, Hop, HopState, Network, NodeStatus, ValueId, ValueReading, WriteAck, ZwaveNode,
    tools,
};
use tokio::sync::mpsc;

/// What the devices do when they are written to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Behaviour {
    /// They do it, and say so.
    #[default]
    Obey,
    /// They do it, and only say so when they are asked.
    ObeySilently,
    /// The gateway takes it, and nothing happens.
    Ignore,
    /// The gateway says this status.
    Status(u64),
    /// The gateway does not answer.
    Hang,
    /// The connection breaks.
    Break,
    /// As dimmers that remember no level: 255 is dark.
    Forget,
    /// As zwave-js without supervision: the value is reported at once, whatever the device does.
    Guess(Device),
}

/// What a device does without supervision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Device {
    /// It does it.
    Obeys,
    /// It acknowledges the frame, and ignores the command.
    Ignores,
    /// The same, and it does not answer when it is asked.
    IgnoresMutely,
    /// Each time that it is asked it is 30 further.
    Ramps,
}

/// The network, and what was done to it.
#[derive(Default)]
pub(crate) struct Fake {
    pub(crate) nodes: Mutex<Vec<ZwaveNode>>,
    pub(crate) behaviour: Mutex<Behaviour>,
    pub(crate) is_down: Mutex<bool>,
    /// The node, and what was written.
    pub(crate) writes: Mutex<Vec<(u64, Value)>>,
    /// What of it was written to.
    pub(crate) written: Mutex<Vec<ValueId>>,
    /// How often the nodes were asked for.
    pub(crate) asked: Mutex<usize>,
    /// Where reported values go.
    reports: Mutex<Vec<mpsc::UnboundedSender<Value>>>,
}

impl Fake {
    pub(crate) fn with(nodes: Vec<ZwaveNode>) -> Arc<Self> {
        Arc::new(Self { nodes: Mutex::new(nodes), ..Self::default() })
    }

    pub(crate) fn behaves(self: Arc<Self>, behaviour: Behaviour) -> Arc<Self> {
        *self.behaviour.lock().unwrap() = behaviour;
        self
    }

    /// Calls a tool as every call is made. Whatever it answers for programs is what it said it would be.
    pub(crate) async fn call(self: &Arc<Self>, tool: &str, args: Value) -> ToolResult {
        let executor = self.executor();
        let result = executor.call(tool, args).await;
        let envelope = serde_json::to_value(&result).unwrap();
        if let Some(structured) = envelope["result"].get("structuredContent") {
            let tools = executor.tools().all();
            let tool = tools.iter().find(|known| known.spec().name == tool).unwrap();
            let schema = tool.spec().output_schema.as_ref().unwrap();
            let checked = jsonschema::validate(schema, structured);
            assert!(checked.is_ok(), "{checked:?}: {structured}");
        }
        result
    }

    /// An executor with the tools.
    pub(crate) fn executor(self: &Arc<Self>) -> ToolExecutor {
        let executor = ToolExecutor::default();
        for tool in tools(self.clone(), &Config::default()) {
            executor.tools().add_shared(tool).unwrap();
        }
        executor
    }

    fn reach(&self) -> Result<(), Error> {
        let down = Error::Unreachable {
            service: "the fake".to_owned(),
            reason: "it is down".to_owned(),
            check: "is it on?",
        };
        if *self.is_down.lock().unwrap() { Err(down) } else { Ok(()) }
    }

    fn set(&self, node: u64, value: &Value) {
        for node in self.nodes.lock().unwrap().iter_mut().filter(|own| own.id == node) {
            let is_state = |reading: &&mut ValueReading| reading.id.property == "currentValue";
            for reading in node.values.iter_mut().filter(is_state) {
                reading.value = Some(value.clone());
            }
        }
    }

    /// Moves a dimmer by a step towards what was last written, or was last on.
    fn ramp(&self, node: u64) {
        let written = self.writes.lock().unwrap().last().and_then(|(_, value)| value.as_u64());
        let target = written.map(|level| if level == 255 { 80 } else { level }).unwrap();
        let nodes = self.nodes.lock().unwrap();
        let at = nodes.iter().find(|own| own.id == node).unwrap().values[0].value.clone();
        drop(nodes);
        let at = at.unwrap().as_u64().unwrap();
        let next =
            if at < target { (at + 30).min(target) } else { at.saturating_sub(30).max(target) };
        self.set(node, &json!(next));
    }

    fn report(&self, value: &Value) {
        for listener in self.reports.lock().unwrap().iter() {
            // Who watched once may be gone.
            let _ = listener.send(value.clone());
        }
    }
}

impl Network for Fake {
    fn nodes(&self) -> BoxFuture<'_, Result<Vec<ZwaveNode>, Error>> {
        *self.asked.lock().unwrap() += 1;
        Box::pin(async { self.reach().map(|()| self.nodes.lock().unwrap().clone()) })
    }

    fn write<'a>(
        &'a self,
        node: &'a ZwaveNode,
        id: &'a ValueId,
        value: Value,
    ) -> BoxFuture<'a, Result<WriteAck, Error>> {
        Box::pin(async move {
            assert_eq!(id.property, "targetValue");
            self.reach()?;
            self.writes.lock().unwrap().push((node.id, value.clone()));
            self.written.lock().unwrap().push(id.clone());
            let behaviour = self.behaviour.lock().unwrap().clone();
            let level = match value.as_u64() {
                Some(255) if behaviour == Behaviour::Forget => json!(0),
                Some(255) => json!(40),
                _ => value.clone(),
            };
            let mut status = 255;
            match behaviour {
                Behaviour::Guess(device) => {
                    status = 254;
                    // It guesses levels, and nothing where it does not know which one is restored.
                    if value != 255 {
                        self.report(&level);
                    }
                    if device == Device::Obeys {
                        self.set(node.id, &level);
                    }
                }
                Behaviour::Obey | Behaviour::Forget => {
                    self.set(node.id, &level);
                    self.report(&level);
                }
                Behaviour::ObeySilently => self.set(node.id, &level),
                Behaviour::Ignore => {}
                Behaviour::Status(said) => status = said,
                Behaviour::Hang => std::future::pending().await,
                Behaviour::Break => {
                    return Err(Error::Lost {
                        service: "the fake".to_owned(),
                        reason: "it went away".to_owned(),
                        check: "is it on?",
                    });
                }
            }
            Ok(WriteAck { status, message: (status == 5).then(|| "out of range".to_owned()) })
        })
    }

    fn poll<'a>(
        &'a self,
        node: &'a ZwaveNode,
        id: &'a ValueId,
    ) -> BoxFuture<'a, Result<Value, Error>> {
        Box::pin(async move {
            self.reach()?;
            match *self.behaviour.lock().unwrap() {
                Behaviour::Guess(Device::IgnoresMutely) => return Ok(Value::Null),
                Behaviour::Guess(Device::Ramps) => self.ramp(node.id),
                _ => {}
            }
            let nodes = self.nodes.lock().unwrap();
            let values = nodes.iter().filter(|own| own.id == node.id).flat_map(|own| &own.values);
            let value =
                values.filter(|reading| reading.id == *id).find_map(|own| own.value.clone());
            Ok(value.unwrap_or_default())
        })
    }

    fn updated<'a>(&'a self, _: &'a ZwaveNode, _: &'a ValueId) -> BoxFuture<'a, Option<u64>> {
        Box::pin(std::future::ready(None))
    }

    fn watch(&self, _: &ZwaveNode, _: &ValueId) -> BoxStream<'static, Value> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.reports.lock().unwrap().push(sender);
        let next = |mut receiver: mpsc::UnboundedReceiver<Value>| async {
            receiver.recv().await.map(|value| (value, receiver))
        };
        futures_util::stream::unfold(receiver, next).boxed()
    }

    fn hops(&self) -> Vec<Hop> {
        let state = if *self.is_down.lock().unwrap() { HopState::Down } else { HopState::Up };
        vec![Hop { name: "broker", state, detail: "the fake".to_owned() }]
    }
}

/// A device with these values.
pub(crate) fn device(id: u64, location: &str, name: &str, values: Vec<ValueReading>) -> ZwaveNode {
    ZwaveNode {
        id,
        name: name.to_owned(),
        location: location.to_owned(),
        is_device: true,
        status: NodeStatus::Alive,
        ready: true,
        values,
        ..ZwaveNode::default()
    }
}

pub(crate) fn reading(class: u64, property: &str, value: Value) -> ValueReading {
    let id = ValueId { command_class: class, property: property.into(), ..ValueId::default() };
    let label = property.to_owned();
    ValueReading { id, label, readable: true, value: Some(value), ..ValueReading::default() }
}

pub(crate) fn switch(id: u64, location: &str, name: &str) -> ZwaveNode {
    device(id, location, name, vec![reading(37, "currentValue", json!(false))])
}

pub(crate) fn dimmer(id: u64, location: &str, name: &str) -> ZwaveNode {
    device(id, location, name, vec![reading(38, "currentValue", json!(0))])
}

/// A household: a controller, a virtual node, a switch, a dimmer, a sensor and a dead switch.
pub(crate) fn household() -> Arc<Fake> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let minutes_ago = u64::try_from((now - Duration::from_secs(300)).as_millis()).unwrap();
    let temperature = ValueReading {
        unit: Some("°C".to_owned()),
        updated: Some(minutes_ago),
        ..reading(49, "Air temperature", json!(21.5))
    };
    let motion = ValueReading {
        states: vec![(json!(0), "idle".to_owned()), (json!(8), "motion".to_owned())],
        ..reading(113, "Motion", json!(8))
    };
    let version = reading(134, "firmwareVersions", json!(["1.0"]));
    let controller = ZwaveNode { is_device: false, ..device(1, "", "Stick", Vec::new()) };
    let dead = ZwaveNode { status: NodeStatus::Dead, ..switch(5, "Attic", "Fan") };
    Fake::with(vec![
        controller,
        switch(2, "Demo", "Switch One"),
        dimmer(3, "Bed Room", "Bedroom Lamp"),
        device(4, "", "Temp Sensor 1", vec![temperature, motion, version]),
        dead,
        ZwaveNode { is_device: false, ..switch(255, "", "Broadcast") },
    ])
}
