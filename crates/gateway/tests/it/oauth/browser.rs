//! A browser without script: keeps cookies, sends forms as they stand on the page.

use std::collections::BTreeMap;

use reqwest::{
    Client, Method, RequestBuilder, Response,
    header::{COOKIE, LOCATION, ORIGIN, SET_COOKIE},
    redirect::Policy,
};

/// A browser of one person.
pub(crate) struct Browser {
    client: Client,
    /// Scheme, host and port of the gateway.
    pub(crate) origin: String,
    cookies: BTreeMap<String, String>,
}

/// A page that the browser shows.
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

/// A form of a page.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) action: String,
    pub(crate) fields: Vec<(String, String)>,
}

impl Browser {
    pub(crate) fn new(origin: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
        Self { client, origin: origin.to_owned(), cookies: BTreeMap::new() }
    }

    /// A request with the browser's cookies.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.origin));
        let cookies: Vec<_> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        match cookies.is_empty() {
            true => request,
            false => request.header(COOKIE, cookies.join("; ")),
        }
    }

    /// A request that another site led to, which comes without our cookies.
    pub(crate) fn client_without_cookies(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.origin))
    }

    pub(crate) async fn get(&mut self, path: &str) -> Page {
        let response = self.request(Method::GET, path).send().await.unwrap();
        self.take(response).await
    }

    /// Sends a form as our own page does.
    pub(crate) async fn submit(&mut self, form: &Form) -> Page {
        let request = self.request(Method::POST, &form.action).header(ORIGIN, &self.origin);
        let response = request.form(&form.fields).send().await.unwrap();
        self.take(response).await
    }

    async fn take(&mut self, response: Response) -> Page {
        for cookie in response.headers().get_all(SET_COOKIE) {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Page { status, headers, text: response.text().await.unwrap() }
    }
}

impl Page {
    pub(crate) fn location(&self) -> Option<&str> {
        self.headers.get(LOCATION).map(|location| location.to_str().unwrap())
    }

    /// The form that leads to `action`.
    pub(crate) fn form(&self, action: &str) -> Form {
        let start = format!("action=\"{action}\"");
        let (_, rest) = self.text.split_once(&start).unwrap_or_else(|| panic!("{}", self.text));
        let form = rest.split("</form>").next().unwrap();
        let inputs = form.split("<input").skip(1).map(|rest| rest.split('>').next().unwrap());
        let is_sent = |input: &&str| !input.contains("checkbox") || input.contains(" checked");
        let field = |input: &str| Some((attribute(input, "name")?, attribute(input, "value")?));
        let fields = inputs.filter(is_sent).filter_map(field).collect();
        Form { action: action.to_owned(), fields }
    }
}

impl Form {
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str, value: Option<&str>) -> Self {
        self.fields.retain(|(own, held)| own != name || value.is_some_and(|value| held != value));
        self
    }
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    let value = rest.split('"').next()?;
    let value = value.replace("&quot;", "\"").replace("&#39;", "'");
    Some(value.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}
