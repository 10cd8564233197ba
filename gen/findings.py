"""Sentences that measurements make true: captions of figures and claims of pages, from the first device that was measured.

A sentence holds keys (`{val:…}`), never values, and says what the record says, whatever that is; before there is a record
there is no sentence. `{is:…}` stands around a name, or a number counted over several keys. Knows no HTML.
"""

from collections.abc import Callable
from typing import Any

from gen import devices
from gen.artefacts import Figure
from gen.errors import UserError
from gen.scenes import LARGE_PERCENT, Scene, points, said, sequences, tokens
from gen.tables import Records


def sentence(name: str, records: Records) -> str | None:
    """A sentence by its name; None while nothing is measured that it is about. Raises UserError for an unknown name."""
    if name not in SENTENCES:
        raise UserError(f"there is no sentence {name!r} in gen/findings.py; known: {', '.join(SENTENCES)}.")
    kinds, say = SENTENCES[name]
    scenes = [Scene(records, entry) for entry in devices.offered(records.devices, kinds)]
    return say(scenes[0]) if scenes else None


def of(row: Figure, records: Records) -> str:
    """What a figure shows, in a sentence."""
    return (sentence(row.finding, records) if row.finding else None) or row.alt


# --- sentences ---------------------------------------------------------------------------------------------------------


def _predicted(scene: Scene) -> str:
    found = list(points(scene))
    near = sum(abs(one.point["error_percent"]) <= LARGE_PERCENT for one in found)
    far = max(found, key=lambda one: abs(one.point["error_percent"]))
    return (
        f"On {scene.who}, {said(near)} of {said(len(found))} predictions are within {said('20 %')} of the fastest time"
        f" that was measured; the largest error is {scene.key(far.kind, f'{far.path}.error_percent', 'percent')},"
        f" for a {far.words}."
    )


def _both(scene: Scene) -> str:
    prompt, context = scene.values("prefill")["tokens"][-1], scene.values("decode")["contexts"][-1]
    one, step = f"at.{prompt}", f"at.{context}.contiguous"
    return (
        f"On {scene.who}, a prefill of {tokens(prompt)} took {scene.key('prefill', f'{one}.measured.min_ms')} where at least"
        f" {scene.key('prefill', f'{one}.predicted.ms')} were predicted, a decode step at {tokens(context)}"
        f" {scene.key('decode', f'{step}.measured.min_ms')} where it was {scene.key('decode', f'{step}.predicted.ms')}."
    )


def _roof(scene: Scene) -> str:
    return (
        f"The devices above are drawn from their vendors’ numbers, and what lies on their roofs are bounds. On {scene.who} the"
        " roof itself was measured, and the points are passes as they ran."
    )


def _prefill(scene: Scene) -> str:
    last = scene.values("prefill")["tokens"][-1]
    return (
        f"A prompt of {tokens(last)} takes {scene.key('prefill', f'at.{last}.measured.min_ms')} on {scene.who};"
        f" the prediction is {scene.key('prefill', f'at.{last}.predicted.ms')}."
    )


def _decode(scene: Scene) -> str:
    values = scene.values("decode")
    both = values["recomputed_contexts"] or values["contexts"]
    at = f"at.{both[-1]}"
    without = f", with none {scene.key('decode', f'{at}.none.measured.min_ms')}" if values["recomputed_contexts"] else ""
    end = f"at.{values['contexts'][-1]}"
    last = f"{end}.concat.predicted.copied_bytes"
    return (
        f"At {tokens(both[-1])} a step takes {scene.key('decode', f'{at}.contiguous.measured.min_ms')} with a cache that stays"
        f" in place, {scene.key('decode', f'{at}.concat.measured.min_ms')} with one that is copied{without}; at"
        f" {tokens(values['contexts'][-1])} each step copies {scene.key('decode', last, 'MiB')} and takes"
        f" {scene.key('decode', f'{end}.concat_ratio.of_minima', '.2f')} times as long as in place"
        f" ({_pairs(scene, 'decode', f'{end}.concat_ratio')}). Measured on {scene.who}."
    )


def _attention(scene: Scene) -> str:
    """How far the attention of a step over rows in place lies from the read bandwidth."""
    values = scene.values("decode")
    context = values["contexts"][-1]
    at = f"at.{context}.contiguous"
    point = values["at"][str(context)]["contiguous"]
    least = 1e3 * point["predicted"]["kv_bytes"] / point["predicted"]["bytes_per_second"]
    share = 100 * least / point["parts"]["attention"]["min_ms"]
    return (
        f"On {scene.who}, attention alone takes {scene.key('decode', f'{at}.parts.attention.min_ms')} of the"
        f" {scene.key('decode', f'{at}.measured.min_ms')} of a step at {tokens(context)} in place. Its"
        f" {scene.key('decode', f'{at}.predicted.kv_bytes', 'MiB')} of K and V would take {said(f'{least:.3g} ms')} at the"
        f" measured bandwidth, so it reads at {said(f'{share:.0f} %')} of that."
    )


