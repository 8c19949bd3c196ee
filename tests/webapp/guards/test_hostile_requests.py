"""Whatever a request says, in its path, query, headers or body, the answer is no error of the server."""

from __future__ import annotations

import json
import logging
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.samples import SAMPLES
from webapp.base.library import Library
from webapp.shell.app import create_app
from webapp.shell.security import HostPolicy
from webapp.shell.uploads import Uploads

PORT = 8124
HEADERS = {"Host": f"localhost:{PORT}", "Origin": f"http://localhost:{PORT}"}
CALLBACKS = "/_dash-update-component"

NAMES = [
    "tile",
    "tiles",
    "index",
    "rows",
    "first",
    "last",
    "width",
    "from",
    "to",
    "ipu",
    "cs",
    "step",
    "program",
    "variable",
    "count",
    "cycle",
    "vs",
    "id",
    "sort",
    "page",
]
TEXTS = ["", "0", "-1", "1-2", "7,8", "NaN", "1e999", "x", "a" * 2000, "\0", "../x", "١", "{}", "[1,2]", "null"]
SEGMENTS = ["x", "0", "-1", "tiles", "timeline", "a" * 300, "%00", "%ff", "..", "..%2f..", "9" * 20, "csv"]
ATOMS = [None, True, 0, -1, 2**63, 1e308, "", "x", "a" * 3000, "\0", "\ud800", [], {}, [[]], {"id": "x"}]
BODIES = [b"", b"select 1", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"output": 1}']


class Requests:
    """Random requests to every address of the viewer; most of those of callbacks have the right shape."""

    def __init__(self, seed: int, samples: Path) -> None:
        library = Library([samples])
        app = create_app(library, HostPolicy(port=PORT), uploads=Uploads(library))
        self._random = random.Random(seed)
        self.client = app.server.test_client()
        declared = self.client.get("/_dash-dependencies", headers=HEADERS).json
        assert declared is not None
        self._callbacks = [each for each in declared if "callback" in app.callback_map[each["output"]]]
        self._rules = [(rule.rule, sorted(rule.methods or ())) for rule in app.server.url_map.iter_rules()]
        entries = library.entries()
        self._keys = [entry.key for entry in entries]
        self._pages = [f"/{entry.kind[0]}/{entry.key}/{view}" for entry in entries for view in ("memory", "timeline")]

    def _choose(self, options: Any) -> Any:
        return self._random.choice(options)

    def _value(self, depth: int = 0) -> Any:
        kind = self._random.random()
        if depth < 3 and kind < 0.25:
            return [self._value(depth + 1) for _ in range(self._random.randint(0, 3))]
        if depth < 3 and kind < 0.5:
            names = ["id", "property", "value", "startRow", "endRow", "sortModel", "filterModel", "pathname", ""]
            return {self._choose(names): self._value(depth + 1) for _ in range(self._random.randint(0, 3))}
        return self._choose(ATOMS)

    def path(self, rule: str) -> str:
        """An address of the rule, most with keys of this viewer."""
        parts = rule.split("/")
        for place, part in enumerate(parts):
            if part.startswith("<any("):
                parts[place] = self._choose(part[5 : part.index(")")].split(","))
            elif part.startswith("<"):
                parts[place] = self._choose(self._keys + SEGMENTS if "key" in part else SEGMENTS)
        return "/".join(parts)

    def _item(self, declared: dict[str, str]) -> Any:
        if not declared["id"].startswith("{"):
            return {**declared, "value": self._value()}
        pattern = json.loads(declared["id"])
        name = {key: self._choose(TEXTS) if isinstance(value, list) else value for key, value in pattern.items()}
        item = {"id": name, "property": declared["property"], "value": self._value()}
        return [item] * self._random.randint(0, 2) if ["ALL"] in pattern.values() else item

    def callback(self) -> bytes:
        """The body of a callback's request."""
        declared = self._choose(self._callbacks)
        outputs = [
            self._item({"id": part.rpartition(".")[0], "property": part.rpartition(".")[2]})
            for part in declared["output"].removeprefix("..").removesuffix("..").split("...")
        ]
        body: dict[str, Any] = {"output": declared["output"], "changedPropIds": ["visit.data"]}
        body["outputs"] = outputs if declared["output"].startswith("..") else outputs[0]
        for part in ("inputs", "state"):
            body[part] = [self._item(item) for item in declared[part]]
            for item in body[part]:
                if isinstance(item, dict) and item["property"] == "pathname" and self._random.random() < 0.7:
                    item["value"] = self._choose([*self._pages, "/", "/r/x/y"])
        if self._random.random() < 0.3:
            body[self._choose([*body, "more"])] = self._value()
        return json.dumps(body).encode()[: self._random.choice([None] * 20 + [40])]

    def send(self) -> tuple[int, str]:
        """The status of a random request, and the request in words."""
        rule, methods = self._choose([*self._rules, *[(CALLBACKS, ["POST"])] * len(self._rules)])
        method, path = self._choose(methods), self.path(rule)
        headers = {**HEADERS, "X-Popvision": self._choose(["sql", "upload", "watch", "x"])}
        query = {self._choose(NAMES): self._choose([*TEXTS, *self._keys]) for _ in range(self._random.randint(0, 4))}
        body = self.callback() if rule == CALLBACKS else self._choose(BODIES) if method == "POST" else b""
        kind = self._choose(["application/json"] * 9 + ["text/plain"])
        answer = self.client.open(
            path, method=method, headers=headers, query_string=query, data=body, content_type=kind
        )
        return answer.status_code, f"{method} {path} {query} {body[:600]!r}"


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sample reports: some requests write a catalogue beside them."""
    return Path(shutil.copytree(SAMPLES, tmp_path_factory.mktemp("hostile") / "reports"))


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Callbacks that fail on hostile values say so in the log and in the notice bar."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize(
    ("seed", "count"),
    [(1, 300), *(pytest.param(seed, 5_000, marks=pytest.mark.long) for seed in range(2, 22))],
)
def test_no_request_is_an_error_of_the_server(seed: int, count: int, samples: Path) -> None:
    requests = Requests(seed, samples)
    answers = [requests.send() for _ in range(count)]
    assert [words for status, words in answers if status >= 500] == []
    assert {status for status, _ in answers} >= {200, 400, 404}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[" * 100_000, 400),
        (b'"text"', 400),
        (b'{"output": "live-tab-always.children", "state": ["\\ud800"]}', 400),
        (b'{"output": 3}', 400),
        (b'{"output": "no.such"}', 404),
        (b'{"output": "done.title"}', 404),  # answered in the page
        (b'{"output": "..nav.children...masthead.children...page.children.."}', 400),
    ],
)
def test_what_is_no_request_of_a_callback_gets_one_sentence(body: bytes, status: int, samples: Path) -> None:
    client = Requests(0, samples).client
    answer = client.post(CALLBACKS, data=body, content_type="application/json", headers=HEADERS)
    assert (answer.status_code, answer.mimetype) == (status, "text/plain")
    assert answer.text.count(".") == 1
