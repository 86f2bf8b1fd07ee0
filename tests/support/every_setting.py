"""A project with settings of every kind in its file, or with those that `init` writes."""

from tests.support import Scratch

PROJECT = """
model = "sonnet"
max_iterations = 4
allow_all = true
iteration_timeout = "90m"
agent_memory = "4G"
terminal = ["sh", "-c", "{command}"]
require = ""
allow_change = ["tests/fixtures/*"]
stall_iterations = 3
max_cost_usd = 2.5
notify = ["terminal"]
worktree_copy = [".env*", "local.toml"]

[[gates]]
name = "tasks"

[[gates]]
name = "tests"
run = "true"
timeout = "5m"
share = [".venv"]

[harnesses.mine]
argv = ["my-agent", "{prompt}"]
prompt = "argument"
"""
OWN = """
sandbox_read = ["/opt"]
max_tokens_per_day = 1000000

[prices.sonnet]
input = 3.0
output = 15.0
"""
BY_INIT, EVERY_KIND = "by init", "every kind"
KINDS = (BY_INIT, EVERY_KIND)


def configure(scratch: Scratch, kind: str) -> None:
    """Write the settings of one kind, trust and commit them; the agent of the project finishes its change."""
    (scratch.root / "Makefile").write_text("test:\n\ttrue\n")
    scratch.script([{"write": "work.txt", "text": "done\n"}, {"tick": 9}, {"promise": "COMPLETE"}])
    if kind == BY_INIT:
        assert scratch.spool("init").returncode == 0
    else:
        (scratch.root / ".spool/config.toml").write_text(PROJECT)
        own = scratch.home / ".config/spool/config.toml"
        own.write_text(OWN + own.read_text())
        scratch.trust()
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "settings")
