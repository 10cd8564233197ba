"""What a prefill, a decode step and a pass with both cost: operations, and bytes that must come from memory.

Counts, not timings: weights are read once a pass, every key and value that is attended to is read once, softmax, norms and
activations are left out. A multiplication and an addition are two FLOPs. Formulas after the scaling book ("Inference") and
kipply's "Transformer Inference Arithmetic". A device is two numbers, its peak and its bandwidth, and every time computed
from them is a lower bound. Knows no tensors.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from math import prod

from kvref.checks import positive, whole
from kvref.config import ModelConfig
from kvref.layout import EMBEDDING, HEAD, weight_shapes


@dataclass(frozen=True)
class Cost:
    """One pass over the model, in FLOPs and bytes."""

    matmul_flops: int
    attention_flops: int
    weight_bytes: int
    kv_read_bytes: int
    kv_written_bytes: int

    @property
    def flops(self) -> int:
        """All operations counted."""
        return self.matmul_flops + self.attention_flops

    @property
    def bytes(self) -> int:
        """All traffic counted."""
        return self.weight_bytes + self.kv_read_bytes + self.kv_written_bytes

    @property
    def intensity(self) -> float:
        """Operations for each byte moved."""
        return self.flops / self.bytes


def parameters(config: ModelConfig) -> int:
    """All parameters; a tied head is counted once."""
    return sum(prod(shape) for shape in weight_shapes(config).values())


@cache
def layer_matmul_parameters(config: ModelConfig) -> int:
    """Parameters that multiply every token: the matrices inside the layers."""
    outside = {EMBEDDING[config.architecture], "wpe.weight", HEAD}
    return sum(prod(s) for name, s in weight_shapes(config).items() if len(s) == 2 and name not in outside)


def head_parameters(config: ModelConfig) -> int:
    """Parameters that multiply only tokens whose logits are asked for, tied or not."""
    return config.vocab_size * config.hidden_size


def kv_bytes_per_token(config: ModelConfig, bytes_per_number: int) -> int:
    """One key and one value for every KV head of every layer."""
    whole(bytes_per_number=bytes_per_number)
    return 2 * config.layers * config.kv_heads * config.head_dim * bytes_per_number


def prefill_cost(config: ModelConfig, prompt_tokens: int, bytes_per_number: int) -> Cost:
    """The prompt in one pass on an empty cache, with logits for its last token only.

    Row i of the scores has i cells: n(n + 1)/2 together. The rows of K and V are written once; they are read
    while they are still at hand, so no read is counted.
    """
    whole(prompt_tokens=prompt_tokens)
    return step_cost(config, [(0, prompt_tokens, True)], bytes_per_number)


def decode_cost(config: ModelConfig, context_tokens: int, bytes_per_number: int, batch: int = 1) -> Cost:
    """One new token for each of ``batch`` sequences that share a pass over the weights.

    ``context_tokens`` are the keys that the new token reads, its own among them; it was just made, so one
    fewer comes from memory.
    """
    whole(context_tokens=context_tokens, batch=batch)
    row_bytes = kv_bytes_per_token(config, bytes_per_number)
    multiplied = layer_matmul_parameters(config) + head_parameters(config)
    return Cost(
        matmul_flops=2 * batch * multiplied,
        attention_flops=batch * _attention_flops(config, context_tokens),
        weight_bytes=_weight_bytes(config, bytes_per_number),
        kv_read_bytes=batch * row_bytes * (context_tokens - 1),
        kv_written_bytes=batch * row_bytes,
    )


def step_cost(config: ModelConfig, pieces: Iterable[tuple[int, int, bool]], bytes_per_number: int) -> Cost:
    """One pass over chunks of prompts and tokens of replies together, the weights read once for all.

    A piece is (``start``, ``tokens``, ``samples``): so many tokens of one sequence whose first ``start`` have their rows in
    the cache, and whether the logits of the last are asked for. A decode step is one token. Token i of a piece, from 1,
    reads ``start`` + i keys; the ``start`` rows come from memory once for the whole piece. Without logits the head is not
    read. Blocks that several sequences share are read for each: a kernel that reads them once is not assumed.
    """
    tokens = cells = read = logits = 0
    for start, count, samples in pieces:
        whole(tokens=count)
        whole(0, start=start)
        tokens += count
        cells += count * start + count * (count + 1) // 2
        read += start
        logits += samples
    whole(pieces=tokens)
    layers, head = layer_matmul_parameters(config), head_parameters(config)
    row_bytes = kv_bytes_per_token(config, bytes_per_number)
    return Cost(
        matmul_flops=2 * (layers * tokens + head * logits),
        attention_flops=_attention_flops(config, cells),
        weight_bytes=(layers + head * (logits > 0)) * bytes_per_number,
        kv_read_bytes=row_bytes * read,
        kv_written_bytes=row_bytes * tokens,
    )


def full_logits_flops(config: ModelConfig, prompt_tokens: int) -> int:
    """What a prefill does besides if the logits of all its tokens are asked for."""
    whole(prompt_tokens=prompt_tokens)
    return 2 * head_parameters(config) * (prompt_tokens - 1)


def attention_equals_matmuls(config: ModelConfig) -> int:
    """Prompt tokens from which on causal attention does more operations in a prefill than the matrices do."""
    matmul = layer_matmul_parameters(config) + head_parameters(config)
    return matmul // (config.layers * config.query_heads * config.head_dim)


def linear_intensity(batch: int, bytes_per_weight: int | float) -> float:
    """FLOPs for each byte of a weight matrix that ``batch`` tokens share."""
    positive(batch=batch, bytes_per_weight=bytes_per_weight)
    return 2 * batch / bytes_per_weight


def attention_intensity(query_heads: int, kv_heads: int, bytes_per_number: int | float) -> float:
    """FLOPs for each byte of cache read in a decode step: context, layers and batch cancel out."""
    positive(query_heads=query_heads, kv_heads=kv_heads, bytes_per_number=bytes_per_number)
    return 2 * query_heads / (kv_heads * bytes_per_number)


def latent_intensity(query_heads: int, latent: int, rotated: int, bytes_per_number: int | float) -> float:
    """The same for MLA with its projections absorbed: every query head reads the one row that they share.

    ``latent`` and ``rotated`` are the numbers of a row; scores use both, the weighted sum the latent alone
    (DeepSeek-V2, arXiv:2405.04434, section 2.1).
    """
    positive(query_heads=query_heads, latent=latent, rotated=rotated, bytes_per_number=bytes_per_number)
    return 2 * query_heads * (2 * latent + rotated) / ((latent + rotated) * bytes_per_number)


def ridge(peak_flops: int | float, bandwidth_bytes: int | float) -> float:
    """FLOPs for each byte from which on a device with this peak and bandwidth, both per second, computes more than waits."""
    positive(peak_flops=peak_flops, bandwidth_bytes=bandwidth_bytes)
    return peak_flops / bandwidth_bytes


def critical_batch(peak_flops: int | float, bandwidth_bytes: int | float, bytes_per_weight: int | float) -> float:
    """Sequences that must share a pass for its matrices to reach the ridge."""
    positive(bytes_per_weight=bytes_per_weight)
    return ridge(peak_flops, bandwidth_bytes) * bytes_per_weight / 2


def least_seconds(cost: Cost, peak_flops: int | float, bandwidth_bytes: int | float) -> float:
    """No pass is faster: its operations at the peak, or its bytes at full bandwidth, whichever takes longer."""
    positive(peak_flops=peak_flops, bandwidth_bytes=bandwidth_bytes)
    return max(cost.flops / peak_flops, cost.bytes / bandwidth_bytes)


def link_seconds(tokens: int, bytes_per_token: int, bandwidth_bytes: int | float) -> float:
    """Moving a cache over a link of that many bytes a second."""
    positive(tokens=tokens, bytes_per_token=bytes_per_token, bandwidth_bytes=bandwidth_bytes)
    return tokens * bytes_per_token / bandwidth_bytes


def reuse_bandwidth(
    peak_flops: int | float,
    prefix_tokens: int,
    hidden_size: int,
    group_size: int,
    bytes_per_number: int,
    a: int = 4,
    b: int = 22,
) -> float:
    """Bytes a second above which loading a prefix's cache is faster than computing it anew.

    Mooncake (FAST'25), equations 1 and 2: a layer computes a·n²·d + b·n·d² FLOPs for n tokens of hidden size d; ``a`` and
    ``b`` as the paper takes them for LLaMA3-70B.
    """
    whole(prefix_tokens=prefix_tokens, hidden_size=hidden_size, group_size=group_size, bytes_per_number=bytes_per_number)
    positive(peak_flops=peak_flops, a=a, b=b)
    computed = group_size * (a * prefix_tokens * hidden_size + b * hidden_size**2)
    return peak_flops * 2 * hidden_size * bytes_per_number / computed


def rows_without_cache(tokens: int) -> int:
    """K,V rows computed in each layer by as many passes of growing length, from an empty prompt."""
    whole(0, tokens=tokens)
    return tokens * (tokens + 1) // 2


def _attention_flops(config: ModelConfig, score_cells: int) -> int:
    """Each cell of the scores is a dot product of head_dim numbers, and then weighs one value of head_dim numbers."""
    return 4 * config.layers * config.query_heads * config.head_dim * score_cells


def _weight_bytes(config: ModelConfig, bytes_per_number: int) -> int:
    """Every matrix once, the head too; the few rows of the embedding, norms and biases are left out."""
    return (layer_matmul_parameters(config) + head_parameters(config)) * bytes_per_number
