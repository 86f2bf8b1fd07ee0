"""Finds the files that a gate's command line names."""

import posixpath
import re
import shlex
from itertools import pairwise

_PUNCTUATION = frozenset("();<>|&")
_WRAPPERS = frozenset(
    {"!", "env", "exec", "time", "nice", "command", "npx", "uvx", "uv", "poetry", "run", "python", "-m"}
)
_INSPECTORS = frozenset(
    {
        "ruff", "mypy", "pyright", "flake8", "pylint", "black", "isort", "py_compile", "compileall", "eslint",
        "prettier", "tsc", "biome", "shellcheck", "shfmt", "gofmt", "rustfmt", "clang-format", "rubocop", "yamllint",
        "grep", "test", "[", "ls", "wc",
    }
)  # fmt: skip
"""Programs that look at the files they are given, which are the work, and run none of them."""
_SETTINGS = re.compile(r"--?(?:c|f|p|config[\w-]*|rcfile|settings[\w-]*|project|ignore-path)")
"""Options whose value is a file by which such a program judges."""
_NO_TARGET = re.compile(
    r"""\*\*\*\ No\ rule\ to\ make\ target\ [`'](?P<target>[^']+)'\.\ +Stop
    |\*\*\*\ (?P<none>No\ targets\ specified\ and\ no\ makefile)
    |Missing\ script:\ "(?P<script>[^"]+)\"""",
    re.VERBOSE,
)
"""The errors of make and npm for an undefined target or script."""
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_DEPTH = 3


def named_files(command: str) -> frozenset[str]:
    """Return the words of a command line that may be files that it runs or reads, relative to where it starts.

    `cd` changes the folder of what follows, and quoted words may be command lines of their own.
    """
    return frozenset(_named(command, "", _DEPTH))


def absent_target(command: str, output: str) -> str:
    """Return what is missing if a command asks make or npm for something that nothing defines; empty if not."""
    words = {word for words in _simple_commands(command) for word in words}
    for found in _NO_TARGET.finditer(output):
        if found["none"]:
            return "no makefile found"
        if found["target"] in words:
            return f"make has no target '{found['target']}'"
        if found["script"] in words or (found["script"] == "test" and words & {"npm", "pnpm"}):
            return f"package.json has no script '{found['script']}'"
    return ""


def _named(command: str, folder: str, depth: int) -> set[str]:
    found: set[str] = set()
    for words in _simple_commands(command):
        if words[0] == "cd" and len(words) > 1:
            folder = posixpath.normpath(posixpath.join(folder, words[1]))
            continue
        program = next((word for word in words if word not in _WRAPPERS and "=" not in word), "")
        settings = [word for word in words if word.startswith("-") and "=" in word]
        settings += [word for option, word in pairwise(words) if _SETTINGS.fullmatch(option)]
        for word in settings if program in _INSPECTORS else words:
            for part in {word, word.rpartition("=")[2]}:
                if _MODULE.fullmatch(part):  # `python -m qa.verify`, `unittest suite.products`
                    found.add(posixpath.normpath(posixpath.join(folder, part.replace(".", "/") + ".py")))
                found.add(posixpath.normpath(posixpath.join(folder, part)))
            if depth and any(mark.isspace() or mark in _PUNCTUATION for mark in word):
                found |= _named(word, folder, depth - 1)
    return {name for name in found if not name.startswith(("/", "../", "-")) and name not in (".", "..")}


def _simple_commands(command: str) -> list[list[str]]:
    lexer = shlex.shlex(command.replace("\n", " ; ").replace("`", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:  # an open quote: the shell will say so
        tokens = command.split()
    commands: list[list[str]] = [[]]
    for token in tokens:
        if set(token) <= _PUNCTUATION:
            commands.append([])
        else:
            commands[-1].append(token)
    return [words for words in commands if words]
