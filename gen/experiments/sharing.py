"""Blocks that several requests hold: prompts with the same beginning, hits and misses, the copy at the first write.

Who holds what is `kvref.plan.manager`'s, told action by action; what is in the blocks is the real model's, by
`gen.experiments.shared_rows`. The first question is the one of the recording `chat`; the others are made by the same
template and tokenizer. Where a token is replaced, it is so that all positions stay as they were.
"""

from collections.abc import Sequence
from typing import Any

import torch

from gen.experiments.chains import chains, found_by_size
from gen.experiments.context import FP16, Context
from gen.experiments.recording import INSTRUCTION, QUESTION, REPEAT_PROMPT
from gen.experiments.shared_rows import apart, copied, fork_after, hit, size_bytes
from gen.experiments.story import Source, Story
from gen.records import Record
from kvref import ContiguousCache, decode_step, greedy, prefill
from kvref.plan.cost import step_cost
from kvref.plan.manager import KVManager

BLOCK_TOKENS = 4
QUESTIONS = {"france": QUESTION, "hamlet": "Who wrote Hamlet?", "japan": "What is the capital of Japan?"}
ROOM = "nfrance.nhamlet.njapan.dA.dA"  # fills the pool: it is made so large
REST = "eA.nfrance.eB.eC.nrepeat"
REPLY_TOKENS = 2  # of the first request, that ROOM decodes
COPY_STEPS = 3  # before the fork, as in the pool that the reader drives
COPY_SLOTS = 32
MANY_BLOCKS = 4096
MIDDLE, INSTEAD, FIRST = " few", " dozen", "\n"


def records(context: Context) -> list[Record]:
    """The record `sharing`."""
    prompts = {name: _prompt(context, question) for name, question in QUESTIONS.items()}
    variants = _variants(context, prompts)
    values = {
        "block_tokens": BLOCK_TOKENS,
        "instruction": INSTRUCTION,
        "questions": QUESTIONS,
        "sequences": _sequences(context, prompts),
        "stories": {"prompt": _prompt_story(context, prompts), "copy": _copy_story(context)},
        "saved": _saved(context, prompts),
        "hit": hit(context, prompts["france"], prompts["hamlet"], BLOCK_TOKENS),
        "found_by_size": found_by_size(prompts),
        "chains": chains(prompts, _changed(context, prompts["france"])[1], context.text.piece, BLOCK_TOKENS),
        "copy": copied(context, _copy_blocks(context), BLOCK_TOKENS, fork_after(context.main, BLOCK_TOKENS, COPY_STEPS)),
        "rows_order": list(variants),
        "rows": {name: apart(context, prompts["france"], ids, words) for name, (words, ids) in variants.items()},
    }
    what = (
        "Prompts that begin alike, as kvref's manager shares their blocks, action by action; the hashes that find them; rows "
        "of the real model through shared and copied blocks, and rows of prompts in which one token is another"
    )
    return [context.record("sharing", "learn/sharing", what, values)]


def _prompt(context: Context, question: str) -> list[int]:
    text = context.text.chat(question, INSTRUCTION) or f"{INSTRUCTION}\nQuestion: {question}\nAnswer:"
    return context.text.encode(text)


def _reply(context: Context, ids: list[int]) -> list[int]:
    """The likeliest next tokens, an end token among them."""
    cache, found = ContiguousCache(context.config, len(ids) + REPLY_TOKENS), list[int]()
    with torch.inference_mode():
        logits = prefill(context.transformer, cache, ids)
        for _ in range(REPLY_TOKENS):
            top = torch.topk(logits, 2).values
            context.require_margin(float(top[0] - top[1]), "the choice of a token of the shared prompt's reply")
            found.append(greedy(logits))
            logits = decode_step(context.transformer, cache, found[-1])
    return found


def _sequences(context: Context, prompts: dict[str, list[int]]) -> list[dict[str, Any]]:
    """The texts of the story as tokens: prompts, and of the first one the beginning of its reply."""
    replies = {"france": _reply(context, prompts["france"])}
    all_of = {**prompts, "repeat": context.text.encode(REPEAT_PROMPT)}
    labels = {**QUESTIONS, "repeat": REPEAT_PROMPT}
    return [
        {
            "name": name,
            "label": f"“{labels[name]}”",
            "prompt_tokens": len(ids),
            "tokens": [{"id": one, "text": context.text.piece(one)} for one in [*ids, *replies.get(name, [])]],
        }
        for name, ids in all_of.items()
    ]


