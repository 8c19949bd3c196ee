"""The limits of a comparison as JUnit XML, one test case per limit, for CI servers."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from popvision.analysis.compare.limits import Outcome
from popvision.analysis.compare.report_diff import ReportDiff
from popvision.export.diff_rows import outcome_line

#: Characters that XML 1.0 forbids.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def diff_junit(diff: ReportDiff, outcomes: list[Outcome]) -> str:
    """The document. A limit that could not be checked is an error, a broken limit a failure."""
    problems = sum(bool(outcome.problem) for outcome in outcomes)
    counts = {
        "tests": str(len(outcomes)),
        "failures": str(sum(outcome.broken for outcome in outcomes) - problems),
        "errors": str(problems),
    }
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", {"name": "popvision diff", **counts})
    properties = ElementTree.SubElement(suite, "properties")
    for name, report in (("source", diff.source), ("target", diff.target)):
        ElementTree.SubElement(properties, "property", {"name": name, "value": _text(str(report.reader.path))})
    for outcome in outcomes:
        case = ElementTree.SubElement(suite, "testcase", {"classname": "popvision.diff", "name": outcome.limit.text})
        sentence = _text(outcome_line(outcome))
        if outcome.broken:
            kind = "error" if outcome.problem else "failure"
            ElementTree.SubElement(case, kind, {"message": sentence, "type": "limit"}).text = sentence
        else:
            ElementTree.SubElement(case, "system-out").text = sentence
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _text(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
