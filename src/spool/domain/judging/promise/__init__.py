"""The promise: what the assistant itself claims, and why a claim does not count.

The rule is the specification's: the output contains `<promise>COMPLETE</promise>`, whitespace tolerated. The exceptions
are vetoes, decided by place and punctuation. Each is recorded with its reason, and the next prompt quotes it.
"""

from spool.domain.judging.promise.promises import (
    DEFAULT_PROMISE,
    REASON_LIMIT,
    Promise,
    PromiseKind,
    PromiseReading,
    Veto,
)

# The reader compiles its patterns when it is imported, 11 ms that `--status` need not spend: import it by itself.
__all__ = ["DEFAULT_PROMISE", "REASON_LIMIT", "Promise", "PromiseKind", "PromiseReading", "Veto"]
