"""Measurements that nobody took, in the form of real ones: to see that a page fills in by itself. They are never data.

The numbers follow simple rules, so that a test can say what a page must show.
"""

import statistics
from pathlib import Path
from typing import Any

from gen import io, manifest
from gen.paths import DEFAULT_MODEL, Site

READ, COPY, FLOPS = 16e9, 14e9, 150e9
WEIGHTS = 538_000_000
ROW = 46_080  # bytes of cache a token
CONTEXTS = (16, 128, 512, 1024, 2048, 4096)
PROMPTS = (16, 64, 256, 512, 1024, 2048)
CPU = {
    "date": "2026-11-29", "machine": "Linux x86_64", "python": "3.11.7", "torch": "2.13.0+cpu", "transformers": "5.24.0",
    "name": "Made-up CPU 7 @ 2.20GHz", "cores": 2, "threads": 2, "instructions": "AVX512", "memory_bytes": 25_276_502_016,
    "cache_bytes": 33_554_432, "load_at_start": 0.1,
}  # fmt: skip
GPU = {
    "date": "2026-12-01", "machine": "Linux x86_64", "python": "3.11.7", "torch": "2.13.0+cu130", "name": "Made-up GPU 9",
    "threads": 8, "multiprocessors": 132, "capability": "9.0", "cuda": "13.0", "memory_bytes": 151_000_000_000,
    "cache_bytes": 52_428_800,
}  # fmt: skip


def timing(ms: float, spread: float = 1.06, rounds: int = 8) -> dict[str, Any]:
    """Samples around a minimum, their median `spread` times as large."""
    step = 2 * (spread - 1) / (rounds - 1)
    samples = [round(ms * (1 + step * n), 9) for n in range(rounds)]
    least, middle = min(samples), statistics.median(samples)
    return {
        "samples_ms": samples, "min_ms": least, "median_ms": middle, "max_ms": max(samples),
        "spread": middle / least, "dropped": 0,
    }  # fmt: skip


def ratio(value: float, bound: float | None = None, verdict: bool | None = None, lopsided: bool = False) -> dict[str, Any]:
    return {
        "of_minima": value, "median_of_pairs": value * 1.01, "lowest": value * 0.93, "highest": value * 1.2, "bound": bound,
        "verdict": None if lopsided else verdict, "lopsided": lopsided,
    }  # fmt: skip


def point(ms: float, flops: float, moved: float, copied: float = 0, scale: float = 1) -> dict[str, Any]:
    """A pass beside its prediction."""
    read, peak = READ * scale, FLOPS * scale
    predicted = 1e3 * max(flops / peak, moved / read) + 2e3 * copied / COPY
    error = 100 * (predicted - ms) / ms
    parts = {"products": timing(ms * 0.8), "attention": timing(ms * 0.05)} | ({"copies": timing(ms * 0.1)} if copied else {})
    return {
        "measured": timing(ms), "parts": parts,
        "predicted": {
            "ms": predicted, "limited_by": "memory" if moved / read > flops / peak else "compute", "flops": int(flops),
            "bytes": int(moved), "kv_bytes": int(moved - WEIGHTS), "copied_bytes": int(copied), "flops_per_second": peak,
            "bytes_per_second": read, "copied_bytes_per_second": COPY * scale,
        },
        "error_percent": error, "why": None if abs(error) <= 20 else "products" if error < 0 else "held-in-caches",
        "intensity": flops / moved, "flops_per_second": 1e3 * flops / ms, "bytes_per_second": 1e3 * moved / ms,
    }  # fmt: skip


def step(tokens: int, batch: int = 1) -> tuple[float, float]:
    """Operations and bytes of a decode step."""
    return batch * (2.7e8 + 69_000 * tokens), WEIGHTS + batch * ROW * tokens


def prompt(tokens: int) -> tuple[float, float]:
    return tokens * 2.1e8 + 3.4e4 * tokens**2, WEIGHTS + ROW * tokens


def _decode_at(tokens: int) -> dict[str, Any]:
    flops, moved = step(tokens)
    least = 1e3 * moved / READ
    found = {
        "contiguous": point(least * 1.15, flops, moved),
        "concat": point(least * 1.2 + 4e-3 * tokens, flops, moved, copied=ROW * tokens),
        "concat_ratio": ratio(1.05 + tokens / 8000),
    }
    if tokens <= 1024:
        whole = 1e3 * prompt(tokens)[0] / FLOPS
        found |= {"none": point(max(whole * 1.4, least * 1.3), *prompt(tokens)), "none_ratio": ratio(max(1.1, whole / least))}
    return found


