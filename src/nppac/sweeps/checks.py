"""What can be wrong with a plan's runs, found before the first of them begins."""

from collections.abc import Sequence

from nppac.demos.for_task import load_task_demos
from nppac.references import given_reference
from nppac.sweeps.plan import PlannedRun
from nppac.tasks import get_task
from nppac.training.config import RunConfig
from nppac.training.problem import check_demos, check_on_policy
from nppac.utils.errors import UserError


def check_runs(runs: Sequence[PlannedRun]) -> None:
    """Look at tasks, references and demonstrations, each once; a mistake names the run."""
    seen: dict[object, object] = {}
    for run in runs:
        try:
            _check(run.config, seen)
        except UserError as error:
            raise UserError(f"The run '{run.name}': {error}") from error


def _check(config: RunConfig, seen: dict[object, object]) -> None:
    where = (config.task, config.demos, config.demo_episodes, config.demo_actions)
    if where not in seen:
        spec = get_task(config.task)
        how = config.demo_episodes, config.demo_actions
        seen[where] = load_task_demos(spec, config.demos, *how)
    demos = seen[where]
    check_demos(config, demos)  # pyright: ignore[reportArgumentType]
    check_on_policy(config)
    if config.reference not in seen:
        seen[config.reference] = given_reference(config.reference)
    fitted = config.reference != "uniform" and seen[config.reference] is None
    if fitted and demos is None:
        raise UserError(
            f"the reference '{config.reference}' needs demonstrations. Give 'demos', such as "
            f"tasks: {{{config.task}: {{demos: FILE}}}}."
        )
