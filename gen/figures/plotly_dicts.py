"""Charts as Plotly describes them: built with the plotly package, stored as plain lists without its template.

The same description is drawn at build as a still picture. Roles instead of colours stand in `meta`; the page gives each
role its colour in both schemes.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from gen.figures.growth import HEIGHT_CHART, MARGIN, memory_growth, plain
from gen.figures.recordings import values

PANELS_PER_ROW = 3
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# The measures of the still picture (js/pictures/heatmaps.js), so that Plotly's panels lie exactly over it.
WIDTH, GAP, TOP, LABEL = 680, 26, 30, 18
SIDE = (WIDTH - (PANELS_PER_ROW - 1) * GAP) / PANELS_PER_ROW
ROW = SIDE + GAP + 6
BESIDE = 12  # pixels between a line and its name
DIRECTIONS = "rows ↓ the token that looks · columns → the token that is looked at"


def describe(name: str | None, data_root: Path, recording: dict[str, Any]) -> dict[str, Any] | None:
    """The description that a figure's options name, or None for figures that Plotly never draws."""
    if name in CHARTS:
        draw, record = CHARTS[name]
        path = f"{recording['model']}/{record}"
        return draw(values(data_root, path), path)
    if name == "all_heads":
        layer = recording["chosen"][0]["layer"]
        return all_heads(values(data_root, f"{recording['id']}/attention-{layer:02d}")["weights"], recording)
    return None


def reads(name: str | None, recording: dict[str, Any]) -> list[str]:
    """The records behind a description which the still picture does not read itself."""
    return [f"{recording['model']}/{CHARTS[name][1]}"] if name in CHARTS else []


def old_keys(record: dict[str, Any], path: str) -> dict[str, Any]:
    """How far one old key moves in each later pass: a line a layer without the mask, one bound with it; log axis."""
    later = range(1, len(record["steps"]))  # in its own first pass a key cannot have moved
    traces = [_layer_line(record, path, row, later) for row in range(len(record["layers"]))]
    bound = record["causal_change_bound"]
    traces.append(
        go.Scatter(
            x=[record["steps"][column] for column in later],
            y=[bound] * len(later),
            mode="lines",
            name="with the causal mask: at most",
            line={"width": 3, "dash": "dash"},
            meta={"role": "key", "record": path, "keys": ["causal_change_bound"] * len(later)},
            hovertemplate="step %{x}: at most %{y:.1e}<extra>with the mask</extra>",
        )
    )
    return plain(go.Figure(traces, _old_keys_layout(record)))


def _layer_line(record: dict[str, Any], path: str, row: int, later: range) -> go.Scatter:
    layer = record["layers"][row]
    return go.Scatter(
        x=[record["steps"][column] for column in later],
        y=[record["unmasked_change"][row][column] for column in later],
        mode="lines",
        name="without the mask",
        line={"width": 1.5},
        opacity=0.6,
        meta={
            "role": "negative",
            "row": f"layer {layer}",
            "record": path,
            "keys": [f"unmasked_change.{row}.{column}" for column in later],
        },
        hovertemplate=f"layer {layer}, step %{{x}}: %{{y:.3g}}<extra>without the mask</extra>",
    )


def _old_keys_layout(record: dict[str, Any]) -> dict[str, Any]:
    bound, largest = record["causal_change_bound"], record["unmasked_max"]
    smallest = min(change for row in record["unmasked_change"] for change in row if change > 0)
    bottom = math.floor(math.log10(min(bound, smallest))) - 0.4
    return {
        "height": HEIGHT_CHART,
        "margin": {**MARGIN, "r": 16},
        "showlegend": False,
        "xaxis": {"title": {"text": "decode step in which the key is computed again"}, "dtick": 1, "fixedrange": True},
        "yaxis": {
            "type": "log",
            "range": [bottom, math.log10(largest) + 0.4],
            "title": {"text": "largest change of a number of K"},
            **_decades(bottom, math.log10(largest) + 0.4),
        },
        "annotations": _old_keys_labels(record),
        "meta": _old_keys_words(record),
    }


def _decades(bottom: float, top: float) -> dict[str, Any]:
    """Ticks at powers of ten, in figures of full size: Plotly's own exponents are too small to read on a phone."""
    exponents = range(math.ceil(bottom), math.floor(top) + 1)
    texts = ["1" if n == 0 else "10" + ("" if n == 1 else str(n).translate(SUPERSCRIPT)) for n in exponents]
    return {"tickmode": "array", "tickvals": [10.0**n for n in exponents], "ticktext": texts}


