"""ClipFit's arithmetic: a job, a traced model and a card in; memory, speed, cost and a verdict out.

Standard library and PyYAML only. One walk, one module a step:
`job` -> `memory` -> `fit` -> `speed` -> `cost` -> `verdict`, joined by `compare`.
"""

from __future__ import annotations

MODEL_VERSION = "3"
"""Version of the formulas and constants: a changed figure needs a new one and a changelog line."""
