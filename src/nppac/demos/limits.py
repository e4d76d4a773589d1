"""The most that is read: far more than any published demonstrations, far less than the memory."""

from nppac.utils.errors import UserError

BYTES = 2**30
"""1 GiB: what the arrays of one file may take."""
EPISODES = 100_000


def check_episode_count(where: str, count: int) -> None:
    """Refuse more episodes than anybody records; each takes memory, however short it is."""
    if count > EPISODES:
        raise UserError(
            f"{where} holds {count:,} episodes; at most {EPISODES:,} are read. Check that the ends "
            "of episodes are marked rightly, or split the file."
        )
