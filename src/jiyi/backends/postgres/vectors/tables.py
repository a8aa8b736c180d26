"""The tables of `PostgresVectors` and the statements that read and write them.

They are derived, so they stand in a schema of their own that may be dropped at any moment. Everything of pgvector is
called by its full name: the extension may have been put into a schema that the connection does not look into.

An entry has one row for each chunk of its text. Its similarity to a question is half that of the best chunk and half
the mean of the chunks; so a row holds (chunk + mean of the chunks) / 2, and the similarity of the entry is simply the
greatest inner product of its rows. A text of one chunk has its own vector.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import psycopg
from psycopg import sql
from psycopg.abc import QueryNoTemplate

from jiyi.backends.postgres.session import SCHEMA, Connection, make_schema
from jiyi.backends.postgres.wire import REALS, TEXT, TEXTS, Statement
from jiyi.errors import IndexingError

META, CURRENT, NEXT = f"{SCHEMA}.vector_meta", "current", "next"
MAX_GRAPH_DIMENSIONS = 4_000
"""pgvector cannot put longer half-precision vectors into a graph."""
MAX_AT_ONCE = 5_000
"""So many rows of small scopes are read with everything else that a recall asks."""
_ITERATIVE_SINCE = (0, 8)
_HALFVEC_SINCE = (0, 7)


@dataclass(frozen=True, slots=True)
class Extension:
    """pgvector as it is installed in the database."""

    schema: str
    version: tuple[int, ...]

    @property
    def iterative(self) -> bool:
        """Whether the scan of a graph goes on until there are enough rows."""
        return self.version >= _ITERATIVE_SINCE


def find_extension(connection: Connection) -> Extension | None:
    """The extension, if the database has it."""
    row = connection.execute(
        "SELECT n.nspname, e.extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
        "WHERE e.extname = 'vector'"
    ).fetchone()
    if row is None:
        return None
    return Extension(str(row[0]), tuple(int(part) for part in str(row[1]).split(".") if part.isdecimal()))


def need_extension(connection: Connection) -> Extension:
    """The extension; it is installed where the server has it and the role may."""
    found = find_extension(connection)
    if found is None:
        try:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except psycopg.errors.UniqueViolation:
            # Somebody else did, at the same time.
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
    """What to do where pgvector is missing."""
    return IndexingError(
        f"vectors need the extension vector (pgvector) in the database {connection.info.dbname!r} ({reason}); install "
        "pgvector on the server and let a superuser run there: CREATE EXTENSION vector"
    )


class VectorTables:
    """The statements for one place of the extension and one number of dimensions."""

    def __init__(self, extension: Extension, dimension: int) -> None:
        self.extension = extension
        self.dimension = dimension
        self.graphs = dimension <= MAX_GRAPH_DIMENSIONS
        """Whether there can be graphs."""
        self._place = sql.Identifier(extension.schema)
        # The negative inner product, as pgvector's operator gives it.
        self._distance = sql.SQL("embedding OPERATOR({place}.<#>) %(vector)s::real[]::{place}.halfvec").format(
            place=self._place
        )
        self._similarity = sql.SQL("(-({distance}))::real").format(distance=self._distance)
        self.everything = self._everything()
        self.whole = self._whole()

    # --- asking ---------------------------------------------------------------------------------------------------

    def _everything(self) -> QueryNoTemplate:
        """What is known of the scopes, and of the small ones all similarities at once.

        Parameters: vector, scopes, exact_rows, identity. Summing up keeps the planner from using a graph: it is exact.
        """
        return sql.SQL(
            "SELECT s.scope, s.entries, s.mean, s.graph, a.ids, a.similarities, a.times "
            "FROM {meta} m "
            "LEFT JOIN (SELECT scope, entries, held, graph, "
            "-(center OPERATOR({place}.<#>) %(vector)s::real[]::{place}.vector) AS mean "
            "FROM {scopes} WHERE scope = ANY (%(scopes)s)) s ON true "
            "LEFT JOIN LATERAL (SELECT array_agg(entry_id) AS ids, array_agg({similarity}) AS similarities, "
            "array_agg(event_time) AS times FROM {vectors} v "
            "WHERE v.scope = s.scope AND s.held <= %(exact_rows)s) a ON true "
            "WHERE m.generation = {current} AND m.identity = %(identity)s"
        ).format(
            meta=named(META),
            scopes=named(scopes_table()),
            vectors=named(vectors_table()),
            place=self._place,
            similarity=self._similarity,
            current=sql.Literal(CURRENT),
        )

    def _whole(self) -> Statement:
        """Every row of some scopes with its similarity, but no more than `MAX_AT_ONCE` and one.

        Parameters: scopes, vector, identity. The vector is a subquery: its type is made once and not once for a row.
        """
        statement = sql.SQL(
            "SELECT v.entry_id, (-(v.embedding OPERATOR({place}.<#>) "
            "(SELECT $2::real[]::{place}.halfvec)))::real, v.event_time FROM {meta} m CROSS JOIN {vectors} v "
            "WHERE m.generation = {current} AND m.identity = $3 AND v.scope = ANY ($1) LIMIT {most}"
        ).format(
            meta=named(META),
            vectors=named(vectors_table()),
            place=self._place,
            current=sql.Literal(CURRENT),
            most=sql.Literal(MAX_AT_ONCE + 1),
        )
        return Statement(statement.as_string(), (TEXTS, REALS, TEXT))

    def nearest(self, scope: str, limit: int) -> QueryNoTemplate:
        """The nearest rows of a scope by its graph, in order. Parameter: vector.

        The scope stands in the text: only so the planner sees that the graph of this scope is the right one.
        """
        return sql.SQL(
            "SELECT entry_id, {similarity} FROM {vectors} WHERE scope = {scope} ORDER BY {distance} LIMIT {limit}"
        ).format(
            similarity=self._similarity,
            vectors=named(vectors_table()),
            # The statement has a parameter, so a percent sign is read as the beginning of one.
            scope=sql.SQL(sql.Literal(scope).as_string().replace("%", "%%")),
            distance=self._distance,
            limit=sql.Literal(limit),
        )

    def exact(self, *, allowed: bool, periods: bool) -> QueryNoTemplate:
        """The nearest entries by comparing all. Parameters: vector, scopes, limit, allowed, starts, ends."""
        among = sql.SQL("AND entry_id = ANY (%(allowed)s)") if allowed else sql.SQL("")
        within = (
            sql.SQL(
                "AND EXISTS (SELECT FROM unnest(%(starts)s::bigint[], %(ends)s::bigint[]) AS p (first, behind) "
                "WHERE event_time >= p.first AND event_time < p.behind)"
            )
            if periods
            else sql.SQL("")
        )
        return sql.SQL(
            "SELECT entry_id, max({similarity}) AS best FROM {vectors} WHERE scope = ANY (%(scopes)s) {among} {within} "
            "GROUP BY entry_id ORDER BY best DESC, entry_id LIMIT %(limit)s"
        ).format(similarity=self._similarity, vectors=named(vectors_table()), among=among, within=within)

    # --- making ---------------------------------------------------------------------------------------------------

    def create(self, connection: Connection) -> None:
        """Make the empty tables of the next generation."""
        dimension = sql.Literal(self.dimension)
        columns = sql.SQL(
            'CREATE TABLE {vectors} (scope text COLLATE "C" NOT NULL, entry_id text COLLATE "C" NOT NULL, '
            "chunk smallint NOT NULL, event_time bigint NOT NULL, fingerprint text NOT NULL, "
            "embedding {place}.halfvec({dimension}) NOT NULL, PRIMARY KEY (scope, entry_id, chunk)) "
            # Vectors of up to 4,000 dimensions stay in their rows: an exact scan reads them one after the other.
            "WITH (toast_tuple_target = 8160)"
        )
        kept = sql.SQL(
            'CREATE TABLE {scopes} (scope text COLLATE "C" PRIMARY KEY, entries bigint NOT NULL, held bigint NOT NULL, '
            "center {place}.vector({dimension}) NOT NULL, graph boolean NOT NULL DEFAULT false)"
        )
        names = {
            "vectors": named(vectors_table(NEXT)),
            "scopes": named(scopes_table(NEXT)),
            "place": self._place,
            "dimension": dimension,
        }
        connection.execute(columns.format(**names))
        connection.execute(kept.format(**names))
        # Where few scopes hold most rows, statistics would have a small scope read through the whole table.
        connection.execute(sql.SQL("ALTER TABLE {vectors} ALTER scope SET (n_distinct = -0.01)").format(**names))

    def fill_scopes(self, connection: Connection) -> None:
        """Count and average the rows of the next generation."""
        connection.execute(
            sql.SQL(
                "INSERT INTO {scopes} (scope, entries, held, center) SELECT scope, count(*), sum(held), "
                "{place}.avg(center) FROM (SELECT scope, count(*) AS held, "
                "{place}.avg(embedding::{place}.vector) AS center FROM {vectors} GROUP BY scope, entry_id) e "
                "GROUP BY scope"
            ).format(scopes=named(scopes_table(NEXT)), vectors=named(vectors_table(NEXT)), place=self._place)
        )

    def create_graph(self, connection: Connection, scope: str, generation: str, *, beside: bool) -> None:
        """Make the graph of a scope; `beside` does not keep writers away meanwhile."""
        vectors = vectors_table(generation)
        # Named after the table's number, which it keeps when it takes the place of the current one.
        ((number,),) = connection.execute("SELECT %s::regclass::oid", [vectors]).fetchall()
        index = sql.Identifier(f"vector_graph_{number}_{hashlib.sha256(scope.encode()).hexdigest()[:24]}")
        # One that was left half-made is no use.
        connection.execute(sql.SQL("DROP INDEX IF EXISTS {}.{}").format(sql.Identifier(SCHEMA), index))
        connection.execute(
            sql.SQL(
                "CREATE INDEX {beside} {index} ON {vectors} USING hnsw (embedding {place}.halfvec_ip_ops) "
                "WHERE scope = {scope}"
            ).format(
                beside=sql.SQL("CONCURRENTLY" if beside else ""),
                index=index,
                vectors=named(vectors),
                place=self._place,
                scope=sql.Literal(scope),
            )
        )
        connection.execute(
            sql.SQL("UPDATE {} SET graph = true WHERE scope = %s").format(named(scopes_table(generation))), [scope]
        )


def vectors_table(generation: str = CURRENT) -> str:
    """The table of the vectors."""
    return f"{SCHEMA}.vectors" if generation == CURRENT else f"{SCHEMA}.vectors_{generation}"


def scopes_table(generation: str = CURRENT) -> str:
    """The table of what is known of each scope as a whole."""
    return f"{SCHEMA}.vector_scopes" if generation == CURRENT else f"{SCHEMA}.vector_scopes_{generation}"


def prepare(connection: Connection) -> None:
    """Make the schema and the table of marks if they are missing."""
    with connection.transaction():
        make_schema(connection)
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {META} (generation text PRIMARY KEY, identity text NOT NULL, "
            "sequence bigint NOT NULL, fingerprint text NOT NULL)"
        )


def swap(connection: Connection, identity: str, sequence: int, fingerprint: str) -> None:
    """Put the next generation in the place of the current one, with its mark."""
    with connection.transaction():
        # Who reads several tables begins with this one: nobody can hold one of the others and wait for the next.
        connection.execute(f"LOCK TABLE {META} IN ACCESS EXCLUSIVE MODE")
        connection.execute(f"DELETE FROM {META}")
        for current, following in (
            (vectors_table(), vectors_table(NEXT)),
            (scopes_table(), scopes_table(NEXT)),
        ):
            connection.execute(f"DROP TABLE IF EXISTS {current}")
            connection.execute(f"ALTER TABLE {following} RENAME TO {current.partition('.')[2]}")
        connection.execute(f"INSERT INTO {META} VALUES (%s, %s, %s, %s)", [CURRENT, identity, sequence, fingerprint])


def named(table: str) -> sql.Identifier:
    """A table in a statement."""
    return sql.Identifier(*table.split("."))
