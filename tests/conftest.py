"""Settings of the whole suite: a run must give the same verdict twice, so hypothesis draws from a fixed seed.

`HYPOTHESIS_PROFILE=search pytest tests/laws` looks for new counterexamples.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
