"""`python -m gen run`: recompute the numbers from the weights, then compare, write or show them.

Without a flag it compares with the published recordings and writes nothing. Another model or prompt is recorded into
`build/<name>/`; only `--write` touches `docs/data`.
"""

import argparse
import shlex
import time
from collections.abc import Callable

from gen import fetch, io, models, notebooks, publish
from gen.errors import UserError
from gen.experiments import (
    blocks,
    bound,
    cost,
    heads,
    many_requests,
    many_requests_grid,
    memory,
    model,
    notebook,
    old_keys,
    one_token,
    recording,
    sharing,
)
from gen.experiments.context import PROMPT, Context
from gen.io import canonical
from gen.paths import DEFAULT_MODEL, PUBLISHED, Site, local_site
from gen.records import Record, declared
from gen.tokenizer import Text

PROMPT_LIMIT_TOKENS = 64

EXPERIMENTS: dict[str, Callable[[Context], list[Record]]] = {
    "model": model.records,
    "heads": heads.records,
    "cat": recording.cat,
    "chat": recording.chat,
    "repeat": recording.repeat,
    "one-token": one_token.records,
    "old-keys": old_keys.records,
    "cost": cost.records,
    "memory": memory.records,
    "bound": bound.records,
    "blocks": blocks.records,
    "sharing": sharing.records,
    "many-requests": many_requests.records,
    "many-requests-grid": many_requests_grid.records,
    "sixty-lines": notebook.records,
}


def main(arguments: list[str]) -> int:
    """Run the command; the exit code. Raises UserError or CheckFailed."""
    options = _parser().parse_args(arguments)
    unknown = [id for id in options.ids if id not in EXPERIMENTS]
    if unknown:
        raise UserError(f"Unknown record {unknown[0]!r}: expected {', '.join(EXPERIMENTS)}.")
    _check_words(options.prompt)
    site = _site(options)
    writes = not options.show and (options.write or not (site.published or options.check))
    if writes:
        io.check_folder(site.data)
    context = _context(options, site)
    records = _compute(context, options.ids or list(EXPERIMENTS))
    complete = not options.ids
    if options.show:
        _show(records)
    elif writes:
        print(publish.write(site, context.facts.id, records, complete=complete))
        notebooks.write(site)
    else:
        print(publish.check(site, context.facts.id, records, complete=complete))
        notebooks.check(site)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gen run", description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID", help=f"records to make: {', '.join(EXPERIMENTS)} (default: all)")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--show", action="store_true", help="print the records and write nothing")
    mode.add_argument("--check", action="store_true", help="compare with what is recorded and write nothing (default)")
    mode.add_argument("--write", action="store_true", help="write what differs to docs/data, then its manifest")
    parser.add_argument("--model", default=DEFAULT_MODEL, help=f"{', '.join(models.KNOWN)}, a folder or a .gguf file")
    parser.add_argument("--prompt", help=f"a prompt of your own, at most {PROMPT_LIMIT_TOKENS} tokens")
    parser.add_argument("--name", help="folder below build/ for another model or prompt")
    return parser


def _site(options: argparse.Namespace) -> Site:
    """Where this run's records belong."""
    own = options.prompt is not None or options.name is not None
    if options.write:
        if own:
            raise UserError("--write publishes the fixed prompt only; without it, your prompt is recorded into build/.")
        if options.model not in models.KNOWN:
            known = " and ".join(models.KNOWN)
            raise UserError(f"--write publishes {known} only, by name, got {options.model!r}; without it, build/ is used.")
        return PUBLISHED
    if own or options.model != DEFAULT_MODEL:
        return local_site(options.model, options.prompt, options.name)
    return PUBLISHED


def _context(options: argparse.Namespace, site: Site) -> Context:
    """Fetch, load and check everything that can be wrong before anything is computed."""
    from kvref import CheckpointError, load_checkpoint

    start = time.monotonic()
    folder = fetch.ensure(options.model)
    facts = models.describe(folder)
    try:
        transformer = load_checkpoint(folder)
    except CheckpointError as problem:
        raise UserError(str(problem)) from None
    context = Context(
        facts=facts,
        transformer=transformer,
        text=Text(folder),
        prompt=PROMPT if options.prompt is None else options.prompt,
        flags=_flags(options, site),
        warn=None if site.published else fetch.say,
    )
    _check_prompt(context)
    fetch.say(f"{facts.label}: loaded in {time.monotonic() - start:.1f} s.")
    return context


def _flags(options: argparse.Namespace, site: Site) -> str:
    flags = [] if options.model == DEFAULT_MODEL else ["--model", options.model]
    flags += [] if options.prompt is None else ["--prompt", options.prompt]
    flags += [] if site.published else ["--name", site.name]  # the form that compares, and overwrites nothing published
    return "".join(f" {shlex.quote(flag)}" for flag in flags)


def _check_words(prompt: str | None) -> None:
    """What can be seen before a tokenizer is loaded."""
    if prompt is None:
        return
    if not prompt.strip():
        raise UserError("The prompt is empty: expected at least one word.")
    try:
        prompt.encode()
    except UnicodeEncodeError:
        raise UserError("The prompt is not valid UTF-8 text.") from None


def _check_prompt(context: Context) -> None:
    count = len(context.text.encode(context.prompt))
    if not 1 <= count <= PROMPT_LIMIT_TOKENS:
        raise UserError(f"The prompt takes {count} tokens: expected 1 to {PROMPT_LIMIT_TOKENS}.")


def _compute(context: Context, ids: list[str]) -> list[Record]:
    """Run the experiments one by one, with a line of progress each."""
    records: list[Record] = []
    for number, id in enumerate(ids, start=1):
        start = time.monotonic()
        made = EXPERIMENTS[id](context)
        records += made
        fetch.say(f"[{number}/{len(ids)}] {id}: {len(made)} records in {time.monotonic() - start:.1f} s")
    return records


def _show(records: list[Record]) -> None:
    """Each record as one line: what it is; the values of those that have no shards of their own."""
    for record in records:
        print(f"{record.id}\t{record.identity['what']}")
        if "/" not in record.id:
            try:
                print(canonical(declared(record.values)).decode(), end="")
            except ValueError as problem:
                raise UserError(f"The record {record.id} cannot be shown: {problem}; the weights may be damaged.") from None
