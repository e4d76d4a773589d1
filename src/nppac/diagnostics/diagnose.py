"""The pathology, measured: variance off the data, and the KL and gradient that it causes."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from nppac.diagnostics.calibration import Calibration, calibrate
from nppac.diagnostics.online import OnlinePolicy, variance_of
from nppac.diagnostics.probes import (
    DISTANCES,
    DistanceMetric,
    displaced,
    principal_directions,
    random_directions,
)
from nppac.diagnostics.profile import Measured, measure, summarise_states, variance_profile
from nppac.diagnostics.query import BrokenReference, query
from nppac.diagnostics.result import Diagnosis, Evidence
from nppac.diagnostics.verdict import Thresholds, compare_with_data, deepest, judge
from nppac.references.base import Reference

PROBES = 256
"""Demonstrated states from which probes leave the data."""
ROLLOUT_STATES = 1024
"""Most states of rollouts at which the reference is asked."""
FLOOR_TOLERANCE = 1.01
"""A variance is on the floor if it is within one per cent of the smallest."""
FLOOR_SHARE = 0.5
"""Share of the variances on the data from which on a floor is worth a note."""
ROLLOUT_EDGES = (0.0, 0.125, 0.25, 0.375, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0, np.inf)


def diagnose_reference(
    reference: Reference,
    evidence: Evidence,
    *,
    seed: int = 0,
    online: OnlinePolicy | None = None,
    thresholds: Thresholds | None = None,
    about: Mapping[str, object] | None = None,
) -> Diagnosis:
    """Measure a reference on and off the data, and judge it.

    A reference that answers with anything but finite locations and positive scales of the right
    shape gets the verdict `broken`, and an explanation of what is wrong.
    """
    online, limits = online or OnlinePolicy(), thresholds or Thresholds()
    family = str(getattr(reference, "family", "unknown"))
    try:
        found = _measured_diagnosis(reference, evidence, seed, online, limits)
    except BrokenReference as error:
        found = Diagnosis("broken", str(error), family)
    return dataclasses.replace(found, online=online, thresholds=limits, about=about or {})


def _measured_diagnosis(
    reference: Reference,
    evidence: Evidence,
    seed: int,
    online: OnlinePolicy,
    limits: Thresholds,
) -> Diagnosis:
    calibration = _calibration(reference, evidence)
    metric = DistanceMetric.of(evidence.obs)
    probes = _probe(reference, evidence, metric, seed, online)
    on = probes["random"].where(probes["random"].distance == 0.0)
    profiles = {
        name: variance_profile(m, np.array([*DISTANCES, np.inf])) for name, m in probes.items()
    }
    off = {name: compare_with_data(on, m.beyond(limits.off_data)) for name, m in probes.items()}
    dips = {
        name: deepest(summarise_states(on), points, limits) for name, points in profiles.items()
    }
    notes = _floor_notes(reference, evidence)
    if evidence.rollout_obs is not None:
        met = _rollouts(reference, evidence, metric, seed, online)
        profiles["rollout"] = variance_profile(met, np.array(ROLLOUT_EDGES), least=5)
        left = met.beyond(limits.off_data_rollout)
        if len(left) >= limits.fewest_states:
            off["rollout"] = compare_with_data(on, left)
        else:
            notes.append(_stays(len(left), len(met), limits))
    verdict, explanation = judge(summarise_states(on), off, limits, dips)
    return Diagnosis(
        verdict,
        explanation,
        reference.family,
        on_data=summarise_states(on),
        off_data=off,
        profiles=profiles,
        calibration=calibration,
        notes=tuple(notes),
    )


def _floor_notes(reference: Reference, evidence: Evidence) -> list[str]:
    """A note where most variances on the data are the same number: a floor, not a fit."""
    states = evidence.obs[:PROBES]
    stats = query(reference, states, evidence.check_actions.shape[1], "on the data")
    variance = variance_of(reference.family, stats.scale)
    floor = float(variance.min())
    share = float(np.mean(variance <= FLOOR_TOLERANCE * floor))
    if share < FLOOR_SHARE or reference.family == "uniform":
        return []
    return [
        f"{share:.0%} of the variances on the data are {floor:.2g}, the smallest: the reference "
        "sits on a floor there, which says nothing of how sure it is."
    ]


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
