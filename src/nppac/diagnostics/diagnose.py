"""The pathology, measured: variance off the data, and the KL and gradient that it causes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nppac.diagnostics.calibration import Calibration, calibrate
from nppac.diagnostics.online import OnlinePolicy
from nppac.diagnostics.probes import (
    DISTANCES,
    DistanceMetric,
    displaced,
    principal_directions,
    random_directions,
)
from nppac.diagnostics.profile import Measured, measure, profile, summarise_states
from nppac.diagnostics.query import BrokenReference, query
from nppac.diagnostics.result import Diagnosis, Evidence
from nppac.diagnostics.verdict import Thresholds, compare, deepest, judge
from nppac.references.base import Reference

PROBES = 256
"""Demonstrated states from which probes leave the data."""
ROLLOUT_STATES = 1024
"""Most states of rollouts at which the reference is asked."""
ROLLOUT_EDGES = (0.0, 0.125, 0.25, 0.375, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0, np.inf)


def diagnose(
    reference: Reference,
    evidence: Evidence,
    *,
    seed: int = 0,
    online: OnlinePolicy | None = None,
    thresholds: Thresholds | None = None,
    about: Mapping[str, Any] | None = None,
) -> Diagnosis:
    """Measure a reference on and off the data, and judge it.

    A reference that answers with anything but finite locations and positive scales of the right
    shape gets the verdict `broken`, and an explanation of what is wrong.
    """
    online, limits = online or OnlinePolicy(), thresholds or Thresholds()
    common: dict[str, Any] = {"online": online, "thresholds": limits, "about": about or {}}
    family = str(getattr(reference, "family", "unknown"))
    try:
        return _measured_diagnosis(reference, evidence, seed, online, limits, common)
    except BrokenReference as error:
        return Diagnosis("broken", str(error), family, **common)


def _measured_diagnosis(
    reference: Reference,
    evidence: Evidence,
    seed: int,
    online: OnlinePolicy,
    limits: Thresholds,
    common: dict[str, Any],
) -> Diagnosis:
    calibration = _calibration(reference, evidence)
    metric = DistanceMetric.of(evidence.obs)
    probes = _probe(reference, evidence, metric, seed, online)
    on = probes["random"].where(probes["random"].distance == 0.0)
    profiles = {name: profile(m, np.array([*DISTANCES, np.inf])) for name, m in probes.items()}
    off = {name: compare(on, m.beyond(limits.off_data)) for name, m in probes.items()}
    dips = {
        name: deepest(summarise_states(on), points, limits) for name, points in profiles.items()
    }
    notes: list[str] = []
    if evidence.rollout_obs is not None:
        met = _rollouts(reference, evidence, metric, seed, online)
        profiles["rollout"] = profile(met, np.array(ROLLOUT_EDGES), least=5)
        left = met.beyond(limits.off_data_rollout)
        if len(left) >= limits.fewest_states:
            off["rollout"] = compare(on, left)
        else:
            notes.append(_stays(len(left), len(met), limits))
    verdict, explanation = judge(off, limits, dips)
    return Diagnosis(
        verdict,
        explanation,
        reference.family,
        on_data=summarise_states(on),
        off_data=off,
        profiles=profiles,
        calibration=calibration,
        notes=tuple(notes),
        **common,
    )


def _calibration(reference: Reference, evidence: Evidence) -> Calibration:
    where = "on the demonstrations"
    actions = evidence.check_actions
    stats = query(reference, evidence.check_obs, actions.shape[1], where)
    return calibrate(
        reference.family,
        stats,
        actions,
        held_out=evidence.held_out,
        episodes=evidence.check_episodes,
    )


def _probe(
    reference: Reference,
    evidence: Evidence,
    metric: DistanceMetric,
    seed: int,
    online: OnlinePolicy,
) -> dict[str, Measured]:
    """Demonstrated states displaced by every distance, along two kinds of directions."""
    rng = np.random.default_rng(seed)
    count = min(PROBES, len(evidence.obs))
    base = evidence.obs[rng.choice(len(evidence.obs), count, replace=False)]
    ways = {
        "random": random_directions(metric, count, rng),
        "principal": principal_directions(metric, evidence.obs, count, rng),
    }
    return {
        name: _measure_displaced(reference, evidence, metric, base, directions, online, name)
        for name, directions in ways.items()
    }


def _measure_displaced(
    reference: Reference,
    evidence: Evidence,
    metric: DistanceMetric,
    base: np.ndarray,
    directions: np.ndarray,
    online: OnlinePolicy,
    name: str,
) -> Measured:
    states = displaced(metric, base, directions, DISTANCES)
    where = f"off the data along {name} directions"
    flat = states.reshape(-1, states.shape[-1])
    stats = query(reference, flat, evidence.check_actions.shape[1], where)
    return measure(reference.family, stats, np.repeat(DISTANCES, len(base)), online)


def _rollouts(
    reference: Reference,
    evidence: Evidence,
    metric: DistanceMetric,
    seed: int,
    online: OnlinePolicy,
) -> Measured:
    states = evidence.rollout_obs
    assert states is not None
    rng = np.random.default_rng(seed)
    kept = rng.permutation(len(states))[:ROLLOUT_STATES]
    stats = query(reference, states[kept], evidence.check_actions.shape[1], "in its own rollouts")
    return measure(reference.family, stats, metric.distance(states[kept]), online)


def _stays(left: int, total: int, limits: Thresholds) -> str:
    return (
        f"Rollouts were not judged: only {left} of {total} states were {limits.off_data_rollout:g} "
        "standard deviations or more from the demonstrations."
    )
