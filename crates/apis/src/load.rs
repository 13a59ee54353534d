//! Loads a description, and makes tools of its operations.

use std::{path::Path, sync::Arc};

use reqwest::{
    Method, Url,
    header::{ACCEPT, HeaderMap, HeaderValue},
};
use switchboard_local::http::{HttpExchange, HttpFailure, HttpRequest};
use switchboard_oauth::OauthDeps;
use switchboard_toolcall::{Tool, text::one_line};
use tokio::task::spawn_blocking;

use crate::{
    base_url,
    config::ApiConfig,
    document::ApiDocument,
    name::OperationNames,
    operation::{self, ApiSetting, Operation},
    sign_in::ApiSignIn,
    tool::{ApiClient, ApiTool},
};

/// The largest description, in bytes. One that is fetched may have 16 MiB.
const MAX_FILE: u64 = 64 << 20;

/// How many operations of an API become tools.
const MAX_TOOLS: usize = 10_000;

/// How large the schemas of an API's tools may be together, in bytes.
const MAX_SCHEMAS: usize = 16 << 20;

/// A description with the tools that were made of it.
pub struct Description {
    /// The tools, in the description's order.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The operations that are no tools.
    pub skipped: Vec<SkippedOperation>,
    /// What the API calls itself.
    pub title: Option<String>,
    /// Its own version.
    pub version: Option<String>,
    /// The version of OpenAPI or Swagger.
    pub format: String,
    /// Where requests go.
    pub base: Url,
    /// The sign-ins to it, if it can be signed in to.
    pub(crate) sign_in: Option<Arc<ApiSignIn>>,
}

/// An operation that cannot be a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedOperation {
    /// Its method and path.
    pub operation: String,
    /// Why.
    pub reason: String,
}

impl Description {
    /// Reads the file, or fetches it, and makes the tools.
    ///
    /// # Errors
    /// It cannot be read, or is no description.
    pub async fn load(
        api: &str,
        config: &ApiConfig,
        separator: &str,
        oauth: Option<&OauthDeps>,
    ) -> Result<Self, String> {
        let (url, base) = (config.description_url()?, config.base()?);
        let text = match url {
            Some(url) => fetch(&url, base.as_ref(), config.header_map()?).await?,
            None => read(Path::new(&config.openapi)).await?,
        };
        let (api, config, separator) = (api.to_owned(), config.clone(), separator.to_owned());
        let oauth = oauth.cloned();
        // Large descriptions take a while.
        let compiled =
            spawn_blocking(move || Self::compile(&text, &api, &config, &separator, oauth.as_ref()));
        compiled.await.map_err(|error| format!("failed to read the description: {error}"))?
    }

    /// Makes the tools of a description. Without `oauth` nobody can sign in.
    ///
    /// # Errors
    /// It is no description, or does not say where requests go.
    pub fn compile(
        text: &str,
        api: &str,
        config: &ApiConfig,
        separator: &str,
        oauth: Option<&OauthDeps>,
    ) -> Result<Self, String> {
        let document = ApiDocument::parse(text)?;
        let base = base_url::of(&document, config)?;
        let headers = config.header_map()?;
        let (include, exclude) = config.patterns()?;
        let setting = ApiSetting {
            api,
            separator,
            document: &document,
            base: &base,
            headers: &headers,
            is_per_caller: config.is_per_caller(),
            honours_keys: config.honours_keys,
        };
        let exchange = HttpExchange::with(&origin(&base));
        let sign_in = oauth.and_then(|oauth| ApiSignIn::new(api, config, &base, oauth));
        let (own, tokens) = (headers.clone(), sign_in.clone());
        let client = ApiClient { base: base.clone(), headers: own, exchange, sign_in: tokens };
        let client = Arc::new(client);
        let mut names = OperationNames::new(&format!("{api}{separator}"));
        let (operations, broken) = operation::all(&document);
        let broken = broken.into_iter().map(|(path, reason)| skipped(&path, reason));
        let mut description = Self {
            tools: Vec::new(),
            skipped: broken.collect(),
            title: document.info("title").map(one_line),
            version: document.info("version").map(one_line),
            format: one_line(&document.written_version()),
            base: base.clone(),
            sign_in,
        };
        let mut left = MAX_SCHEMAS;
        for operation in operations {
            let name = names.name(operation.id(), operation.method, operation.path);
            let is_in = include.as_ref().is_none_or(|include| matches(include, &operation, &name));
            if !is_in || matches(&exclude, &operation, &name) {
                continue;
            }
            let compiled = match description.tools.len() < MAX_TOOLS {
                true => operation.compile(&name, &setting, left),
                false => Err(format!(
                    "the API has more than {MAX_TOOLS} operations: choose some with `include`"
                )),
            };
            match compiled {
                Ok(compiled) => {
                    left = left.saturating_sub(compiled.size);
                    let (spec, plan) = (compiled.spec, compiled.plan);
                    description.tools.push(Arc::new(ApiTool {
                        spec,
                        plan,
                        client: client.clone(),
                    }));
                }
                Err(reason) => description.skipped.push(skipped(&operation.place(), reason)),
            }
        }
        Ok(description)
    }
}

