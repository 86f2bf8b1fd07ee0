"""A client whose loops never change."""

import msgspec

from spool.app.loops.client import Client, Diff, FileChange
from spool.domain.account.account import LoopAccount
from spool.domain.account.progress import LoopProgress
from spool.domain.loop.summary import LoopSummary

PATCH = """\
diff --git a/src/middleware.py b/src/middleware.py
index 1111111..2222222 100644
--- a/src/middleware.py
+++ b/src/middleware.py
@@ -1,3 +1,5 @@
 async def check(request, call_next):
-    return await call_next(request)
+    if not await tokens.known(request.headers.get("authorization", "")):
+        return Response(status_code=401)
+    return await call_next(request)
"""
DIFF = Diff(
    files=(
        FileChange(path="src/middleware.py", added=3, removed=1, patch=PATCH),
        FileChange(path="logo.png"),
    )
)


class FixedClient(Client):
    """The real client with a fixed diff, two agents installed, and a project that is in the same place everywhere."""

    @property
    def harnesses(self) -> list[str]:
        return ["claude", "codex"]

    async def reported(self, loop: LoopSummary, progress: LoopProgress) -> LoopAccount:
        found = await super().reported(loop, progress)
        return msgspec.structs.replace(
            found, loop=msgspec.structs.replace(found.loop, root="/home/ada/shop", worktree="")
        )

    def has_started(self, loop: LoopSummary) -> bool:
        return True

    async def diff(self, loop: LoopSummary, tree: str, until: str) -> Diff:
        return DIFF
