"""The records of a processor: the default model's real weights in float32, on two threads."""

from typing import Any

import torch

from gen import fetch, models
from gen.errors import UserError
from gen.measure import batches, memory, passes
from gen.measure.bench import QUICK, Bench, Sizes
from gen.measure.clock import HostTimer
from gen.measure.cpu import decode, others, paged, pays, reply
from gen.measure.device import processor
from gen.measure.jobs import Job, Subject
from gen.measure.store import Store
from gen.measure.tier import Group, Tier
from gen.paths import DEFAULT_MODEL, Site


def make(model: str, site: Site | None, quick: bool, command: str) -> Tier:
    """The tier for a model given by name, folder or file. Raises UserError if it cannot be loaded."""
    folder = fetch.ensure(model)
    facts = models.describe(folder)
    device = processor()
    bench = Bench(device.torch_device, HostTimer(), QUICK if quick else Sizes(), cache_bytes=device.cache_bytes)
    their: list[Any] = []  # transformers' model, once it is needed

    def prepare(bench: Bench) -> Subject:
        bench.loaded = _loaded(folder)
        return Subject(facts.id, facts.revision, facts.weights_sha256, facts.seed)

    def oracle(bench: Bench) -> Any:
        if not their:
            their.append(others.oracle(folder, bench))
        return their[0]

    ending = "" if facts.id == DEFAULT_MODEL else f"-{facts.id}"
    group = Group(
        [
            *_own_jobs(ending),
            Job(
                "others",
                f"others{ending}",
                "measure/predicted",
                "A decode step and a prefill by kvref and by transformers, in turns",
                lambda bench: others.measure(bench, oracle(bench)),
            ),
            Job(
                "budget",
                f"budget{ending}",
                "measure/predicted",
                "A reply by kvref, by transformers.generate and by the matrix products alone, a token",
                lambda bench: reply.measure(bench, oracle(bench)),
            ),
        ],
        prepare,
    )
    return Tier(device, bench, Store(device.slug, site, quick), command, (torch.float32,), [group])


def _own_jobs(ending: str) -> list[Job]:
    table = [
        ("products", "measure/devices", "The model's matrices alone, for one row and for many", passes.products),
        ("prefill", "measure/predicted", "A prompt in one pass, against its length", passes.prefills),
        ("decode", "measure/predicted", "A decode step against its context, with three caches", decode.measure),
        ("pays", "measure/predicted", "Where a cache starts to pay, and where it does not", pays.measure),
        ("paged", "measure/predicted", "Keys and values in blocks against in one piece", paged.measure),
        ("batch", "measure/predicted", "A decode step of several sequences together", batches.measure),
        ("memory", "measure/predicted", "Bytes of caches, predicted and counted by the device", memory.measure),
    ]
    return [Job(kind, f"{kind}{ending}", page, what, measure) for kind, page, what, measure in table]


def _loaded(folder: Any) -> Any:
    from kvref import CheckpointError, load_checkpoint

    try:
        return load_checkpoint(folder)
    except CheckpointError as problem:
        raise UserError(str(problem)) from None
