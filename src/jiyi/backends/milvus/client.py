"""Imports pymilvus and Milvus Lite when they are needed, and names the package that is missing."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jiyi.errors import MissingDependencyError


def import_pymilvus() -> tuple[Any, Any]:
    """`MilvusClient` and the module of exceptions.

    pymilvus must not read the environment at its import: it would take MILVUS_URI for a setting of its own.
    """
    first = "pymilvus" not in sys.modules
    with _environment(MILVUS_URI="", PYTHON_DOTENV_DISABLED="1") if first else _environment():
        try:
            from pymilvus import MilvusClient, exceptions
        except ImportError:
            raise MissingDependencyError(
                "vectors in Milvus need a package that is not installed; install it: pip install 'jiyi[milvus]'"
            ) from None
    if first:
        # pymilvus logs every error with its stack and the query. The same errors are raised, and logged without the
        # query.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    return MilvusClient, exceptions


def prepare_lite(file: Path) -> None:
    """Check that Milvus Lite is installed, and create the folder of its file."""
    try:
        import milvus_lite.server_manager  # noqa: F401 - only whether it is installed
    except ImportError:
        raise MissingDependencyError(
            "vectors in a file by Milvus Lite need a package that is not installed; "
            "install it: pip install 'jiyi[milvus-lite]'"
        ) from None
    if find_spec("jieba") is not None:
        import jieba

        # It writes to standard error when it loads its dictionary.
        jieba.setLogLevel(logging.WARNING)
    file.parent.mkdir(parents=True, exist_ok=True)


def release_lite(file: str) -> None:
    """Close a file of Milvus Lite."""
    from milvus_lite.server_manager import server_manager_instance

    server_manager_instance.release_server(file)


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