impl ApiConfig {
    /// Returns where requests go, reading the description if only that says so.
    ///
    /// # Errors
    /// The description cannot be read, or does not say it.
    pub async fn base_address(&self, name: &str) -> Result<Url, String> {
        match self.base()? {
            Some(base) => Ok(base),
            None => Ok(Description::load(name, self, "__", None).await?.base),
        }
    }
}

fn skipped(operation: &str, reason: String) -> SkippedOperation {
    let operation = one_line(&operation.chars().take(200).collect::<String>());
    SkippedOperation { operation, reason }
}

/// Returns whether a glob means the operation: by its id, the name of its tool, or its method and path.
fn matches(
    patterns: &switchboard_toolcall::ToolPatterns,
    operation: &Operation<'_>,
    name: &str,
) -> bool {
    patterns.matches(name)
        || operation.id().is_some_and(|id| patterns.matches(id))
        || patterns.matches(&operation.place())
}

/// Returns the URL without path.
fn origin(base: &Url) -> Url {
    let mut origin = base.clone();
    origin.set_path("/");
    origin
}

async fn read(file: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("failed to read `{}`: {error}", file.display());
    let size = tokio::fs::metadata(file).await.map_err(failed)?.len();
    if size > MAX_FILE {
        return Err(format!("`{}` is larger than {} MiB", file.display(), MAX_FILE >> 20));
    }
    let bytes = tokio::fs::read(file).await.map_err(failed)?;
    String::from_utf8(bytes).map_err(|_| format!("`{}` is not valid UTF-8", file.display()))
}

/// Fetches a description. The config's headers go along only to the origin of `base_url`, for which they are meant; without
/// one, to the origin of the description, as all requests do.
async fn fetch(url: &Url, base: Option<&Url>, config_headers: HeaderMap) -> Result<String, String> {
    let is_meant = base.is_none_or(|base| base.origin() == url.origin());
    let mut headers = if is_meant { config_headers } else { HeaderMap::new() };
    headers.insert(
        ACCEPT,
        HeaderValue::from_static("application/json, application/yaml;q=0.9, */*;q=0.5"),
    );
    let request = HttpRequest { method: Method::GET, url: url.clone(), headers, body: None };
    let sent = HttpExchange::with(&origin(url)).send(request).await;
    let response = sent.map_err(|failure| failed(url, failure))?;
    String::from_utf8(response.body).map_err(|_| "the description is not valid UTF-8".to_owned())
}

fn failed(url: &Url, failure: HttpFailure) -> String {
    let error = failure.explain("description");
    let text = error.for_model;
    let text = text.strip_prefix("Tool 'description' is unavailable: ").unwrap_or(&text).to_owned();
    let place = url.host_str().unwrap_or_default();
    format!("failed to fetch the description from {place}: {text}")
}
