"""Whether a sandbox can be made on this machine."""

import pytest

from spool.errors import UsageError
from spool.host.sandbox.bubblewrap import find


def _why_not() -> str:
    try:
        find()
    except UsageError as error:
        return str(error)
    return ""


NO_SANDBOX = _why_not()
needs_a_sandbox = pytest.mark.skipif(bool(NO_SANDBOX), reason=NO_SANDBOX)
