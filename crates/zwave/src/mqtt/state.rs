//! The state of the connection to the devices, and how each message changes it.

use std::collections::BTreeMap;

use rumqttc::AsyncClient;
use tokio::time::Instant;

use super::topics;

pub(super) const CHECK_GATEWAY: &str = "is zwave-js-ui running, is MQTT on in its settings, and are prefix and gateway name the same as there?";
const CHECK_SEVERAL: &str = "is each of them still in use? One that is gone is forgotten as soon as its retained status is deleted: mosquitto_pub -r -n -t PREFIX/_CLIENTS/NAME/status";

/// The state of the connection to the devices.
#[derive(Default)]
pub(super) struct MqttState {
    pub(super) broker: BrokerState,
    /// Every known gateway.
    pub(super) gateways: BTreeMap<String, GatewayPresence>,
    /// Whether the stick works, if the gateway has said so.
    pub(super) driver: Option<bool>,
    /// Whether the driver was reported as down, and it is not known yet whether the gateway is gone too: a gateway that is
    /// stopped sends no last will, so its retained status still says that it is online.
    pub(super) needs_probe: bool,
    /// How often a gateway has announced itself. Earlier requests may be lost.
    pub(super) announcements: u64,
}

#[derive(Default)]
pub(super) enum BrokerState {
    #[default]
    Connecting,
    /// Connected since then.
    Up(AsyncClient, Instant),
    Down(String),
}

/// Whether a gateway is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GatewayPresence {
    /// It reports that it is online.
    Online,
    /// It, or its last will, reports that it is offline.
    Offline,
    /// It reported that it is online, but has not responded and has sent nothing since.
    Silent,
}

/// Why no gateway can be used, and what people can check.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoGateway {
    pub(super) reason: String,
    pub(super) check: &'static str,
}

impl NoGateway {
    pub(super) fn new(reason: String) -> Self {
        Self { reason, check: CHECK_GATEWAY }
    }
}

impl MqttState {
    /// Applies the status of a gateway. Returns whether it has changed.
    ///
    /// A retained status is old: it counts only for gateways that nothing else is known about.
    pub(super) fn status(&mut self, gateway: &str, is_up: bool, is_retained: bool) -> bool {
        let presence = if is_up { GatewayPresence::Online } else { GatewayPresence::Offline };
        if is_retained && self.gateways.contains_key(gateway) {
            return false;
        }
        if is_up && !is_retained {
            self.announcements += 1;
            self.needs_probe = false;
        }
        self.gateways.insert(gateway.to_owned(), presence) != Some(presence)
    }

    /// Records that a gateway has just sent something. Returns whether that is a change.
    pub(super) fn mark_alive(&mut self, gateway: &str) -> bool {
        let needed_probe = std::mem::take(&mut self.needs_probe);
        let before = self.gateways.insert(gateway.to_owned(), GatewayPresence::Online);
        needed_probe || before != Some(GatewayPresence::Online)
    }

    /// Records that a gateway has not responded. Returns whether that is a change.
    pub(super) fn mark_silent(&mut self, gateway: &str) -> bool {
        self.needs_probe = false;
        self.gateways.insert(gateway.to_owned(), GatewayPresence::Silent)
            != Some(GatewayPresence::Silent)
    }

    /// Applies a message about the driver.
    pub(super) fn driver(&mut self, is_up: bool, is_retained: bool) {
        self.needs_probe = !is_up;
        if is_up && !is_retained {
            // A gateway has just reported it; its topic does not say which one.
            let silent =
                self.gateways.values_mut().filter(|known| **known == GatewayPresence::Silent);
            silent.for_each(|known| *known = GatewayPresence::Online);
        }
        self.driver = Some(is_up);
    }

