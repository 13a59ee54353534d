//! `switchboard serve`: the same safe tools for every client (SPEC GW-1).

mod attached;
mod banner;
mod install;
mod membership;
mod own_socket;
mod reload;
mod server_editor;

use std::{
    io::ErrorKind,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    process::ExitCode,
    sync::Arc,
};

use anyhow::Context;
use serde_json::json;
use switchboard_approvals::ApprovalQueue;
use switchboard_audit::Store;
use switchboard_cluster::figures::FiguresTask;
use switchboard_gateway::{
    About, Config, ConfigState, Feed, Gateway, Metrics, Parts, ServerEditor, Tls,
};
use switchboard_mcp_server::{self as server, Bridge, DiscoveryMode, McpCaller};
use switchboard_runtime::DurableCalls;
use switchboard_toolcall::ToolPatterns;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;

use crate::{
    approvals,
    assembly::{self, App, Deps},
    browser,
    cli::{Cli, ServeArgs},
    cluster::{self, ClusterConnection},
    connections::{Connections, Needs, while_connected},
    model, overrides,
    own_gateway::{self, OwnGateway},
    profiles,
    records::{self, RecordStores},
    runtime::on_threads,
    settings::LoadedConfig,
    sign_ins, terminal,
};
use membership::Membership;
use server_editor::ConfigServers;

pub(super) fn run(serve: &ServeArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    if serve.install {
        return install::install(serve, cli);
    }
    if serve.uninstall {
        return install::uninstall();
    }
    let mut loaded = overrides::load(cli)?;
    profiles::check(&loaded, serve.profile.as_deref())?;
    let gateway = serve.stdio.then(|| OwnGateway::find(cli, &loaded)).flatten();
    if let Some(gateway) = &gateway {
        gateway.attach(&mut loaded, false, serve.profile.as_deref());
        OwnGateway::add_fallback(&mut loaded, serve.profile.as_deref());
    }
    on_threads(loaded.settings.serve.threads, async {
        cluster::warn(&loaded)?;
        if let Some(gateway) = &gateway {
            gateway.servers_settled(loaded.settings.mcp.startup_wait.0).await;
        }
        let metrics = Arc::new(Metrics::default());
        let mut records = RecordStores::of(&loaded);
        if let Some(store) = &records.store {
            records::start_upkeep(store, &loaded)?;
        }
        let feed = Arc::new(Feed::new(metrics));
        records.observer = Some(feed.clone());
        let store = records.store.clone();
        let cluster = ClusterConnection::default();
        let membership = match serve.stdio {
            true => None,
            false => Some(Membership::new(&loaded, &cluster).await?),
        };
        let approvals = match &membership {
            Some(membership) => membership.queue(&loaded),
            None => approvals::queue(&loaded),
        };
        let approver = approvals::elsewhere(approvals.clone());
        let answers = Arc::new(Bridge::to_clients());
        let deps = Deps { records, answers, approver, cluster, applies_serve_rules: true };
        let mut app = App::build_with(&loaded, deps)?;
        // What becomes of the gateway is told in words of its own.
        app.is_quiet |= loaded.is_attached;
        let stop = told_to_stop()?;
        match membership {
            None => over_stdio(serve, cli, &app, &loaded, gateway.as_ref(), stop).await,
            Some(membership) => {
                let watched = ServedState { feed, store, approvals, membership };
                over_http(serve, cli, &app, &loaded, watched, stop).await
            }
        }
    })
}

