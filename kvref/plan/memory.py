"""Bytes that a cache takes: a token, a request, a batch, on one of several devices, in any number format.

Exact arithmetic in whole numbers and fractions; nothing is rounded but what is asked to be (blocks, a last byte). Formulas:
vLLM (arXiv:2309.06180, section 3), DeepSeek-V2 (arXiv:2405.04434, table 1). Knows no tensors and no models.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from kvref.checks import positive, whole
from kvref.plan.geometry import Geometry, Group

GIB = 2**30


@dataclass(frozen=True)
class Format:
    """How a number is stored: its bits and, where a group of numbers shares a scale and a zero point, the bits of those."""

    bits: int
    group: int = 1  # numbers that share a scale
    extra_bits: int = 0  # of the scale and the zero point of a group

    def __post_init__(self) -> None:
        whole(bits=self.bits, group=self.group)
        whole(0, extra_bits=self.extra_bits)

    @property
    def bits_per_number(self) -> Fraction:
        """Bits, the share of scale and zero point included."""
        return self.bits + Fraction(self.extra_bits, self.group)

    @property
    def bytes_per_number(self) -> Fraction:
        """The same in bytes."""
        return self.bits_per_number / 8


# int8: one scale of 16 bits; int4: scale and zero point of 16 bits each. The others are block layouts as
# ggml-common.h of llama.cpp (q*) and the OCP microscaling formats define them.
FORMATS = {
    "fp32": Format(32),
    "fp16": Format(16),
    "bf16": Format(16),
    "fp8": Format(8),
    "int8": Format(8, 64, 16),
    "int4": Format(4, 64, 32),
    "q8_0": Format(8, 32, 16),
    "q5_0": Format(5, 32, 16),
    "q4_0": Format(4, 32, 16),
    "q4_1": Format(4, 32, 32),
    "mxfp4": Format(4, 32, 8),
    "nvfp4": Format(4, 16, 8),
}


@dataclass(frozen=True)
class GroupSize:
    """What one request takes in the layers of one group, on one device."""

    group: Group
    rows: int  # a layer keeps
    slots: int  # rows there is room for: whole blocks
    row_numbers: int  # on this device
    bytes: Fraction  # all layers of the group


@dataclass(frozen=True)
class CacheSize:
    """What the cache takes on one device."""

    groups: tuple[GroupSize, ...]
    state_bytes: int  # of one request
    batch: int

    @property
    def request_bytes(self) -> Fraction:
        """One request, the state included."""
        return sum((one.bytes for one in self.groups), Fraction(self.state_bytes))

    @property
    def bytes(self) -> int:
        """All requests; a last part of a byte is a byte."""
        return ceil(self.request_bytes * self.batch)


def cache_size(
    geometry: Geometry, tokens: int, *, batch: int = 1, stored: Format = FORMATS["fp16"], block_tokens: int = 1, ranks: int = 1
) -> CacheSize:
    """The cache of ``batch`` requests of ``tokens`` tokens each on one of ``ranks`` devices. Raises ValueError."""
    whole(**{"tokens": tokens, "batch": batch, "block size": block_tokens})
    _check_ranks(geometry, ranks)
    sizes = tuple(_group_size(group, tokens, stored, block_tokens, ranks) for group in geometry.groups)
    state = geometry.state
    return CacheSize(sizes, ceil(Fraction(state.bytes, ranks)) if state else 0, batch)


def bytes_per_token(
    geometry: Geometry, stored: Format = FORMATS["fp16"], ranks: int = 1, *, windows_full: bool = False
) -> Fraction:
    """Bytes that a further token adds on one device; once all windows are full, layers with a window add nothing."""
    _check_ranks(geometry, ranks)
    numbers = Fraction(0)
    for group in geometry.groups:
        if group.window is None or not windows_full:
            numbers += Fraction(group.layers * rank_numbers(group, ranks), group.every)
    return numbers * stored.bytes_per_number


def rank_heads(group: Group, ranks: int) -> int:
    """KV heads of a group that each of ``ranks`` devices keeps: a share, or one that several devices keep a copy of."""
    return max(1, group.kv_heads // ranks)


def rank_numbers(group: Group, ranks: int) -> int:
    """Numbers in a row on one device. A latent belongs to all heads, so every device keeps the whole of it."""
    return group.latent or rank_heads(group, ranks) * (group.key_dim + group.value_dim)


def slots(group: Group, tokens: int, block_tokens: int) -> int:
    """Rows that one layer has room for in whole blocks.

    A sliding window need not begin where a block does: it then lies in one block more.
    """
    rows, window = group.rows(tokens), group.window
    first = tokens - window if window is not None and tokens > window and not group.chunked and group.every == 1 else 0
    blocks = -(-(first + rows) // block_tokens) - first // block_tokens
    return blocks * block_tokens


def weight_bytes(parameters: int, bits: int = 16, ranks: int = 1) -> int:
    """Bytes of the weights on one device, evenly split."""
    whole(parameters=parameters, bits=bits, ranks=ranks)
    return ceil(Fraction(parameters * bits, 8 * ranks))


def requests_that_fit(device_bytes: int | Fraction, weights: int, request_bytes: Fraction, reserved_bytes: int = 0) -> int:
    """Largest batch for a device's memory once weights and a reserve are taken off; 0 if not even one fits."""
    positive(request_bytes=request_bytes)
    return max(0, (device_bytes - weights - reserved_bytes) // request_bytes)


def hit_blocks(window: int, block_tokens: int) -> int:
    """Blocks that must still be there for a cached prefix to serve a layer with a window: ceil((window − 1) / block)."""
    whole(window=window, block_tokens=block_tokens)
    return -(-(window - 1) // block_tokens)


def expected_waste(mean_tokens: int | float, block_tokens: int) -> float:
    """Share of slots that stay empty if the last block is half full on average, as vLLM's section 4 argues."""
    positive(mean_tokens=mean_tokens)
    whole(block_tokens=block_tokens)
    empty = (block_tokens - 1) / 2
    return empty / (mean_tokens + empty)


def reserved_waste(mean_tokens: int | float, longest_tokens: int) -> float:
    """Share of slots that stay empty if the longest possible request is reserved for each."""
    positive(mean_tokens=mean_tokens)
    whole(longest_tokens=longest_tokens)
    if mean_tokens > longest_tokens:
        raise ValueError(f"mean_tokens: expected at most {longest_tokens} (the longest request), got {mean_tokens!r}.")
    return 1 - mean_tokens / longest_tokens


def table_bytes(tokens: int, block_tokens: int, entry_bytes: int = 4) -> int:
    """What a request's list of blocks takes."""
    whole(tokens=tokens, block_tokens=block_tokens, entry_bytes=entry_bytes)
    return -(-tokens // block_tokens) * entry_bytes


def _group_size(group: Group, tokens: int, stored: Format, block_tokens: int, ranks: int) -> GroupSize:
    room, numbers = slots(group, tokens, block_tokens), rank_numbers(group, ranks)
    return GroupSize(group, group.rows(tokens), room, numbers, group.layers * room * numbers * stored.bytes_per_number)


def _check_ranks(geometry: Geometry, ranks: int) -> None:
    whole(**{"tensor parallel": ranks})
    if geometry.query_heads % ranks:
        raise ValueError(f"tensor parallel {ranks}: {geometry.query_heads} query heads do not divide evenly.")
    for heads in (group.kv_heads for group in geometry.groups if not group.latent):
        if heads % ranks and ranks % heads:
            raise ValueError(f"tensor parallel {ranks}: {heads} KV heads neither divide evenly nor repeat evenly.")
