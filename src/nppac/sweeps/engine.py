"""What an engine is: it does jobs in processes of their own, and says how each ended."""

from typing import NamedTuple, Protocol, runtime_checkable

from nppac.sweeps.job import Job


class Ended(NamedTuple):
    """How a job ended."""

    job: Job
    code: int | None
    """What its worker exited with; None if its machine was lost."""


@runtime_checkable
class Engine(Protocol):
    """Does jobs side by side."""

    @property
    def slots(self) -> int:
        """How many jobs it takes at once; what it cannot do yet may wait inside it."""
        ...

    def submit(self, job: Job) -> None:
        """Begin a job, or queue it."""
        ...

    def ended(self, seconds: float) -> list[Ended]:
        """The jobs that have ended since the last call; waits up to so many seconds for one."""
        ...

    def stop(self) -> None:
        """Ask every worker to save its run and end."""
        ...

    def close(self) -> None:
        """End what is left."""
        ...
