import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Orders(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections open

    def do_POST(self):
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if order["cents"] == 0:
            self.respond(422, "an order must cost something")
            return
        print("charged", order["id"], "in attempt", self.headers["X-Aws-Sqsd-Receive-Count"], flush=True)
        self.respond(200)

    def respond(self, status, text=""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())


port = int(os.environ.get("PORT", "8080"))
ThreadingHTTPServer(("127.0.0.1", port), Orders).serve_forever()
