"""The one list of figures: plain data, read by everything that draws, shows, tests or cites a figure.

A row binds an id to its page, to the picture that draws it and to the sentence that says what it shows. It knows
nothing about drawing. An id, once published, is never renamed or dropped. In titles and sentences `{val:key|format}`
is replaced by the number recorded under that key, so a sentence cannot outlive its data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One figure: where it stands, what draws it and what it says."""

    id: str
    page: str  # slug of the page, as in the address
    picture: str  # module in docs/assets/js/pictures/
    title: str  # what is drawn
    alt: str  # the finding, with a number from the record
    state: Mapping[str, Any] = field(default_factory=dict)  # differs from the picture's own default
    options: Mapping[str, Any] = field(default_factory=dict)  # to the picture; `plotly` names its live form
    measured: tuple[str, ...] = ()  # kinds of measurements that it shows: any device that has them all
    finding: str = ""  # of measurements: the sentence of gen/findings.py that says what was found, once there is a record


UNMEASURED = "No device has been measured yet, so nothing is drawn; a record fills this in."

FIGURES: tuple[Figure, ...] = (
    Figure(
        "cover",
        "index",
        "grid",
        "The whole cache after the reply: layers down, tokens across, K and V in each cell.",
        "{val:cat.tokens_total} tokens × {val:model.layers} layers, every cell filled:"
        " {val:one-token.cache_bytes_after.float32|bytes} in float32.",
        options={"prompts": ["cat"], "compact": True},
    ),
    Figure(
        "tour-rows",
        "tour",
        "lanes",
        "K,V rows computed in each pass, without a cache and with one.",
        "The whole reply takes {val:one-token.total.without.kv_rows} rows in every layer without a cache"
        " and {val:one-token.total.with.kv_rows} with one.",
        options={"parts": ["lanes", "counts"]},
    ),
    Figure(
        "tour-prefill",
        "tour",
        "cells",
        "Keys and values of the prompt in one head, as they are written to the cache.",
        "One pass gives all {val:cat.prompt_tokens} rows of K and of V; each row has {val:model.head_dim} numbers,"
        " the first 8 are drawn.",
        options={"mode": "kv"},
    ),
    Figure(
        "tour-decode",
        "tour",
        "cells",
        "One decode step in one head: q, K, scores, weights, V, output.",
        "The last step appends one row and reads {val:cat.tokens_total}: one row of scores.",
        options={"mode": "decode"},
    ),
    Figure(
        "tour-memory",
        "tour",
        "bars",
        "Bytes of cache against tokens, in fp16.",
        "{val:model.kv_bytes_per_token.fp16|KiB} a token, {val:model.kv_bytes_at_1024.fp16|MiB} at"
        " {val:model.context_example_tokens} tokens: a straight line.",
        options={"series": "memory"},
    ),
    Figure(
        "tour-intensity",
        "tour",
        "bars",
        "Operations per byte read, prefill against decode, in fp16.",
        "Prefill of {val:model.context_example_tokens} tokens does {val:cost.intensity_example.prefill|.0f} FLOPs for each"
        " byte, a decode step at that length {val:cost.intensity_example.decode|.1f}.",
        options={"series": "intensity"},
    ),
    Figure(
        "tokens",
        "learn/before-you-start",
        "strip",
        "The recording as the model sees it: tokens, their numbers and positions.",
        "{val:cat.prompt_tokens} tokens of prompt, then {val:cat.reply_tokens} of reply, of which {val:cat.reply_tokens_fed}"
        " were fed again; every piece of text has one number.",
    ),
    Figure(
        "causal-mask",
        "learn/before-you-start",
        "matrix",
        "Attention weights of one head: each row is a token that looks, each column a token that is looked at.",
        "Every row ends at its own token: {val:cat.causal_cells} weights, and none above the diagonal.",
    ),
    Figure(
        "next-token",
        "learn/before-you-start",
        "bars",
        "The five most probable next tokens.",
        "After the prompt the model gives “{val:cat.steps.0.top.0.text|text}” a probability of"
        " {val:cat.steps.0.top.0.probability|%}, more than any other token.",
        state={"step": 0},
        options={"series": "top"},
    ),
    Figure(
        "lanes",
        "learn/one-token",
        "lanes",
        "The same request without a cache and with one: rows computed, work done, bytes kept.",
        "Without a cache {val:one-token.total.without.kv_rows} K,V rows in every layer, with one"
        " {val:one-token.total.with.kv_rows}; the cache then takes"
        " {val:one-token.cache_bytes_after.float32|bytes} in float32.",
        options={"parts": ["lanes", "counts", "memory", "blocks"]},
    ),
    Figure(
        "old-keys",
        "learn/one-token",
        "chart",
        "How far the key of “{val:old-keys.token_text|text}” moves when it is computed again in later passes.",
        "With the causal mask by at most {val:old-keys.causal_change_bound|sci}; without it by up to"
        " {val:old-keys.unmasked_max|.2f}.",
        options={"plotly": "old_keys"},
    ),
    Figure(
        "prefill-cells",
        "learn/prefill",
        "cells",
        "K and V of the prompt for any layer and KV head, after rotation, as cached.",
        "{val:cat.prompt_tokens} rows of K and of V, {val:model.head_dim} numbers each, from one pass.",
        options={"mode": "kv"},
    ),
    Figure(
        "head-map",
        "learn/prefill",
        "heads",
        "Which query heads read which KV head.",
        "{val:model.query_heads} query heads read {val:model.kv_heads} KV heads, {val:model.group_size} to each.",
    ),
    Figure(
        "prefill-grid",
        "learn/prefill",
        "grid",
        "The cache after the prompt: layers down, positions across.",
        "The prompt fills {val:cat.prefill.cells} cells, K and V in each, in a single pass.",
        state={"step": 0},
    ),
    Figure(
        "all-heads",
        "learn/prefill",
        "heatmaps",
        "Attention weights of all query heads of a layer.",
        "{val:model.rule.heads_left_out} of {val:model.rule.heads_total} heads put more than"
        " {val:model.rule.max_weight_on_first|%} of their weight on the first token.",
        options={"plotly": "all_heads"},
    ),
    Figure(
        "decode-row",
        "learn/decode",
        "cells",
        "A decode step for any layer, head and step: q against K, weights, V, output.",
        "The last step computes one new row and reads {val:cat.tokens_total}; its weights add up to one.",
        options={"mode": "decode"},
    ),
    Figure(
        "decode-grid",
        "learn/decode",
        "grid",
        "The cache over time: one new column a step.",
        "After the last step {val:cat.tokens_total} columns are filled; the marked one is new.",
    ),
    Figure(
        "decode-next",
        "learn/decode",
        "bars",
        "The five most probable next tokens at each step.",
        "The largest is taken each time; together they are the reply “{val:cat.reply_text|text}”:"
        " {val:cat.reply_tokens} tokens written, {val:cat.reply_tokens_fed} of them fed.",
        options={"series": "top"},
    ),
    Figure(
        "memory-models",
        "learn/memory",
        "bars",
        "Four published models: the cache at one length, and what sharing KV heads saves.",
        "At {val:memory.tokens} tokens {val:memory.models.llama-2-7b.name|text} keeps"
        " {val:memory.models.llama-2-7b.kv_bytes_at_4096|GiB}, {val:memory.models.llama-3-8b.name|text}"
        " {val:memory.models.llama-3-8b.kv_bytes_at_4096|MiB}.",
        state={"model": "llama-3-8b"},
        options={"series": "models"},
    ),
    Figure(
        "memory-growth",
        "learn/memory",
        "chart",
        "Bytes of cache against the tokens that are held.",
        "{val:memory.sixteen_requests.requests} requests of {val:memory.sixteen_requests.tokens_of_each} tokens on"
        " {val:memory.models.llama-2-7b.name|text} hold {val:memory.sixteen_requests.kv_bytes|GiB}, its weights"
        " {val:memory.sixteen_requests.weight_bytes_fp16|GiB}.",
        options={"plotly": "memory_growth", "series": "growth"},
    ),
    Figure(
        "memory",
        "learn/memory",
        "memory",
        "What the caches of published models take, and what fits beside their weights.",
        "At {val:memory.tokens} tokens {val:memory.models.llama-2-70b.name|text} takes"
        " {val:memory.models.llama-2-70b.kv_bytes_at_4096|GiB} of cache.",
    ),
    Figure(
        "roofline",
        "learn/bound",
        "roofline",
        "The roofline of a device, with a prefill and decode steps of one model on it.",
        "{val:bound.example.model|text} at {val:bound.example.context_tokens} tokens: {val:bound.example.prefill.intensity|.0f}"
        " FLOPs for each byte in prefill, {val:bound.example.one.intensity|.1f} in a decode step; the ridge of"
        " {val:bound.example.device|text} is at {val:bound.devices.h100-sxm.ridge|.0f}.",
        state={"model": "llama-3-8b", "device": "h100-sxm", "context": 4096, "batch": 1},
    ),
    Figure(
        "bound-bytes",
        "learn/bound",
        "bars",
        "What one decode step reads: the weights once, the cache of every sequence.",
        "With {val:bound.example.batch} sequences of {val:bound.example.context_tokens} tokens"
        " {val:bound.example.batched.kv_share|%} of the bytes are cache; with one it is {val:bound.example.one.kv_share|%}.",
        state={"model": "llama-3-8b", "context": 4096, "batch": 64},
        options={"series": "reads"},
    ),
    Figure(
        "pool",
        "learn/blocks",
        "blocks",
        "A pool of blocks that you drive: blocks in physical order, each request’s table in logical order.",
        "Two requests, with prompts of {val:cat.prompt_tokens} and {val:repeat.prompt_tokens} tokens, take blocks as they"
        " grow: a table may name blocks anywhere in the pool, and only its last block is partly empty.",
    ),
    Figure(
        "block-rows",
        "learn/blocks",
        "rows",
        "Keys and values of one head in blocks: as the request knows them, and as memory holds them.",
        "The {val:blocks.by_size.4.tokens.A} tokens of A lie in {val:blocks.example.table_rows} blocks, between those of B;"
        " every row is the one that was cached, wherever it lies.",
        state={"block": 4, "request": "A", "token": 5},
    ),
    Figure(
        "waste",
        "learn/blocks",
        "waste",
        "What the memory for caches holds: three ways to reserve it, and blocks.",
        "Of {val:blocks.waste.slots} slots {val:blocks.waste.traces.long.policies.longest.tokens|%} hold a token when the"
        " longest length is reserved, {val:blocks.waste.traces.long.policies.blocks.tokens|%} with blocks of"
        " {val:blocks.waste.block_tokens}; so {val:blocks.waste.traces.long.times.longest|x} as many requests run at once.",
        state={"trace": "long"},
    ),
    Figure(
        "block-size",
        "learn/blocks",
        "waste",
        "What the size of a block changes: empty slots, table entries, and how much of a prompt is found again.",
        "Blocks of {val:blocks.block_size.sizes.4} leave {val:blocks.block_size.empty_slots.4|.1f} slots of a request empty and"
        " find {val:blocks.block_size.found_share.4|%} of the prompts again; blocks of {val:blocks.block_size.sizes.6} leave"
        " {val:blocks.block_size.empty_slots.6|.1f} empty and find none.",
        options={"part": "sizes"},
    ),
    Figure(
        "shared-prompt",
        "learn/sharing",
        "story",
        "Three questions after one instruction, and the blocks that they share.",
        "The three prompts have {val:sharing.saved.tokens.without} tokens; {val:sharing.saved.tokens.with} are computed, and"
        " {val:sharing.saved.blocks.with} blocks are held instead of {val:sharing.saved.blocks.without}.",
        state={"action": 3},
        options={"story": "prompt", "prompts": ["cat"]},
    ),
    Figure(
        "hash-chain",
        "learn/sharing",
        "chain",
        "The blocks of two prompts and their chained hashes.",
        "Where one word of the question is another, {val:sharing.chains.of.japan.hits} blocks are found and none after them,"
        " although the last full block holds the same tokens.",
        state={"prompt": "japan"},
    ),
    Figure(
        "what-is-shared",
        "learn/sharing",
        "changes",
        "How far the rows of two prompts are apart that differ in one token.",
        "Before position {val:sharing.rows.question.first} the rows agree to within"
        " {val:sharing.rows.question.before_bound|sci}; from there on, in every layer but the first, they are apart by at"
        " least {val:sharing.rows.question.least_after|sci}.",
        state={"change": "question"},
    ),
    Figure(
        "copy-on-write",
        "learn/sharing",
        "story",
        "A fork inside a block, and the copy at the first write.",
        "A writes first, so {val:sharing.copy.tokens} rows of block {val:sharing.copy.source} are copied to block"
        " {val:sharing.copy.target}: {val:sharing.copy.bytes.float32|bytes}. B then writes in place.",
        options={"story": "copy", "prompts": ["cat"]},
    ),
    Figure(
        "timeline",
        "learn/many-requests",
        "timeline",
        "Eight requests on a server with {val:many-requests.runs.static.slots} slots: two schedules on one scale of time.",
        "With static batching the last reply ends after {val:many-requests.runs.static.totals.end_ms|.0f} ms and"
        " {val:many-requests.runs.static.totals.idle_share|%} of the slots’ time is spent on replies that are finished; with"
        " continuous batching it ends after {val:many-requests.runs.whole.totals.end_ms|.0f} ms.",
    ),
    Figure(
        "short-pool",
        "learn/many-requests",
        "timeline",
        "A pool that runs out: requests give up their blocks and return.",
        "{val:many-requests.pool.recompute.totals.preemptions} of {val:many-requests.example.short_requests} requests are"
        " preempted. By recompute {val:many-requests.pool.recompute.totals.tokens_again} tokens are computed a second time,"
        " and the last reply ends after {val:many-requests.pool.recompute.totals.end_ms|.0f} ms; by swap after"
        " {val:many-requests.pool.swap.totals.end_ms|.0f} ms.",
        options={"part": "pool"},
    ),
    Figure(
        "waits",
        "learn/many-requests",
        "waits",
        "How long {val:many-requests-grid.trace.requests} readers wait, under each schedule, anywhere on a grid of runs.",
        "At {val:many-requests-grid.example.requests_per_second} requests a second and"
        " {val:many-requests-grid.example.token_budget} tokens a step {val:many-requests-grid.example.itl_share|%} of the gaps"
        " between tokens are at most {val:many-requests-grid.example.budgets.512.itl_ms|.1f} ms, with whole prompts"
        " {val:many-requests-grid.example.budgets.whole.itl_ms|.0f} ms.",
        state={"requests_per_second": 40, "token_budget": 512, "pool_tokens": 16_384, "block_tokens": 16},
    ),
    Figure(
        "rounds",
        "measure/method",
        "samples",
        "Samples in the order in which they were taken: three things in turns, round by round.",
        UNMEASURED,
        options={"part": "rounds"},
        measured=("budget",),
        finding="rounds",
    ),
    Figure(
        "device-matrices",
        "measure/devices",
        "roofs",
        "What a device does at most, and the model’s matrices alone for one row and for many.",
        UNMEASURED,
        options={"part": "products"},
        measured=("ceilings", "products"),
        finding="matrices",
    ),
    Figure(
        "predicted-measured",
        "measure/predicted",
        "agreement",
        "Every prediction against the time that was measured.",
        UNMEASURED,
        measured=("prefill",),
        finding="predicted",
    ),
    Figure(
        "prefill-time",
        "measure/predicted",
        "times",
        "Time of a prefill against the length of its prompt: measured, and predicted.",
        UNMEASURED,
        options={"part": "prefill"},
        measured=("prefill",),
        finding="prefill",
    ),
    Figure(
        "decode-time",
        "measure/predicted",
        "times",
        "Time of a decode step against its context: a cache in place, one that is copied, and none.",
        UNMEASURED,
        options={"part": "decode"},
        measured=("decode",),
        finding="decode",
    ),
    Figure(
        "cache-pays",
        "measure/predicted",
        "ratios",
        "How many times as long the newest token takes when everything before it is computed again.",
        UNMEASURED,
        options={"part": "pays"},
        measured=("pays",),
        finding="pays",
    ),
    Figure(
        "paged-time",
        "measure/predicted",
        "times",
        "Time of a decode step with rows in place and with rows in blocks.",
        UNMEASURED,
        options={"part": "paged"},
        measured=("paged",),
        finding="paged",
    ),
    Figure(
        "batch-time",
        "measure/predicted",
        "times",
        "Time of a decode step against the sequences that share it.",
        UNMEASURED,
        options={"part": "batch"},
        measured=("batch",),
        finding="batch",
    ),
    Figure(
        "beside-transformers",
        "measure/predicted",
        "ratios",
        "How many times kvref’s time transformers takes for the same work.",
        UNMEASURED,
        options={"part": "others"},
        measured=("others",),
        finding="others",
    ),
    Figure(
        "decode-budget",
        "measure/predicted",
        "samples",
        "Every sample of the time of a token: the matrix products alone, kvref, transformers.",
        UNMEASURED,
        measured=("budget",),
        finding="budget",
    ),
    Figure(
        "measured-roofline",
        "learn/bound",
        "roofs",
        "The roofline of a device that was measured, with prefills and decode steps as they ran.",
        UNMEASURED,
        options={"part": "passes"},
        measured=("ceilings", "prefill", "batch"),
        finding="passes",
    ),
)
