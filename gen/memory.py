"""`python -m gen memory`: how many bytes a model's KV cache takes, exactly, and what fits on a device.

A model from the project's table, or any config.json. Counts only: no weights, no torch, no network.
"""

import argparse
import json
import re
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any, NoReturn

from gen import geometry, io, words
from gen.errors import UserError
from kvref.plan import memory
from kvref.plan.config_json import from_config
from kvref.plan.geometry import Geometry

MOST = 10**12
NUMBER = r"[+-]?(\d+/\d+|(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?)"


class _Parser(argparse.ArgumentParser):
    """A mistake is one sentence, like any other of the user's."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; `python -m gen memory --help` says more.")


def main(arguments: list[str]) -> int:
    """Run the command; the exit code. Raises UserError."""
    options = _parser().parse_args(arguments)
    if options.config is None:
        geometry.verify()
    if options.models:
        for row in geometry.rows().values():
            print(f"{row['id']}\t{row['name']}\t{row['hf_id']}\t{row['evidence']}{'' if row['verified'] else ', not verified'}")
        return 0
    answer = _answer(options, *_model(options))
    if options.json:
        print(json.dumps(_numbers(answer), indent=1))
    else:
        print("\n".join(f"{name:<8} {text}" for name, text in _lines(answer)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m gen memory", description=__doc__, allow_abbrev=False)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--model", help="a model of the table: its id, its name or its name on the hub (gpt2, llama-2-7b)")
    which.add_argument("--config", metavar="FILE", help="a config.json as the hub has it")
    which.add_argument("--models", action="store_true", help="list the table")
    parser.add_argument("--tokens", type=_count, default=4096, help="tokens of each request (default: 4096)")
    parser.add_argument("--batch", type=_count, default=1, metavar="N", help="requests held at the same time (default: 1)")
    parser.add_argument("--dtype", default="fp16", choices=memory.FORMATS, help="how a number of the cache is stored")
    parser.add_argument(
        "--block-size", type=_count, default=1, metavar="N", help="tokens of a block; rows are held in whole blocks"
    )
    parser.add_argument("--tensor-parallel", type=_count, default=1, metavar="N", help="devices that share the heads")
    parser.add_argument("--device-memory", type=_gib, metavar="GiB", help="memory of a device: how many requests fit")
    parser.add_argument("--weight-bits", type=int, default=16, choices=(4, 8, 16, 32), help="of each parameter (default: 16)")
    parser.add_argument("--json", action="store_true", help="the numbers as JSON")
    return parser


def _gib(text: str) -> Fraction:
    """A number of GiB. A long exponent is refused unread: its power of ten alone would take hours."""
    try:
        number = Fraction(text) if re.fullmatch(NUMBER, text) and len(text) <= 40 else None
    except ZeroDivisionError:
        number = None
    if number is None or number > MOST:
        raise argparse.ArgumentTypeError(f"expected a number of GiB of at most {MOST:,}, got {text[:40]!r}")
    return number


def _count(text: str) -> int:
    """A whole number; one too large for any machine is a slip of the finger."""
    if not re.fullmatch(r"[+-]?\d{1,20}", text) or int(text) > MOST:
        raise argparse.ArgumentTypeError(f"expected a whole number of at most {MOST:,}, got {text[:40]!r}")
    return int(text)


def _model(options: argparse.Namespace) -> tuple[Geometry, dict[str, Any]]:
    """The geometry that is asked for, and its row if it is one of the table."""
    if options.config is None:
        row = geometry.find(options.model)
        return geometry.geometry(row), row
    path = Path(options.config)
    try:
        return from_config(io.read(path), path.name or "config.json"), {}
    except ValueError as wrong:
        raise UserError(str(wrong)) from None


@dataclass(frozen=True)
class Answer:
    """What was asked, and every number of the answer."""

    asked: argparse.Namespace
    model: Geometry
    row: dict[str, Any]
    size: memory.CacheSize
    token: Fraction
    later: Fraction  # a token once all windows are full
    weights: int | None
    device: Fraction | None  # bytes

    @property
    def left(self) -> Fraction | None:
        """What the weights leave of a device, in bytes; None if it cannot be told."""
        return None if self.device is None or self.weights is None else max(Fraction(0), self.device - self.weights)

    @property
    def fit(self) -> int | None:
        """How many requests the rest has room for."""
        return None if self.left is None else memory.requests_that_fit(self.left, 0, self.size.request_bytes)

    @property
    def formula(self) -> str:
        """One request as a product."""
        asked = self.asked
        return words.formula(self.size, self.model, asked.tokens, memory.FORMATS[asked.dtype], asked.tensor_parallel)

    @property
    def notes(self) -> list[str]:
        """What to know before believing it."""
        found = words.warnings(self.model, self.asked.tokens, self.asked.tensor_parallel)
        return found + [f"not verified: {field}" for field in self.row.get("unverified_fields", [])]


def _answer(asked: argparse.Namespace, model: Geometry, row: dict[str, Any]) -> Answer:
    """Count. Raises UserError for counts below one, or heads that do not divide."""
    stored, ranks = memory.FORMATS[asked.dtype], asked.tensor_parallel
    device = asked.device_memory
    if device is not None and device <= 0:
        raise UserError(f"--device-memory: expected more than 0 GiB, got {float(device):g}.")
    try:
        size = memory.cache_size(
            model, asked.tokens, batch=asked.batch, stored=stored, block_tokens=asked.block_size, ranks=ranks
        )
        token, later = (memory.bytes_per_token(model, stored, ranks, windows_full=full) for full in (False, True))
    except ValueError as wrong:
        raise UserError(str(wrong)) from None
    weights = memory.weight_bytes(model.parameters, asked.weight_bits, ranks) if model.parameters else None
    return Answer(asked, model, row, size, token, later, weights, None if device is None else device * memory.GIB)


def _lines(answer: Answer) -> list[tuple[str, str]]:
    """The answer for a reader: label and text."""
    asked, size, row = answer.asked, answer.size, answer.row
    where = f" on each of {asked.tensor_parallel} devices" if asked.tensor_parallel > 1 else ""
    requests, tokens = words.count(asked.batch, "request"), words.count(asked.tokens, "token")
    later = f"; {words.both(answer.later)} once all windows are full" if answer.later != answer.token else ""
    return [
        ("model", f"{answer.model.name} ({row['hf_id']})" if row else answer.model.name),
        ("cache", f"{words.both(size.bytes)} for {requests} of {tokens}{where}, {asked.dtype}"),
        ("request", f"{answer.formula} = {words.both(size.request_bytes)}"),
        ("token", words.both(answer.token) + later),
        *(("layers", phrase) for phrase in words.layers(answer.model)),
        *_room_lines(answer),
        *(("note", note) for note in answer.notes),
        *([("source", f"{row['source']} [{row['evidence']}]")] if row else []),
    ]


def _room_lines(answer: Answer) -> list[tuple[str, str]]:
    if answer.weights is None:
        return [("weights", "unknown: nobody says how many parameters, so what fits cannot be told")]
    of = f"{answer.model.parameters:,} parameters of {answer.asked.weight_bits} bits"
    lines = [("weights", f"{of}: {words.both(answer.weights)}")]
    if answer.left is not None and answer.fit is not None and answer.device is not None:
        left = f"the weights leave {words.both(answer.left)} of {words.binary(answer.device)}"
        lines.append(("fits", f"at most {words.count(answer.fit, 'request')}: {left}"))
    return lines


def _numbers(answer: Answer) -> dict[str, Any]:
    """The answer for a program. What cannot be told is null."""
    asked, size = answer.asked, answer.size
    return {
        "model": answer.row.get("id", answer.model.name),
        **{name: getattr(asked, name) for name in ("tokens", "batch", "dtype", "block_size", "tensor_parallel", "weight_bits")},
        "bytes": size.bytes,
        "bytes_per_request": ceil(size.request_bytes),
        "bytes_per_token": _plain(answer.token),
        "bytes_per_token_windows_full": _plain(answer.later),
        "state_bytes_per_request": size.state_bytes,
        "parameters": answer.model.parameters,
        "weight_bytes": answer.weights,
        "left_bytes": None if answer.left is None else int(answer.left),
        "requests_that_fit": answer.fit,
        "formula": answer.formula,
        "layers": words.layers(answer.model),
        "notes": answer.notes,
    }


def _plain(number: Fraction) -> int | float:
    return number.numerator if number.denominator == 1 else float(number)
