"""A disk that fails once, at a chosen operation on a chosen directory."""

import builtins
import os
from pathlib import Path

from nppac.utils import files


class Faults:
    """Counts what is done to a directory, and fails at one operation; 0 fails never."""

    def __init__(self, patch, directory, fail_at=0, code=0):
        self.directory, self.fail_at, self.code, self.count = directory, fail_at, code, 0
        self.names = []
        patch.setattr(files, "open", self._open, raising=False)
        for name in ("replace", "link", "mkdir", "unlink"):
            patch.setattr(os, name, self._named(name, getattr(os, name)))
        self._os_open, self._fsync = os.open, os.fsync
        patch.setattr(os, "open", self._open_handle)
        patch.setattr(os, "fsync", self._sync)

    def reach(self, what):
        self.count += 1
        self.names.append(what)
        if self.count == self.fail_at:
            raise OSError(self.code, os.strerror(self.code))

    def _concerns(self, path):
        path = Path(os.fsdecode(path)).absolute()
        return path == self.directory or self.directory in path.parents

    def _open(self, path, mode="r", *args):
        if "r" in mode or not self._concerns(path):
            return builtins.open(path, mode, *args)
        self.reach(f"open {Path(path).name}")
        return _File(builtins.open(path, mode, *args), self)

    def _open_handle(self, path, flags, *args, **kwargs):
        if self._concerns(path):
            self.reach("open directory")
        return self._os_open(path, flags, *args, **kwargs)

    def _sync(self, handle):
        if self._concerns(os.readlink(f"/proc/self/fd/{handle}")):
            self.reach("fsync")
        return self._fsync(handle)

    def _named(self, name, function):
        def call(path, *args, **kwargs):
            if self._concerns(path):
                self.reach(name)
            return function(path, *args, **kwargs)

        return call


class _File:
    """An open file whose first, fifth and last writes may fail, the latter halfway."""

    def __init__(self, file, faults):
        self.file, self.faults, self.writes = file, faults, 0

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def write(self, data):
        self.writes += 1
        if self.writes in (1, 5):
            try:
                self.faults.reach("write")
            except OSError:
                self.file.write(bytes(data)[: len(data) // 2])
                raise
        return self.file.write(data)

    def flush(self):
        self.faults.reach("flush")
        self.file.flush()
