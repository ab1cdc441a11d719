"""The data of `measurements/`, read once for all visitors."""

from __future__ import annotations

import streamlit as st

from calc import measurements
from calc.measurements import Data


@st.cache_resource(show_spinner=False)
def data() -> Data:
    """Cards, prices, runs and, one by one when asked for, model profiles."""
    return measurements.load()
