//! What a person signs in to: a server or an API of the config.

use anyhow::{Context, anyhow, bail};
use switchboard_apis::ApiConfig;
use switchboard_mcp_client::{ServerConfig, TransportKind};
use switchboard_oauth::{CredentialKey, OauthConfig, ServerAuth};
use switchboard_runtime::lookup::close_names;
use switchboard_toolcall::Principal;

use crate::{runtime::on_runtime, settings::LoadedConfig, terminal::text};

/// A sign-in and its settings.
pub(super) struct LoginTarget<'a> {
    pub(super) key: CredentialKey,
    pub(super) auth: ServerAuth,
    pub(super) oauth: &'a OauthConfig,
}

/// Returns the sign-in of the server or API with this name.
///
/// # Errors
/// Fails if no server or API has this name, or if nobody signs in to it.
pub(super) fn find<'a>(loaded: &'a LoadedConfig, name: &str) -> anyhow::Result<LoginTarget<'a>> {
    let (servers, apis) = (&loaded.settings.servers, &loaded.settings.apis);
    match (servers.get(name), apis.get(name)) {
        (Some(server), _) => of_server(name, server),
        (None, Some(api)) => of_api(loaded, name, api),
        (None, None) => {
            let known = servers.keys().chain(apis.keys()).map(String::as_str);
            let near = close_names(name, known);
            let near = near.first().map(|near| format!("; did you mean `{near}`?"));
            let near = near.unwrap_or_default();
            bail!("the config has no server `{}`{near}", text::one_line(name));
        }
    }
}

fn of_server<'a>(name: &str, config: &'a ServerConfig) -> anyhow::Result<LoginTarget<'a>> {
    if let Some(reason) = &config.skipped {
        bail!("server `{name}` is skipped: {reason}");
    }
    if config.kind().map_err(anyhow::Error::msg)? == TransportKind::Stdio {
        bail!(
            "server `{name}` is a program of this machine; only servers with a `url` are signed in to"
        );
    }
    if config.headers.keys().any(|header| header.eq_ignore_ascii_case("authorization")) {
        bail!("server `{name}` has an `Authorization` in its `headers`; remove it to sign in");
    }
    let url = config.url.as_deref().context("it has no `url`")?;
    target(&format!("server `{name}`"), name, url, config.auth, &config.oauth)
}

fn of_api<'a>(
    loaded: &LoadedConfig,
    name: &str,
    config: &'a ApiConfig,
) -> anyhow::Result<LoginTarget<'a>> {
    if let Some(reason) = loaded.skipped.apis.get(name) {
        bail!("API `{name}` is skipped: {reason}");
    }
    let separator = &loaded.settings.executor.separator;
    config.check(name, separator).map_err(|problem| anyhow!("API `{name}`: {problem}"))?;
    let base = on_runtime(async { config.base_address(name).await.map_err(anyhow::Error::msg) });
    let base = base.with_context(|| format!("API `{name}`"))?;
    if !config.is_signed_in_to(&base) {
        bail!(
            "API `{name}` has credentials in its `headers` or `base_url`; remove them to sign in"
        );
    }
    target(&format!("API `{name}`"), name, base.as_str(), config.auth, &config.oauth)
}

fn target<'a>(
    what: &str,
    name: &str,
    url: &str,
    auth: ServerAuth,
    oauth: &'a OauthConfig,
) -> anyhow::Result<LoginTarget<'a>> {
    let key = match auth {
        ServerAuth::Exchange if auth.is_per_caller(oauth) => {
            bail!("{what} takes each caller's own JWT, which is exchanged; nobody signs in to it")
        }
        // On the command line the caller is the owner.
        ServerAuth::User => {
            let owner = Principal::Owner.key().unwrap_or_default();
            CredentialKey::of_caller(name, url, owner)?
        }
        _ => CredentialKey::shared(name, url)?,
    };
    Ok(LoginTarget { key, auth, oauth })
}