    /// Chooses the gateway to ask, or returns why none can be; `None` if none is known.
    pub(super) fn choose(&self, configured: Option<&str>) -> Option<Result<String, NoGateway>> {
        if let Some(gateway) = configured {
            // Without retained statuses, a running one may be unknown.
            let presence = self.gateways.get(gateway).copied().unwrap_or(GatewayPresence::Online);
            return Some(usable(gateway, presence));
        }
        let online = self.gateways.iter().filter(|(_, known)| **known == GatewayPresence::Online);
        let online: Vec<_> = online.map(|(name, _)| name.as_str()).collect();
        match &online[..] {
            [] => self.gateways.first_key_value().map(|(name, known)| usable(name, *known)),
            [only] => Some(Ok((*only).to_owned())),
            several => {
                let names = several.join(", ");
                let reason = format!("there are several ({names}); name one with --gateway");
                Some(Err(NoGateway { reason, check: CHECK_SEVERAL }))
            }
        }
    }
}

fn usable(gateway: &str, presence: GatewayPresence) -> Result<String, NoGateway> {
    match presence {
        GatewayPresence::Online => Ok(gateway.to_owned()),
        GatewayPresence::Offline => {
            Err(NoGateway::new(format!("'{gateway}' says that it is offline")))
        }
        GatewayPresence::Silent => Err(NoGateway::new(format!(
            "'{gateway}' has not answered, and nothing was heard of it since"
        ))),
    }
}

/// Returns whether topics of this name are a gateway's.
pub(super) fn is_gateway(name: &str) -> bool {
    name.starts_with(topics::GATEWAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gateways that were heard of.
    type KnownGateways = &'static [(&'static str, GatewayPresence)];

    // HM-1: the only gateway is found by itself.
    #[test]
    fn a_gateway_is_chosen_or_it_is_said_why_not() {
        use GatewayPresence::{Offline, Online, Silent};
        let cases: [(Option<&str>, KnownGateways, &str); 9] = [
            (None, &[], "none"),
            (None, &[("a", Online)], "a"),
            (None, &[("a", Online), ("b", Offline)], "a"),
            (None, &[("a", Silent), ("b", Online)], "b"),
            (None, &[("a", Offline)], "'a' says that it is offline"),
            (None, &[("a", Silent)], "'a' has not answered, and nothing was heard of it since"),
            (
                None,
                &[("a", Online), ("b", Online)],
                "there are several (a, b); name one with --gateway",
            ),
            (Some("b"), &[("a", Online)], "b"),
            (Some("b"), &[("a", Online), ("b", Offline)], "'b' says that it is offline"),
        ];
        for (configured, heard, expected) in cases {
            let gateways = heard.iter().map(|(name, known)| ((*name).to_owned(), *known));
            let state = MqttState { gateways: gateways.collect(), ..MqttState::default() };
            let chosen = match state.choose(configured) {
                None => "none".to_owned(),
                Some(Ok(text) | Err(NoGateway { reason: text, .. })) => text,
            };
            assert_eq!(chosen, expected);
        }
    }

    // HM-1: of several, people are told how to get rid of one, not to look whether any runs.
    #[test]
    fn who_has_several_gateways_is_told_what_to_do() {
        let mut state = MqttState::default();
        for name in ["a", "b"] {
            state.status(name, true, true);
        }
        let Some(Err(several)) = state.choose(None) else { panic!("one was chosen") };
        assert!(several.check.contains("mosquitto_pub -r -n"), "{several:?}");
        assert!(!several.check.contains("is zwave-js-ui running"), "{several:?}");
    }

    // HM-1: a gateway that did not answer is not asked again until it sends something.
    #[test]
    fn a_silent_gateway_is_back_with_its_next_message() {
        let signs: [fn(&mut MqttState); 3] = [
            |state| assert!(state.status("a", true, false)),
            |state| assert!(state.mark_alive("a")),
            |state| state.driver(true, false),
        ];
        for sign in signs {
            let mut state = MqttState::default();
            state.status("a", true, true);
            state.driver(false, true);
            assert!(state.needs_probe);
            assert!(state.mark_silent("a") && !state.needs_probe);
            // What is retained was said before it fell silent; that its driver is down, as it went.
            state.status("a", true, true);
            state.driver(true, true);
            state.driver(false, false);
            assert_eq!(state.gateways["a"], GatewayPresence::Silent);
            sign(&mut state);
            assert_eq!(state.gateways["a"], GatewayPresence::Online);
            assert!(!state.needs_probe);
        }
    }
}
