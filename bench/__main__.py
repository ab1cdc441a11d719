"""python -m bench: measure a card, trace a model without one, check and hand in the files."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

# name: (module with add_arguments(parser) and main(args) -> int, what it does)
COMMANDS = {
    "run": ("bench.run", "measure memory and speed of training steps; writes YAML files"),
    "max-batch": ("bench.search", "find the largest batch that trains on this card"),
    "trace": ("bench.trace_command", "memory and work of a model, without a GPU"),
    "profile": ("bench.profile", "write the traced profile of a model to measurements/models"),
    "validate": ("bench.validate", "compare traces with what this GPU really uses"),
    "check": ("bench.check", "check measurement files as a pull request does"),
    "env": ("bench.environment", "print what a file would record about this machine"),
    "submit": ("bench.submit", "hand in a measurement file"),
}
NEEDS = {  # missing module: the command that brings it
    "torch": "pip install -r bench/requirements.txt",
    "torchvision": "pip install -r bench/requirements.txt",
    "transformers": "pip install -r bench/requirements.txt",
    "rich": "pip install -r bench/requirements.txt",
    "yaml": "pip install -r requirements.txt",
}
USAGE_ERROR = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; its own module is the only one that is imported."""
    words = list(sys.argv[1:] if argv is None else argv)
    name = next((word for word in words if not word.startswith("-")), None)
    try:
        return _run(words, name) if words else _overview()
    except ModuleNotFoundError as error:
        if error.name not in NEEDS:
            raise
        print(f"{error.name} is not installed; run `{NEEDS[error.name]}`", file=sys.stderr)
    except BrokenPipeError:  # the reader, `head` for instance, has seen enough
        return USAGE_ERROR
    except (ValueError, OSError) as error:
        print(f"bench {name}: {error}", file=sys.stderr)
    return USAGE_ERROR


def _overview() -> int:
    """The list of commands, and whether there is a GPU for them."""
    from bench.environment import NO_GPU
    from bench.nvml import driver_version

    parser().print_help()
    if driver_version() is None:
        print(f"\n{NO_GPU}")
    return 0


def _run(words: Sequence[str], name: str | None) -> int:
    args = parser(name).parse_args(words)
    args.words = list(words)  # files say which command made them
    return int(importlib.import_module(COMMANDS[args.command][0]).main(args))


def parser(name: str | None = None) -> argparse.ArgumentParser:
    """The command line; only the subcommand `name` has its flags, the others are listed."""
    top = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command, (module, text) in COMMANDS.items():
        sub = commands.add_parser(command, help=text, description=text[0].upper() + text[1:] + ".")
        if command == name:
            importlib.import_module(module).add_arguments(sub)
    return top


if __name__ == "__main__":
    raise SystemExit(main())
