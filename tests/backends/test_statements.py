"""One text of a statement for every engine: the notations that are added to SQL, and what must stay as it is."""

import pytest

from jiyi.backends.postgres.wire import TEXT, TEXT_ARRAY, Statement
from jiyi.backends.records.sql import postgres_numbered, sqlite_positional, sqlite_text


@pytest.mark.parametrize(
    ("sql", "sqlite", "postgres"),
    [
        ("a = :x", "a = :x", "a = $1"),
        ("a = :x OR b > :x", "a = :x OR b > :x", "a = $1 OR b > $1"),
        ("a IN :ids", "a IN (SELECT value FROM json_each(:ids))", "a = ANY ($1)"),
        ("a NOT IN :ids", "a NOT IN (SELECT value FROM json_each(:ids))", "a <> ALL ($1)"),
        (
            "(a, b) IN PAIRS :pairs",
            "(a, b) IN (SELECT value ->> 0, value ->> 1 FROM json_each(:pairs))",
            "(a, b) IN (SELECT p ->> 0, p ->> 1 FROM jsonb_array_elements(CAST($1 AS jsonb)) p)",
        ),
        ("a IN ('x', 'y')", "a IN ('x', 'y')", "a IN ('x', 'y')"),
        ("a LIKE '50%' OR b = c % 2", "a LIKE '50%' OR b = c % 2", "a LIKE '50%' OR b = c % 2"),
        ("CAST(a AS text)::text = ':x'", "CAST(a AS text)::text = ':x'", "CAST(a AS text)::text = ':x'"),
        ("a = 'it''s IN :x' AND b = :y", "a = 'it''s IN :x' AND b = :y", "a = 'it''s IN :x' AND b = $1"),
        ('"it\'s :x".a = :y', '"it\'s :x".a = :y', '"it\'s :x".a = $1'),
    ],
)
def test_a_statement_is_translated_for_each_engine(sql: str, sqlite: str, postgres: str) -> None:
    assert sqlite_text(sql) == sqlite
    assert postgres_numbered(sql)[0].decode() == postgres


def test_a_cast_and_a_slice_are_no_parameters() -> None:
    statement = "SELECT (:rows::real[])[n * 4 + 1 : (n + 1) * 4]::schema.halfvec, :x::text"
    command, names = postgres_numbered(statement)
    assert command == b"SELECT ($1::real[])[n * 4 + 1 : (n + 1) * 4]::schema.halfvec, $2::text"
    assert names == ("rows", "x")


def test_a_numbered_statement_names_each_parameter_once() -> None:
    assert postgres_numbered("a = :x AND b IN :ids AND c > :x") == (b"a = $1 AND b = ANY ($2) AND c > $1", ("x", "ids"))


def test_a_positional_statement_repeats_a_value_for_each_of_its_places() -> None:
    text, values = sqlite_positional("a = :x AND b IN :ids AND c > :x")
    assert text == "a = ? AND b IN (SELECT value FROM json_each(?)) AND c > ?"
    assert list(values({"ids": "[]", "x": 1})) == [1, "[]", 1]


def test_values_of_a_pipeline_have_the_order_of_the_server() -> None:
    statement = Statement("SELECT :one WHERE :other = ANY (:list)", {"list": TEXT_ARRAY, "other": TEXT, "one": TEXT})
    assert statement.types == (TEXT, TEXT, TEXT_ARRAY)
    values = {"list": b"{}", "other": b"b", "one": b"a", "more": b"c"}
    assert statement.bound(values) == (statement, [b"a", b"b", b"{}"])
