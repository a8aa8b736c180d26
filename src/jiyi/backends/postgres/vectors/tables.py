"""The tables of `PostgresVectors` and the statements that read and write them.

They are derived, so they are in a schema of their own that may be dropped at any moment. Everything of pgvector is
qualified with its schema, which may not be in the search path.

An entry has one row for each chunk of its text. Its similarity to a query is half that of the best chunk and half the
mean of the chunks. So a row holds (chunk + mean of the chunks) / 2, and the similarity of the entry is the greatest
inner product of its rows. A text of one chunk has its own vector.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
from psycopg import sql

from jiyi.backends.postgres.session import SCHEMA, Connection, create_schema
from jiyi.backends.postgres.wire import FLOAT4_ARRAY, TEXT, TEXT_ARRAY, Statement
from jiyi.errors import IndexingError

META, CURRENT, NEXT = f"{SCHEMA}.vector_meta", "current", "next"
MAX_HNSW_DIMENSIONS = 4_000
"""pgvector has no HNSW index for longer half-precision vectors."""
MAX_AT_ONCE = 5_000
"""So many rows of small scopes `PostgresReader` reads at the most."""
_ITERATIVE_SINCE = (0, 8)
_HALFVEC_SINCE = (0, 7)


@dataclass(frozen=True, slots=True)
class Extension:
    """Schema and version of pgvector in the database."""

    schema: str
    version: tuple[int, ...]

    @property
    def iterative(self) -> bool:
        """Whether the scan of an HNSW index continues until it has enough rows."""
        return self.version >= _ITERATIVE_SINCE


def find_extension(connection: Connection) -> Extension | None:
    """The extension; `None` if it is not installed in the database."""
    row = connection.execute(
        "SELECT n.nspname, e.extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
        "WHERE e.extname = 'vector'"
    ).fetchone()
    if row is None:
        return None
    return Extension(str(row[0]), tuple(int(part) for part in str(row[1]).split(".") if part.isdecimal()))


def need_extension(connection: Connection) -> Extension:
    """The extension; it is installed if the server has it and the role may."""
    found = find_extension(connection)
    if found is None:
        try:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except psycopg.errors.UniqueViolation:
            # Another session has installed it at the same time.
            pass
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported) as error:
            raise missing_extension(connection, str(error.diag.message_primary)) from error
        found = find_extension(connection)
    if found is None:
        raise missing_extension(connection, "it is not installed")
    if found.version < _HALFVEC_SINCE:
        raise IndexingError(
            f"the extension vector of the database {connection.info.dbname!r} is version "
            f"{'.'.join(map(str, found.version))} and 0.7 or later is needed; run: ALTER EXTENSION vector UPDATE"
        )
    return found


def missing_extension(connection: Connection, reason: str) -> IndexingError:
    """The error that says how to install pgvector."""
    return IndexingError(
        f"vectors need the extension vector (pgvector) in the database {connection.info.dbname!r} ({reason}); install "
        "pgvector on the server and let a superuser run there: CREATE EXTENSION vector"
    )


class VectorTables:
    """The statements for one schema of the extension and one number of dimensions."""

    def __init__(self, extension: Extension, dimension: int) -> None:
        self.extension = extension
        self.dimension = dimension
        self.can_index = dimension <= MAX_HNSW_DIMENSIONS
        """Whether there can be HNSW indexes."""
        self._schema = sql.Identifier(extension.schema)
        # pgvector's operator returns the negative inner product.
        self._distance = sql.SQL("embedding OPERATOR({schema}.<#>) :vector::real[]::{schema}.halfvec").format(
            schema=self._schema
        )
        self._similarity = sql.SQL("(-({distance}))::real").format(distance=self._distance)
        self.scopes_and_similarities = self._scopes_and_similarities()
        self.all_similarities = self._all_similarities()

    # --- reading ---------------------------------------------------------------------------------------------------

    def _scopes_and_similarities(self) -> str:
        """The totals of the scopes, all similarities of the small ones, and the state of the vectors.

        Parameters: vector, scopes, exact_rows, identity. The aggregates keep the planner from using an HNSW index, so
        the similarities are exact.
        """
        statement = sql.SQL(
            "SELECT s.scope, s.entries, s.mean, s.has_hnsw, a.ids, a.similarities, a.times, "
            "to_regclass({table})::oid::bigint, m.sequence, m.fingerprint "
            "FROM {meta} m "
            "LEFT JOIN (SELECT scope, entries, held, has_hnsw, "
            "-(center OPERATOR({schema}.<#>) :vector::real[]::{schema}.vector) AS mean "
            "FROM {scopes} WHERE scope = ANY (:scopes)) s ON true "
            "LEFT JOIN LATERAL (SELECT array_agg(entry_id) AS ids, array_agg({similarity}) AS similarities, "
            "array_agg(event_time) AS times FROM {vectors} v "
            "WHERE v.scope = s.scope AND s.held <= :exact_rows) a ON true "
            "WHERE m.generation = {current} AND m.identity = :identity"
        ).format(
            meta=named(META),
            scopes=named(scopes_table()),
            vectors=named(vectors_table()),
            schema=self._schema,
            similarity=self._similarity,
            current=sql.Literal(CURRENT),
            table=sql.Literal(vectors_table()),
        )
        return statement.as_string()

    def _all_similarities(self) -> Statement:
        """The similarity of every row of some scopes, one more than `MAX_AT_ONCE` at the most.

        Parameters: scopes, vector, identity. The vector is a subquery, so that it is cast once and not for each row.
        """
        statement = sql.SQL(
            "SELECT v.entry_id, (-(v.embedding OPERATOR({schema}.<#>) "
            "(SELECT :vector::real[]::{schema}.halfvec)))::real, v.event_time FROM {meta} m CROSS JOIN {vectors} v "
            "WHERE m.generation = {current} AND m.identity = :identity AND v.scope = ANY (:scopes) LIMIT {limit}"
        ).format(
            meta=named(META),
            vectors=named(vectors_table()),
            schema=self._schema,
            current=sql.Literal(CURRENT),
            limit=sql.Literal(MAX_AT_ONCE + 1),
        )
        return Statement(statement.as_string(), {"vector": FLOAT4_ARRAY, "identity": TEXT, "scopes": TEXT_ARRAY})

    @property
    def given_similarities(self) -> str:
        """The similarity of each of some rows that no table holds, in order. Parameters: vector, rows, count.

        pgvector computes it, because the last digit depends on the order in which it adds.
        """
        statement = sql.SQL(
            "SELECT (-((:rows::real[])[n * {dimension} + 1 : (n + 1) * {dimension}]::{schema}.halfvec "
            "OPERATOR({schema}.<#>) :vector::real[]::{schema}.halfvec))::real "
            "FROM generate_series(0, :count - 1) AS n ORDER BY n"
        ).format(schema=self._schema, dimension=sql.Literal(self.dimension))
        return statement.as_string()

    def nearest(self, scope: str, limit: int, bounds: Sequence[tuple[int, int]] = ()) -> str:
        """The nearest rows of a scope by its HNSW index, in order, inside the bounds if any. Parameter: vector.

        The scope is a literal: the planner uses a partial index only if it sees its condition.
        """
        inside = sql.SQL(" OR ").join(
            sql.SQL("(event_time >= {} AND event_time < {})").format(sql.Literal(start), sql.Literal(end))
            for start, end in bounds
        )
        statement = sql.SQL(
            "SELECT entry_id, {similarity} FROM {vectors} WHERE scope = {scope}{within} "
            "ORDER BY {distance} LIMIT {limit}"
        ).format(
            within=sql.SQL(" AND ({})").format(inside) if bounds else sql.SQL(""),
            similarity=self._similarity,
            vectors=named(vectors_table()),
            scope=sql.Literal(scope),
            distance=self._distance,
            limit=sql.Literal(limit),
        )
        return statement.as_string()

    def exact(self, *, allowed: bool, periods: bool) -> str:
        """The nearest entries by an exact scan. Parameters: vector, scopes, limit, allowed, starts, ends."""
        among = sql.SQL("AND entry_id = ANY (:allowed)") if allowed else sql.SQL("")
        within = (
            sql.SQL(
                "AND EXISTS (SELECT FROM unnest(:starts::bigint[], :ends::bigint[]) AS p (first, last) "
                "WHERE event_time >= p.first AND event_time < p.last)"
            )
            if periods
            else sql.SQL("")
        )
        statement = sql.SQL(
            "SELECT entry_id, max({similarity}) AS best FROM {vectors} WHERE scope = ANY (:scopes) {among} {within} "
            "GROUP BY entry_id ORDER BY best DESC, entry_id LIMIT :limit"
        ).format(similarity=self._similarity, vectors=named(vectors_table()), among=among, within=within)
        return statement.as_string()

    # --- creating ---------------------------------------------------------------------------------------------------

    def create(self, connection: Connection) -> None:
        """Create the empty tables of the next generation."""
        dimension = sql.Literal(self.dimension)
        vectors = sql.SQL(
            'CREATE TABLE {vectors} (scope text COLLATE "C" NOT NULL, entry_id text COLLATE "C" NOT NULL, '
            "chunk smallint NOT NULL, event_time bigint NOT NULL, fingerprint text NOT NULL, "
            "embedding {schema}.halfvec({dimension}) NOT NULL, PRIMARY KEY (scope, entry_id, chunk)) "
            # Vectors of up to 4,000 dimensions are stored inline, so that an exact scan reads them sequentially.
            "WITH (toast_tuple_target = 8160)"
        )
        scopes = sql.SQL(
            'CREATE TABLE {scopes} (scope text COLLATE "C" PRIMARY KEY, entries bigint NOT NULL, held bigint NOT NULL, '
            "center {schema}.vector({dimension}) NOT NULL, has_hnsw boolean NOT NULL DEFAULT false)"
        )
        names = {
            "vectors": named(vectors_table(NEXT)),
            "scopes": named(scopes_table(NEXT)),
            "schema": self._schema,
            "dimension": dimension,
        }
        connection.execute(vectors.format(**names))
        connection.execute(scopes.format(**names))
        # If few scopes have most rows, the planner's estimate would lead to a full scan for a small scope.
        connection.execute(sql.SQL("ALTER TABLE {vectors} ALTER scope SET (n_distinct = -0.01)").format(**names))

    def fill_scopes(self, connection: Connection) -> None:
        """Count and average the rows of the next generation."""
        connection.execute(
            sql.SQL(
                "INSERT INTO {scopes} (scope, entries, held, center) SELECT scope, count(*), sum(held), "
                "{schema}.avg(center) FROM (SELECT scope, count(*) AS held, "
                "{schema}.avg(embedding::{schema}.vector) AS center FROM {vectors} GROUP BY scope, entry_id) e "
                "GROUP BY scope"
            ).format(scopes=named(scopes_table(NEXT)), vectors=named(vectors_table(NEXT)), schema=self._schema)
        )

    def create_hnsw(self, connection: Connection, scope: str, generation: str, *, concurrently: bool) -> None:
        """Create the HNSW index of a scope; `concurrently` does not block writers meanwhile."""
        vectors = vectors_table(generation)
        # The name contains the OID of the table, which does not change when the table is renamed.
        ((oid,),) = connection.execute("SELECT :table::regclass::oid", {"table": vectors}).fetchall()
        index = sql.Identifier(f"vector_hnsw_{oid}_{hashlib.sha256(scope.encode()).hexdigest()[:24]}")
        # An interrupted build leaves an invalid index.
        connection.execute(sql.SQL("DROP INDEX IF EXISTS {}.{}").format(sql.Identifier(SCHEMA), index))
        connection.execute(
            sql.SQL(
                "CREATE INDEX {concurrently} {index} ON {vectors} USING hnsw (embedding {schema}.halfvec_ip_ops) "
                "WHERE scope = {scope}"
            ).format(
                concurrently=sql.SQL("CONCURRENTLY" if concurrently else ""),
                index=index,
                vectors=named(vectors),
                schema=self._schema,
                scope=sql.Literal(scope),
            )
        )
        connection.execute(
            sql.SQL("UPDATE {} SET has_hnsw = true WHERE scope = :scope").format(named(scopes_table(generation))),
            {"scope": scope},
        )


def vectors_table(generation: str = CURRENT) -> str:
    """The table of the vectors."""
    return f"{SCHEMA}.vectors" if generation == CURRENT else f"{SCHEMA}.vectors_{generation}"


def scopes_table(generation: str = CURRENT) -> str:
    """The table of the totals of each scope."""
    return f"{SCHEMA}.vector_scopes" if generation == CURRENT else f"{SCHEMA}.vector_scopes_{generation}"


def prepare(connection: Connection) -> None:
    """Create the schema and the table of log positions if they are missing."""
    with connection.transaction():
        create_schema(connection)
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {META} (generation text PRIMARY KEY, identity text NOT NULL, "
            "sequence bigint NOT NULL, fingerprint text NOT NULL)"
        )


def swap(connection: Connection, identity: str, sequence: int, fingerprint: str) -> None:
    """Replace the current generation by the next one, with its log position."""
    with connection.transaction():
        # Every statement that reads several tables locks this one first, so this cannot deadlock.
        connection.execute(f"LOCK TABLE {META} IN ACCESS EXCLUSIVE MODE")
        connection.execute(f"DELETE FROM {META}")
        for current, following in (
            (vectors_table(), vectors_table(NEXT)),
            (scopes_table(), scopes_table(NEXT)),
        ):
            connection.execute(f"DROP TABLE IF EXISTS {current}")
            connection.execute(f"ALTER TABLE {following} RENAME TO {current.partition('.')[2]}")
        connection.execute(
            f"INSERT INTO {META} VALUES (:generation, :identity, :sequence, :fingerprint)",
            {"generation": CURRENT, "identity": identity, "sequence": sequence, "fingerprint": fingerprint},
        )


def named(table: str) -> sql.Identifier:
    """A table in a statement."""
    return sql.Identifier(*table.split("."))
