"""An HTTP server of the standard library with what servers do to their clients; prints the ports of two origins."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SEEN = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b"", content_type="text/plain", **headers):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def handle_any(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode()
        path, _, query = self.path.partition("?")
        here, other = self.server.ports
        SEEN.append(f"{self.server.server_port} {path} {self.headers.get('Authorization')}")
        if path == "/echo":
            said = {"method": self.command, "query": query, "body": body, "type": self.headers.get("Content-Type")}
            self.answer(200, json.dumps(said).encode(), "application/json")
        elif path == "/seen":
            self.answer(200, json.dumps(SEEN).encode(), "application/json")
        elif path == "/stay":
            self.answer(302, Location="/echo?moved=1")
        elif path == "/keep":
            self.answer(308, Location=f"http://127.0.0.1:{here}/echo")
        elif path == "/other-port":
            self.answer(302, Location=f"http://127.0.0.1:{other}/echo?token=secret")
        elif path == "/other-host":
            self.answer(307, Location=f"http://localhost:{here}/echo")
        elif path == "/other-scheme":
            self.answer(301, Location=f"https://127.0.0.1:{here}/echo")
        elif path == "/loop":
            self.answer(302, Location="/loop")
        elif path == "/busy":
            self.answer(429, b"slow down", Retry_After="Wed, 21 Oct 2026 07:28:00 GMT")
        elif path == "/slow":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            for _ in range(1000):
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.2)
        elif path == "/early":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"not all of it")
            self.close_connection = True
        elif path == "/chunks":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"5\r\nhello\r\nzz\r\n")
            self.close_connection = True
        elif path == "/sjis":
            self.answer(200, "日本語".encode("shift_jis"), "text/html; charset=Shift_JIS")
        elif path == "/latin1":
            self.answer(200, "Straße".encode("latin-1"), "text/plain; charset=ISO-8859-1")
        elif path == "/image":
            self.answer(200, b"\x89PNG\r\n\x1a\n", "image/png")
        else:
            self.answer(404, json.dumps({"path": path}).encode(), "application/json")

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_any

    def log_message(self, *_):
        pass


servers = [ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2)]
ports = [server.server_port for server in servers]
for server in servers:
    server.daemon_threads = True
    server.ports = ports if server is servers[0] else ports[::-1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
print(*ports, flush=True)
threading.Event().wait()
