"""The records of a tier: which there are, what each is, and the function that measures it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gen.measure.bench import Bench

Values = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One record. `kind` is its form, `id` its file: the kind, and the model where that is not the site's own."""

    kind: str
    id: str
    page: str
    what: str
    measure: Callable[[Bench], Values]


@dataclass(frozen=True)
class Subject:
    """The model whose passes are timed, as an identity names it; None where none is."""

    model: str | None = None
    revision: str | None = None
    weights_sha256: str | None = None
    seed: int | None = None


def document(job: Job, subject: Subject, command: str, device: str, quick: bool, environment: Values, values: Values) -> Values:
    """The file of a record."""
    identity = {
        "what": job.what,
        "page": job.page,
        "command": command,
        "kind": job.kind,
        "device": device,
        "model": subject.model,
        "revision": subject.revision,
        "weights_sha256": subject.weights_sha256,
        "seed": subject.seed,
        "quick": quick,
    }
    return {"identity": identity, "environment": environment, "values": values}
