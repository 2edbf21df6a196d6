"""rtrain.data.read_sql: files that Python's sqlite3 wrote, compared with its rows."""

import sqlite3

import pytest

from arrow_tables import plain
from data_sources import check_workers, read, refused


def make(path, rows=3000):
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, x REAL, s TEXT, b BLOB, mixed NUMERIC, none INT, any)")
    values = (
        (
            i,
            None if i % 7 == 3 else i / 4,
            None if i % 5 == 0 else f"söme\n text {i}" * (i % 3),
            None if i % 11 == 0 else bytes([i % 256, 0, 255]) * (i % 4),
            i if i % 2 else i + 0.5,
            None,
            2**63 - 1 - i,
        )
        for i in range(rows)
    )
    db.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    db.commit()
    return db


TYPES = {
    "id": "int64",
    "x": "float64",
    "s": "string",
    "b": "binary",
    "mixed": "float64",
    "none": "int64",
    "any": "int64",
}


def test_every_type_with_nulls(rtrain):
    with make(rtrain.folder / "a.db") as db:
        types, rows = read(rtrain, "data.read_sql('SELECT * FROM t', 'a.db')")
        assert types == TYPES
        assert [list(row.values()) for row in rows] == [plain(row) for row in db.execute("SELECT * FROM t")]


@pytest.mark.parametrize(
    "sql, given, params",
    [
        ("SELECT id, s FROM t WHERE id >= ? AND id < ? ORDER BY s DESC, id", (100, 160), "{100, 160}"),
        ("SELECT id AS n FROM t WHERE x > :least ORDER BY -id", {"least": 700.25}, "{least = 700.25}"),
        ("SELECT s, count(*) AS n FROM t WHERE s <> $no GROUP BY length(s) ORDER BY n", {"no": "ö"}, "{no = 'ö'}"),
        (
            "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 9) SELECT i, i / 2.0 AS h FROM c;",
            (),
            "nil",
        ),
        ("SELECT id FROM t WHERE (s IS ?) AND id < 20 -- a comment", (None,), "{torch.none}"),
        ("VALUES (1, 'a'), (NULL, 'b')", (), "nil"),
    ],
)
def test_queries_and_parameters(rtrain, sql, given, params):
    with make(rtrain.folder / "a.db") as db:
        expected = db.execute(sql, given)
        types, rows = read(rtrain, f"data.read_sql([[{sql}]], 'a.db', {{sql_params = {params}}})")
        assert list(types) == [entry[0] for entry in expected.description]
        expected = [plain(row) for row in expected]
        assert expected and [list(row.values()) for row in rows] == expected


def test_types_of_the_first_rows_and_column_types(rtrain):
    db = sqlite3.connect(rtrain.folder / "a.db")
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, late, n)")
    db.executemany("INSERT INTO t VALUES (?, NULL, ?)", ((i, i) for i in range(1500)))
    db.execute("INSERT INTO t VALUES (1500, 'a', 0.5)")
    db.commit()
    message = refused(rtrain, "data.read_sql('SELECT id, late FROM t', 'a.db')")
    assert "a.db', row 1500: column 'late' holds TEXT, and is null by the first rows" in message
    assert "column_types = {['late'] = 'string'}" in message
    message = refused(rtrain, "data.read_sql('SELECT id, n FROM t', 'a.db')")
    assert "row 1500: column 'n' holds REAL, and is int64" in message and "{['n'] = 'float64'}" in message
    column_types = "{column_types = {late = 'string', n = 'float64'}}"
    types, rows = read(rtrain, f"data.read_sql('SELECT * FROM t', 'a.db', {column_types})")
    assert types == {"id": "int64", "late": "string", "n": "float64"}
    assert rows[0] == {"id": 0, "late": None, "n": 0} and rows[1500] == {"id": 1500, "late": b"a".hex(), "n": 0.5}
    assert "did you mean 'late'?" in refused(
        rtrain, "data.read_sql('SELECT * FROM t', 'a.db', {column_types = {lat = 'string'}})"
    )
    assert "did you mean 'int64'?" in refused(
        rtrain, "data.read_sql('SELECT * FROM t', 'a.db', {column_types = {n = 'int46'}})"
    )