# --- told by the manager -------------------------------------------------------------------------------------------------


def _told(design: str, blocks: int, script: str, sources: dict[str, Source], names: Sequence[str]) -> dict[str, Any]:
    story = Story(KVManager(blocks, BLOCK_TOKENS, design=design), sources)
    actions = story.play(script)
    return {
        "design": design,
        "blocks": blocks,
        "block_tokens": BLOCK_TOKENS,
        "slots": blocks * BLOCK_TOKENS,
        "script": story.script,
        "names": list(names),
        "actions": actions,
    }


def _prompt_story(context: Context, prompts: dict[str, list[int]]) -> dict[str, Any]:
    """Three questions after one instruction in a pool that they just fill; then one comes again, and a stranger."""
    sources = {
        one["name"]: Source([token["id"] for token in one["tokens"]], one["prompt_tokens"])
        for one in _sequences(context, prompts)
    }
    trial = Story(KVManager(MANY_BLOCKS, BLOCK_TOKENS), sources)
    trial.play(ROOM)
    return _told("full-blocks", trial.manager.pool.used_blocks, f"{ROOM}.{REST}", sources, list(sources))


def _copy_story(context: Context) -> dict[str, Any]:
    """A fork inside a block, and two tokens that part there: what the model chose, and what it found second best."""
    trace = context.main
    second = {trace.prompt_tokens + step: int(torch.topk(row, 2).indices[1]) for step, row in enumerate(trace.logits)}
    sources = {"cat": Source(trace.ids, trace.prompt_tokens, second)}
    steps = max(0, fork_after(trace, BLOCK_TOKENS, COPY_STEPS) - trace.prompt_tokens)
    script = ".".join(["ncat", *["dA"] * steps, "fA", "dA", "wB"])
    return _told("copy-on-write", _copy_blocks(context), script, sources, ["cat"])


def _copy_blocks(context: Context) -> int:
    """Room for the prompt, the steps, and a copy."""
    return max(COPY_SLOTS // BLOCK_TOKENS, -(-(context.main.prompt_tokens + COPY_STEPS + 1) // BLOCK_TOKENS) + 2)


def _saved(context: Context, prompts: dict[str, list[int]]) -> dict[str, Any]:
    """The three questions with shared blocks and without: tokens computed, blocks held, bytes, FLOPs by formula."""
    manager = KVManager(MANY_BLOCKS, BLOCK_TOKENS)
    found = {}
    for name, ids in prompts.items():
        found[name] = manager.admit(name, ids)
        manager.append(name, ids[found[name] :])
        manager.confirm(name, len(ids))
    tokens = sum(map(len, prompts.values()))
    shared = sum(found.values())
    alone = sum(-(-len(ids) // BLOCK_TOKENS) for ids in prompts.values())
    with_flops, without_flops = (
        sum(step_cost(context.config, [(start, len(ids) - start, True)], FP16).flops for start, ids in pieces)
        for pieces in ([(found[name], ids) for name, ids in prompts.items()], [(0, ids) for ids in prompts.values()])
    )
    return {
        "requests": len(prompts),
        "prompt_tokens": {name: len(ids) for name, ids in prompts.items()},
        "cached_tokens": found,
        "tokens": {"without": tokens, "with": tokens - shared, "shared": shared},
        "blocks": {"without": alone, "with": manager.pool.used_blocks, "shared": alone - manager.pool.used_blocks},
        "bytes": size_bytes(context.config, shared),
        "token_bytes": size_bytes(context.config, 1),
        "flops": {"without": without_flops, "with": with_flops, "share": 1 - with_flops / without_flops},
    }


# --- the other prompts ---------------------------------------------------------------------------------------------------


def _changed(context: Context, ids: list[int]) -> tuple[list[int], list[int]]:
    """The prompt with one token of its instruction replaced, and with its first one replaced."""
    (few,), (instead,), (first,) = (context.text.encode(text)[-1:] for text in (MIDDLE, INSTEAD, FIRST))
    at = ids.index(few) if few in ids else len(ids) // 3
    return [*ids[:at], instead, *ids[at + 1 :]], [first, *ids[1:]]


def _variants(context: Context, prompts: dict[str, list[int]]) -> dict[str, tuple[str, list[int]]]:
    middle, first = _changed(context, prompts["france"])
    return {
        "question": ("another word in the question", prompts["japan"]),
        "instruction": ("another word in the instruction", middle),
        "first": ("another first token", first),
    }
