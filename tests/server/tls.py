"""A certificate for tests, and a proxy that ends TLS as the guide describes one."""

from __future__ import annotations

import asyncio
import re
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from queue import Queue

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_FORWARDED = re.compile(rb"(?im)^(?:x-forwarded-[a-z]+|connection):[^\r\n]*\r\n")


@dataclass(frozen=True)
class Certificate:
    """Self-signed, for the name of a server and for loopback."""

    file: Path
    key_file: Path

    def trusted(self) -> ssl.SSLContext:
        """What a client needs that trusts this certificate alone."""
        return ssl.create_default_context(cafile=str(self.file))


def make_certificate(folder: Path, name: str = "memory.example") -> Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    loopback = x509.IPAddress(ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name), loopback]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate = Certificate(folder / "cert.pem", folder / "key.pem")
    certificate.file.write_bytes(made.public_bytes(Encoding.PEM))
    certificate.key_file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return certificate


@contextmanager
def tls_proxy(server: str, certificate: Certificate, *, client: list[str]) -> Iterator[str]:
    """Ends TLS, says for whom it asks (`client[0]`), and passes everything else on as it comes. Its address."""
    host, _, port = server.removeprefix("http://").partition(":")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened = [writer]
        try:
            line, rest = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n", 1)
            told = f"X-Forwarded-For: {client[0]}\r\nX-Forwarded-Proto: https\r\nConnection: close\r\n".encode()
            upstream_reader, upstream = await asyncio.open_connection(host, int(port))
            opened.append(upstream)
            upstream.write(line + b"\r\n" + told + _FORWARDED.sub(b"", rest))
            sending = asyncio.ensure_future(_copy(reader, upstream))
            await _copy(upstream_reader, writer)
            sending.cancel()
        except (asyncio.IncompleteReadError, ConnectionError):
            # The client or the server has left.
            return
        finally:
            for each in opened:
                each.close()

    ready: Queue[tuple[int, Callable[[], object]]] = Queue()

    async def run() -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.file, certificate.key_file)
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as listening:
            ready.put((listening.sockets[0].getsockname()[1], lambda: loop.call_soon_threadsafe(stopped.set)))
            await stopped.wait()

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    place, stop = ready.get(timeout=30)
    try:
        yield f"https://127.0.0.1:{place}"
    finally:
        stop()
        thread.join(30)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65_536):
        writer.write(piece)
        await writer.drain()
