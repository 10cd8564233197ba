"""The recorded schedules hold together: every span follows the one before, every token is counted once, and steps take what the
formula says. Read from the committed files alone; the sums are written out here once more.
"""

import json
from itertools import pairwise
from typing import Any

import pytest

from gen.errors import CheckFailed
from gen.experiments import many_requests, many_requests_grid, serving
from gen.experiments.bound import SERVED_CONFIG as SERVED
from gen.experiments.bound import device_table
from gen.experiments.timeline import timeline
from gen.paths import DEFAULT_MODEL, PUBLISHED
from kvref.plan.manager import KVManager
from kvref.plan.simulate import RequestRow, Run, StepRow, simulate
from kvref.plan.static import StaticScheduler
from kvref.plan.trace import default_trace

WORK = ("prefill", "again", "decode")
RUNS = [
    (part, name)
    for part, names in (("runs", ("static", "whole", "chunks")), ("pool", ("room", "recompute", "swap")))
    for name in names
]


def values(id: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(PUBLISHED.record(DEFAULT_MODEL, id).read_bytes())["values"]
    return found


def spans(request: dict[str, Any]) -> list[tuple[str, float, float, int]]:
    columns = (request["spans"][name] for name in ("kind", "from_ms", "to_ms", "tokens"))
    return list(zip(*columns, strict=True))


@pytest.fixture(params=RUNS, ids=lambda pair: pair[1])
def run(request: pytest.FixtureRequest) -> dict[str, Any]:
    part, name = request.param
    found: dict[str, Any] = values("many-requests")[part][name]
    return found


def test_a_request_is_somewhere_at_every_moment_from_its_arrival_on(run: dict[str, Any]) -> None:
    for one in run["requests"].values():
        every = spans(one)
        assert every[0][1] == one["arrival_ms"]
        assert all(early[2] == late[1] for early, late in pairwise(every))
        assert all(start < end for _, start, end, _ in every)
        working = [span for span in every if span[0] in WORK]
        assert working[-1][2] == one["finished_ms"]
        assert every[-1][0] in ("decode", "idle")


def test_every_token_of_prompt_and_reply_is_counted_once(run: dict[str, Any]) -> None:
    """The last token of the prompt's prefill gives the first token of the reply, each decode step one more."""
    for one in run["requests"].values():
        every = spans(one)
        tokens = {kind: sum(span[3] for span in every if span[0] == kind) for kind in (*WORK, "idle")}
        assert tokens["prefill"] == one["prompt_tokens"]
        again = [here for here, following in pairwise(every) if here[0] == "again" and following[0] != "again"]
        assert tokens["decode"] + len(again) == one["reply_tokens"] - 1, "who returns samples with the last of its tokens"
        assert bool(again) == (tokens["again"] > 0)


def test_the_two_waits_are_those_between_tokens(run: dict[str, Any]) -> None:
    for one in run["requests"].values():
        every = spans(one)
        first = max(end for kind, _, end, _ in every if kind == "prefill")
        ends = [first] + [end for kind, _, end, _ in every if kind == "decode"]
        assert one["ttft_ms"] == pytest.approx(first - one["arrival_ms"], rel=1e-3)
        if not one["preemptions"]:
            gaps = [late - early for early, late in pairwise(ends)]
            assert one["longest_itl_ms"] == pytest.approx(max(gaps), abs=0.12)  # both ends are rounded to 4 digits


def test_steps_follow_one_another_and_hold_what_the_requests_did(run: dict[str, Any]) -> None:
    steps = run["steps"]
    assert all(end <= start for end, start in zip(steps["end_ms"], steps["start_ms"][1:], strict=False))
    for place, start in enumerate(steps["start_ms"]):
        taking = [span for one in run["requests"].values() for span in spans(one) if span[0] in WORK and span[1] == start]
        assert len(taking) == steps["requests"][place] <= run["slots"]
        decodes = sum(span[3] for span in taking if span[0] == "decode")
        assert steps["decode_tokens"][place] == decodes
        assert steps["prefill_tokens"][place] == sum(span[3] for span in taking) - decodes
        if run["token_budget"] is not None:
            assert sum(span[3] for span in taking) <= run["token_budget"]
        assert 0 < steps["stored_share"][place] <= steps["reserved_share"][place] <= 1


@pytest.mark.parametrize("name", ["static", "whole", "chunks"])
def test_a_step_takes_what_the_formula_says(name: str) -> None:
    """Written out from the sizes of the model: nothing of `kvref.plan.cost` is used."""
    run, device = values("many-requests")["runs"][name], device_table()["h100-sxm"]
    kv_width = SERVED.kv_heads * SERVED.head_dim
    layer = 2 * SERVED.hidden_size**2 + 2 * SERVED.hidden_size * kv_width + 3 * SERVED.hidden_size * SERVED.intermediate_size
    matrices, head = SERVED.layers * layer, SERVED.hidden_size * SERVED.vocab_size
    row_bytes = 2 * SERVED.layers * kv_width * 2
    done = dict.fromkeys(run["requests"], 0)
    for start, end in zip(run["steps"]["start_ms"], run["steps"]["end_ms"], strict=True):
        flops, moved = 0, 2 * matrices
        for id, one in run["requests"].items():
            for kind, begins, _, tokens in spans(one):
                if kind not in WORK or begins != start:
                    continue
                before, after = done[id], done[id] + tokens
                samples = after >= one["prompt_tokens"]
                cells = sum(range(before + 1, after + 1))
                flops += 2 * matrices * tokens + 2 * head * samples + 4 * SERVED.layers * SERVED.hidden_size * cells
                moved += row_bytes * after
                done[id] = after
        moved += 2 * head  # in these runs every step gives somebody a token, or is a chunk that reads no head
        least = 1000 * max(flops / device["peak_flops"], moved / device["bandwidth_bytes_per_second"])
        bare = 1000 * max(flops / device["peak_flops"], (moved - 2 * head) / device["bandwidth_bytes_per_second"])
        assert any(abs(end - start - one) < 0.11 for one in (least, bare)), (start, end - start, least)


def test_static_batches_start_together_and_keep_their_slots() -> None:
    run = values("many-requests")["runs"]["static"]
    batches: dict[float, list[dict[str, Any]]] = {}
    for one in run["requests"].values():
        batches.setdefault(next(start for kind, start, _, _ in spans(one) if kind == "prefill"), []).append(one)
    assert [len(batch) for batch in batches.values()] == [3, 4, 1], "those that wait, at most as many as there are slots"
    for batch in batches.values():
        ends = {spans(one)[-1][2] for one in batch}
        assert len(ends) == 1
        assert ends == {max(one["finished_ms"] for one in batch)}
    assert run["totals"]["most_reserved_share"] == 1.0
    whole = values("many-requests")["runs"]["whole"]
    assert whole["totals"]["idle_share"] == 0.0
    assert run["totals"]["end_ms"] > whole["totals"]["end_ms"]


@pytest.mark.parametrize(("name", "away"), [("recompute", "preempted"), ("swap", "swapped")])
def test_who_gives_way_came_last_and_returns_before_anybody_new(name: str, away: str) -> None:
    run = values("many-requests")["pool"][name]
    order = list(run["requests"])
    gone = [(id, start, end) for id, one in run["requests"].items() for kind, start, end, _ in spans(one) if kind == away]
    assert len(gone) == run["totals"]["preemptions"] == 2
    for id, start, end in gone:
        running = [
            other
            for other, one in run["requests"].items()
            for kind, a, b, _ in spans(one)
            if kind in WORK and a < end and b > start
        ]
        assert all(order.index(other) < order.index(id) for other in running)
        assert not any(
            kind == "prefill" and start <= a < end for one in run["requests"].values() for kind, a, _, _ in spans(one)
        )
    assert run["totals"]["most_reserved_share"] > 0.99
    assert (run["totals"]["tokens_again"] > 0) == (name == "recompute")
    assert all(
        one["reply_tokens"] == values("many-requests")["pool"]["room"]["requests"][id]["reply_tokens"]
        for id, one in run["requests"].items()
    )


def test_cutting_a_prompt_costs_it_nothing_until_chunks_are_too_small_to_hide_the_reading() -> None:
    alone = values("many-requests")["example"]["alone"]["budgets"]
    small, cut, whole = alone["128"], alone["512"], alone["8192"]
    assert cut["ttft_ms"] == whole["ttft_ms"] < small["ttft_ms"]
    assert small["compute_ms"] < small["read_ms"]
    assert cut["compute_ms"] > cut["read_ms"]
    assert (small["steps"], cut["steps"], whole["steps"]) == (32, 8, 1)


# --- the grid ------------------------------------------------------------------------------------------------------------


def leaves(nested: Any, depth: int) -> list[Any]:
    return [nested] if depth == 0 else [leaf for one in nested for leaf in leaves(one, depth - 1)]


@pytest.mark.parametrize(("schedule", "axes"), [("chunks", 4), ("whole", 3), ("static", 2)])
def test_quantiles_rise_and_shares_are_shares(schedule: str, axes: int) -> None:
    record = values("many-requests-grid")
    runs, sizes = record["runs"][schedule], record["grid"]
    assert len(leaves(runs["end_ms"], axes)) == 3**axes == {"chunks": 81, "whole": 27, "static": 9}[schedule]
    assert len(runs["end_ms"]) == len(sizes["pool_tokens"])
    for name in ("ttft_ms", "itl_ms"):
        for quantiles in leaves(runs[name], axes):
            assert quantiles == sorted(quantiles)
            assert len(quantiles) == len(record["shares"])
            assert quantiles[0] >= record["scales"][name][0]
            assert quantiles[record["shares"].index(many_requests_grid.FAR[name])] <= record["scales"][name][-1]
    for mean, most, bins in zip(
        *(leaves(runs[name], axes) for name in ("mean_used_share", "most_used_share", "occupancy")), strict=True
    ):
        assert len(bins) == record["bins"]
        assert sum(bins) / len(bins) == pytest.approx(mean, rel=1e-3)
        assert max(bins) <= most * 1.001 <= 1.001


def test_what_the_page_says_of_budgets_and_blocks() -> None:
    example = values("many-requests-grid")["example"]
    small, best, large, whole, static = (example["budgets"][name] for name in ("128", "512", "2048", "whole", "static"))
    assert best["ttft_ms"] < min(small["ttft_ms"], large["ttft_ms"], whole["ttft_ms"], static["ttft_ms"])
    assert small["itl_ms"] < best["itl_ms"] < large["itl_ms"] < whole["itl_ms"]
    assert best["tokens_per_second"] > static["tokens_per_second"]
    hits = example["hit_share_by_block"]
    assert hits == sorted(hits, reverse=True)
    assert max(leaves(values("many-requests-grid")["runs"]["static"]["hit_share"], 2)) == 0.0


def test_the_same_run_comes_out_at_a_place_of_the_grid() -> None:
    """One of them again, at its place."""
    grid, record = many_requests_grid, values("many-requests-grid")
    trace = default_trace(grid.REQUESTS, 40, grid.SEED, **grid.TRACE)
    scheduler = StaticScheduler(KVManager(grid.POOLS[2] // 16, 16), max_requests=64, max_length=grid.MAX_LENGTH)
    run = grid.summary(simulate(scheduler, trace, serving.step_ms(16)), grid.POOLS[2])
    assert record["runs"]["static"]["end_ms"][2][2] == pytest.approx(run["end_ms"], rel=1e-3)
    assert record["runs"]["static"]["itl_ms"][2][2] == pytest.approx(run["itl_ms"], rel=1e-3)


def test_quantiles_are_waits_that_happened() -> None:
    found = dict(
        zip(many_requests_grid.SHARES, many_requests_grid.quantiles([float(n) for n in range(100, 0, -1)]), strict=True)
    )
    assert found == {0.0: 1, 0.05: 5, 0.1: 10, 0.25: 25, 0.5: 50, 0.75: 75, 0.9: 90, 0.95: 95, 0.99: 99, 1.0: 100}
    assert set(many_requests_grid.quantiles([7.0])) == {7.0}


def test_time_with_nothing_to_do_counts_as_an_empty_pool() -> None:
    row = StepRow(1, 0.0, 1.0, (), 1, 0, 0, 16, 16, 0, 1, 0, (), ())
    late = StepRow(2, 23.0, 24.0, (), 1, 0, 0, 16, 16, 0, 1, 0, (), ())
    bins = many_requests_grid._binned(Run((row, late), ()), [0.5, 1.0])
    assert bins == pytest.approx([0.5, *[0.0] * 22, 1.0])


def test_a_timeline_without_a_first_token_is_refused() -> None:
    request = RequestRow("A", 0.0, 4, (), 0, 0, "refused", "too long")
    with pytest.raises(CheckFailed, match="request A"):
        timeline(Run((), (request,)), slots=1, pool_blocks=1, block_tokens=4)


def test_prompts_of_the_timeline_share_nothing() -> None:
    beginnings = [request.prompt_ids[:1] for request in many_requests.trace(many_requests.REQUESTS)]
    assert len(set(beginnings)) == len(beginnings)
