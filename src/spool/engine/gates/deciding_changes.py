"""Finds the changed files that decide about tests: by name, by the gates' commands, and by what the old tree says."""

import posixpath
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from spool.domain.judging.gates.command_words import named_files
from spool.domain.judging.gates.deciding_files import decides, is_setting, is_test, may_be_script, test_file, test_is_in
from spool.domain.judging.gates.gate import GateRun
from spool.domain.judging.results.model import ResultStatus

ADDED = "A"
DELETED = "D"
Mentions = Callable[[str, Sequence[str]], Awaitable[Mapping[str, frozenset[str]]]]
"""Returns, for each of some words, the files of a recorded tree in which it stands."""
_PLUGINS = "pytest_plugins"
_LOADS = "load_tests"
"""A function by which any module chooses the tests that unittest runs of it, or of its package."""
_MOST_WORDS = 500
"""Words to look for: git tries each on every line of the tree. Those of scripts and new modules come first."""


class SuspectFile(msgspec.Struct, frozen=True):
    """A changed file that its name does not give away, and the words by which the old tree would name it."""

    path: str
    words: tuple[str, ...]
    module: str = ""
    """The name under which Python imports it from the project's folder, or from `src`."""


class Deciders:
    """The changed files of one attempt that decide about tests. Paths are git's; gates run in the folder `home`."""

    def __init__(
        self,
        base: str,
        tree: str,
        changes: Mapping[str, str],
        *,
        home: str,
        commands: Sequence[str],
        mentions: Mentions,
    ) -> None:
        self._base = base
        self._tree = tree
        self._changes = changes
        self._home = home
        self._named = frozenset[str]().union(*(named_files(command) for command in commands))
        self._mentions = mentions
        self._said: Mapping[str, frozenset[str]] | None = None
        self._loading: frozenset[str] = frozenset()

    async def found(self, before: GateRun | None, now: GateRun) -> tuple[str, ...]:
        """Return the files that decide about the tests of a gate."""
        tests = {test_file(name) for name in (*_ids(before), *_ids(now))}
        known = {path for path in self._changes if self._is_known(path, tests)}
        others = [one for path in self._changes if not decides(path) for one in self._suspect(path)]
        if others and self._said is None:
            words = sorted({word for one in others for word in one.words}, key=_is_plugins)
            self._said = await self._mentions(self._base, [_PLUGINS, *words[:_MOST_WORDS]])
            self._loading = (await self._mentions(self._tree, [_LOADS])).get(_LOADS, frozenset())
        said = self._said or {}
        known |= {one.path for one in others if self._is_run(one, said) or self._displaces(one, said, before)}
        known |= self._loading & self._changes.keys()
        return tuple(path for path in self._changes if path in known)

    def _is_known(self, path: str, tests: set[str]) -> bool:
        local = self._local(path)
        # A file that a command names and that was not there before is the work, not a check.
        named = local in self._named and self._changes[path] != ADDED
        return decides(local) or decides(path) or named or local in tests or path in tests

    def _suspect(self, path: str) -> list[SuspectFile]:
        local = self._local(path)
        folder, name = posixpath.split(local)
        module = _module(local)
        words: list[str] = []
        if self._changes[path] == ADDED:
            if local.endswith(".py"):
                words = [f"import {module}", f"from {module}"]
        else:
            if may_be_script(local):
                words.append(name if "." in name else f"{posixpath.basename(folder)}/{name}")
            if local.endswith(".py"):
                words += [f"-p {module}", f'"{module}"', f"'{module}'"]
        return [SuspectFile(path, tuple(words), module)] if words else []

    def _is_run(self, one: SuspectFile, said: Mapping[str, frozenset[str]]) -> bool:
        """Whether the old settings run a file that was there, as a script that no test looks at or as a plugin."""
        if self._changes[one.path] == ADDED:
            return False
        loading = said.get(_PLUGINS, frozenset())
        for word in one.words:
            files = said.get(word, frozenset()) - {one.path}
            if word[0] in "\"'":
                if any(path in loading for path in files):
                    return True
            elif word.startswith("-p "):
                if any(is_setting(self._local(path)) for path in files):
                    return True
            elif any(self._runs(path) for path in files) and not any(is_test(self._local(path)) for path in files):
                return True
        return False

    def _runs(self, path: str) -> bool:
        local = self._local(path)
        return is_setting(local) or local in self._named or may_be_script(local)

    def _displaces(self, one: SuspectFile, said: Mapping[str, frozenset[str]], before: GateRun | None) -> bool:
        """Whether a new module takes the place of one that tests imported, all of which passed with it."""
        if self._changes[one.path] != ADDED or before is None or "." in one.module:
            return False
        moved = {_module(self._local(path)).rpartition(".")[2] for path, how in self._changes.items() if how == DELETED}
        if one.module in moved:
            return False
        files = {self._local(path) for word in one.words for path in said.get(word, ())}
        if before.results is None or not before.results.names_all:
            return before.green and any(is_test(path) or path in self._named for path in files)
        ends = [[test.status for test in before.results.tests if test_is_in(test.id, path)] for path in files]
        return any(ResultStatus.PASSED in found and ResultStatus.FAILED not in found for found in ends)

    def _local(self, path: str) -> str:
        return path.removeprefix(self._home)


def _module(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _is_plugins(word: str) -> bool:
    return word[0] in "\"'-"


def _ids(run: GateRun | None) -> tuple[str, ...]:
    return tuple(test.id for test in run.results.tests) if run and run.results else ()
