"""The index: what is found, what keeps equal tokens apart, and in which order idle blocks go."""

import pytest

from kvref.plan.prefix import NOBODY, Namespace, PrefixIndex, chain_hash

A, B, C = (1, 2, 3, 4), (5, 6, 7, 8), (9, 10, 11, 12)


def chain(*contents: tuple[int, ...], namespace: Namespace = NOBODY, hash_function=chain_hash) -> PrefixIndex:
    """An index in which block i has the i-th content, after the ones before it."""
    index = PrefixIndex(len(contents[0]), hash_function)
    for block, content in enumerate(contents):
        index.insert(block, content, namespace, block - 1 if block else None)
    index.check()
    return index


def test_the_longest_prefix_of_whole_blocks_is_found() -> None:
    index = chain(A, B, C)
    assert index.match(A + B + C + (13,)) == (0, 1, 2)
    assert index.match(A + B + C[:3]) == (0, 1)
    assert index.match(A + C) == (0,)
    assert index.match(B + C) == ()


# https://github.com/sgl-project/sglang/issues/10637
def test_a_text_shorter_than_a_block_finds_nothing_and_adds_nothing() -> None:
    index = chain(A)
    assert index.match(A[:3]) == index.match(()) == ()
    assert len(index) == 1


# https://github.com/vllm-project/vllm/issues/2614
def test_what_came_before_a_block_is_part_of_what_it_contains() -> None:
    index = chain(A, B)
    other = (9, 9, 9, 9)
    index.insert(2, other)
    assert index.match(other + B) == (2,)
    assert chain_hash(chain_hash(None, A, NOBODY), B, NOBODY) != chain_hash(chain_hash(None, other, NOBODY), B, NOBODY)
    assert chain_hash(chain_hash(None, A[:2], NOBODY), A[2:], NOBODY) != chain_hash(None, A, NOBODY)


# https://github.com/vllm-project/vllm/issues/2614
@pytest.mark.parametrize("hash_function", [chain_hash, lambda *_: 0])
def test_other_adapters_and_tenants_find_nothing(hash_function) -> None:
    spaces = [
        Namespace(),
        Namespace("a", "bc"),
        Namespace("ab", "c"),
        Namespace(adapter="a"),
        Namespace(salt="a"),
        Namespace(""),
    ]
    for mine in spaces:
        index = chain(A, B, namespace=mine, hash_function=hash_function)
        assert [len(index.match(A + B, space)) for space in spaces] == [2 * (space == mine) for space in spaces]
    assert len({chain_hash(None, A, space) for space in spaces}) == len(spaces)


def test_equal_hashes_do_not_make_equal_contents() -> None:
    index = chain(A, B, A, hash_function=lambda *_: 0)
    assert index.match(A + B + A) == (0, 1, 2)
    assert index.match(B + A) == ()
    assert index.match(A + A) == (0,)


def test_hashes_are_the_same_on_every_machine() -> None:
    """Records show them. The hash is of the JSON text, which could be made anywhere."""
    first = chain_hash(None, A, NOBODY)
    assert first == "3bb096cba8700f585d462b438614845996027e0e3665c437da832571f9ff6792"
    assert chain_hash(first, B, Namespace("é", None)) == "c15de97ad4a15ca83ea183e08e4cacd06e56e8aec053a35a9f41115f93a86861"


# https://github.com/llm-d/llm-d-inference-sim/issues/705
def test_a_match_stops_at_the_first_hole() -> None:
    index = chain(A, B, C)
    index.forget(1)
    index.check()
    assert index.match(A + B + C) == (0,)
    index.forget(0)
    assert index.match(A + B + C) == ()
    index.insert(0, A)
    index.insert(1, B, parent=0)
    assert index.match(A + B + C) == (0, 1, 2), "what was behind the hole is found again"


# https://github.com/llm-d/llm-d-inference-sim/issues/704 https://github.com/NVIDIA/Megatron-LM/issues/5822
def test_the_least_recently_used_goes_first() -> None:
    index = chain(A, B, C)
    for block in (2, 1, 0):
        index.retire(block)
    assert index.idle_order() == (2, 1, 0)
    index.revive(2)
    index.retire(2)
    assert [index.evict(), index.evict(), index.evict()] == [1, 0, 2]
    index.check()
    assert len(index) == 0


# https://github.com/GeeeekExplorer/nano-vllm/issues/243
def test_two_blocks_of_equal_content_are_told_apart() -> None:
    index = chain(A, B)
    index.insert(7, A)
    index.retire(0)
    assert index.match(A + B) == (7, 1), "one that is held costs no idle one"
    index.retire(7)
    assert index.evict() == 0
    assert index.match(A + B) == (7, 1)
    assert 0 not in index
    assert 7 in index


def test_contents_that_no_block_has_are_dropped() -> None:
    """Or an index that runs for long would grow for ever; those with children stay until the children go."""
    index = chain(A, B, C)
    for block in (0, 1):
        index.forget(block)
    assert sum(map(len, index._nodes.values())) == 3
    index.forget(2)
    assert index._nodes == {}


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda index: PrefixIndex(0), "block_tokens: expected a whole number of at least 1, got 0."),
        (lambda index: PrefixIndex(-4), "block_tokens: expected a whole number of at least 1, got -4."),
        (lambda index: index.insert(0, A), "block: expected one that is not in the index, got 0."),
        (lambda index: index.insert(5, A[:3]), "token_ids: expected 4 (a full block), got 3."),
        (lambda index: index.insert(5, A, parent=4), "block: expected one that is in the index, got 4."),
        (lambda index: index.retire(9), "block: expected one that is in the index, got 9."),
        (lambda index: index.retire(1), "block: expected one that is held, got 1, which is idle."),
        (lambda index: index.revive(0), "block: expected an idle one, got 0, which is held."),
        (lambda index: index.forget(10), "block: expected one that is in the index, got 10."),
        (lambda index: index.key(11), "block: expected one that is in the index, got 11."),
        (lambda index: PrefixIndex(4).evict(), "evict: expected an idle block in the index, got none."),
    ],
)
def test_mistakes_change_nothing(ask, sentence: str) -> None:
    index = chain(A, B)
    index.retire(1)
    with pytest.raises(ValueError) as raised:  # noqa: PT011 (the whole sentence is compared)
        ask(index)
    assert str(raised.value) == sentence
    index.check()
    assert (index.match(A + B), index.idle_order(), len(index)) == ((0, 1), (1,), 2)