/// Serves the one client that has our stdin and stdout.
async fn over_stdio(
    serve: &ServeArgs,
    cli: &Cli,
    app: &App,
    loaded: &LoadedConfig,
    gateway: Option<&OwnGateway>,
    stop: CancellationToken,
) -> anyhow::Result<ExitCode> {
    while_connected(app, loaded, Needs::AsSet, async |connections| {
        if loaded.is_attached || serve.await_servers {
            // All tools of a gateway are unknown until it is connected.
            connections.wait_until_ready(false).await;
        }
        let (executor, servers) = (app.executor.clone(), connections.servers().clone());
        let profile = serve.profile.as_deref();
        let mut config = mcp_config(&loaded.settings.serve)?;
        if loaded.is_attached {
            // What is listed here is what the gateway lists: if tools are searched for, its own search and calls.
            config.discovery = DiscoveryMode::List;
            config.instructions = executor.tools().instructions().remove(own_gateway::SERVER_NAME);
        }
        let visibility = app.visibility(loaded, profile);
        let caller = McpCaller { visibility, ..McpCaller::owner() };
        let server = server::Server::new(executor, Some(servers), config);
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        let (about, nobody_asks) = (About::default(), mpsc::channel(1).1);
        let (upstreams, startup_wait) = (connections.all(), connections.startup_wait());
        let served = server.serve_stdio_until(input, output, caller, &stop);
        tokio::select! {
            served = served => served.context("failed to serve over stdio")?,
            failed = reload::follow(app, connections, None, &about, cli, loaded, nobody_asks) => failed?,
            () = attached::follow(gateway, &upstreams, startup_wait) => unreachable!("it follows without an end"),
        }
        Ok(ExitCode::SUCCESS)
    })
    .await
}

/// Returns the settings of the MCP server.
fn mcp_config(serve: &switchboard_gateway::Config) -> anyhow::Result<server::Config> {
    let pinned = ToolPatterns::new(&serve.pinned).context("`[serve] pinned`")?;
    Ok(server::Config { discovery: serve.discovery, pinned, ..server::Config::default() })
}

/// The parts that the gateway shows: events, records, and calls that wait for a person.
struct ServedState {
    feed: Arc<Feed>,
    store: Option<Store>,
    approvals: Option<Arc<ApprovalQueue>>,
    membership: Membership,
}

async fn over_http(
    serve: &ServeArgs,
    cli: &Cli,
    app: &App,
    loaded: &LoadedConfig,
    ServedState { feed, store, approvals, membership }: ServedState,
    stop: CancellationToken,
) -> anyhow::Result<ExitCode> {
    let mut config = loaded.settings.serve.clone();
    if let Some(listen) = &serve.listen {
        config.listen = with_address(listen);
    } else if let Some(port) = serve.port {
        config.listen = with_address(&port.to_string());
    }
    // Claimed before the port, so that of two gateways that start at once the same one gets both.
    let claim = match own_gateway::runs_alone(cli) {
        true => None,
        false => Some(own_socket::claim(loaded).await),
    };
    let (listener, address) = listen(&config).await?;
    let access = membership.access(&config, address)?;
    let tls = config.tls.clone().map(Tls::open).transpose()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{address}");
    let socket = claim.and_then(|claim| own_socket::listen(claim, &url));
    // Removed when this function ends.
    let (socket, _own_socket) = socket.unzip();
    let about = About::default();
    own_socket::describe(&about, Some(url.clone()), loaded);
    while_connected(app, loaded, Needs::AsSet, async |connections| {
        let queue = connections.queue(&app.executor);
        let queue = queue.map(|queue| Arc::new(queue) as Arc<dyn DurableCalls>);
        let servers = connections.servers().clone();
        let (executor, mcp_config) = (app.executor.clone(), mcp_config(&loaded.settings.serve)?);
        let mcp = membership.server(executor, servers.clone(), queue.clone(), mcp_config).await?;
        if serve.json {
            let line =
                json!({"address": url, "mcp": format!("{url}/mcp"), "api": format!("{url}/api")});
            terminal::print(&line.to_string())?;
        } else {
            terminal::tell(&banner::text(address, app, loaded));
        }
        if serve.open {
            open_console(&format!("{scheme}://{}/", reachable(address)));
        }
        if let Some(oauth) = servers.oauth() {
            oauth.pages.serve_at(&pages_url(&config, scheme, address));
            let targets = (&servers, connections.all_apis());
            sign_ins::share_pages(oauth, loaded, &app.cluster, targets).await?;
        }
        let _watching = watch_fleet(connections, &feed);
        let executor = app.executor.clone();
        let models = model::for_chat(loaded)?;
        let (mcp_too, chat) = (mcp.clone(), models.clone());
        let config_state = ConfigState::default();
        config_state.apply(reload::snapshot(loaded));
        let (server_editor, reloads) = ConfigServers::new(loaded);
        let live = reload::LiveParts { models: &chat, config_state: &config_state };
        let parts = Parts {
            executor,
            mcp: mcp_too,
            servers: Some(servers),
            apis: Some(connections.all_apis().clone()),
            feed,
            store,
            shared_records: membership.shared_records(),
            access,
            tls,
            approvals,
            queue,
            models,
            chats: super::chat::store::open(),
            config_state: config_state.clone(),
            server_editor: server_editor.map(|editor| Arc::new(editor) as Arc<dyn ServerEditor>),
            rule_compiler: Some(Arc::new(assembly::ConfigRules)),
            about: about.clone(),
            config,
        };
        tokio::select! {
            () = Gateway::new(parts).run_with_socket(listener, socket, stop) => {}
            failed = reload::follow(app, connections, Some(live), &about, cli, loaded, reloads) => failed?,
        }
        mcp.close();
        membership.leave().await;
        Ok(ExitCode::SUCCESS)
    })
    .await
}

