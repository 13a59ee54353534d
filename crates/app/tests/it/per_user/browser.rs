//! A browser without scripts: keeps cookies, follows no redirect by itself.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::TcpStream,
};

#[derive(Default)]
pub(crate) struct Browser {
    cookies: BTreeMap<String, String>,
    /// Headers of every request, such as who the browser says that it comes from.
    pub(crate) headers: String,
}

/// What a browser got.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Visit {
    pub(crate) fn location(&self) -> String {
        let found = self.head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
        });
        found.unwrap_or_else(|| panic!("no redirect: {self:?}"))
    }
}

impl Browser {
    pub(crate) fn get(&mut self, url: &str) -> Visit {
        self.send("GET", url, "")
    }

    /// Sends a form.
    pub(crate) fn post(&mut self, url: &str, form: &str) -> Visit {
        self.send("POST", url, form)
    }

    /// Goes from our page to the authorization server, signs in there as `account`, and comes back.
    pub(crate) fn sign_in(&mut self, page: &str, token: &str, account: &str) -> Visit {
        let shown = self.get(page);
        assert_eq!(shown.status, 200, "{shown:?}");
        let begun = self.post(page, &format!("token={token}"));
        assert_eq!(begun.status, 303, "{begun:?}");
        let there = self.get(&format!("{}&account={account}", begun.location()));
        self.get(&there.location())
    }

    fn send(&mut self, method: &str, url: &str, form: &str) -> Visit {
        let rest = url.strip_prefix("http://").unwrap_or_else(|| panic!("{url}"));
        let (host, path) = rest.split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let cookies: Vec<_> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let cookies = match cookies.is_empty() {
            true => String::new(),
            false => format!("Cookie: {}\r\n", cookies.join("; ")),
        };
        let length = form.len();
        let mut headers = self.headers.clone();
        if method == "POST" && !headers.contains("Origin:") {
            headers += &format!("Origin: http://{host}\r\n");
        }
        write!(
            stream,
            "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{cookies}{headers}\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{form}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        for line in head.lines() {
            if let Some((name, value)) = line.split_once(": ")
                && name.eq_ignore_ascii_case("set-cookie")
                && let Some((name, value)) = value.split(';').next().unwrap().split_once('=')
            {
                super::note_secret(value);
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Visit { status, head: head.to_owned(), body: body.to_owned() }
    }
}
