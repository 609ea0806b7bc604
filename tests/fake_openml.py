"""A server on this machine for tests of downloads: plain files, OpenML's interface, and faults."""

from __future__ import annotations

import hashlib
import io
import threading
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pandas as pd

XML = "text/xml; charset=utf-8"
NAMESPACE = 'xmlns:oml="http://openml.org/openml"'


@dataclass
class Answer:
    """What one path answers.

    ``fault`` is None, "hang" (accept, never answer), "drop" (close at once), "truncate" (promise
    more than is sent), "drip" (a byte a twentieth of a second, for ever), "endless" (as fast as it
    goes, without a promised length) or "strange length" (a length that is no number).
    """

    body: bytes = b""
    kind: str = "application/octet-stream"
    fault: str | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class FakeServer:
    """Serve ``answers`` (path -> Answer) on 127.0.0.1 while the context is open."""

    def __init__(self, answers: dict[str, Answer] | None = None):
        self.answers = dict(answers or {})
        self.hits: list[str] = []
        self.closing = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments):
                pass

            def do_GET(self):
                server.hits.append(self.path)
                answer = server.answers.get(self.path.split("?")[0], Answer(status=404))
                self.close_connection = True
                if answer.fault == "drop":
                    return
                if answer.fault == "hang":
                    server.closing.wait(60)
                    return
                self.send_response(answer.status)
                extra = {"truncate": 100, "drip": 1_000_000}.get(answer.fault, 0)
                self.send_header("Content-Type", answer.kind)
                length = str(len(answer.body) + extra)
                if answer.fault != "endless":
                    length = "abc" if answer.fault == "strange length" else length
                    self.send_header("Content-Length", length)
                self.send_header("Connection", "close")
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(answer.body)
                more = {"drip": (b".", 0.05), "endless": (bytes(1 << 16), 0)}.get(answer.fault)
                while more and not server.closing.wait(more[1]):
                    try:
                        self.wfile.write(more[0])
                    except OSError:
                        return

            do_HEAD = do_GET

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.base = f"http://127.0.0.1:{self.http.server_address[1]}"

    def __enter__(self) -> FakeServer:
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exception):
        self.closing.set()
        self.http.shutdown()
        self.http.server_close()

    def offer_openml(
        self,
        number: int,
        table: pd.DataFrame,
        target: str,
        wrong_md5: bool = False,
        arff_fault: str | None = None,
        parquet: str | None = None,
    ) -> str:
        """Offer a table as OpenML does and return the interface's address.

        ``parquet`` is None (not offered), "ok", "dead" (a port where nobody listens) or "hang".
        """
        arff = to_arff(table)
        md5 = "0" * 32 if wrong_md5 else hashlib.md5(arff).hexdigest()
        api, file = "/api/v1/xml", f"/data/v1/download/{number}/table.arff"
        parquet_path = f"/datasets/0000/{number:04d}/dataset_{number}.pq"
        parquet_base = "http://127.0.0.1:1" if parquet == "dead" else self.base
        parquet_url = "" if parquet is None else _tag("parquet_url", parquet_base + parquet_path)
        description = (
            _tag("id", number)
            + _tag("name", "table")
            + _tag("version", 1)
            + _tag("description", "made up")
            + _tag("format", "ARFF")
            + _tag("url", self.base + file)
            + parquet_url
            + _tag("file_id", number)
            + _tag("default_target_attribute", target)
            + _tag("status", "active")
            + _tag("md5_checksum", md5)
        )
        features = "".join(_feature(i, table[c], c == target) for i, c in enumerate(table))
        self.answers |= {
            f"{api}/data/{number}": Answer(_root("data_set_description", description), XML),
            f"{api}/data/features/{number}": Answer(_root("data_features", features), XML),
            file: Answer(arff, "text/plain; charset=utf-8", fault=arff_fault),
            parquet_path: _parquet_answer(table, "hang" if parquet == "hang" else None),
        }
        return self.base + api


def to_arff(table: pd.DataFrame) -> bytes:
    lines = ["@RELATION table"]
    for name in table:
        column = table[name]
        kind = "REAL"
        if isinstance(column.dtype, pd.CategoricalDtype):
            kind = "{" + ",".join(column.cat.categories) + "}"
        lines.append(f"@ATTRIBUTE {name} {kind}")
    lines += ["@DATA", *(",".join(map(str, row)) for row in table.itertuples(index=False))]
    return ("\n".join(lines) + "\n").encode()


def _parquet_answer(table: pd.DataFrame, fault: str | None) -> Answer:
    buffer = io.BytesIO()
    table.to_parquet(buffer)
    body = buffer.getvalue()
    headers = {
        "ETag": f'"{hashlib.md5(body).hexdigest()}"',
        "Last-Modified": formatdate(0, usegmt=True),
    }
    return Answer(body, headers=headers, fault=fault)


def _feature(index: int, column: pd.Series, is_target: bool) -> str:
    nominal = isinstance(column.dtype, pd.CategoricalDtype)
    values = [_tag("nominal_value", v) for v in column.cat.categories] if nominal else []
    return _tag(
        "feature",
        _tag("index", index)
        + _tag("name", column.name)
        + _tag("data_type", "nominal" if nominal else "numeric")
        + "".join(values)
        + _tag("is_target", str(is_target).lower())
        + _tag("is_ignore", "false")
        + _tag("is_row_identifier", "false")
        + _tag("number_of_missing_values", 0),
    )


def _tag(name: str, content: object) -> str:
    return f"<oml:{name}>{content}</oml:{name}>"


def _root(name: str, content: str) -> bytes:
    return f"<oml:{name} {NAMESPACE}>{content}</oml:{name}>".encode()
