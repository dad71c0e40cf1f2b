"""Makes signed requests from bytes, for checks of details that a client would hide."""

import http.client
import json
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from urllib.parse import urlencode, urlparse

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from aws import Access


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes

    @property
    def json(self) -> dict:
        return json.loads(self.body)

    @property
    def xml(self) -> ElementTree.Element:
        """Returns the document without its namespaces."""
        root = ElementTree.fromstring(self.body)
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
        return root

    def text(self, path: str) -> str | None:
        return self.xml.findtext(path)


def post(url: str, service: str, headers: dict, body: bytes, path: str = "/") -> Answer:
    return _send("POST", url, service, headers, body, path)


def get(url: str, service: str, path: str = "/", headers: dict | None = None, **parameters) -> Answer:
    """Sends a form in the URL."""
    return _send("GET", url, service, headers or {}, b"", f"{path}?{urlencode(parameters)}" if parameters else path)


def _send(method: str, url: str, service: str, headers: dict, body: bytes, path: str) -> Answer:
    request = AWSRequest(method, url + path, headers=headers, data=body)
    keys = Access.keys
    credentials = Credentials(keys["aws_access_key_id"], keys["aws_secret_access_key"], keys.get("aws_session_token"))
    SigV4Auth(credentials, service, Access.region).add_auth(request)
    Access.count()
    kind = http.client.HTTPSConnection if urlparse(url).scheme == "https" else http.client.HTTPConnection
    connection = kind(urlparse(url).netloc, timeout=30)
    try:
        connection.request(method, path, body, dict(request.headers))
        answer = connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, headers, answer.read())
    finally:
        connection.close()


def query(url: str, service: str, action: str, path: str = "/", **parameters) -> Answer:
    """Sends a form, as clients did before JSON and CBOR. Names with dots are given as a dictionary under `more`."""
    version = {"sqs": "2012-11-05", "monitoring": "2010-08-01"}[service]
    form = {"Action": action, "Version": version, **parameters.pop("more", {}), **parameters}
    headers = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    return post(url, service, headers, urlencode(form).encode(), path)


def aws_json(url: str, target: str, body: bytes | dict, **headers: str) -> Answer:
    body = json.dumps(body).encode() if isinstance(body, dict) else body
    service = "sqs" if target.startswith("AmazonSQS") else "monitoring"
    return post(url, service, {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": target, **headers}, body)
