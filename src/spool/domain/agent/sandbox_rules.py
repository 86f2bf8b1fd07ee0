"""The limits of a sandboxed agent, as a value."""

import msgspec

NOT_SANDBOXED = "not sandboxed"


class SandboxRules(msgspec.Struct, frozen=True, kw_only=True):
    """The sandbox around an agent, its children and the gates."""

    net: bool = True
    hosts: tuple[str, ...] = ()
    """The only hosts it may reach; empty for no such limit."""
    read: tuple[str, ...] = ()
    """Paths outside the workspace that it may read as well."""
    env: tuple[str, ...] = ()
    """Variables that it gets as well; a name that ends with `*` stands for all that begin so."""

    @property
    def words(self) -> str:
        """The sandbox as all views show it."""
        if self.hosts:
            return f"sandboxed: srt, net {', '.join(self.hosts)}"
        return f"sandboxed: bwrap, net {'on' if self.net else 'off'}"


def sandbox_words(sandbox: SandboxRules | None) -> str:
    """Return how a loop with or without a sandbox is shown."""
    return sandbox.words if sandbox is not None else NOT_SANDBOXED


def admits(patterns: tuple[str, ...], name: str) -> bool:
    """Whether a variable is among the names and prefixes."""
    return any(name.startswith(one[:-1]) if one.endswith("*") else name == one for one in patterns)
