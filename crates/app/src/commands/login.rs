//! `switchboard login` and `logout`: signs in to a server or an API, for all callers or for the owner (SPEC AU-1, AU-3).

mod target;

use std::{path::Path, process::ExitCode, time::Duration};

use anyhow::bail;
use switchboard_oauth::{
    CredentialKey, DeviceCode, Error, GrantKind, ServerAuth, SignIn, StoredSignIn, principal_of,
    revoke,
};
use switchboard_runtime::redact;
use tokio::{task::spawn_blocking, time::timeout};

use super::sign_in_view;
use crate::{
    browser,
    cli::{Cli, LoginArgs, LogoutArgs},
    cluster::ClusterConnection,
    own_gateway::{OwnGateway, path},
    runtime::on_runtime,
    settings::{self, LoadedConfig},
    sign_ins,
    terminal::{self, Paint, ask, text},
};
use target::LoginTarget;

/// Whom `logout` signs out unless a caller is named.
const OWNER: &str = "owner";

/// How long a person has for the sign-in.
const PATIENCE: Duration = Duration::from_secs(600);

pub(super) fn run(login: &LoginArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    in_config(login, cli.config.as_deref(), cli)
}

/// Signs in to a server or an API of this config.
///
/// # Errors
/// The config cannot be read, or has neither of this name.
pub(super) fn in_config(
    login: &LoginArgs,
    config: Option<&Path>,
    cli: &Cli,
) -> anyhow::Result<ExitCode> {
    let loaded = settings::load(config)?;
    let LoginTarget { key, auth, oauth } = target::find(&loaded, &login.server)?;
    let signed_in = on_runtime(async {
        let connection = ClusterConnection::default();
        let store = sign_ins::store(&loaded, &connection).await?;
        Ok(async {
            let sign_in =
                SignIn::prepare(&sign_ins::http_client()?, &store, key, oauth, None).await?;
            match auth.grant() {
                GrantKind::Person => sign_in_by(login, &sign_in).await,
                grant => sign_in.by_grant(grant).await,
            }
        }
        .await)
    })?;
    let signed_in = signed_in.map_err(anyhow::Error::from);
    match signed_in {
        Ok(credential) => {
            let status = sign_in_view::sentence(&credential.status());
            let name = text::one_line(&login.server);
            terminal::tell(&format!("{name}: {}", text::one_line(&status)));
            reconnect(&loaded, &login.server);
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            // The authorization server may repeat what was sent to it.
            let reason = redact::text(&format!("not signed in: {error:#}")).into_owned();
            let reason = text::one_line(&reason);
            terminal::tell(&Paint::stderr(cli.color).red(&reason));
            Ok(ExitCode::FAILURE)
        }
    }
}

async fn sign_in_by(login: &LoginArgs, sign_in: &SignIn) -> Result<StoredSignIn, Error> {
    let issuer = text::one_line(sign_in.issuer());
    if login.device {
        return sign_in.with_device(show_code).await;
    }
    let pending = sign_in.begin().await?;
    let url = pending.url().to_string();
    if login.paste {
        terminal::tell(&format!("Sign in at {issuer} with any browser:\n  {url}"));
        let question = "Paste the address that the browser ended on, even if it shows an error: ";
        let pasted = spawn_blocking(move || ask::line(question)).await;
        let pasted = pasted.map_err(std::io::Error::other).flatten();
        return pending.finish_with(&pasted.unwrap_or_default()).await;
    }
    match browser::open(&url) {
        Ok(()) => terminal::tell(&format!(
            "Sign in at {issuer} in the browser. If none has opened, go to:\n  {url}"
        )),
        Err(reason) => {
            terminal::tell(&format!("No browser opened ({reason}). Sign in at {issuer}:\n  {url}"))
        }
    }
    let limit = PATIENCE.as_secs();
    timeout(PATIENCE, pending.finish()).await.unwrap_or(Err(Error::TimedOut(limit)))
}

fn show_code(code: &DeviceCode) {
    let address = text::one_line(&code.verification_uri);
    terminal::tell(&format!(
        "On any device go to {address} and type {}",
        text::one_line(&code.user_code)
    ));
    if let Some(complete) = &code.verification_uri_complete {
        terminal::tell(&format!("or go to {}", text::one_line(complete)));
    }
}

/// Lets a running gateway use the sign-in at once; without this it would notice within a minute.
fn reconnect(loaded: &LoadedConfig, server: &str) {
    if let Ok(Some(gateway)) = OwnGateway::look(loaded)
        && let Err(error) = on_runtime(async {
            gateway.post(&format!("/api/servers/{}/reconnect", path(server))).await
        })
    {
        tracing::debug!(%error, "the gateway was not told of the sign-in");
    }
}

pub(super) fn logout(logout: &LogoutArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = settings::load(cli.config.as_deref())?;
    let LoginTarget { key, auth, .. } = target::find(&loaded, &logout.server)?;
    let name = text::one_line(&logout.server);
    if auth != ServerAuth::User && logout.caller != OWNER {
        bail!("all callers share the sign-in to `{name}`: its `auth` is not `user`");
    }
    let revoked = on_runtime(async {
        let connection = ClusterConnection::default();
        let store = sign_ins::store(&loaded, &connection).await?;
        let keys = match auth {
            ServerAuth::User => of_caller(&key, &logout.caller, CredentialKey::all(&*store).await?),
            _ => vec![key],
        };
        let http = sign_ins::http_client()?;
        let mut revoked = Vec::new();
        for key in &keys {
            revoked.extend(revoke(&http, &*store, key).await?);
        }
        Ok(revoked)
    })?;
    reconnect(&loaded, &logout.server);
    for (credential, is_revoked) in &revoked {
        let issuer = text::one_line(&credential.issuer);
        terminal::tell(&match is_revoked {
            true => format!("{name}: signed out, and revoked at {issuer}"),
            false => format!(
                "{name}: signed out here; {issuer} did not revoke it, so revoke it there if that matters"
            ),
        });
    }
    if revoked.is_empty() {
        terminal::tell(&format!("{name}: nobody is signed in"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The sign-ins of the callers of this name to the server of `key`.
fn of_caller(key: &CredentialKey, name: &str, all: Vec<CredentialKey>) -> Vec<CredentialKey> {
    let is_its = |other: &CredentialKey| {
        let same = (&other.server, &other.url) == (&key.server, &key.url);
        same && principal_of(other).is_some_and(|caller| caller.name() == name)
    };
    all.into_iter().filter(is_its).collect()
}
