"""Cases for the page's calculator with Python's answers: `python tests/js/memory_vectors.py` writes them anew.

Seeded, so the same code gives the same file; a test says when it is stale. Whole numbers that a double cannot hold are
strings, fractions are "n/d", sentences and formulas stand as the first digits of their hash.
"""

import hashlib
import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

from gen import geometry, words
from kvref.plan import config_json, memory
from kvref.plan.geometry import Geometry

FILE = Path(__file__).with_name("memory-vectors.json")
SIZES, CONFIGS = 1100, 280
BLOCKS = (1, 1, 1, 8, 16, 32, 64, 128, 256)
RANKS = (1, 1, 1, 1, 2, 3, 4, 8, 16, 32)
FAMILIES = ("gpt2", *config_json.LLAMA_LIKE, *config_json.LATENT, None)


def made() -> dict[str, Any]:
    """All cases. The order of the random numbers is part of the format."""
    draw = random.Random(20260929)
    return {"sizes": [_size(draw) for _ in range(SIZES)], "configs": [_config(draw) for _ in range(CONFIGS)]}


def text() -> str:
    """The file: a case a line, so that changes can be read."""
    lists = [f'"{name}":[\n' + ",\n".join(map(_compact, cases)) + "\n]" for name, cases in made().items()]
    return "{" + ",\n".join(lists) + "}\n"


def digest(said: str) -> str:
    """The first digits of a text's hash."""
    return hashlib.sha256(said.encode()).hexdigest()[:8]


def _size(draw: random.Random) -> list[Any]:
    """[model, tokens, batch, dtype, block, ranks, GiB, weight bits, answer or sentence]."""
    name = draw.choice(list(geometry.rows()))
    tokens, batch = int(2 ** draw.uniform(0, 21)), int(2 ** draw.uniform(0, 9))
    dtype, block, ranks = draw.choice(list(memory.FORMATS)), draw.choice(BLOCKS), draw.choice(RANKS)
    gib, bits = draw.choice((16, 24, 80, 141, 1024)), draw.choice((4, 8, 16))
    asked = [name, tokens, batch, dtype, block, ranks, gib, bits]
    model, stored = geometry.geometry(geometry.rows()[name]), memory.FORMATS[dtype]
    try:
        size = memory.cache_size(model, tokens, batch=batch, stored=stored, block_tokens=block, ranks=ranks)
    except ValueError as refused:
        return [*asked, str(refused)]
    token, later = (memory.bytes_per_token(model, stored, ranks, windows_full=full) for full in (False, True))
    weights = memory.weight_bytes(model.parameters, bits, ranks) if model.parameters else None
    fit = memory.requests_that_fit(gib * memory.GIB, weights, size.request_bytes) if weights else None
    product = words.formula(size, model, tokens, stored, ranks)
    said = [
        product,
        *words.layers(model),
        *words.warnings(model, tokens, ranks),
        words.both(size.request_bytes),
        words.both(token),
    ]
    return [
        *asked,
        [
            _number(size.bytes),
            _fraction(size.request_bytes),
            _fraction(token),
            _fraction(later),
            weights,
            fit,
            digest("\n".join(said)),
        ],
    ]


def _config(draw: random.Random) -> list[Any]:
    """[config, answer or sentence]; about a third of them are spoilt."""
    raw = _gpt2(draw) if (family := draw.choice(FAMILIES)) == "gpt2" else _llama(draw, family)
    if draw.random() < 0.35:
        key = draw.choice([key for key in raw if key != "model_type"])
        raw[key] = draw.choice((None, 0, -3, "12", 7, 2.5, [], 10**13, "false", True))
    try:
        model = config_json.from_config(raw)
    except ValueError as refused:
        return [raw, str(refused).removeprefix("config.json: ").partition(", got ")[0]]
    return [raw, _described(model)]


def _gpt2(draw: random.Random) -> dict[str, Any]:
    heads = draw.choice((6, 12, 16, 25))
    raw = {"model_type": "gpt2", "n_layer": draw.randint(1, 48), "n_head": heads, "n_embd": heads * 64, "n_positions": 1024}
    return raw | {"vocab_size": 50257} if draw.random() < 0.7 else raw


def _llama(draw: random.Random, family: str | None) -> dict[str, Any]:
    heads = draw.choice((4, 8, 16, 32, 40, 64))
    layers = draw.randint(1, 80)
    raw: dict[str, Any] = {
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "hidden_size": heads * draw.choice((64, 80, 100, 128)),
    }
    if family:
        raw["model_type"] = family
    maybe = {
        "num_key_value_heads": draw.choice((1, 2, 4, 8, heads)),
        "head_dim": draw.choice((64, 96, 128, 256)),
        "max_position_embeddings": draw.choice((2048, 8192, 131072)),
        "sliding_window": draw.choice((128, 512, 4096)),
        "use_sliding_window": draw.random() < 0.5,
        "max_window_layers": draw.randint(0, layers),
        "sliding_window_pattern": draw.randint(2, 8),
        "tie_word_embeddings": draw.random() < 0.5,
    }
    raw |= {key: value for key, value in maybe.items() if draw.random() < 0.6}
    raw |= {key: draw.random() < 0.8 for key in ("attention_bias", "mlp_bias") if draw.random() < 0.15}
    if draw.random() < 0.5:
        raw |= {"intermediate_size": 256 * draw.randint(8, 64), "vocab_size": draw.choice((32000, 128256))}
    if family in config_json.LATENT or (family is None and draw.random() < 0.3):
        raw |= {"kv_lora_rank": draw.choice((256, 512)), "qk_rope_head_dim": 64}
        raw |= {"index_head_dim": 128} if family == "deepseek_v32" else {}
    elif draw.random() < 0.15 and layers <= 12:
        raw["layer_types"] = [draw.choice(("full_attention", "sliding_attention")) for _ in range(layers)]
    return raw


def _described(model: Geometry) -> list[Any]:
    groups = [[g.layers, g.kv_heads, g.key_dim, g.value_dim, g.latent, g.window] for g in model.groups]
    return [model.layers, model.query_heads, groups, model.parameters, model.max_positions, *([True] if model.guessed else [])]


def _number(value: int) -> int | str:
    return value if value < 2**53 else str(value)


def _fraction(value: Fraction) -> int | str:
    return f"{value.numerator}/{value.denominator}" if value.denominator > 1 else _number(value.numerator)


def _compact(case: list[Any]) -> str:
    return json.dumps(case, separators=(",", ":"), ensure_ascii=False)


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    print(f"{SIZES + CONFIGS} cases, {FILE.stat().st_size:,} bytes")
