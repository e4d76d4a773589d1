"""Seeds as people write them: 0..4, or 0,2,5, or a list."""

import re

from nppac.utils.errors import UserError, check_seed

MOST_SEEDS = 1_000
_RANGE = re.compile(r"(\d{1,10})(?:\.\.(\d{1,10}))?")


def parse_seeds(given: object, where: str = "'seeds'") -> tuple[int, ...]:
    """The seeds of `0..4` (both included), `0,2,5..7` or [0, 2], in their order."""
    if isinstance(given, str):
        found = [seed for part in given.split(",") for seed in _part(part.strip(), given, where)]
    elif isinstance(given, list | tuple) and all(type(seed) is int for seed in given):
        found = list(given)
    else:
        raise UserError(f"{where} is {given!r:.80}; write 0..4, or a list such as [0, 2, 5].")
    if not found:
        raise UserError(f"{where} is empty; write 0..4, or a list such as [0, 2, 5].")
    _check(found, where)
    return tuple(found)


def _part(text: str, given: str, where: str) -> range:
    match = _RANGE.fullmatch(text)
    if match is None:
        raise UserError(f"{where} is '{given[:80]}'; write 0..4, or numbers such as 0,2,5.")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first or last - first >= MOST_SEEDS:
        raise UserError(
            f"{where}: '{text}' must rise, and hold at most {MOST_SEEDS:,} seeds (both ends count)."
        )
    return range(first, last + 1)


def _check(seeds: list[int], where: str) -> None:
    if len(seeds) > MOST_SEEDS:
        raise UserError(f"{where} holds {len(seeds):,} seeds; at most {MOST_SEEDS:,} are taken.")
    for seed in seeds:
        try:
            check_seed(seed)
        except UserError as error:
            raise UserError(f"{where}: {error}") from None
    twice = sorted({seed for seed in seeds if seeds.count(seed) > 1})
    if twice:
        raise UserError(f"{where} names {twice[0]} twice.")


def refuse_overlap(tuned: tuple[int, ...], evaluated: tuple[int, ...], where: str) -> None:
    """Refuse to judge settings by the seeds that chose them."""
    both = sorted(set(tuned) & set(evaluated))
    if both:
        raise UserError(
            f"{where}: the seeds {', '.join(map(str, both[:10]))} chose the settings and would "
            "judge them too. Choose other seeds for one of the two."
        )
