"""The question: one job, and the one table of its inputs.

`Job`'s own fields are the table: widgets, command line, share link, validation and tests are all
made from `FIELDS`, which is read off the dataclass. Nothing about an input is written twice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calc.card import parse_offer


@dataclass(frozen=True, slots=True)
class Field:
    """One input. Texts that people read are in `ui/text`, under the same key.

    key: attribute of Job, parameter of a link, and with hyphens the flag.
    kind: choice | int | number | flag | offers | prices.
    options: for a choice; () where they come from the data (models, offers).
    minimum, maximum, step: for int and number; optional: None (left empty) is allowed.
    group: main | memory | training | money | custom, the place where the app shows it.
    unit: as people write it.
    """

    key: str
    kind: str
    default: Any
    group: str
    options: tuple[Any, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None
    optional: bool = False
    unit: str = ""

    @property
    def flag(self) -> str:
        """The command-line flag, e.g. "--loader-clips-per-s"; singular where it is repeated."""
        return {"cards": "--card", "prices": "--price", "buy_prices": "--buy-price"}.get(
            self.key, "--" + self.key.replace("_", "-")
        )

    @property
    def repeated(self) -> bool:
        """Whether the flag may be given several times."""
        return self.kind in ("offers", "prices")


def _field(kind: str, default: Any, group: str, **spec: Any) -> Any:
    metadata = {"kind": kind, "default": default, "group": group, **spec}
    return dataclasses.field(default=default, metadata=metadata)


def _choice(default: Any, group: str, *options: Any, unit: str = "") -> Any:
    return _field("choice", default, group, options=options, unit=unit)


def _int(default: int | None, group: str, minimum: int, maximum: int, unit: str = "") -> Any:
    bounds = {"minimum": minimum, "maximum": maximum, "step": 1}
    return _field("int", default, group, optional=default is None, unit=unit, **bounds)


def _number(
    default: float | None, group: str, minimum: float, maximum: float, step: float, unit: str
) -> Any:
    bounds = {"minimum": minimum, "maximum": maximum, "step": step}
    return _field("number", default, group, optional=default is None, unit=unit, **bounds)


def _flag(default: bool, group: str) -> Any:
    return _field("flag", default, group)


@dataclass(frozen=True)
class Job:
    """A training job, and how it is paid for. Batch is the clips of one optimizer step, all GPUs.

    >>> Job(batch=0)
    Traceback (most recent call last):
        ...
    ValueError: batch is 0; allowed are whole numbers from 1 to 4096
    """

    model: str = _field("choice", "video-swin-t", "main")
    frames: int = _choice(32, "main", 3, 8, 13, 16, 32, 64, 96)
    size: int = _choice(224, "main", 112, 160, 224, 256, 320, 336, 384, 448, unit="px")
    batch: int = _int(8, "main", 1, 4096, unit="clips")
    precision: str = _choice("fp16", "main", "fp32", "tf32", "fp16", "bf16", "bf16-pure")
    checkpointing: str = _choice("none", "main", "none", "block", "wrapper")
    cards: tuple[str, ...] = _field("offers", ("A100 40GB SXM4", "RTX 4090 24GB"), "main")

    attention: str = _choice("sdpa", "memory", "sdpa", "eager")
    optimizer: str = _choice(
        "adamw", "memory",
        "adamw", "adamw-fused", "adamw8bit", "adafactor", "lion", "sgd", "sgd-plain",
    )  # fmt: skip
    trainable: str = _choice("full", "memory", "full", "head")
    sharding: str = _choice("ddp", "memory", "ddp", "zero2", "fsdp")
    micro_batch: int | None = _int(None, "memory", 1, 4096, unit="clips")
    ema: bool = _flag(False, "memory")
    bucket_view: bool = _flag(False, "memory")
    clip_grad: bool = _flag(False, "memory")
    channels_last: bool = _flag(False, "memory")
    expandable_segments: bool = _flag(False, "memory")
    os: str = _choice("linux", "memory", "linux", "windows")
    other_gib: float = _number(0.0, "memory", 0, 200, 0.1, "GiB")
    extra_gib: float = _number(0.0, "memory", 0, 200, 0.1, "GiB")

    clips: int = _int(240_000, "training", 1, 1_000_000_000, unit="clips")
    epochs: int = _int(30, "training", 1, 100_000)
    loader_clips_per_s: float | None = _number(None, "training", 0.01, 1e6, 1, "clips/s")

    price_kind: str = _choice("on_demand", "money", "on_demand", "spot", "buy")
    prices: tuple[tuple[str, float], ...] = _field("prices", (), "money", unit="USD/h per GPU")
    buy_prices: tuple[tuple[str, float], ...] = _field("prices", (), "money", unit="USD per GPU")
    interruptions_per_day: float = _number(0.0, "money", 0, 100, 0.1, "per day")
    host_usd: float = _number(2000.0, "money", 0, 1e6, 100, "USD")
    years: float = _number(3.0, "money", 0.1, 20, 0.5, "years")
    resale_pct: float = _number(40.0, "money", 0, 100, 5, "%")
    hours_per_week: float = _number(80.0, "money", 1, 168, 1, "h")
    electricity_usd_per_kwh: float = _number(0.15, "money", 0, 5, 0.01, "USD/kWh")
    power_pct: float = _number(85.0, "money", 1, 100, 1, "% of TDP")
    currency: str = _choice("USD", "money", "USD", "CNY")
    cny_per_usd: float = _number(7.1, "money", 0.1, 100, 0.01, "CNY/USD")

    depth: int = _int(12, "custom", 1, 96)
    width: int = _int(768, "custom", 64, 8192, unit="channels")
    heads: int = _int(12, "custom", 1, 128)
    mlp_ratio: float = _number(4.0, "custom", 0.5, 8, 0.5, "x width")
    patch: int = _choice(16, "custom", 4, 8, 14, 16, 32, unit="px")
    tubelet: int = _choice(2, "custom", 1, 2, 4, unit="frames")
    pattern: str = _choice("joint", "custom", "joint", "divided", "windowed")

    def __post_init__(self) -> None:
        _raise_for({field.key: getattr(self, field.key) for field in FIELDS})

    def replace(self, **changes: Any) -> Job:
        """This job with some inputs changed; only these are validated."""
        unknown = next((key for key in changes if key not in FIELD), None)
        if unknown is not None:
            raise ValueError(f"{unknown!r} is not an input; allowed are {', '.join(FIELD)}")
        _raise_for(changes)
        other: Job = object.__new__(Job)  # 20 times faster than building and checking all of it
        other.__dict__.update(self.__dict__, **changes)
        return other


def _raise_for(values: Mapping[str, Any]) -> None:
    """ValueError with all problems of the values at once."""
    problems = [_problem(FIELD[key], value) for key, value in values.items()]
    problems = [problem for problem in problems if problem]
    if problems:
        raise ValueError("; ".join(str(problem) for problem in problems))


def _fields() -> tuple[Field, ...]:
    return tuple(Field(key=field.name, **field.metadata) for field in dataclasses.fields(Job))


def _problem(field: Field, value: Any) -> str | None:
    """What is wrong with a value, in one sentence, or None."""
    if value is None and field.optional:
        return None
    check = _CHECKS[field.kind]
    return check(field, value)


def _choice_problem(field: Field, value: Any) -> str | None:
    if not field.options:
        return None if isinstance(value, str) and value else f"{field.key} is {value!r}; name one"
    if any(value == option and type(value) is type(option) for option in field.options):
        return None
    allowed = ", ".join(str(option) for option in field.options)
    return f"{field.key} is {value!r}; allowed are {allowed}"


def _number_problem(field: Field, value: Any) -> str | None:
    whole = field.kind == "int"
    right_type = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    low, high = field.minimum or 0, field.maximum or 0
    if right_type and low <= value <= high:
        return None
    kind = "whole numbers" if whole else "numbers"
    return f"{field.key} is {value!r}; allowed are {kind} from {low:.12g} to {high:.12g}"


def _flag_problem(field: Field, value: Any) -> str | None:
    return None if isinstance(value, bool) else f"{field.key} is {value!r}; allowed are true, false"


def _offers_problem(field: Field, value: Any) -> str | None:
    texts = value if isinstance(value, tuple) else ()
    if not texts or not all(isinstance(text, str) for text in texts):
        return f"{field.key} is {value!r}; name at least one card, as in ('RTX 4090 24GB',)"
    try:
        for text in texts:
            parse_offer(text)
    except ValueError as error:
        return f"{field.key}: {error}"
    return None


def _prices_problem(field: Field, value: Any) -> str | None:
    if not isinstance(value, tuple):
        return f"{field.key} is {value!r}; write pairs, as in (('RTX 4090 24GB', 0.35),)"
    wrong = next((pair for pair in value if not _is_price(pair)), None)
    if wrong is None:
        return None
    return f"{field.key} has {wrong!r}; write a card and a number from 0, as in ('L4 24GB', 0.35)"


def _is_price(pair: Any) -> bool:
    """Whether a pair is a card's name and an amount, at most a million."""
    if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)):
        return False
    amount = pair[1]
    return isinstance(amount, (int, float)) and not isinstance(amount, bool) and 0 <= amount <= 1e6


_CHECKS = {
    "choice": _choice_problem,
    "int": _number_problem,
    "number": _number_problem,
    "flag": _flag_problem,
    "offers": _offers_problem,
    "prices": _prices_problem,
}

FIELDS: tuple[Field, ...] = _fields()
FIELD: Mapping[str, Field] = {field.key: field for field in FIELDS}
