// The timeline and the spread of waits: spans where their times say, shapes that differ without their colour, controls
// that stop at what was run.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { cells, csv, draw, html, svg } from "../../docs/assets/js/picture.js";
import { validate } from "../../docs/assets/js/state.js";
import { LANE_STYLE, paths, sample } from "../../docs/assets/js/write/lane.js";
import { ROOT, figures, record, records } from "./site.js";

const all = await figures();
const css = readFileSync(new URL("docs/assets/css/figure.css", ROOT), "utf8");

/** A figure drawn in its own state, with some fields changed. */
function shown(id, changed = {}) {
  const { picture, context } = all.find((one) => one.id === id);
  const state = validate(picture, context, new Map(Object.entries(changed).map(([name, value]) => [name, String(value)])));
  return { state, model: draw(picture, state, records(picture.needs(state, context)), context), fields: picture.fields(state, context) };
}

const lanes = (model, name) => model.parts.filter((part) => part.name === name).map((part) => part.rows.filter((row) => row.kind !== "axis"));

/** What an SVG path runs through: pairs of numbers, whatever its letters. */
const box = (d) => {
  const [x, y] = [[...d.matchAll(/[MH](-?[\d.]+)/g)], [...d.matchAll(/(?:M-?[\d.]+ |V)(-?[\d.]+)/g)]].map((found) => found.map((one) => Number(one[1])));
  return { left: Math.min(...x), right: Math.max(...x), top: Math.min(...y), bottom: Math.max(...y) };
};

test("a lane puts spans between its ends, and each step's tick at the step's end", () => {
  const found = paths({ spans: [{ look: "prefill", at: 0, to: 0.25 }, { look: "decode", at: 0.25, to: 0.5 }, { look: "waiting", at: 0.5, to: 1 }], marks: [{ at: 0.5 }] }, 10, 0, 200, 20);
  assert.deepEqual([box(found.get("prefill")).left, box(found.get("prefill")).right], [10, 60]);
  assert.deepEqual([box(found.get("decode")).left, box(found.get("decode")).right], [60, 110]);
  assert.match(found.get("tick"), /^M110 /);
  assert.match(found.get("mark"), /^M110 20V0$/);
  assert.deepEqual([box(found.get("waiting")).left, box(found.get("waiting")).right], [110, 210]);
  const order = [...found.keys()];
  assert.ok(order.indexOf("mark") === 0 && order.indexOf("tick") > order.indexOf("decode"), "lines of the scale lie under all, ticks over their steps");
});

