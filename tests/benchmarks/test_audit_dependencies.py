"""An audit that did not take place must not look like one that found nothing."""

import subprocess

import pytest

import audit_dependencies
from audit_dependencies import ask_database, judge_answers

SOUND = {"name": "a", "version": "1", "vulns": []}
BAD = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1"}, {"id": "CVE-2"}]}
SKIPPED = {"name": "c", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("answers", "code", "text"),
    [
        ([SOUND, BAD], 1, "Known vulnerabilities:\nb 2: CVE-1, CVE-2"),
        ([SOUND], 0, "Audited 1 packages: no known vulnerability."),
        ([SOUND, SKIPPED], 0, "1 are unknown to the database: not audited"),
        ([SKIPPED, SKIPPED], 0, "No database reachable: not audited (none of 2"),
        ([], 0, "not audited"),
        ("no answer within 60 s", 0, "No database reachable: not audited (no answer"),
    ],
)
def test_verdicts(answers, code, text):
    found = judge_answers(answers)
    assert found[0] == code
    assert text in found[1]


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [("No module named pip_audit", "pip-audit is not installed"), ("a\nrefused", "refused")],
)
def test_a_tool_that_fails_is_told_of(monkeypatch, stderr, reason):
    done = subprocess.CompletedProcess([], 1, "", stderr)
    monkeypatch.setattr(audit_dependencies.subprocess, "run", lambda *a, **k: done)
    assert ask_database() == reason


def test_the_audit_never_hangs(monkeypatch):
    def hang(*_, timeout, **__):
        raise subprocess.TimeoutExpired("pip-audit", timeout)

    monkeypatch.setattr(audit_dependencies.subprocess, "run", hang)
    assert ask_database() == "no answer within 60 s"
