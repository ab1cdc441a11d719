"""Closed form of a video transformer given by sliders, in the shape of a traced profile."""

from __future__ import annotations

from calc.job import Job
from calc.profile import ModelProfile


def profile(job: Job) -> ModelProfile:
    """Profile of the job's custom transformer, with the one point that the job asks for."""
    raise NotImplementedError
