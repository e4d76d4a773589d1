"""The command `doctor`: whether a reference policy is fit to regularise an online one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from nppac.api import diagnose
from nppac.cli.parsing import parse
from nppac.cli.run_options import chosen_config, layout_for
from nppac.cli.show import console
from nppac.diagnostics import Diagnosis
from nppac.diagnostics.probes import WAYS
from nppac.training.config import RunConfig
from nppac.utils.errors import UserError
from nppac.utils.files import write_json
from nppac.utils.locks import check_writable
from nppac.utils.provenance import provenance

DIAGNOSIS_FILE = "diagnosis.json"
FIGURE_FILE = "doctor.png"


FIXED = frozenset({"method", "agent", "schedule", "demo_episodes"})
BRIEF = frozenset({"task", "demos", "reference", "out", "episodes", "seed"})


@dataclass(frozen=True)
class DoctorArguments:
    """Judge a reference policy by its variance on and off the data; the exit code is the verdict.

    0 healthy: off the data the variance grows, at least twofold along every way off it.
    3 flat: it grows less, so the reference does not say clearly where it knows nothing.
    4 collapses: it falls, so the reference is surest where it knows least.
    5 exploding: it is so small that KL and gradient are beyond use.
    6 broken: the reference does not answer with finite locations and positive scales.
    7 narrow: on the data itself it is so small that a policy can hardly move away.
    1 and 2 are mistakes in what the command was given.
    """

    run: RunConfig
    out: Path = Path("diagnosis")
    """Directory for the numbers and the figure."""
    episodes: int = 4
    """Episodes that the reference acts in, exploring, to see where it leads; 0 for none."""
    refit: bool = False
    """Fit the reference even if the same was fitted before."""


def doctor_arguments(args: Sequence[str]) -> DoctorArguments:
    """Parse with the task's preset as defaults."""
    config = chosen_config(args, "nppac")
    layout = layout_for(config, BRIEF, fixed=FIXED)
    return parse(DoctorArguments, args, "nppac doctor", DoctorArguments(config), layout)


def doctor_command(args: Sequence[str]) -> None:
    """Judge a reference policy by its variance on and off the data."""
    found = doctor_arguments(args)
    config = found.run
    if config.demos is None:
        raise UserError(f"There are no embedded demonstrations of '{config.task}': give --demos.")
    check_writable(found.out)
    diagnosis = diagnose(
        config.task,
        config.demos,
        config.reference,
        episodes=found.episodes,
        seed=config.seed,
        gp=config.gp,
        network=config.network,
        custom=config.custom,
        demo_actions=config.demo_actions,
        refit=found.refit,
    )
    write_diagnosis(diagnosis, found.out)
    show_diagnosis(diagnosis)
    print(f"Numbers: {found.out / DIAGNOSIS_FILE}")
    if diagnosis.on_data is not None:
        print(f"Figure: {found.out / FIGURE_FILE}")
    if diagnosis.exit_code:
        raise SystemExit(diagnosis.exit_code)


def write_diagnosis(diagnosis: Diagnosis, directory: Path) -> None:
    """Write the numbers and, unless the reference is broken, the figure."""
    record = {**diagnosis.as_dict(), "provenance": provenance()}
    write_json(directory / DIAGNOSIS_FILE, record)
    figure = directory / FIGURE_FILE
    if diagnosis.verdict == "broken":
        figure.unlink(missing_ok=True)  # of an earlier diagnosis
    else:
        # Matplotlib takes longer to import than most commands do.
        from nppac.plotting.doctor import draw_diagnosis

        draw_diagnosis(diagnosis, figure)


def show_diagnosis(diagnosis: Diagnosis) -> None:
    """The verdict, the sentence behind it, and the numbers behind that."""
    about = diagnosis.about
    print(f"{about['reference']} on {about['task']}: {diagnosis.verdict.upper()}")
    print(diagnosis.explanation)
    for note in diagnosis.notes:
        print(note)
    if diagnosis.on_data is None or diagnosis.calibration is None:
        return
    limits, on = diagnosis.thresholds, diagnosis.on_data
    table = Table(
        "states", "number", "variance", "times on data", "harmonic mean", "KL", "gradient"
    )
    kl_gradient = (f"{on.kl:.3g}", f"{on.gradient:.3g}")
    table.add_row("on the data", str(on.states), f"{on.variance:.3g}", "1", "1", *kl_gradient)
    for way, off in diagnosis.off_data.items():
        ratios = (f"{off.ratio:.3g}", f"{off.harmonic_mean_ratio:.3g}")
        cells = (str(off.states), f"{off.variance:.3g}", *ratios)
        table.add_row(WAYS[way], *cells, f"{off.kl:.3g}", f"{off.gradient:.3g}")
    console().print(table)
    print(
        f"Medians. Off the data: {limits.off_data:g} standard deviation per dimension or more, "
        f"{limits.off_data_rollout:g} in rollouts. Harmonic mean over actions, "
        "which the KL feels: its ratio to that on the data."
    )
    known = diagnosis.calibration
    inside = ", ".join(f"{share:.0%} in {level}" for level, share in known.coverage.items())
    which = "held-out" if known.held_out else "known"
    print(
        f"On {known.episodes} {which} episodes: log-likelihood {known.log_likelihood:.2f}, "
        f"error {known.rmse:.3f}, coverage {inside}."
    )
