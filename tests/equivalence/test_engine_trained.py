"""The engine over the trained model, float32, greedy: 32 requests together get the tokens that each gets alone.

The sums of a packed pass are made in another order, so logits differ by rounding. A token is compared where the two
highest logits are further apart than that; after one that is not, the rest of its reply is not compared either.
"""

import itertools
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from torch import Tensor

from kvref.cache.paged import PagedCache
from kvref.engine import Engine
from kvref.generate import generate
from kvref.model.transformer import Transformer
from kvref.plan.manager import DESIGNS, KVManager
from kvref.plan.request import Request
from kvref.plan.scheduler import Scheduler
from kvref.sampling import greedy
from tests.kvref import serving

pytestmark = pytest.mark.weights

TOLERANCE = 5e-4
BLOCK = 4
BEGINNINGS = ("", "The capital of", "You answer in one short sentence. Question:", "In the year 1905 the young clerk")
ENDS = (
    " France is",
    " Norway is a city by the",
    " how many legs has a spider?",
    " wrote a letter to his wife about",
    " why is the sky",
    " we counted 1, 2, 3,",
    "",
    " three things: bread, butter and",
)


@pytest.fixture(scope="module")
def requests(real_folder: Path) -> list[Request]:
    """Every beginning with every end, replies of 3 to 6 tokens; some prompts are whole blocks, some are equal."""
    tokenizer = Tokenizer.from_file(str(real_folder / "tokenizer.json"))
    pairs = itertools.product(ENDS, BEGINNINGS)
    texts = [beginning + end or "Once" for end, beginning in pairs]
    return [Request(str(number), tuple(tokenizer.encode(text).ids), 3 + number % 4) for number, text in enumerate(texts)]


@pytest.fixture(scope="module")
def expected(real_model: Transformer, requests: list[Request]) -> dict[str, tuple[list[int], int]]:
    """Of each request its tokens, and how many of them can be compared."""
    found = {}
    for request in requests:
        margins: list[float] = []

        def watched(logits: Tensor, margins: list[float] = margins) -> int:
            first, second = logits.topk(2).values.tolist()
            margins.append(first - second)
            return greedy(logits)

        reply = list(generate(real_model, request.prompt_ids, request.max_new_tokens, sampler=watched))
        close = [place for place, margin in enumerate(margins) if margin <= TOLERANCE]
        found[request.id] = reply, close[0] if close else len(reply)
    return found


# Each chunk with one kind of preemption; with both in test_engine_exact.
PRESSURE = ((1, "recompute"), (3, "swap"), (16, "recompute"), (None, "swap"))


@pytest.mark.parametrize(("chunk", "pressure"), [(chunk, how) for chunk, kind in PRESSURE for how in (None, kind)])
@pytest.mark.parametrize("design", DESIGNS)
def test_together_as_alone(
    real_model: Transformer,
    requests: list[Request],
    expected: dict[str, tuple[list[int], int]],
    design: str,
    chunk: int | None,
    pressure: str | None,
) -> None:
    manager = KVManager(60 if pressure else 200, BLOCK, design=design, host_blocks=60)
    cache = PagedCache(real_model.config, serving.shuffle(manager))
    settings = {"max_requests": 16 if pressure else 24, "token_budget": 256, "preemption": pressure or "recompute"}
    engine = Engine(real_model, Scheduler(manager, chunk_tokens=chunk, **settings), cache)
    for request in requests:
        engine.submit(request)
    for step in itertools.count():
        if not engine.busy:
            break
        if pressure and step % 3 == 2 and len(engine.scheduler.running) > 1:
            serving.preempt(engine, engine.scheduler.running[-1])
        serving.poison(cache)
        engine.step()
    tokens = compared = 0
    for request in requests:
        reply, clear = expected[request.id]
        assert list(engine.reply(request.id).token_ids[:clear]) == reply[:clear]
        tokens, compared = tokens + len(reply), compared + clear
    preemptions = sum(engine.reply(request.id).preemptions for request in requests)
    print(f"{compared} of {tokens} tokens compared; {preemptions} preemptions, hit rate {engine.hit_rate:.2f}")
    assert tokens - compared <= 0.01 * tokens
    assert preemptions > 2 if pressure else preemptions == 0
    assert engine.occupancy == 0
    manager.check()