test("no two looks of a request differ in colour alone", () => {
  const looks = ["waiting", "prefill", "decode", "idle", "preempted", "swapped", "again"];
  const dashes = (look) => LANE_STYLE.match(new RegExp(`\\.s-${look}\\{[^}]*\\}`))?.[0].replace(/(stroke|fill):#\w+;?/g, "").replace(/\.s-\w+/, "") ?? "";
  const shapes = looks.map((look) => sample(look, 22, 16).replace(/s-\w+/g, (name) => (name === `s-${look}` ? "s" : name)) + dashes(look));
  assert.equal(new Set(shapes).size, looks.length, shapes.join("\n"));
});

test("the page and a file know the same looks", () => {
  const named = (text) => new Set([...text.matchAll(/\.s-([a-z]+)/g)].map((found) => found[1]));
  assert.deepEqual([...named(css)].sort(), [...named(LANE_STYLE)].sort());
});

for (const [id, part, pairs] of [["timeline", "runs", { batching: ["static", "whole"], chunks: ["whole", "chunks"] }], ["short-pool", "pool", { ways: ["recompute", "swap"], room: ["room", "recompute"] }]]) {
  test(`${id}: two schedules on one scale of time, every span where its times are`, () => {
    for (const [compare, names] of Object.entries(pairs)) {
      const { model } = shown(id, { compare });
      const runs = names.map((name) => record("smollm2-135m-instruct/many-requests")[part][name]);
      const end = Math.max(...runs.map((run) => run.totals.end_ms));
      const tables = lanes(model, "requests");
      assert.equal(tables.length, 2);
      const axes = model.parts.filter((one) => one.name === "requests").map((one) => JSON.stringify(one.rows.at(-1).cells[0].marks));
      assert.equal(axes[0], axes[1]);
      tables.forEach((rows, i) => {
        const requests = Object.entries(runs[i].requests);
        assert.equal(rows.length, requests.length + 2, "a row a request, the tokens, the pool");
        requests.forEach(([name, one], r) => {
          assert.equal(rows[r].head.text, name);
          const [lane, ttft] = rows[r].cells;
          assert.deepEqual(lane.spans.map((span) => span.look), one.spans.kind);
          lane.spans.forEach((span, s) => assert.ok(Math.abs(span.at * end - one.spans.from_ms[s]) < 1e-6 && Math.abs(span.to * end - one.spans.to_ms[s]) < 1e-6));
          assert.equal(Number(ttft.exact), one.ttft_ms);
        });
        const tracks = rows.slice(-2).map((row) => row.cells[0].spans);
        for (const span of tracks.flat()) assert.ok(span.low >= 0 && span.high <= 1.0001 && span.at >= 0 && span.to <= 1.0001, JSON.stringify(span));
      });
      const seen = new Set(runs.flatMap((run) => Object.values(run.requests).flatMap((one) => one.spans.kind)));
      const legend = model.parts.find((one) => one.kind === "legend").items.map((item) => item.swatch);
      for (const look of seen) assert.ok(legend.includes(`lane-${look}`), `${look} is explained`);
    }
  });
}

test("idle slots are drawn, and only where there are any", () => {
  assert.match(html(shown("timeline").model), /class="s-idle"/);
  const { model } = shown("timeline", { compare: "chunks" });
  assert.doesNotMatch(html(model), /class="s-idle"/);
  assert.ok(lanes(model, "requests")[1].some((row) => row.cells[0].spans.filter((span) => span.look === "prefill").length > 2), "chunks can be seen");
  const room = html(shown("short-pool", { compare: "room" }).model);
  assert.match(room, /class="s-stop"/);
});

test("every span and every quantile is in the CSV, with the key that holds it", () => {
  const run = record("smollm2-135m-instruct/many-requests").runs.static;
  const lines = csv(shown("timeline").model).split("\n");
  assert.ok(lines.some((line) => line.endsWith(",runs.static.requests.H.spans.from_ms.0") && line.includes(`,${run.requests.H.arrival_ms},`)));
  const { model } = shown("waits");
  const quantiles = csv(model).split("\n").filter((line) => /^(TTFT|ITL),/.test(line));
  assert.equal(quantiles.length, 2 * 5 * record("smollm2-135m-instruct/many-requests-grid").shares.length);
});

test("the sliders stop at what was run, and everywhere there is something to show", () => {
  const { grid } = record("smollm2-135m-instruct/many-requests-grid");
  const { fields } = shown("waits");
  assert.deepEqual(fields.map(({ name, values }) => [name, values]), ["requests_per_second", "token_budget", "pool_tokens", "block_tokens"].map((name) => [name, grid[name]]));
  for (const rate of grid.requests_per_second) for (const budget of grid.token_budget) for (const pool of grid.pool_tokens) for (const block of grid.block_tokens) {
    const { model } = shown("waits", { requests_per_second: rate, token_budget: budget, pool_tokens: pool, block_tokens: block });
    const written = html(model);
    assert.doesNotMatch(written + model.summary, /undefined|NaN|Infinity/);
    for (const rows of lanes(model, "waits")) {
      assert.deepEqual(rows.map((row) => row.head.text), ["128", "512", "2,048", "whole", "static"]);
      assert.deepEqual(rows.filter((row) => row.mark === "now").map((row) => row.head.text), [budget.toLocaleString("en")]);
      for (const { cells: [lane] } of rows) for (const span of lane.spans) assert.ok(span.at >= 0 && span.to <= 1, JSON.stringify(span));
    }
    for (const cell of cells(model)) {
      const held = cell.key.split(".").reduce((values, name) => values[name], record(cell.file));
      assert.equal(String(held), cell.exact, cell.key);
    }
  }
});

test("a value off the grid is dropped without a word", () => {
  assert.equal(shown("waits", { token_budget: 513, pool_tokens: -1 }).state.token_budget, 512);
});

test("a lane leaves the page as it stands on it", () => {
  for (const id of ["timeline", "short-pool", "waits"]) {
    const drawing = svg(shown(id).model, { title: "t", alt: "a" });
    assert.match(drawing, /<path class="s-(prefill|most)" d="M/);
    assert.doesNotMatch(drawing, /var\(|undefined|NaN|vector-effect/);
    const [, width] = drawing.match(/viewBox="0 0 ([\d.]+)/);
    for (const [, d] of drawing.matchAll(/<path class="s-[a-z]+" d="([^"]+)"/g)) assert.ok(box(d).right <= Number(width));
  }
});
