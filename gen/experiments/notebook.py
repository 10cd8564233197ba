"""Notebooks, run from top to bottom in a Python of their own, and what their cells printed.

A notebook brings its own small seeded model, so it is the same whatever model the other pages show.
"""

import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from gen import io, notebooks
from gen.errors import UserError
from gen.experiments.context import PROMPT, Context
from gen.notebooks import Output
from gen.paths import DEFAULT_MODEL, shown
from gen.records import Bound, Record

PATIENCE_SECONDS = 120


def records(context: Context) -> list[Record]:
    """One record a notebook; none for another model or prompt, on which nothing in it depends."""
    if context.facts.id != DEFAULT_MODEL or context.prompt != PROMPT:
        return []
    return [_record(context, name) for name in notebooks.NAMES]


def _record(context: Context, name: str) -> Record:
    source = notebooks.source(name)
    outputs = executed(name)
    values = {
        "source_sha256": io.file_sha256(source),
        "cells": outputs,
        "noise_bound": Bound(max(noise(outputs), default=0.0)),
    }
    record = context.record(
        name, f"notebooks/{name}", "What the cells of the notebook printed: text, and the floats in it", values
    )
    seed = re.search(r"manual_seed\((\d+)\)", source.read_text(encoding="utf-8"))
    if seed is None:
        raise UserError(f"{shown(source)} sets no seed: expected `torch.manual_seed(…)`.")
    own = {"model": "small seeded model", "revision": shown(source), "weights_sha256": None, "seed": int(seed[1])}
    return replace(record, identity=record.identity | own)


def noise(outputs: list[Output | None]) -> list[float]:
    """The numbers that a notebook prints with an exponent: there, rounding noise, which every machine has its own of."""
    gaps = [(re.findall(r"\{:\.\d+(.)\}", output["text"]), output["numbers"]) for output in outputs if output]
    return [number for kinds, numbers in gaps for kind, number in zip(kinds, numbers, strict=True) if kind == "e"]


def executed(name: str) -> list[Output | None]:
    """Run a notebook; for each code cell what it printed, taken apart. Raises UserError if a cell fails or does more."""
    # Imported here, because few runs come this far.
    import nbformat
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellControlSignal, CellExecutionError, CellTimeoutError, DeadKernelError

    notebook = nbformat.reads(notebooks.document(name, []).decode(), as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        manager = AsyncKernelManager(
            kernel_name="python3",
            transport="ipc",  # sockets in a folder of this user's, and no open port
            ip=str(Path(folder) / "kernel"),
            connection_file=str(Path(folder) / "kernel.json"),
        )
        client = NotebookClient(notebook, km=manager, timeout=PATIENCE_SECONDS, record_timing=False)
        try:
            client.execute(env=dict(os.environ, IPYTHONDIR=folder), cwd=folder, cleanup_kc=True)
        except CellExecutionError as problem:
            raise UserError(f"{shown(notebooks.source(name))}: a cell failed: {problem.ename}: {problem.evalue}.") from None
        except (CellTimeoutError, CellControlSignal, DeadKernelError, RuntimeError) as problem:
            raise UserError(f"{shown(notebooks.source(name))} could not be run: {problem}.") from None
    return [_printed(name, cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]


def _printed(name: str, outputs: list[Any]) -> Output | None:
    for output in outputs:
        if output.output_type != "stream" or output.name != "stdout":
            said = output.get("text") or output.output_type
            raise UserError(f"{shown(notebooks.source(name))}: a cell gives {said!r}; expected what it prints, nothing else.")
    text = "".join(output.text for output in outputs)
    return notebooks.taken_apart(text) if text else None