/// The address under which browsers reach us: as the settings say, else as we listen.
fn pages_url(config: &Config, scheme: &str, address: SocketAddr) -> String {
    let public = config.public_url.clone();
    public.unwrap_or_else(|| format!("{scheme}://{}", reachable(address)))
}

/// The address at which programs of this machine reach a listener: nobody can connect to "all addresses".
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Adds figures of the cluster to the metrics until the returned value is dropped.
fn watch_fleet(connections: &Connections, feed: &Feed) -> Option<FiguresTask> {
    let groups = connections.groups()?.clone();
    let progress = connections.shipper().cluster_progress().cloned();
    let (watching, registry) = FiguresTask::start(groups, progress);
    feed.metrics().add(registry);
    Some(watching)
}

/// Binds the address, so that a second gateway fails at once.
async fn listen(config: &Config) -> anyhow::Result<(TcpListener, SocketAddr)> {
    let wanted = &config.listen;
    let taken = || format!("cannot listen on {wanted}; `--listen ADDRESS:PORT` takes another");
    let listener = match TcpListener::bind(wanted).await {
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            let there = own_socket::at_port(wanted);
            let there =
                there.map(|there| format!("a Switchboard of yours is running already {there}; "));
            let there = there.unwrap_or_default();
            return Err(error).with_context(|| format!("{there}{}", taken()));
        }
        bound => bound.with_context(taken)?,
    };
    let address = listener.local_addr().with_context(taken)?;
    Ok((listener, address))
}

/// The address to listen on; a port alone means this machine.
fn with_address(listen: &str) -> String {
    let port = listen.strip_prefix(':').unwrap_or(listen);
    match port.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => listen.to_owned(),
    }
}

/// Opens the console in the user's browser.
fn open_console(url: &str) {
    if let Err(reason) = browser::open(url) {
        terminal::tell(&format!("warning: no browser opened ({reason}): go to {url}"));
    }
}

/// Fires on SIGTERM and Ctrl-C.
pub(super) fn told_to_stop() -> anyhow::Result<CancellationToken> {
    let failed = "failed to listen for signals";
    let mut terminate = signal(SignalKind::terminate()).context(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).context(failed)?;
    let stop = CancellationToken::new();
    let told = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("told to stop; running calls may finish");
        told.cancel();
    });
    Ok(stop)
}
