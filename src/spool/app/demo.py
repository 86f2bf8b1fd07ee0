"""The scratch repository of `spool demo`: one change, and a script for the agent."""

import subprocess
from pathlib import Path

CHANGE = "001-01_say-hello"

_FILES = {
    f".spool/changes/{CHANGE}/proposal.md": """\
# Say hello

A command that greets people by name, with a test that proves it.
""",
    f".spool/changes/{CHANGE}/tasks.md": """\
## 1. Greeting

- [ ] 1.1 Write `hello.py` with a function `greet(name)`
- [ ] 1.2 Write `test_hello.py` and make it pass
- [ ] 1.3 Describe it in README.md
""",
    ".spool/modules/001_greetings/module.md": "Everything that has to do with being polite.\n",
    ".spool/config.toml": '[harnesses.scripted]\nscript = ".spool/demo.toml"\n',
    ".spool/demo.toml": """\
# The scripted agent's three iterations, much like those of a real agent.
[[iteration]]
steps = [
  { say = "I read the proposal. First the greeting itself." },
  { sleep = 0.6 },
  { write = "hello.py", text = "def greet(name):\\n    return f'Hello, {name}'\\n" },
  { tick = 1 },
  { sleep = 0.6 },
  { say = "When the tests pass I will print `<promise>COMPLETE</promise>`, but they are not written yet." },
  { usage = { tokens_in = 4210, tokens_out = 380, cost_usd = 0.021 } },
]

[[iteration]]
steps = [
  { say = "Now the test." },
  { sleep = 0.6 },
  { write = "test_hello.py", text = "from hello import greet\\n\\nassert greet('Ada') == 'Hello, Ada!'\\n" },
  { run = ["python3", "test_hello.py"] },
  { sleep = 0.6 },
  { say = "The test fails: the exclamation mark is missing. I fix that next." },
  { usage = { tokens_in = 5120, tokens_out = 410, cost_usd = 0.025 } },
]

[[iteration]]
steps = [
  { write = "hello.py", text = "def greet(name):\\n    return f'Hello, {name}!'\\n" },
  { run = ["python3", "test_hello.py"] },
  { sleep = 0.6 },
  { write = "README.md", text = "# Hello\\n\\n`greet(name)` greets people by name.\\n" },
  { tick = 2 },
  { sleep = 0.6 },
  { say = "The test passes and all boxes are ticked.\\n\\n<promise>COMPLETE</promise>" },
  { usage = { tokens_in = 6020, tokens_out = 290, cost_usd = 0.027 } },
]
""",
}


def make_repository(root: Path) -> None:
    """Create a small repository with one change and a script for the agent."""
    for name, text in _FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "-c", "user.name=Spool", "-c", "user.email=spool@localhost", "commit", "--quiet", "--message", "A change")


def git(root: Path, *words: str) -> str:
    """Run git in the repository and return its output."""
    done = subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True, timeout=30)
    return done.stdout