def _paged_at(tokens: int) -> dict[str, Any]:
    flops, moved = step(tokens)
    least = 1e3 * moved / READ * 1.15
    factors = {"contiguous": 1.0, "paged": 1.04, "shuffled": 1.08, "gathered": 1.4}
    found: dict[str, Any] = {name: point(least * factor, flops, moved) for name, factor in factors.items()}
    for name, factor in list(factors.items())[1:]:
        found[f"{name}_ratio"] = ratio(factor)
        found[f"{name}_attention_ratio"] = ratio(factor + 0.03, 1.15, factor < 1.12)
    return found | {"blocks": -(-tokens // 16), "tail_tokens": -tokens % 16, "tail_bytes": -tokens % 16 * ROW}


def processor(busy: bool = False) -> dict[str, dict[str, Any]]:
    """The values of every record of a CPU: kind -> values. On a busy one no verdict is given."""
    form = {"dtype": "float32", "bytes_per_number": 4}
    batches = {str(batch): _batched(256, batch) for batch in (1, 2, 4, 8)}
    firsts = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
    return {
        "ceilings": ceilings("float32"),
        "products": form | products((1, 8, 64, 512)),
        "prefill": form | {"tokens": list(PROMPTS), "left_out": [], "at": {
            str(tokens): point(1e3 * prompt(tokens)[0] / FLOPS * 1.35 + 40, *prompt(tokens)) | {"tokens_per_second": 90.0}
            for tokens in PROMPTS
        }},
        "decode": form | {
            "contexts": list(CONTEXTS), "lanes": ["contiguous", "concat", "none"], "steps_per_sample": 4,
            "recomputed_contexts": [tokens for tokens in CONTEXTS if tokens <= 1024],
            "at": {str(tokens): _decode_at(tokens) for tokens in CONTEXTS},
        },
        "pays": form | {
            "contexts": list(firsts), "pays_from_ratio": 1.1, "from_tokens": None if busy else 6,
            "at": {str(n): {"with": timing(38), "without": timing(38 + 0.9 * n), "ratio": ratio(0.96 + n / 40, lopsided=busy)}
                   for n in firsts},
            "one_token": {"prompt_tokens": 256, "with": timing(400), "without": timing(398), "ratio": ratio(0.995)},
        },
        "paged": form | {
            "block_tokens": 16, "contexts": [128, 1000, 4096], "at": {str(n): _paged_at(n) for n in (128, 1000, 4096)},
            "lanes": ["contiguous", "paged", "shuffled", "gathered"], "packed_context": 256, "packed": {
                str(n): {"fixed": timing(39 + n), "packed": timing(40 + n), "packed_ratio": ratio(1.02)} for n in (1, 8)
            },
        },
        "batch": form | {"contexts": [256], "batches": {"256": [1, 2, 4, 8]}, "at": {"256": batches}, "left_out": [
            {"context_tokens": 256, "batch": 16, "kv_bytes": 1, "why": "no-time"}]},
        "memory": form | {
            "tokens": 4096, "counted_by": "resident memory of the process",
            "weights": {"predicted_bytes": WEIGHTS, "tensor_bytes": WEIGHTS + 500, "error_percent": -9e-05},
            "caches": {
                "contiguous-float32": _held(188_743_680, 188_743_680), "contiguous-bfloat16": _held(94_371_840, 94_900_000),
                "concat-float32": _held(188_743_680, None),
                "paged-float32": _held(188_743_680, 201_000_000, "allocator-keeps-more"),
            },
        },
        "others": form | {
            "contexts": [16, 512, 2048], "prompts": [16, 512, 2048], "lanes": ["kvref", "dynamic", "static"],
            "decode": {str(n): {"kvref": timing(39), "dynamic": timing(70), "static": timing(80), "dynamic_ratio": ratio(1.8),
                                "static_ratio": ratio(2.05)} for n in (16, 512, 2048)},
            "prefill": {str(n): {"kvref": timing(n * 1.9), "dynamic": timing(n * 2.2), "dynamic_ratio": ratio(1.16)}
                        for n in (16, 512, 2048)},
        },
        "budget": form | {
            "prompt_tokens": 5, "reply_tokens": 16, "products": timing(36, rounds=16), "kvref": timing(41, rounds=16),
            "transformers": timing(72, 1.7 if busy else 1.06, rounds=16), "products_share": ratio(36 / 41, 0.8, True),
            "speedup": ratio(72 / 41, 1.4, True, lopsided=busy),
        },
    }  # fmt: skip


def gpu() -> dict[str, dict[str, Any]]:
    """The values of records of a GPU, by id."""
    form = {"dtype": "bfloat16", "bytes_per_number": 2}
    found: dict[str, dict[str, Any]] = {"ceilings": ceilings("bfloat16", 250), "tensors": {
        "layers": 2, "prompt_tokens": 5, "steps": 3, "dtype": "float32", "tolerance_of_largest": 1e-4, "agree": True,
        "compared": {"k": {"numbers": 99, "largest": 3.0, "largest_difference": 3e-6, "of_largest": 1e-6}},
    }}  # fmt: skip
    for model in ("gpt2-small", "llama-3-8b"):
        contexts, sizes = (256, 4096), (1, 8, 64, 256)
        at = {str(n): {str(b): _batched(n, b, 250) for b in sizes} for n in contexts}
        found[f"products-{model}"] = form | products((1, 64, 4096), 250)
        found[f"batch-{model}"] = form | {
            "contexts": list(contexts), "batches": {str(n): list(sizes) for n in contexts}, "at": at, "left_out": [],
        }  # fmt: skip
        long = {str(n): point(1e3 * prompt(n)[0] / FLOPS / 275, *prompt(n), scale=250) for n in (512, 4096)}
        found[f"prefill-{model}"] = form | {
            "tokens": [512, 4096], "left_out": [{"tokens": 32768, "needed_bytes": 1, "why": "no-room"}],
            "at": {n: one | {"tokens_per_second": 90.0} for n, one in long.items()},
        }  # fmt: skip
    return found


def ceilings(dtype: str, scale: float = 1) -> dict[str, Any]:
    return {
        "moved_bytes": 2**28, "read": {"by": "dot", "bytes_per_second": READ * scale, "sum": timing(20), "dot": timing(33)},
        "copy": {"bytes_per_second": COPY * scale, "measured": timing(38)},
        "products": {dtype: {"size": 2048, "flops_per_second": FLOPS * scale, "measured": timing(114)}},
    }  # fmt: skip


def products(rows: tuple[int, ...], scale: float = 1) -> dict[str, Any]:
    def at(count: int) -> dict[str, Any]:
        flops = 2.7e8 * count
        ms = max(1e3 * flops / FLOPS * 1.25, 1e3 * WEIGHTS / READ * 1.05) / scale
        return {
            "measured": timing(ms), "flops": int(flops), "flops_per_second": 1e3 * flops / ms,
            "bytes_per_second": 1e3 * WEIGHTS / ms, "of_peak": 1e3 * flops / ms / FLOPS / scale,
            "of_bandwidth": 1e3 * WEIGHTS / ms / READ / scale,
        }  # fmt: skip

    facts = {"matrices": 121, "weight_bytes": WEIGHTS, "layout": "in-out", "rows": list(rows)}
    return facts | {"at": {str(count): at(count) for count in rows}}


def _batched(tokens: int, batch: int, scale: float = 1) -> dict[str, Any]:
    flops, moved = step(tokens, batch)
    ms = 1e3 * max(flops / FLOPS, moved / READ) * 1.12 / scale
    return point(ms, flops, moved, scale=scale) | {"tokens_per_second": 1e3 * batch / ms}


def _held(predicted: int, device: int | None, why: str | None = None) -> dict[str, Any]:
    error = None if device is None else 100 * (predicted - device) / device
    return {
        "predicted_bytes": predicted, "tensor_bytes": predicted, "error_percent": 0.0, "device_bytes": device,
        "device_error_percent": error, "device_why": why,
    }  # fmt: skip


def write(folder: Path, slug: str, about: dict[str, Any], records: dict[str, dict[str, Any]]) -> None:
    """Files of a device, as `gen measure` would leave them."""
    for id, values in records.items():
        kind, _, model = id.partition("-")
        on_gpu = "multiprocessors" in about
        of = model or None if on_gpu else None if kind == "ceilings" else DEFAULT_MODEL
        trained = of == DEFAULT_MODEL
        identity = {
            "what": f"{kind}, made up", "page": "measure/predicted", "command": "python -m gen measure --device cpu",
            "kind": kind, "device": slug, "model": of, "revision": "r" if of else None,
            "weights_sha256": "b179c952" if trained else None, "seed": 0 if of and not trained else None, "quick": False,
        }  # fmt: skip
        io.write(folder / slug / f"{id}.json", io.canonical({"environment": about, "identity": identity, "values": values}))


def publish(site: Site, slug: str = "made-up-cpu", busy: bool = False, *, graphics: bool = False) -> None:
    """Put a device among the published data of a site."""
    write(site.data / "measured", slug, GPU if graphics else CPU, gpu() if graphics else processor(busy))
    manifest.write(site, {name: io.file_sha256(path) for name, path in manifest.recordings(site).items()})
