//! `switchboard token`: makes, lists and revokes tokens (SPEC GW-2).

mod stores;

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use anyhow::{Context, bail};
use serde_json::json;
use switchboard_access::{self as access, TokenEntry, Tokens, oauth::Grant};
use switchboard_cluster::ClusterView;
use switchboard_mcp_client::revoke_sign_ins;
use switchboard_toolcall::Principal;

use crate::{
    cli::{Cli, NewTokenArgs, TokenAction, TokenArgs},
    cluster::ClusterConnection,
    environment, profiles,
    runtime::on_runtime,
    settings::{self, LoadedConfig},
    sign_ins,
    terminal::{self, text},
};
use stores::TokenStores;

pub(super) fn run(token: &TokenArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = settings::load_sections(cli.config.as_deref(), &["cluster", "profiles"])?;
    on_runtime(async {
        let connection = ClusterConnection::default();
        let cluster = connection.get(&loaded).await?;
        let mut visit = cluster.as_ref().map(ClusterView::new);
        let cluster = match &mut visit {
            Some(visit) => Some(visit.tokens().await?),
            None => None,
        };
        let own = if cluster.is_some() { open_if_possible()? } else { open()? };
        let tokens = TokenStores { own, cluster };
        match &token.action {
            TokenAction::New(new) => {
                profiles::check(&loaded, new.profile.as_deref())?;
                create(&tokens, new).await?;
            }
            TokenAction::List { json } => list(&tokens, *json)?,
            TokenAction::Sign { names } => sign(&tokens, names).await?,
            TokenAction::Revoke { name } => {
                tokens.revoke(name).await?;
                sign_out(name, &loaded, &connection).await;
                let name = text::one_line(name);
                terminal::tell(&format!("token '{name}' is revoked"));
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Revokes and forgets what the bearer of a token is signed in to, at servers with `auth = "user"`.
async fn sign_out(token: &str, loaded: &LoadedConfig, connection: &ClusterConnection) {
    let Ok(store) = sign_ins::store(loaded, connection).await else { return };
    let Some(deps) = sign_ins::deps(loaded, store) else { return };
    let is_its =
        |caller: &Principal| matches!(caller, Principal::Token { name, .. } if **name == *token);
    match revoke_sign_ins(&deps, is_its).await {
        Ok(0) => {}
        Ok(count) => terminal::tell(&format!("its sign-ins to servers are revoked: {count}")),
        Err(error) => terminal::tell(&format!("its sign-ins to servers are still there: {error}")),
    }
}

/// The tokens of this user.
///
/// # Errors
/// There is no folder for them, or they cannot be read.
pub(crate) fn open() -> anyhow::Result<Arc<Tokens>> {
    let folder = environment::state_home()
        .context("there is no folder for tokens: neither XDG_STATE_HOME nor HOME is set")?;
    let file: PathBuf = folder.join("tokens.json");
    Ok(Arc::new(Tokens::open(file)?))
}

/// As [`open`]; but without a folder for tokens it returns an empty store.
///
/// # Errors
/// The tokens cannot be read.
pub(super) fn open_if_possible() -> anyhow::Result<Arc<Tokens>> {
    match environment::state_home() {
        Some(_) => open(),
        None => Ok(Arc::new(Tokens::open(PathBuf::new())?)),
    }
}

async fn create(tokens: &TokenStores, new: &NewTokenArgs) -> anyhow::Result<()> {
    let wanted = access::NewToken {
        name: new.name.clone(),
        tools: (!new.tools.is_empty()).then(|| new.tools.clone()),
        profile: new.profile.clone(),
        rate: new.rate,
        concurrent: new.concurrent,
        cost_budget: new.cost_budget,
        admin: new.admin,
        approve: new.approve,
        watch: new.watch,
    };
    let secret = tokens.create(wanted).await?;
    if new.json {
        terminal::print(&json!({"token": secret, "name": new.name}).to_string())?;
    } else {
        terminal::print(&secret)?;
        terminal::tell(
            "keep it: it is shown only now. Clients send it as `Authorization: Bearer …`",
        );
    }
    Ok(())
}

fn list(tokens: &TokenStores, json: bool) -> anyhow::Result<()> {
    let all = tokens.all();
    if json {
        let entries: Vec<_> = all.iter().map(to_json).collect();
        terminal::print(&serde_json::Value::from(entries).to_string())?;
    } else if all.is_empty() {
        terminal::tell("there are no tokens; `switchboard token new --name NAME` makes one");
    }
    for entry in all.iter().filter(|_| !json) {
        terminal::print(&line(entry))?;
    }
    Ok(())
}

/// What a token may do, for people.
fn line(entry: &TokenEntry) -> String {
    let tools = entry
        .tools
        .as_ref()
        .map_or("all tools".to_owned(), |tools| text::one_line(&tools.join(", ")));
    let profile = entry.profile.as_ref();
    let profile = profile.map(|name| format!(", profile {}", text::one_line(name)));
    let profile = profile.unwrap_or_default();
    let rate = entry.rate.map(|rate| format!(", {rate}")).unwrap_or_default();
    let most = entry.concurrent.map(|most| format!(", {most} at once")).unwrap_or_default();
    let budget = entry.cost_budget.map(|most| format!(", costs {most} a day at most"));
    let budget = budget.unwrap_or_default();
    let admin = if entry.admin { ", admin" } else { "" };
    let approves = if entry.approve { ", may approve" } else { "" };
    let watches = if entry.watch { ", watches" } else { "" };
    let name = text::one_line(&entry.name);
    let client = entry.oauth.as_deref().map(client).unwrap_or_default();
    format!(
        "{name}  {tools}{profile}{rate}{most}{budget}{admin}{approves}{watches}{client}  since {:.0}",
        entry.created
    )
}

/// The OAuth client of a grant, for people.
fn client(grant: &Grant) -> String {
    let expires = match grant.expires() {
        Some(expires) => format!("until {expires:.0}"),
        None => "not in use yet".to_owned(),
    };
    let text = format!("{} ({}) for {}", grant.client_name, grant.client_id, grant.user.name());
    format!(", OAuth client {}, {expires}", text::one_line(&text))
}

/// Signs tokens of the cluster by name; without a name, lists those that are not signed. Anybody with write
/// access to NATS may have put an entry there, so no entry is signed unless a person names it.
async fn sign(tokens: &TokenStores, names: &[String]) -> anyhow::Result<()> {
    let cluster = tokens
        .cluster
        .as_ref()
        .context("only tokens of a cluster are signed: set `nats` and `key` in [cluster]")?;
    if !cluster.has_key() {
        bail!(
            "there is nothing to sign with: set `key` in [cluster] (`openssl rand -base64 32` makes one)"
        );
    }
    if names.is_empty() {
        let unsigned = cluster.unsigned().await?;
        for entry in &unsigned {
            terminal::print(&line(entry))?;
        }
        terminal::tell(match unsigned.is_empty() {
            true => "every token of the cluster is signed",
            false => {
                "not signed with the present key; `switchboard token sign NAME` signs one that you know"
            }
        });
    }
    for name in names {
        terminal::print(&line(&cluster.sign(name).await?))?;
    }
    Ok(())
}

fn to_json(entry: &TokenEntry) -> serde_json::Value {
    let mut shown = json!({
        "name": entry.name,
        "tools": entry.tools,
        "profile": entry.profile,
        "rate": entry.rate,
        "concurrent": entry.concurrent,
        "cost_budget": entry.cost_budget,
        "admin": entry.admin,
        "approve": entry.approve,
        "watch": entry.watch,
        "created": entry.created,
    });
    if let Some(grant) = &entry.oauth {
        shown["client"] = json!({
            "id": grant.client_id,
            "name": grant.client_name,
            "user": grant.user.name(),
            "resource": grant.resource,
            "expires": grant.expires(),
        });
    }
    shown
}
