"""An OAuth issuer for tests: metadata and keys over real HTTP, and tokens of every kind."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

AUDIENCE = "http://127.0.0.1/mcp"


class Issuer:
    """Signs tokens, publishes keys, rotates them, and can be down."""

    def __init__(self) -> None:
        self.keys: dict[str, tuple[str, Any]] = {}
        self.down = False
        self.asked: list[str] = []
        """The paths of all requests."""
        self.openid_only = False
        self.claims_to_be = ""
        """Another issuer in its metadata."""
        self.redirects_to = ""
        self.address = ""

    def add(self, key_id: str, algorithm: str = "ES256") -> None:
        made: Any = (
            rsa.generate_private_key(65537, 2048)
            if algorithm[:2] in {"RS", "PS"}
            else ed25519.Ed25519PrivateKey.generate()
            if algorithm == "EdDSA"
            else ec.generate_private_key(ec.SECP256R1())
        )
        self.keys[key_id] = (algorithm, made)

    def published(self) -> dict[str, Any]:
        return {"keys": [_as_jwk(key_id, *each) for key_id, each in self.keys.items()]}

    def public_pem(self, key_id: str) -> bytes:
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        pem: bytes = self.keys[key_id][1].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return pem

    def token(self, key_id: str = "one", header: dict[str, Any] | None = None, **claims: Any) -> str:
        """A good token, but for the claims that are given; `None` leaves one out."""
        now = int(time.time())
        good = {
            "iss": self.address,
            "aud": AUDIENCE,
            "sub": "alice",
            "scope": "openid memory:read memory:write",
            "iat": now,
            "exp": now + 300,
        }
        payload = {name: value for name, value in {**good, **claims}.items() if value is not None}
        algorithm, key = self.keys[key_id]
        return jwt.encode(payload, key, algorithm, headers={"kid": key_id, **(header or {})})

    def unsigned(self, algorithm: str = "none") -> str:
        head = {"alg": algorithm, "typ": "JWT", "kid": "one"}
        body = jwt.decode(self.token(), options={"verify_signature": False})
        return ".".join(_encoded(each) for each in (head, body)) + "."

    def signed_with_public_key(self) -> str:
        """HS256, with the published key as the secret: a server that believes `alg` would take it."""
        import hashlib
        import hmac

        head = {"alg": "HS256", "typ": "JWT", "kid": "one"}
        body = jwt.decode(self.token(), options={"verify_signature": False})
        text = ".".join(_encoded(each) for each in (head, body))
        digest = hmac.new(self.public_pem("one"), text.encode(), hashlib.sha256).digest()
        return f"{text}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"

    def answer(self, path: str) -> tuple[int, dict[str, Any]]:
        self.asked.append(path)
        if self.down:
            return 500, {}
        if path == "/keys":
            return 200, self.published()
        known = {"/.well-known/openid-configuration"}
        if not self.openid_only:
            known.add("/.well-known/oauth-authorization-server")
        if path in known:
            return 200, {"issuer": self.claims_to_be or self.address, "jwks_uri": f"{self.address}/keys"}
        return 404, {}


def _encoded(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def _as_jwk(key_id: str, algorithm: str, key: Any) -> dict[str, Any]:
    kind = {"RS": RSAAlgorithm, "PS": RSAAlgorithm, "ES": ECAlgorithm, "Ed": OKPAlgorithm}[algorithm[:2]]
    data: dict[str, Any] = json.loads(kind.to_jwk(key.public_key()))  # type: ignore[attr-defined]
    return {**data, "kid": key_id, "use": "sig"}


@contextmanager
def running_issuer() -> Iterator[Issuer]:
    """An issuer on a free port, with one key."""
    issuer = Issuer()
    issuer.add("one")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if issuer.redirects_to:
                self.send_response(302)
                self.send_header("Location", issuer.redirects_to)
                self.end_headers()
                return
            status, found = issuer.answer(self.path)
            body = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
