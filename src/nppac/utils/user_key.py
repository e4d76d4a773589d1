"""A secret of this user on this machine, by which what was made here is known again."""

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

KEY_BYTES = 32


def key_file() -> Path | None:
    """Where the secret is kept; None if the user has no directory for such things."""
    state, home = os.environ.get("XDG_STATE_HOME"), os.environ.get("HOME")
    if state:
        return Path(state) / "nppac" / "key"
    return Path(home) / ".local" / "state" / "nppac" / "key" if home else None


def token_for(words: Iterable[str]) -> str | None:
    """HMAC-SHA256 of the words under the user's secret, made if needed; None if it cannot be."""
    key = _read_key() or _make_key()
    return None if key is None else _token(key, words)


def is_token_for(words: Iterable[str], token: object) -> bool:
    """Whether `token_for` gave this token to this user for the same words."""
    key = _read_key()
    if key is None or not isinstance(token, str):
        return False
    return hmac.compare_digest(_token(key, words).encode(), token.encode())


def _token(key: bytes, words: Iterable[str]) -> str:
    return hmac.new(key, json.dumps(sorted(words)).encode(), hashlib.sha256).hexdigest()


def _read_key() -> bytes | None:
    path = key_file()
    try:
        key = path.read_bytes() if path else b""
    except OSError:
        return None
    return key if len(key) == KEY_BYTES else None


def _make_key() -> bytes | None:
    """Create the secret, readable by the user alone; another process may be faster."""
    path = key_file()
    if path is None:
        return None
    temporary = path.with_name(f".key.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(handle)
        with suppress(FileExistsError):
            os.link(temporary, path)
    except OSError:
        return None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return _read_key()
