# SPDX-License-Identifier: Apache-2.0
"""A name node before a real one, whose address is the first argument. It redirects requests of the operation that is the second
argument, CREATE or APPEND, to a data node that closes the connection after a part of the bytes. If this data node is
excluded, it redirects to a data node that does not exist, and if both are excluded, as the real name node does. Prints its
port, and then each such request, with the excluded data nodes."""
import http.client
import socket
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

real = urllib.parse.urlsplit(sys.argv[1]).netloc
short = socket.create_server(("127.0.0.8", 0))


def accept_parts():
    while True:
        connection = short.accept()[0]
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        for _ in range(3):
            connection.recv(65536)
        connection.close()


class NameNode(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def forward(self):
        url = urllib.parse.urlsplit(self.path)
        query = [p for p in url.query.split("&") if not p.startswith("excludedatanodes=")]
        excluded = url.query.partition("excludedatanodes=")[2]
        if "op=" + sys.argv[2] in query:
            print(query[0], excluded, flush=True)
            for host, port in ("127.0.0.8", short.getsockname()[1]), ("127.0.0.9", 1):
                if host not in excluded.split(","):
                    return self.answer(307, [("Location", f"http://{host}:{port}{self.path}")], b"")
        connection = http.client.HTTPConnection(real)
        connection.request(self.command, url.path + "?" + "&".join(query), headers={"Content-Length": "0"})
        answer = connection.getresponse()
        location = answer.getheader("Location")
        self.answer(answer.status, [("Location", location)] if location else [], answer.read())

    def answer(self, status, headers, body):
        self.send_response(status)
        for header in headers:
            self.send_header(*header)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_DELETE = forward

    def log_message(self, *_):
        pass


threading.Thread(target=accept_parts, daemon=True).start()
server = ThreadingHTTPServer(("127.0.0.1", 0), NameNode)
print(server.server_address[1], flush=True)
server.serve_forever()
