"""Damage small sound files of every format and read them: only a `UserError` may come out.

    python benchmarks/fuzz_readers.py --mutations 20000 --seed 0 [--readers npz d4rl] [--keep DIR]
        [--out record.json]

Prints a table: how many damaged files were refused, how many still read, the slowest, and anything
else that was raised; the files that raised it are kept. To add a reader, add an entry to `READERS`.
"""

import argparse
import random
import resource
import shlex
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from fuzz_mutations import Parts, mutated
from fuzz_samples import (
    awac_file,
    config_file,
    d4rl_files,
    dapg_files,
    json_file,
    metrics_file,
    minari_parts,
    npz_members,
    plan_file,
    policy_members,
    reference_members,
    yaml_file,
)
from nppac.demos import describe, load_demos, validate
from nppac.demos.formats import hdf5, hdf5_worker
from nppac.utils.errors import UserError
from nppac.utils.files import read_arrays, read_json, write_json
from nppac.utils.provenance import commit
from nppac.utils.yaml_reader import read_yaml


class Reader(NamedTuple):
    """Sound samples, each of named parts; how to write a sample; and what reads it."""

    samples: Callable[[], list[Parts]]
    write: Callable[[Path, Parts], Path]
    read: Callable[[Path], object]


def one_file(folder: Path, parts: Parts) -> Path:
    """The only part, as a file."""
    path = folder / "file"
    path.write_bytes(*parts.values())
    return path


def archive(folder: Path, parts: Parts) -> Path:
    """The parts as members of a zip with the right checksums, so that readers come to the parts."""
    with zipfile.ZipFile(folder / "file", "w") as made:
        for name, data in parts.items():
            made.writestr(name, data)
    return folder / "file"


def directory(folder: Path, parts: Parts) -> Path:
    """The parts as files of a directory."""
    for name, data in parts.items():
        (folder / name).write_bytes(data)
    return folder


def demonstrations(path: Path) -> None:
    """What every command does with demonstrations."""
    describe(validate(load_demos(path))[0])


def _in_this_process(path: Path, wanted: list[str]) -> hdf5.Hdf5Contents:
    """As `hdf5.read_hdf5`, a hundred times faster, and without its protection from crashes."""
    allowed = hdf5.Budget(path, hdf5.BYTES).allowed
    try:
        return hdf5.Hdf5Contents(*hdf5_worker.read_numbers(str(path), wanted, allowed))
    except Exception as error:  # as the worker's `main` does
        raise UserError(f"{path}: {error}") from error


def as_archive(members: Callable[[], Parts]) -> list[Parts]:
    """The bytes of an archive of these members, as one part."""
    with tempfile.TemporaryDirectory() as folder:
        return [{"file": archive(Path(folder), members()).read_bytes()}]


def _load_reference(path: Path) -> object:
    from nppac.references import load_reference

    return load_reference(path)


def _load_policy(path: Path) -> object:
    from nppac.deploy.numpy_policy import load_numpy_policy

    return load_numpy_policy(path)


def _read_config(path: Path) -> object:
    from nppac.training.config import read_config

    return read_config(path)


def _read_plan(path: Path) -> object:
    from nppac.sweeps.plan_file import read_plan_file

    return read_plan_file(path)


def _load_metrics(path: Path) -> object:
    from nppac.evaluation.metrics import load_metrics

    return load_metrics(path)


DEMO_READERS: dict[str, Reader] = {
    "npz": Reader(lambda: as_archive(npz_members), one_file, demonstrations),
    "npz members": Reader(lambda: [npz_members()], archive, demonstrations),
    "pickle": Reader(dapg_files, one_file, demonstrations),
    "npy": Reader(awac_file, one_file, demonstrations),
    "d4rl": Reader(d4rl_files, one_file, demonstrations),
    "minari": Reader(minari_parts, directory, demonstrations),
    "arrays": Reader(lambda: [npz_members()], archive, read_arrays),
    "json": Reader(json_file, one_file, read_json),
    "yaml": Reader(yaml_file, one_file, read_yaml),
}
OTHER_READERS: dict[str, Reader] = {
    "reference": Reader(reference_members, archive, _load_reference),
    "policy": Reader(lambda: [policy_members()], archive, _load_policy),
    "config": Reader(config_file, directory, _read_config),
    "metrics": Reader(metrics_file, one_file, _load_metrics),
    "plan": Reader(plan_file, one_file, _read_plan),
}
READERS = DEMO_READERS | OTHER_READERS


@dataclass
class Tally:
    """What became of the damaged files of one reader."""

    refused: int = 0
    read: int = 0
    slowest: float = 0.0
    others: Counter = field(default_factory=Counter)


def fuzz(reader: Reader, mutations: int, seed: int, keep: Path | None = None) -> Tally:
    """Read so many damaged samples; anything but a `UserError` is counted, and its file kept."""
    rng, tally, samples = random.Random(seed), Tally(), reader.samples()
    for number in range(mutations):
        parts = mutated(rng, rng.choice(samples))
        with tempfile.TemporaryDirectory() as folder:
            path = reader.write(Path(folder), parts)
            began = time.process_time()
            try:
                reader.read(path)
                tally.read += 1
            except UserError as error:
                tally.refused += 1
                if not str(error).isprintable():
                    tally.others["message that cannot be shown"] += 1
            except Exception as error:
                kind = f"{type(error).__name__}: {str(error)[:80]}"
                if kind not in tally.others and keep is not None:
                    _keep(keep / f"{seed}-{number}", reader, parts)
                tally.others[kind] += 1
            tally.slowest = max(tally.slowest, time.process_time() - began)
    return tally


def _keep(folder: Path, reader: Reader, parts: Parts) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    reader.write(folder, parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutations", type=int, default=20_000, help="over all readers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--readers", nargs="*", default=list(READERS), choices=list(READERS))
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--out", type=Path, help="a JSON file for the numbers")
    args = parser.parse_args()
    read_in_this_process()
    record: dict[str, object] = {}
    each = -(-args.mutations // len(args.readers))
    failures = 0
    print(f"{'reader':12} {'damaged':>8} {'refused':>8} {'read':>8} {'others':>8} {'slowest':>9}")
    for name in args.readers:
        found = fuzz(READERS[name], each, args.seed, args.keep / name.replace(" ", "-"))
        others = sum(found.others.values())
        counts = f"{each:8} {found.refused:8} {found.read:8} {others:8} {found.slowest:8.2f}s"
        print(f"{name:12} {counts}", flush=True)
        for kind, count in found.others.most_common(5):
            print(f"    {count} x {kind}", flush=True)
        failures += others
        record[name] = {"refused": found.refused, "read": found.read, "others": others}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{each * len(args.readers):,} damaged files, {failures} failures, peak {peak:,.0f} MB.")
    if args.out is not None:
        command = shlex.join(["python", *sys.argv])
        numbers = {"mutations": each * len(args.readers), "failures": failures, "peak_mb": peak}
        write_json(args.out, {**numbers, "readers": record, "commit": commit(), "command": command})
    sys.exit(bool(failures))


def read_in_this_process() -> None:
    """Let the readers of HDF5 do without their processes, each of which takes a while to start."""
    from nppac.demos.formats import d4rl, minari

    for module in (d4rl, minari):
        vars(module)["read_hdf5"] = _in_this_process


if __name__ == "__main__":
    main()