@pytest.mark.parametrize(
    "sql, said",
    [
        ("SELECT * FROM tt", "no such table: tt: did you mean 't'?"),
        ("SELECT colour FROM t", "no such column: colour"),
        ("SELEC 1", "syntax error"),
        ("", "it is empty"),
        ("SELECT 1; SELECT 2", "it has to be one statement"),
        ("DELETE FROM t", "nothing but reading is allowed"),
        ("CREATE TABLE u (a)", "nothing but reading is allowed"),
        ("SELECT id, id FROM t", "two columns are named 'id'"),
        ("SELECT * FROM t WHERE id = ?", "it has 1 parameters, and sql_params 0"),
        ("SELECT CASE WHEN id % 2 THEN 'a' ELSE 1 END AS odd FROM t", "column 'odd' holds INTEGER and TEXT"),
        ("SELECT CAST(x'FF' AS TEXT) AS s", "row 0: column 's' holds a text that is not UTF-8"),
        ("SELECT abs(-9223372036854775808 + (id < 500)) AS a FROM t", "row 500: integer overflow"),
    ],
)
def test_wrong_queries(rtrain, sql, said):
    make(rtrain.folder / "a.db", 1000).close()
    message = refused(rtrain, f"data.read_sql([[{sql}]], 'a.db')")
    assert said in message and "a.db'" in message
    with sqlite3.connect(rtrain.folder / "a.db") as db:
        assert db.execute("SELECT count(*) FROM t").fetchone() == (1000,)


def test_files_that_are_no_database(rtrain):
    path = rtrain.folder / "a.db"
    query = "data.read_sql('SELECT * FROM t', 'a.db')"
    assert "no such file: 'a.db'" in refused(rtrain, query)
    path.write_bytes(b"text" * 1000)
    assert "a.db': it is not an SQLite database" in refused(rtrain, query)
    path.unlink()
    make(path).close()
    content = bytearray(path.read_bytes())
    for page in range(8, len(content) // 4096):
        content[4096 * page : 4096 * page + 64] = b"\xff" * 64
    path.write_bytes(content)
    message = refused(rtrain, query)
    assert "cannot read '" in message and "a.db'" in message and "it is damaged: " in message


def test_a_write_ahead_log_is_read_and_left_alone(rtrain):
    path = rtrain.folder / "a.db"
    db = make(path, 10)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("DELETE FROM t WHERE id >= 5")
    db.commit()
    before = path.read_bytes()
    _, rows = read(rtrain, "data.read_sql('SELECT id FROM t', 'a.db')")
    assert rows == [{"id": i} for i in range(5)]
    assert path.read_bytes() == before and (rtrain.folder / "a.db-wal").stat().st_size > 0
    db.close()


def test_a_file_that_nobody_may_write(rtrain):
    path = rtrain.folder / "fixed?.db"
    db = make(path, 10)
    db.execute("PRAGMA journal_mode=WAL")
    db.close()
    path.chmod(0o444)
    _, rows = read(rtrain, "data.read_sql('SELECT id FROM t', 'fixed?.db')")
    assert len(rows) == 10


def test_rows_that_change_while_they_are_read(rtrain):
    make(rtrain.folder / "a.db", 100).close()
    make(rtrain.folder / "b.db", 80).close()
    message = refused(
        rtrain,
        """(function()
          local part = data.read_sql('SELECT id FROM t', 'a.db'):split_at_indices({60})[2]
          assert(os.rename('b.db', 'a.db'))
          return part
        end)()""",
    )
    assert "returns 80 rows, and it returned 100 when they were counted" in message


def test_workers_share_the_rows_and_go_on_where_they_stopped(rtrain):
    make(rtrain.folder / "a.db", 100).close()
    check_workers(rtrain, "data.read_sql('SELECT id, s FROM t ORDER BY id', 'a.db')", "id", 100)