def _old_keys_labels(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Names at the left ends of the lines, where a phone shows them too: a colour alone would not say which is which."""
    lowest = min(
        change for row in record["unmasked_change"][1:] or record["unmasked_change"] for change in row[1:] if change > 0
    )
    named = [
        (lowest, -BESIDE, "negative", "without the mask, one line a layer"),
        (record["causal_change_bound"], BESIDE, "key", "with the causal mask: at most this"),
    ]
    still = record["unmasked_change"][0][-1]
    if still > 0:
        named.append((still, BESIDE, "negative", f"layer {record['layers'][0]}, without the mask: rounding"))
    place = {"x": record["steps"][1], "xref": "x", "xanchor": "left", "xshift": 6, "showarrow": False, "align": "left"}
    return [
        {**place, "y": math.log10(value), "yshift": shift, "text": text, "name": role} for value, shift, role, text in named
    ]


def _old_keys_words(record: dict[str, Any]) -> dict[str, Any]:
    token, first = record["token_text"], record["layers"][0]
    return {
        "summary": f"The key of “{token}”, computed again in each later step, against its first computation.",
        "alt": f"Lines on a logarithmic axis: without the mask the key of “{token}” changes by up to"
        f" {record['unmasked_max']:.2f}; with it by at most {record['causal_change_bound']:.0e}.",
        "legend": [
            {
                "swatch": "line-negative",
                "text": f"without the mask, a line a layer; in layer {first} a key depends on token and position alone",
            },
            {"swatch": "line-key", "text": "with the causal mask: bound on the change in any layer"},
        ],
    }


def all_heads(weights: list[list[list[float]]], recording: dict[str, Any]) -> dict[str, Any]:
    """Attention weights of every query head of a layer, a panel each; the chosen layer's numbers are put in on the page."""
    heads, tokens = len(weights[0]), len(weights)
    height = TOP + math.ceil(heads / PANELS_PER_ROW) * ROW
    words = {"x": 0, "y": 1, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "top", "borderpad": 0}
    first = {**words, "text": DIRECTIONS, "name": "muted", "showarrow": False}
    layout: dict[str, Any] = {"showlegend": False, "margin": {"l": 0, "r": 0, "t": 0, "b": 0}, "annotations": [first]}
    traces = []
    for head in range(heads):
        suffix = "" if head == 0 else str(head + 1)
        left, top = head % PANELS_PER_ROW * (SIDE + GAP), TOP + head // PANELS_PER_ROW * ROW + LABEL
        across, down = [left / WIDTH, (left + SIDE) / WIDTH], [1 - (top + SIDE) / height, 1 - top / height]
        ticks = {"showticklabels": False, "showgrid": False, "zeroline": False, "ticks": ""}
        layout[f"xaxis{suffix}"] = {"domain": across, "anchor": f"y{suffix}", "range": [-0.5, tokens - 0.5], **ticks}
        layout[f"yaxis{suffix}"] = {"domain": down, "anchor": f"x{suffix}", "range": [tokens - 0.5, -0.5], **ticks}
        layout["annotations"].append(_panel_title(recording, head, across[0], down[1]))
        triangle = [[row[head][j] if j <= i else None for j in range(tokens)] for i, row in enumerate(weights)]
        traces.append(_panel(triangle, head, suffix))
    return plain(go.Figure(traces, layout))


def _panel(z: list[list[float | None]], head: int, suffix: str) -> go.Heatmap:
    return go.Heatmap(
        z=z,
        zmin=0,
        zmax=1,
        showscale=False,
        hoverongaps=False,
        xaxis=f"x{suffix}",
        yaxis=f"y{suffix}",
        name=f"head {head}",
        meta={"role": "weight"},
        hovertemplate="%{customdata[0]}<br>looks at %{customdata[1]}<br>weight %{z:.4g}<extra>head " + str(head) + "</extra>",
    )


def _panel_title(recording: dict[str, Any], head: int, left: float, top: float) -> dict[str, Any]:
    group = recording["group_size"]
    text = f"head {head} · reads KV head {head // group}" if group > 1 else f"head {head}"
    place = {"x": left, "y": top, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom", "borderpad": 0}
    return {**place, "text": text, "name": "muted", "showarrow": False}


# Charts of one record: what draws them, and the record.
CHARTS: dict[str | None, tuple[Callable[[dict[str, Any], str], dict[str, Any]], str]] = {
    "old_keys": (old_keys, "old-keys"),
    "memory_growth": (memory_growth, "memory"),
}
