"""A reference that remembers its answers, so that no state is queried twice."""

from collections.abc import Callable

import numpy as np

from nppac.references.checks import checked_answer
from nppac.types import ReferenceStats


def remembering(
    reference: Callable[[np.ndarray], ReferenceStats],
) -> Callable[[np.ndarray], ReferenceStats]:
    """The same answers, each state's computed once."""
    known: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def query(obs: np.ndarray) -> ReferenceStats:
        names = [row.tobytes() for row in obs]
        new = [i for i, name in enumerate(names) if name not in known]
        if new:
            answer = checked_answer(reference(obs[new]), len(new))
            known.update(zip((names[i] for i in new), zip(*answer, strict=True), strict=True))
        loc, scale = zip(*(known[name] for name in names), strict=True)
        return ReferenceStats(np.stack(loc), np.stack(scale))

    return query
