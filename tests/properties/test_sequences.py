"""Whatever is appended, cut off and continued, a cache holds what a fresh run over the same tokens would compute."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from kvref.cache.concat import ConcatCache
from kvref.cache.contiguous import ContiguousCache
from kvref.cache.nothing import NoCache
from kvref.generate import decode_step, prefill
from tests.kvref import tiny

MODELS = {config.architecture: tiny.model(config) for config in tiny.BOTH}
CAPACITY = 40
token_ids = st.integers(0, 52)
quick = settings(max_examples=25, deadline=None)


class Sequences(RuleBasedStateMachine):
    """Two caches and a list of tokens, driven together."""

    caches = Bundle("caches")

    @initialize(family=st.sampled_from(sorted(MODELS)))
    def start(self, family: str) -> None:
        self.model = MODELS[family]
        config = self.model.config
        contiguous = ContiguousCache(config, CAPACITY, dtype=torch.float64)
        contiguous.k.fill_(torch.nan)  # a row that was never written must never be read
        contiguous.v.fill_(torch.nan)
        self.both = [contiguous, ConcatCache(config, dtype=torch.float64)]
        self.tokens: list[int] = []
        self.rows = 0

    @precondition(lambda self: len(self.tokens) < CAPACITY)
    @rule(data=st.data())
    def append(self, data: st.DataObject) -> None:
        free = CAPACITY - len(self.tokens)
        new = data.draw(st.lists(token_ids, min_size=1, max_size=min(free, 9)))
        self.tokens += new
        expected = prefill(self.model, NoCache(self.model.config), self.tokens)
        for cache in self.both:
            torch.testing.assert_close(prefill(self.model, cache, new), expected, rtol=0, atol=1e-10)

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        kept = data.draw(st.integers(0, len(self.tokens)))
        del self.tokens[kept:]
        for cache in self.both:
            cache.truncate(kept)

    @rule(token_id=token_ids, layer=st.integers(0, 2))
    def fail(self, token_id: int, layer: int) -> None:
        """A pass that breaks in some layer must leave nothing behind that is read later."""

        def broken(name: str, at: int | None, tensor: torch.Tensor) -> None:
            if (name, at) == ("weights", layer):
                raise InterruptedError

        for cache in self.both if len(self.tokens) < CAPACITY else []:
            try:
                decode_step(self.model, cache, token_id, tap=broken)
            except InterruptedError:
                continue
            raise AssertionError("the pass should have broken")

    @invariant()
    def lengths_agree(self) -> None:
        for cache in getattr(self, "both", []):
            assert cache.length == len(self.tokens)

    @invariant()
    def rows_agree(self) -> None:
        if not getattr(self, "both", None):
            return
        contiguous, concat = self.both
        for layer in range(self.model.config.layers):
            kept = concat.k[layer][: concat.length]
            assert torch.allclose(contiguous.k[layer, : contiguous.length], kept, rtol=0, atol=1e-12)


TestSequences = Sequences.TestCase
TestSequences.settings = settings(max_examples=12, stateful_step_count=12, deadline=None)


@quick
@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.sampled_from(sorted(MODELS)))
def test_any_chunks_give_the_same_logits(chunks: list[int], family: str) -> None:
    model = MODELS[family]
    tokens = tiny.ids(model.config, sum(chunks))
    cache = ContiguousCache(model.config, len(tokens), dtype=torch.float64)
    parts = torch.cat([model(chunk, cache) for chunk in tokens.split(chunks)])
    torch.testing.assert_close(parts, model(tokens, NoCache(model.config)), rtol=0, atol=1e-10)


@quick
@given(st.lists(token_ids, min_size=2, max_size=14), st.data())
def test_a_later_token_never_changes_an_earlier_row(tokens: list[int], data: st.DataObject) -> None:
    """Why a cache is possible at all: keys, values and logits before a change are bit for bit the same."""
    model = MODELS["llama"]
    place = data.draw(st.integers(1, len(tokens) - 1))
    changed = [*tokens[:place], (tokens[place] + 1) % 53, *tokens[place + 1 :]]
    one, other = (ContiguousCache(model.config, len(tokens), dtype=torch.float64) for _ in range(2))
    before, after = model(torch.tensor(tokens), one), model(torch.tensor(changed), other)
    torch.testing.assert_close(before[:place], after[:place], rtol=0, atol=1e-12)
    torch.testing.assert_close(one.k[:, :place], other.k[:, :place], rtol=0, atol=1e-12)
    assert (before[place] - after[place]).abs().max() > 1e-6
