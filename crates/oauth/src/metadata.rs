//! Discovery: from a server's address to its authorization server (RFC 9728, RFC 8414, OpenID Connect Discovery).

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::{
    challenge::{Challenge, DpopDemand},
    error::Error,
    http::{HttpClient, trusted},
};

/// What a server says of itself, as far as it is used here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct ProtectedResource {
    pub(super) resource: Option<String>,
    pub(super) authorization_servers: Vec<String>,
    pub(super) scopes_supported: Option<Vec<String>>,
    pub(super) dpop_bound_access_tokens_required: bool,
}

/// What an authorization server says of itself, as far as it is used here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ServerMetadata {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Option<String>,
    pub(super) token_endpoint: Option<String>,
    pub(super) registration_endpoint: Option<String>,
    pub(super) revocation_endpoint: Option<String>,
    pub(super) device_authorization_endpoint: Option<String>,
    pub(super) scopes_supported: Option<Vec<String>>,
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub(super) code_challenge_methods_supported: Option<Vec<String>>,
    pub(super) authorization_response_iss_parameter_supported: bool,
    pub(super) client_id_metadata_document_supported: bool,
    pub(super) dpop_signing_alg_values_supported: Option<Vec<String>>,
}

/// Finds what the server says of itself: where the challenge points to, else at the well-known addresses. An old server
/// (2025-03-26) says nothing: it is its own authorization server.
///
/// # Errors
/// A request fails, or the document speaks of another resource.
pub(super) async fn protected_resource(
    http: &HttpClient,
    server: &Url,
    challenge: &Challenge,
) -> Result<Option<ProtectedResource>, Error> {
    let named =
        challenge.resource_metadata.as_deref().map(|url| trusted(url, server)).transpose()?;
    let places = match named {
        Some(url) => vec![url],
        None => well_known(server, "oauth-protected-resource"),
    };
    for place in places {
        let Some(document) = http.document(&place, "read the server's OAuth metadata").await?
        else {
            continue;
        };
        let found: ProtectedResource = read(document)?;
        if let Some(resource) = &found.resource {
            check_resource(resource, server)?;
        }
        return Ok(Some(found));
    }
    Ok(None)
}

