"""One thread per test process: two workers, and the processes they start, share the machine."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# How long an example takes says more about the machine than about the code.
settings.register_profile(
    "usual", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "long", parent=settings.get_profile("usual"), derandomize=False, max_examples=2000
)
settings.load_profile("long" if os.environ.get("CLIPFIT_LONG") else "usual")
