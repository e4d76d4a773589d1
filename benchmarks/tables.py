"""The tables of docs/performance.md, as Markdown, from the records under results/benchmarks/.

python benchmarks/tables.py
"""

from collections.abc import Callable, Iterable
from typing import Any

from nppac.utils.files import read_json
from rounds import RECORDS, medians

NAMES = {"sac": "nppac, SAC", "nppac": "nppac, N-PPAC", "sbx": "SBX", "sb3": "Stable-Baselines3"}


def markdown(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table; its second line says that there is a header."""
    lines = [list(header), *(list(row) for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def updates(record: dict[str, Any]) -> str:
    return "\n\n".join(_updates_of(result) for result in record["cases"])


def _updates_of(result: dict[str, Any]) -> str:
    case, rates = result["case"], medians(result["updates_per_second"])
    peaks = medians(result["peak_gflops"])
    rows = []
    for name, rate in rates.items():
        shares = (result["share_of_peak"][peak].get(name) for peak in peaks)
        ratio = f"{rates['sac'] / rate:.2f}"
        cells = ("" if share is None else f"{share:.0%}" for share in shares)
        rows.append([_named(name), f"{rate:.0f}", ratio, *cells])
    title = f"{case['task']}, batch {case['batch_size']}"
    columns = (f"of the peak ({peak}, {value:.0f} GFLOP/s)" for peak, value in peaks.items())
    return markdown([title, "updates/s", "SAC beside it", *columns], rows)


def loop(record: dict[str, Any]) -> str:
    rates = medians(record["steps_per_second"])
    rows = (
        [_named(name), f"{rate:.0f}", f"{rates['sac'] / rate:.2f}"] for name, rate in rates.items()
    )
    return markdown(["one update a step", "environment steps/s", "SAC beside it"], rows)


def _named(name: str) -> str:
    library, comma, rest = name.partition(",")
    return NAMES[library] + comma + rest


def epoch(record: dict[str, Any]) -> str:
    return "\n\n".join(_epoch_of(result) for result in record["tasks"])


def _epoch_of(result: dict[str, Any]) -> str:
    asking = medians(result["asking"])
    rows = (
        [
            name,
            f"{seconds:.2f}",
            f"{asking[name]:.2f}",
            f"{result['over_network'][name]:.3f}",
            f"{result['over_constant'][name]:.3f}",
            f"{result['peak_megabytes'][name]:.0f}",
        ]
        for name, seconds in medians(result["seconds"]).items()
    )
    header = [
        result["task"],
        "s per epoch",
        "asking",
        "beside the network",
        "beside the constant",
        "peak MB",
    ]
    return markdown(header, rows)


def whole_run(record: dict[str, Any]) -> str:
    tasks = record["tasks"]
    parts = sorted({part for result in tasks.values() for part in result["parts"]})
    rows = [["whole run", *(f"{result['seconds']:.0f}" for result in tasks.values())]]
    for part in parts:
        rows.append([part, *(f"{r['parts'].get(part, 0.0):.1f}" for r in tasks.values())])
    for label in ("cold", "warm"):
        firsts = (f"{r['start'][label]['first update']:.1f}" for r in tasks.values())
        rows.append([f"first update, {label} cache", *firsts])
    return markdown(["seconds", *tasks], rows)


def compared(record: dict[str, Any]) -> str:
    """One column a contender; what it could not do is said below."""
    results = record["results"]
    metrics = dict.fromkeys(name for result in results.values() for name in result)
    metrics.pop("failed", None)
    rows = (
        [metric.replace("_", " "), *(_number(result.get(metric)) for result in results.values())]
        for metric in metrics
    )
    title = f"{record['settings']['task']}, {record['points']} points, {record['kernel']}"
    failed = (f"{name}: {r['failed']}" for name, r in results.items() if "failed" in r)
    return "\n\n".join([markdown([title, *results], rows), *failed])


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def variance(record: dict[str, Any]) -> str:
    places = record["results"]
    rows = (
        [m, *(f"{100 * (place[m]['mean'] - 1):.1f} %" for place in places.values())]
        for m in next(iter(places.values()))
    )
    title = f"{record['settings']['task']}, {record['points']} points: conditioned on"
    return markdown([title, *(f"above exact, {where}" for where in places)], rows)


TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "updates": updates,
    "loop": loop,
    "epoch": epoch,
    "whole_run": whole_run,
    "gp-compare-*": compared,
    "gp-variance-*": variance,
}


def main() -> None:
    for name, table in TABLES.items():
        for path in sorted(RECORDS.glob(f"{name}.json")):
            record = read_json(path)
            where = record.get("machine", "machine not recorded")
            print(f"## {path.stem} ({record['commit']}, {where})\n\n{table(record)}\n")


if __name__ == "__main__":
    main()