def _few(scene: Scene) -> str:
    """What a second sequence costs the matrix products, though it reads no further weight."""
    values = scene.values("batch")
    context = values["contexts"][0]
    first, *others = values["batches"][str(context)]
    alone = [scene.key("batch", f"at.{context}.{one}.parts.products.min_ms") for one in (first, *others)]
    listed = ", ".join(f"{time} for {said(one)}" for time, one in zip(alone[1:], others, strict=True))
    return f"On {scene.who}, the matrix products alone take {alone[0]} for {sequences(first)}, {listed}."


def _tables(scene: Scene) -> str:
    """What a table costs attention, in one sentence."""
    at, words = _last(scene)
    return (
        f"At {words} on {scene.who}, attention alone takes"
        f" {scene.key('paged', f'{at}.shuffled_attention_ratio.of_minima', '.2f')} times as long through shuffled blocks as"
        f" over rows in place, through blocks in order"
        f" {scene.key('paged', f'{at}.paged_attention_ratio.of_minima', '.2f')} times."
    )


def _last(scene: Scene) -> tuple[str, str]:
    context = scene.values("paged")["contexts"][-1]
    return f"at.{context}", tokens(context)


def _pairs(scene: Scene, kind: str, path: str) -> str:
    ends = [scene.key(kind, f"{path}.{name}", ".2f") for name in ("lowest", "highest")]
    return f"pairs: {ends[0]} to {ends[1]}"


def _paged(scene: Scene) -> str:
    values = scene.values("paged")
    at = f"at.{values['contexts'][-1]}"
    ratio = values["at"][str(values["contexts"][-1])]["shuffled_attention_ratio"]
    return (
        f"At {tokens(values['contexts'][-1])} attention alone, through shuffled blocks of {tokens(values['block_tokens'])},"
        f" takes {scene.key('paged', f'{at}.shuffled_attention_ratio.of_minima', '.2f')} times as long as over rows in place"
        f" ({_pairs(scene, 'paged', f'{at}.shuffled_attention_ratio')};"
        f" {_held(ratio, scene.key('paged', f'{at}.shuffled_attention_ratio.bound', '.2f'), 'at most')}), through blocks"
        f" in order {scene.key('paged', f'{at}.paged_attention_ratio.of_minima', '.2f')} times"
        f" ({_pairs(scene, 'paged', f'{at}.paged_attention_ratio')}). The whole step takes"
        f" {scene.key('paged', f'{at}.shuffled_ratio.of_minima', '.2f')} and"
        f" {scene.key('paged', f'{at}.paged_ratio.of_minima', '.2f')} times as long. Measured on {scene.who}."
    )


def _batch(scene: Scene) -> str:
    values = scene.values("batch")
    context = values["contexts"][0]
    first, *others = values["batches"][str(context)]
    rates = {one: scene.key("batch", f"at.{context}.{one}.tokens_per_second", ".0f") for one in (first, *others)}
    listed = ", ".join(f"{said(one)} give {rates[one]}" for one in others)
    return f"With {tokens(context)} each, {sequences(first)} gives {rates[first]} tokens a second on {scene.who}, {listed}."


def _pays(scene: Scene) -> str:
    values = scene.values("pays")
    once = values["one_token"]
    alone = (
        f"For a reply of one token after {tokens(once['prompt_tokens'])} a pass without a cache takes"
        f" {scene.key('pays', 'one_token.ratio.of_minima', '.2f')} times as long as one that fills it."
    )
    if values["from_tokens"] is None:
        busy = any(one["ratio"]["lopsided"] for one in values["at"].values())
        why = "fastest and usual times lie too far apart" if busy else "none of those measured was long enough"
        return f"From which context on a cache pays on {scene.who} cannot be said: {why}. {alone}"
    return (
        f"On {scene.who}, a step without a cache takes at least {scene.key('pays', 'pays_from_ratio', '.1f')} times as long"
        f" from {scene.key('pays', 'from_tokens', '.0f')} tokens on. {alone}"
    )


