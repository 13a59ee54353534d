"""A key that was used for other arguments is refused, rightly; so every valid key is made one of its own."""

import itertools
import re

import schemathesis

COUNT = itertools.count()


@schemathesis.hook
def before_call(context, case, kwargs):
    key = (case.headers or {}).get("Idempotency-Key")
    if isinstance(key, str) and re.fullmatch("[!-~]{1,255}", key):
        case.headers["Idempotency-Key"] = f"{key[:200]}-{next(COUNT)}"
