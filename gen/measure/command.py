"""`python -m gen measure`: time this machine, and read how much memory caches take on it.

Without `--write` the records go to `build/measured/<device>/`, where the local site finds them; with it, to `docs/data`.
On a CPU the default model's real weights are used; on a GPU shapes with random weights, for which torch and this
repository are enough.
"""

import argparse
import shlex
import sys

from gen.errors import UserError, held_back
from gen.measure import alone
from gen.paths import DEFAULT_MODEL, PUBLISHED, Site


def main(arguments: list[str]) -> int:
    """Run the command; the exit code. Raises UserError."""
    options = _parser().parse_args(arguments)
    site = _site(options)
    if options.device == "cuda":
        with held_back():
            alone.stand_in()
            from gen.measure.cuda.tier import make as on_gpu

        tier = on_gpu(site, options.quick, _command(options))
    else:
        with held_back():
            from gen.measure.cpu.tier import make as on_processor

        tier = on_processor(options.model, site, options.quick, _command(options))
    tier.check(options.ids)
    print(f"{tier.device.name}: {tier.store.device}", file=sys.stderr, flush=True)
    return tier.run(options.ids)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gen measure", description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID", help="what to measure, such as prefill or decode (default: all)")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="this machine's processor or its GPU")
    parser.add_argument("--write", action="store_true", help="write to docs/data/measured and its manifest")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works; kept apart")
    parser.add_argument("--model", default=DEFAULT_MODEL, help="on a CPU: another model by name, folder or .gguf file")
    return parser


def _site(options: argparse.Namespace) -> Site | None:
    """The published site with `--write`, else none."""
    if not options.write:
        return None
    if options.quick:
        raise UserError("--quick proves that the commands work; its numbers are not for --write.")
    if options.model != DEFAULT_MODEL:
        raise UserError("--write publishes the default model's times only; without it, build/measured is used.")
    return PUBLISHED


def _command(options: argparse.Namespace) -> str:
    """What makes the same record again, without overwriting what is published."""
    flags = ["--device", options.device]
    flags += ["--quick"] if options.quick else []
    flags += [] if options.model == DEFAULT_MODEL else ["--model", options.model]
    return "python -m gen measure " + shlex.join(flags)