def _others(scene: Scene) -> str:
    context = scene.values("others")["contexts"][-1]
    at = f"decode.{context}"
    return (
        f"At {tokens(context)} a step by transformers takes {scene.key('others', f'{at}.dynamic_ratio.of_minima', '.2f')} times"
        f" as long as one by kvref with its DynamicCache, and {scene.key('others', f'{at}.static_ratio.of_minima', '.2f')}"
        f" times with its StaticCache, on {scene.who}."
    )


def _budget(scene: Scene) -> str:
    values = scene.values("budget")
    share, speedup = values["products_share"], values["speedup"]
    return (
        f"The matrix products alone take {scene.key('budget', 'products_share.of_minima', '%')} of the time of a token by kvref"
        f" ({_held(share, scene.key('budget', 'products_share.bound', '%'), 'at least')}); transformers takes"
        f" {scene.key('budget', 'speedup.of_minima', '.2f')} times as long"
        f" ({_held(speedup, scene.key('budget', 'speedup.bound', '.1f'), 'at least')})."
    )


def _rounds(scene: Scene) -> str:
    taken = scene.values("budget")["kvref"]
    dropped = f"; {said(taken['dropped'])} more were dropped" if taken["dropped"] else ""
    return (
        f"In {said(len(taken['samples_ms']))} rounds on {scene.who} a token by kvref took"
        f" {scene.key('budget', 'kvref.min_ms')} at best, {scene.key('budget', 'kvref.median_ms')} in the median and"
        f" {scene.key('budget', 'kvref.max_ms')} at worst{dropped}."
    )


def _held(ratio: dict[str, Any], bound: str, how: str) -> str:
    """What became of a bound. There is no verdict where minimum and median disagree."""
    if ratio["bound"] is None:
        return "without a bound"
    if ratio["verdict"] is None:
        return f"the bound is {how} {bound}; no verdict, fastest and usual times lie too far apart"
    return f"the bound of {how} {bound} is {'held' if ratio['verdict'] else 'missed'}"


def _device(scene: Scene) -> str:
    rates = scene.values("ceilings")["products"]
    dtype = next(iter(rates))
    return (
        f"{scene.who} reads at most {scene.key('ceilings', 'read.bytes_per_second', 'GB/s')} and does at most"
        f" {scene.key('ceilings', f'products.{dtype}.flops_per_second', 'GFLOP/s')} in {said(dtype)}."
    )


CEILINGS = {"of_bandwidth": "bandwidth", "of_peak": "peak"}


def _matrices(scene: Scene) -> str:
    values = scene.values("products")
    first, last = values["rows"][0], values["rows"][-1]
    far = min(values["rows"], key=lambda rows: max(values["at"][str(rows)][name] for name in ("of_bandwidth", "of_peak")))
    name, what = max((values["at"][str(far)][key], key, words) for key, words in CEILINGS.items())[1:]
    between = (
        f" Furthest from both are {said(far)} rows, with {scene.key('products', f'at.{far}.{name}', '%')} of the {what}."
        if far not in (first, last)
        else ""
    )
    return (
        f"With {said(first)} row{'' if first == 1 else 's'} the model’s matrices reach"
        f" {scene.key('products', f'at.{first}.of_bandwidth', '%')} of the bandwidth of {scene.who}, with {said(last)} rows"
        f" {scene.key('products', f'at.{last}.of_peak', '%')} of its peak.{between}"
    )


def _passes(scene: Scene) -> str:
    prefill, batch = scene.values("prefill"), scene.values("batch")
    last, context = prefill["tokens"][-1], batch["contexts"][0]
    one = batch["batches"][str(context)][0]
    return (
        f"On {scene.who}, a prefill of {tokens(last)} does {scene.key('prefill', f'at.{last}.flops_per_second', 'GFLOP/s')}, a"
        f" decode step of {sequences(one)} {scene.key('batch', f'at.{context}.{one}.flops_per_second', 'GFLOP/s')}."
    )


# name -> the kinds of records that it needs, and what it says
SENTENCES: dict[str, tuple[tuple[str, ...], Callable[[Scene], str]]] = {
    "predicted": (("prefill",), _predicted),
    "both": (("prefill", "decode"), _both),
    "prefill": (("prefill",), _prefill),
    "decode": (("decode",), _decode),
    "attention": (("decode",), _attention),
    "tables": (("paged",), _tables),
    "few": (("batch",), _few),
    "paged": (("paged",), _paged),
    "batch": (("batch",), _batch),
    "pays": (("pays",), _pays),
    "others": (("others",), _others),
    "budget": (("budget",), _budget),
    "rounds": (("budget",), _rounds),
    "device": (("ceilings",), _device),
    "matrices": (("products",), _matrices),
    "roof": (("ceilings", "prefill", "batch"), _roof),
    "passes": (("prefill", "batch"), _passes),
}