/// The resource must be the server: the same origin, and a path that the server's lies in (RFC 9728, section 3.3).
fn check_resource(resource: &str, server: &Url) -> Result<(), Error> {
    let is_server = Url::parse(resource).is_ok_and(|url| {
        let (path, below) = (url.path().trim_end_matches('/'), server.path().trim_end_matches('/'));
        url.origin() == server.origin()
            && (below == path || below.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
    });
    if is_server {
        return Ok(());
    }
    Err(Error::Metadata(format!("it is about `{resource}`, not about the server's address")))
}

/// Finds the metadata of an issuer at every place that it may be, in MCP's order.
///
/// # Errors
/// Fails if a request fails, if no document is found, or if it names another issuer.
pub(super) async fn authorization_server(
    http: &HttpClient,
    issuer: &str,
    server: &Url,
) -> Result<ServerMetadata, Error> {
    let url = trusted(issuer, server)?;
    let mut places =
        vec![inserted(&url, "oauth-authorization-server"), inserted(&url, "openid-configuration")];
    if !is_root(&url) {
        places.push(appended(&url, "openid-configuration"));
    }
    for place in places {
        let Some(document) =
            http.document(&place, "read the authorization server's metadata").await?
        else {
            continue;
        };
        let found: ServerMetadata = read(document)?;
        // Compared as texts: RFC 8414 allows nothing else. A root may be written with a slash or without one.
        if found.issuer != issuer
            && !(is_root(&url)
                && found.issuer.trim_end_matches('/') == issuer.trim_end_matches('/'))
        {
            return Err(Error::Metadata(format!(
                "the metadata of `{issuer}` names another issuer, `{}`",
                found.issuer
            )));
        }
        return Ok(found);
    }
    Err(Error::NoMetadata { url: issuer.to_owned() })
}

impl ServerMetadata {
    /// Returns an endpoint's address, checked.
    pub(super) fn endpoint(
        &self,
        name: &str,
        address: Option<&String>,
        server: &Url,
    ) -> Result<Url, Error> {
        let address =
            address.ok_or_else(|| Error::Metadata(format!("`{}` has no {name}", self.issuer)))?;
        trusted(address, server)
    }

    /// How clients may prove who they are at the token endpoint; empty if that is not said.
    pub(super) fn auth_methods(&self) -> &[String] {
        self.token_endpoint_auth_methods_supported.as_deref().unwrap_or_default()
    }

    /// Refuses an authorization server that does not say that it checks codes as PKCE does.
    pub(super) fn check_pkce(&self) -> Result<(), Error> {
        let methods = self.code_challenge_methods_supported.as_deref().unwrap_or_default();
        if methods.iter().any(|method| method == "S256") {
            return Ok(());
        }
        Err(Error::Metadata(format!("`{}` does not support PKCE with S256", self.issuer)))
    }

    /// Whether tokens are to be bound to a key: the server wants it, or takes it and it can be had.
    pub(super) fn binds_tokens(&self, demand: DpopDemand) -> bool {
        let algorithms = self.dpop_signing_alg_values_supported.iter().flatten();
        let is_offered = algorithms.into_iter().any(|algorithm| algorithm == "ES256");
        match demand {
            DpopDemand::None => false,
            DpopDemand::Offered => is_offered,
            DpopDemand::Required => true,
        }
    }

    /// Whether a scope is offered.
    pub(super) fn offers(&self, scope: &str) -> bool {
        self.scopes_supported.iter().flatten().any(|offered| offered == scope)
    }
}

fn read<T: for<'de> Deserialize<'de>>(document: Value) -> Result<T, Error> {
    serde_json::from_value(document).map_err(|error| Error::Metadata(error.to_string()))
}

/// The addresses with the server's path and without it.
fn well_known(url: &Url, name: &str) -> Vec<Url> {
    let mut places = vec![inserted(url, name)];
    if !is_root(url) {
        let mut root = url.clone();
        root.set_path("/");
        places.push(inserted(&root, name));
    }
    places
}

fn is_root(url: &Url) -> bool {
    url.path().trim_end_matches('/').is_empty()
}

/// `https://host/.well-known/NAME/path`
fn inserted(url: &Url, name: &str) -> Url {
    let path = format!("/.well-known/{name}{}", url.path().trim_end_matches('/'));
    at(url, &path)
}

/// `https://host/path/.well-known/NAME`
fn appended(url: &Url, name: &str) -> Url {
    let path = format!("{}/.well-known/{name}", url.path().trim_end_matches('/'));
    at(url, &path)
}

fn at(url: &Url, path: &str) -> Url {
    let mut there = url.clone();
    there.set_path(path);
    there.set_query(None);
    there.set_fragment(None);
    there
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    // AU-1: the examples of MCP's specification.
    #[test]
    fn metadata_is_looked_for_where_it_may_be() {
        let names = |places: Vec<Url>| places.iter().map(Url::to_string).collect::<Vec<_>>();
        assert_eq!(
            names(well_known(
                &url("https://example.com/public/mcp?x=1"),
                "oauth-protected-resource"
            )),
            [
                "https://example.com/.well-known/oauth-protected-resource/public/mcp",
                "https://example.com/.well-known/oauth-protected-resource"
            ]
        );
        let tenant = url("https://auth.example.com/tenant1");
        assert_eq!(
            inserted(&tenant, "oauth-authorization-server").as_str(),
            "https://auth.example.com/.well-known/oauth-authorization-server/tenant1"
        );
        assert_eq!(
            appended(&tenant, "openid-configuration").as_str(),
            "https://auth.example.com/tenant1/.well-known/openid-configuration"
        );
    }

    // AU-1
    #[test]
    fn a_resource_is_the_server_or_lies_above_it() {
        let server = url("https://a.example/team/mcp");
        for ours in [
            "https://a.example/team/mcp",
            "https://a.example/team/mcp/",
            "https://a.example/team",
            "https://a.example",
        ] {
            assert!(check_resource(ours, &server).is_ok(), "{ours}");
        }
        for other in [
            "https://b.example/team/mcp",
            "http://a.example/team/mcp",
            "https://a.example:444/team/mcp",
            "https://a.example/team/mcp2",
            "https://a.example/te",
            "x",
        ] {
            assert!(check_resource(other, &server).is_err(), "{other}");
        }
    }
}
