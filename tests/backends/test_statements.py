"""One text of a statement for every engine: the notations that are added to SQL, and what must stay as it is."""

import pytest

from jiyi.backends.records.sql import postgres_numbered, postgres_text, sqlite_text


@pytest.mark.parametrize(
    ("sql", "sqlite", "postgres"),
    [
        ("a = :x", "a = :x", "a = %(x)s"),
        ("a = :x OR b > :x", "a = :x OR b > :x", "a = %(x)s OR b > %(x)s"),
        ("a IN :ids", "a IN (SELECT value FROM json_each(:ids))", "a = ANY (%(ids)s)"),
        ("a NOT IN :ids", "a NOT IN (SELECT value FROM json_each(:ids))", "a <> ALL (%(ids)s)"),
        ("a IN ('x', 'y')", "a IN ('x', 'y')", "a IN ('x', 'y')"),
        ("a LIKE '50%'", "a LIKE '50%'", "a LIKE '50%%'"),
        ("CAST(a AS text)::text = ':x'", "CAST(a AS text)::text = ':x'", "CAST(a AS text)::text = ':x'"),
        ("a = 'it''s :x' AND b = :y", "a = 'it''s :x' AND b = :y", "a = 'it''s :x' AND b = %(y)s"),
    ],
)
def test_a_statement_is_translated_for_each_engine(sql: str, sqlite: str, postgres: str) -> None:
    assert sqlite_text(sql) == sqlite
    assert postgres_text(sql) == postgres


def test_a_numbered_statement_names_each_parameter_once() -> None:
    assert postgres_numbered("a = :x AND b IN :ids AND c > :x") == ("a = $1 AND b = ANY ($2) AND c > $1", ("x", "ids"))
