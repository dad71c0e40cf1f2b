"""A runtime client that answers twice, late, to the wrong invocation or not at all, or ends in the middle of a response."""

import http.client
import os
import socket

API = os.environ["AWS_LAMBDA_RUNTIME_API"]


def call(method, path, headers={}):
    connection = http.client.HTTPConnection(API)
    connection.request(method, f"/2018-06-01/runtime/{path}", None if method == "GET" else "null", headers)
    response = connection.getresponse()
    return response.status, response.headers, response.read()


def send(request, rest):
    """Sends a request and does not wait for a response."""
    host, port = API.split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"{request} HTTP/1.1\r\nHost: a\r\n{rest}".encode())


if "EXTENSION" in os.environ:
    connection = http.client.HTTPConnection(API)
    connection.request("POST", "/2020-01-01/extension/register", '{"events": []}', {"Lambda-Extension-Name": "inside"})
    connection.getresponse().read()
if "DROP" in os.environ:
    send("GET /2018-06-01/runtime/invocation/next", "\r\n")
    # This request shows the test that the first one was dropped.
    connection = http.client.HTTPConnection(API)
    connection.request("PUT", "/2022-07-01/telemetry", "{}")
    connection.getresponse().read()
while True:
    _, headers, event = call("GET", "invocation/next")
    response = f"invocation/{headers['Lambda-Runtime-Aws-Request-Id']}/response"
    if b"loud" in event:
        # As Ruby's client does for a long error.
        call("POST", response.replace("response", "error"), {"Lambda-Runtime-Function-XRay-Error-Cause": "x" * 1_000_000})
        continue
    if b"silent" in event:
        continue
    if b"late" in event:
        print("late", call("POST", previous)[0], flush=True)
        call("POST", response.replace("response", "error"))
        continue
    previous = response
    if b"around" in event:
        batch = headers["Lambda-Runtime-Aws-Request-Id"].rsplit("-", 1)[0]
        paths = [f"invocation/{batch}/response", f"invocation/{batch}/response/", f"../runtime/invocation/{batch}/error", "asked"]
        paths += [f"%69nvocation/{batch}/response", f"/invocation/{batch}/response"]
        print("around", [call("POST", path)[0] for path in paths], flush=True)
    if b"gone" in event:
        os._exit(1)
    if b"half" in event:
        send(f"POST /2018-06-01/runtime/{response}", "Content-Length: 9\r\n\r\nnull")
        os._exit(1)
    answers = [("invocation/other/response", {}), (response, {"Lambda-Runtime-Invocation-Id": "0"}), (response, {}), (response, {})]
    print("told", [call("POST", path, headers)[0] for path, headers in answers], flush=True)
