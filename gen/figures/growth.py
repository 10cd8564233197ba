"""The chart of bytes of cache against tokens, as Plotly describes it: straight lines, one a model, and where they end."""

from typing import Any

import plotly.graph_objects as go

HEIGHT_CHART = 380
MARGIN = {"l": 64, "r": 68, "t": 36, "b": 48}
GIB = 2**30
TICK_GIB = 8
ROOM = 1.06  # above the highest point
# Where on the lines their names stand, the steepest first: share of the axis, side, pixels up. All are in the left part,
# which a phone shows.
NAMED = ((0.27, "right", 10), (0.335, "left", -10), (0.36, "right", 9), (0.464, "right", 9))


def plain(figure: go.Figure) -> dict[str, Any]:
    """A figure as data and layout, without the package's own template."""
    described: dict[str, Any] = figure.to_plotly_json()
    described["layout"].pop("template", None)
    return {"data": described["data"], "layout": described["layout"]}


def memory_growth(record: dict[str, Any], path: str) -> dict[str, Any]:
    """Bytes of cache against the tokens that are held, and the point at which one cache is as large as its weights."""
    names = sorted(record["growth"]["bytes"], key=lambda name: -record["models"][name]["kv_bytes_per_token"])
    traces = [_line(record, path, name) for name in names]
    crossing = record["sixteen_requests"]["model"]
    return plain(go.Figure([*traces, _crossing(record, path, crossing)], _layout(record, names, crossing)))


def _line(record: dict[str, Any], path: str, name: str) -> go.Scatter:
    tokens, held = record["growth"]["tokens"], record["growth"]["bytes"][name]
    return go.Scatter(
        x=tokens,
        y=held,
        mode="lines+markers",
        name=record["models"][name]["name"],
        line={"width": 2},
        marker={"size": 6},
        cliponaxis=False,
        customdata=[_size(size) for size in held],
        meta={"role": "plain", "record": path, "keys": [f"growth.bytes.{name}.{place}" for place in range(len(tokens))]},
        hovertemplate="%{x:,} tokens: %{customdata}<extra>%{fullData.name}</extra>",
    )


def _crossing(record: dict[str, Any], path: str, name: str) -> go.Scatter:
    at = record["models"][name]["as_large_as_weights"]
    return go.Scatter(
        x=[at["tokens"]],
        y=[at["bytes"]],
        mode="markers",
        name=f"{record['models'][name]['name']}: as large as the weights",
        line={"width": 2},
        marker={"size": 12, "symbol": "circle-open", "line": {"width": 2}},
        customdata=[_size(at["bytes"])],
        meta={"role": "new", "record": path, "keys": [f"models.{name}.as_large_as_weights.bytes"]},
        hovertemplate="%{x:,} tokens: %{customdata}, as large as the weights<extra></extra>",
    )


def _size(size: int) -> str:
    return f"{size / GIB:.4g} GiB"


def _layout(record: dict[str, Any], names: list[str], crossing: str) -> dict[str, Any]:
    tokens, each = record["growth"]["tokens"], record["tokens"]
    top = max(held[-1] for held in record["growth"]["bytes"].values())
    ticks = [gib * GIB for gib in range(0, top // GIB + 1, TICK_GIB)]
    marks = [count for count in tokens if count not in (each, 2 * each)]  # these stand too close to the first
    return {
        "height": HEIGHT_CHART,
        "margin": MARGIN,
        "showlegend": False,
        "xaxis": {
            "title": {"text": "tokens held, of all requests together"},
            "range": [0, tokens[-1]],
            "tickmode": "array",
            "tickvals": marks,
            "ticktext": [f"{count:,}" for count in marks],
        },
        "yaxis": {
            "title": {"text": "bytes of cache, fp16"},
            "range": [0, top * ROOM],
            "tickmode": "array",
            "tickvals": ticks,
            "ticktext": [f"{tick // GIB} GiB" if tick else "0" for tick in ticks],
        },
        "annotations": [
            *(_label(record, name, *place) for name, place in zip(names, NAMED, strict=True)),
            *(_end(record, name) for name in names),
            _crossing_label(record, crossing),
        ],
        "meta": _words(record),
    }


def _label(record: dict[str, Any], name: str, share: float, side: str, up: int) -> dict[str, Any]:
    """The model's name beside its line."""
    tokens = round(share * record["growth"]["tokens"][-1])
    model = record["models"][name]
    place = {"x": tokens, "xref": "x", "xanchor": side, "yshift": up, "showarrow": False, "align": side}
    return {**place, "y": tokens * model["kv_bytes_per_token"], "text": model["name"], "name": "plain"}


def _end(record: dict[str, Any], name: str) -> dict[str, Any]:
    """The bytes at the end of its line."""
    end = record["growth"]["bytes"][name][-1]
    place = {"x": 1.01, "xref": "paper", "xanchor": "left", "showarrow": False, "align": "left"}
    return {**place, "y": end, "text": _size(end), "name": "plain"}


def _crossing_label(record: dict[str, Any], name: str) -> dict[str, Any]:
    at = record["models"][name]["as_large_as_weights"]
    place = {"x": at["tokens"], "xref": "x", "xanchor": "right", "xshift": -12, "yshift": 20, "showarrow": False}
    return {**place, "align": "right", "y": at["bytes"], "text": "here as large<br>as its weights", "name": "new"}


def _words(record: dict[str, Any]) -> dict[str, Any]:
    last, many = record["growth"]["tokens"][-1], record["sixteen_requests"]
    name = record["models"][many["model"]]["name"]
    held, weights = _size(many["kv_bytes"]), _size(many["weight_bytes_fp16"])
    counts = ", ".join(str(count // record["tokens"]) for count in record["growth"]["tokens"][1:])
    return {
        "summary": f"Each line is straight: twice the tokens, twice the bytes, up to {last:,} tokens.",
        "alt": f"A straight line from zero for each model. At {last:,} tokens {name} holds {held} of cache"
        f" beside {weights} of weights.",
        "credit": "Counted from published shapes, in fp16; the source of each stands in geometry/models.json.",
        "legend": [
            {"swatch": "plain", "text": "a line a model; the steeper, the more bytes a token"},
            {"text": f"dots: {counts} requests of {record['tokens']:,} tokens; GPT-2 would need more, shorter ones"},
        ],
    }
