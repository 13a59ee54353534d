"""A browser without script, with a person before it: browser.py [--visit] URL

Opens the page, signs in with TOKEN of the environment, allows what is asked, and prints where it was sent. With --visit it goes there, as a browser
does; clients on this machine wait for that.
"""

import http.cookiejar
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
from html.parser import HTMLParser


class Forms(HTMLParser):
    """The forms of a page, with what a browser would send."""

    def __init__(self) -> None:
        super().__init__()
        self.forms = []

    def handle_starttag(self, tag: str, attributes: list) -> None:
        given = dict(attributes)
        if tag == "form":
            self.forms.append((given["action"], []))
        if tag == "input" and self.forms and "name" in given:
            if given.get("type") != "checkbox" or "checked" in given:
                self.forms[-1][1].append((given["name"], given.get("value", "")))


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies, NoRedirect)


def request(url: str, fields: list | None = None):
    parts = urllib.parse.urlsplit(url)
    sent = urllib.request.Request(url, data=urllib.parse.urlencode(fields).encode() if fields else None)
    if fields:
        sent.add_header("Origin", f"{parts.scheme}://{parts.netloc}")
    try:
        return opener.open(sent)
    except urllib.error.HTTPError as response:
        return response


def main() -> None:
    url = sys.argv[-1]
    home = urllib.parse.urlsplit(url).netloc
    response = request(url)
    for _ in range(6):
        if response.status in (302, 303):
            url = urllib.parse.urljoin(url, response.headers["Location"])
            if urllib.parse.urlsplit(url).netloc != home:
                break
            response = request(url)
            continue
        page = response.read().decode()
        forms = Forms()
        forms.feed(page)
        if response.status != 200 or not forms.forms:
            sys.exit(f"{response.status}: {page}")
        action, fields = forms.forms[0]
        own = ("token", os.environ["TOKEN"]) if action.endswith("sign-in") else ("decision", "allow")
        url = urllib.parse.urljoin(url, action)
        response = request(url, [field for field in fields if field[0] != own[0]] + [own])
    if "--visit" in sys.argv:
        request(url).read()
    print(url)


main()
