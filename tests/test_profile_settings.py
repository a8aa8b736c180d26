"""The settings of the server profile: where records and vectors are kept."""

from pathlib import Path

import pytest

from jiyi.config import load_memory_config, load_settings
from jiyi.errors import ConfigError
from jiyi.model.address import mask_passwords

ADDRESS = "postgresql://ada:s3cr3t@db.example.org:5433/jiyi"


def test_without_a_word_everything_is_embedded(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, environment={})
    assert (settings.storage, settings.vectors, settings.place) == ("embedded", "auto", str(tmp_path))


@pytest.mark.parametrize("value", ["embedded", "", None])
def test_nothing_and_embedded_mean_the_embedded_profile(tmp_path: Path, value: str | None) -> None:
    assert load_settings(tmp_path, environment={}, storage=value).storage == "embedded"


def test_one_line_of_the_file_moves_a_deployment(tmp_path: Path) -> None:
    (tmp_path / "memory.yaml").write_text(f"memory:\n  storage: {ADDRESS}\n", "utf-8")
    settings = load_settings(tmp_path, environment={})
    assert settings.storage == ADDRESS
    assert settings.path == tmp_path
    assert load_memory_config(tmp_path / "memory.yaml", defaults=False) == {"storage": ADDRESS}


def test_the_variable_and_the_place_of_the_path_do_the_same(tmp_path: Path) -> None:
    home = {"JIYI_HOME": str(tmp_path)}
    assert load_settings(environment={**home, "JIYI_STORAGE": ADDRESS}).storage == ADDRESS
    settings = load_settings(ADDRESS, environment=home)
    assert (settings.storage, settings.path) == (ADDRESS, tmp_path)


def test_the_settings_file_of_the_data_directory_counts_for_an_address_too(tmp_path: Path) -> None:
    (tmp_path / "memory.yaml").write_text("memory:\n  scope: ada\n", "utf-8")
    assert load_settings(ADDRESS, environment={"JIYI_HOME": str(tmp_path)}).scope == "ada"


def test_the_short_name_of_the_scheme_is_understood(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, environment={}, storage="postgres://db/jiyi?sslmode=require")
    assert settings.storage == "postgresql://db/jiyi?sslmode=require"


def test_two_addresses_for_the_records_are_refused() -> None:
    with pytest.raises(ConfigError, match="two addresses") as caught:
        load_settings(ADDRESS, environment={}, storage="postgresql://elsewhere/jiyi")
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        ADDRESS,
        "postgresql://db.example.org/jiyi?user=ada&password=s3cr3t",
        "postgresql://db.example.org/jiyi?sslpassword=s3cr3t&sslmode=require",
        "postgresql://ada:s3cr3t%40%2F@db.example.org/jiyi",
    ],
)
def test_a_password_is_shown_nowhere(tmp_path: Path, address: str) -> None:
    settings = load_settings(tmp_path, environment={}, storage=address)
    for shown in (repr(settings), str(settings), settings.place, mask_passwords(f"failed: {address!r}")):
        assert "s3cr3t" not in shown
        assert "db.example.org" in shown
    assert "***" in settings.place


def test_the_token_of_milvus_is_not_shown(tmp_path: Path) -> None:
    assert "t0ken" not in repr(load_settings(tmp_path, environment={}, milvus_token="root:t0ken"))


def test_milvus_is_reached_by_the_variables_of_the_design(tmp_path: Path) -> None:
    plain = load_settings(tmp_path, environment={}, vectors="milvus")
    assert plain.milvus_address == "http://localhost:19530"
    assert plain.milvus_memory_collection == "agent_memories_vectors"
    variables = {"MILVUS_HOST": "vectors", "MILVUS_PORT": "19531", "MILVUS_MEMORY_COLLECTION": "mine"}
    settings = load_settings(tmp_path, environment={**variables, "JIYI_VECTORS": "milvus"})
    assert (settings.milvus_address, settings.milvus_memory_collection) == ("http://vectors:19531", "mine")
    named = {**variables, "MILVUS_URI": "https://cloud.example.org:443", "MILVUS_TOKEN": "t0ken"}
    settings = load_settings(tmp_path, environment=named, vectors="milvus")
    assert (settings.milvus_address, settings.milvus_token) == ("https://cloud.example.org:443", "t0ken")


def test_the_variables_of_milvus_stand_above_the_file_and_below_our_own(tmp_path: Path) -> None:
    (tmp_path / "memory.yaml").write_text("memory: {vectors: milvus, milvus_host: file, milvus_port: 1}", "utf-8")
    environment = {"MILVUS_HOST": "theirs", "JIYI_MILVUS_PORT": "3", "MILVUS_PORT": "2"}
    assert load_settings(tmp_path, environment=environment).milvus_address == "http://theirs:3"


def test_variables_of_milvus_are_none_of_our_business_without_it(tmp_path: Path) -> None:
    assert load_settings(tmp_path, environment={"MILVUS_PORT": "many"}).milvus_port == 19530
    with pytest.raises(ConfigError, match=r"environment variable MILVUS_PORT: 'many'"):
        load_settings(tmp_path, environment={"MILVUS_PORT": "many"}, vectors="milvus")


def test_milvus_lite_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "vectors.db"
    assert load_settings(tmp_path, environment={}, milvus_uri=str(file)).milvus_address == str(file)
