//! Where the program's connections can go: to the proxy, which listens in a network of the program's own if there is one.

use std::net::{Ipv4Addr, TcpListener};

use super::own_network::{self, NamespaceSet};
use crate::policy::NetworkRule;

/// Where the proxy listens in a network that nobody else is in.
const PROXY_PORT: u16 = 3128;

/// Where names are asked for, over TCP.
const DNS: u16 = 53;

/// The network of the program.
pub(super) struct BoxNetwork {
    /// Where the proxy listens, unless the program has no connections at all.
    pub(super) listener: Option<TcpListener>,
    /// Whether nobody else is in it.
    pub(super) is_own: bool,
    /// Whether its mounts are its own; if not, why.
    pub(super) own_mounts: Result<(), String>,
    /// What is not confined.
    pub(super) problem: Option<String>,
}

/// Moves this process into a network of its own, if it can and is not in one yet, and opens the proxy's socket there.
///
/// # Errors
/// The program's connections cannot be confined, and have to be.
pub(super) fn open(
    rule: &NetworkRule,
    is_required: bool,
    is_inside: bool,
) -> Result<BoxNetwork, String> {
    let listen = |port| {
        TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .map(Some)
            .map_err(|error| format!("its proxy has no socket: {error}"))
    };
    let NetworkRule::Proxy { has_destinations, .. } = rule else {
        let own_mounts = own_network::enter(NamespaceSet::Mounts);
        let listener = listen(0)?;
        return Ok(BoxNetwork { listener, is_own: false, own_mounts, problem: None });
    };
    let entered = if is_inside { Ok(()) } else { own_network::enter(NamespaceSet::Network) };
    let reason = match entered {
        Ok(()) => {
            let listener = listen(PROXY_PORT)?;
            return Ok(BoxNetwork { listener, is_own: true, own_mounts: Ok(()), problem: None });
        }
        Err(reason) => reason,
    };
    let own_mounts = Err(reason.clone());
    let without = |listener, problem| BoxNetwork { listener, is_own: false, own_mounts, problem };
    if !has_destinations {
        // Without any port there is nothing to get around.
        return Ok(without(None, None));
    }
    let problem = format!(
        "it cannot be kept from connecting to the port of its proxy at other hosts: {reason}"
    );
    match is_required {
        true => Err(problem),
        false => Ok(without(listen(0)?, Some(problem))),
    }
}

impl BoxNetwork {
    /// The ports that the program may connect to.
    pub(super) fn ports(&self, rule: &NetworkRule) -> Vec<u16> {
        let mut ports: Vec<_> = self.port().into_iter().collect();
        if let NetworkRule::Direct { ports: direct, .. } = rule {
            ports.push(DNS);
            ports.extend(direct);
        }
        ports
    }

    /// The variables that lead programs to the proxy.
    pub(super) fn variables(&self, rule: &NetworkRule) -> Vec<(String, String)> {
        let (NetworkRule::Proxy { token, .. } | NetworkRule::Direct { token, .. }) = rule;
        let direct = matches!(rule, NetworkRule::Direct { .. });
        // The C library asks for names by UDP unless it is told otherwise.
        let resolver = direct.then(|| ("RES_OPTIONS".to_owned(), "use-vc".to_owned()));
        let Some(port) = self.port() else { return resolver.into_iter().collect() };
        let user = if self.is_own { String::new() } else { format!("sandbox:{token}@") };
        let address = format!("http://{user}127.0.0.1:{port}");
        crate::start::proxy_variables(&address).into_iter().chain(resolver).collect()
    }

    fn port(&self) -> Option<u16> {
        self.listener.as_ref().and_then(|it| it.local_addr().ok()).map(|address| address.port())
    }
}
