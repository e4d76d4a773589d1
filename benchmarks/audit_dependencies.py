"""Look up the pinned versions of `constraints.txt` among the known vulnerabilities.

    python benchmarks/audit_dependencies.py

Ends with code 1 where one is known. Where the database of `pip-audit` cannot be reached, it says
"not audited" and ends with code 0: then nothing is known, neither good nor bad.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"
SECONDS = 60
"""For the whole audit; a single answer may take 5."""
COMMAND = (
    *("-m", "pip_audit", "--requirement", str(CONSTRAINTS), "--no-deps", "--disable-pip"),
    *("--format", "json", "--timeout", "5", "--progress-spinner", "off"),
)
Dependency = Mapping[str, object]


def ask_database() -> Sequence[Dependency] | str:
    """What `pip-audit` says of each package; or, in words, why it says nothing."""
    try:
        done = subprocess.run(
            [sys.executable, *COMMAND],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {SECONDS} s"
    try:
        return json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        lines = done.stderr.strip().splitlines() or ["no answer"]
        absent = "No module named" in lines[-1]
        return "pip-audit is not installed" if absent else lines[-1][:100]


def judge_answers(answers: Sequence[Dependency] | str) -> tuple[int, str]:
    """The exit code and what to say. A package that was skipped was not audited."""
    if isinstance(answers, str):
        return 0, f"No database reachable: not audited ({answers})."
    known = [one for one in answers if "skip_reason" not in one]
    if not known:
        return 0, f"No database reachable: not audited (none of {len(answers)} packages is known)."
    bad = {f"{one['name']} {one['version']}": one["vulns"] for one in known if one["vulns"]}
    if bad:
        lines = [f"{name}: {', '.join(str(v['id']) for v in vulns)}" for name, vulns in bad.items()]
        return 1, "\n".join(["Known vulnerabilities:", *lines])
    skipped = len(answers) - len(known)
    rest = f"; {skipped} are unknown to the database: not audited" if skipped else ""
    return 0, f"Audited {len(known)} packages: no known vulnerability{rest}."


if __name__ == "__main__":
    code, text = judge_answers(ask_database())
    print(text)
    sys.exit(code)
