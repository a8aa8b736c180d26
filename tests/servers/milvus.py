"""A Milvus server of one's own: `with MilvusServer() as server:`, standalone, with its data in a folder of its own.

It is Milvus 2.3, which has vectors and no full text search; that one is tested with Milvus Lite. Who asks needs a
token: `server.token`.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import urllib.error
import urllib.request

from tests.servers.fetch import MILVUS, installed
from tests.servers.own import OwnServer, free_port

# A small machine and little data: look more often, and keep less in memory.
_SETTINGS = {
    "timeTickInterval: 200": "timeTickInterval: 50",
    "checkInterval: 1000": "checkInterval: 100",
    "distPullInterval: 500": "distPullInterval: 100",
    "authorizationEnabled: false": "authorizationEnabled: true",
    "dmlChannelNum: 16": "dmlChannelNum: 4",
}


class MilvusServer(OwnServer):
    """One standalone server on free ports of this machine. It takes about 3 seconds to start and 250 MB."""

    token = "root:Milvus"  # what a new server has

    name = "Milvus"

    def __init__(self, *, port: int | None = None) -> None:
        super().__init__(port=port)
        self._health = free_port()

    @property
    def uri(self) -> str:
        """How to reach it."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        binaries = installed(MILVUS) / "bin"
        if not (binaries / "milvus").is_file():
            raise RuntimeError("the Milvus server is missing; run: make .venv/.ready")
        environment = {
            **os.environ,
            "DEPLOY_MODE": "STANDALONE",
            "METRICS_PORT": str(self._health),
            "MILVUS_RUN_DIR": str(self.folder / "run"),
            "LD_LIBRARY_PATH": str(binaries),
        }
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*_with_us(), str(binaries / "milvus"), "run", "standalone"],
                cwd=self.folder,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._wait(self._healthy, seconds=120)

    def stop(self) -> None:
        """The end. A clean one takes its time, and nobody needs the data any more."""
        self.kill()

    def kill(self) -> None:
        """The end of a machine: nothing is written any more."""
        self._end(signal.SIGKILL)

    def _prepare(self) -> None:
        files = installed(MILVUS)
        folders = {
            "etcd_data_dir": self.folder / "data" / "etcd",
            "local_storage_dir": self.folder / "data",
            "rocksmq_data_dir": self.folder / "data" / "rocksmq",
            "etcd_log_path": self.folder / "etcd.log",
            "system_log_path": self.folder / "logs",
        }
        ports = {"proxy_port": self.port}

        def value(match: re.Match[str]) -> str:
            """What stands for `{{ name(type): default }}`."""
            name, _, default = match[1].strip().partition(":")
            name = name.split("(")[0].strip()
            if name.endswith("_port"):
                return str(ports.setdefault(name, free_port()))
            return str(folders.get(name, default.strip()))

        text = re.sub(r"\{\{(.*?)\}\}", value, (files / "config.yaml.template").read_text("utf-8"))
        for setting, ours in _SETTINGS.items():
            assert setting in text, f"the server has no setting {setting}"
            text = text.replace(setting, ours)
        # Inside it etcd keeps what it knows of itself, and listens on fixed ports unless it is told others.
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        etcd = self.folder / "configs" / "etcd.yaml"
        text = text.replace("\netcd:\n", f"\netcd:\n  config:\n    path: {etcd}\n", 1)
        (self.folder / "configs").mkdir()
        etcd.write_text(
            f"listen-client-urls: {client}\nadvertise-client-urls: {client}\nlisten-peer-urls: {peer}\n"
            f"initial-advertise-peer-urls: {peer}\ninitial-cluster: default={peer}\n"
        )
        (self.folder / "configs" / "milvus.yaml").write_text(text, "utf-8")
        shutil.copy(files / "glog.conf", self.folder / "configs" / "glog.conf")
        (self.folder / "logs").mkdir()

    def _healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._health}/healthz", timeout=5) as answer:
                return b"OK" in answer.read()
        except (OSError, urllib.error.URLError):
            return False


def _with_us() -> list[str]:
    """What makes a program end together with the one that started it, where the system has that."""
    program = shutil.which("setpriv")
    return [] if program is None else [program, "--pdeathsig", "KILL", "--"]
