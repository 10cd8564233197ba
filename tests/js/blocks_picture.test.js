// The pool as it is drawn and driven: every example, every size, and what cannot be done.

import assert from "node:assert/strict";
import { test } from "node:test";
import { codes, replay } from "../../docs/assets/js/blocks/actions.js";
import { PRESETS } from "../../docs/assets/js/blocks/presets.js";
import { HUES, mix } from "../../docs/assets/js/palette.js";
import { cells, csv, draw, html, svg } from "../../docs/assets/js/picture.js";
import * as blocks from "../../docs/assets/js/pictures/blocks.js";
import { format, parse, texts, validate, withState } from "../../docs/assets/js/state.js";
import { figures, record, records } from "./site.js";

const { context } = (await figures()).find((one) => one.id === "pool");

/** @param {Record<string, string|number>} [wanted] */
function drawn(wanted = {}, within = context) {
  const state = validate(blocks, within, new Map(Object.entries(wanted).map(([name, value]) => [name, String(value)])));
  return { state, model: draw(blocks, state, records(blocks.needs(state, within)), within) };
}
const part = (model, kind) => model.parts.find((one) => one.kind === kind);
const buttons = (model) => [...part(model, "presses").groups.flat(), ...part(model, "pool").requests.flatMap((one) => one.buttons)];

/** What holds for every picture of the pool. */
function holds(model) {
  const { blocks: boxes, requests } = part(model, "pool");
  const { terms, total, facts } = part(model, "sums");
  assert.equal(terms.reduce((sum, one) => sum + one.n, 0), total);
  assert.equal(boxes.length, total);
  for (const { state, holders, tag } of boxes) assert.ok((state === "used") === holders.length > 0, tag);
  assert.equal(boxes.reduce((sum, one) => sum + one.holders.length, 0), requests.reduce((sum, one) => sum + one.rows.length, 0));
  assert.match(facts[0], /^ref counts: (\d+) = \1 table rows?$/);
  for (const { letter, rows } of requests) for (const row of rows) assert.ok(boxes[Number(row.entry.text)].holders.some((one) => one.letter === letter && String(one.row) === row.row));
  assert.equal(new Set(requests.map((one) => one.hue)).size, requests.length);
}

for (const preset of PRESETS) {
  test(`${preset.id}: in every design and size, after every action, all adds up and can be shown`, () => {
    for (const design of ["full-blocks", "copy-on-write"]) {
      for (const [block, slots] of [[1, 16], [2, 32], [4, 16], [4, 64], [8, 48], [16, 16]]) {
        for (const end of [codes(preset.script).length, Math.ceil(codes(preset.script).length / 2)]) {
          const { model } = drawn({ preset: preset.id, design, block, slots, do: codes(preset.script).slice(0, end).join(".") });
          holds(model);
          const written = html(model);
          assert.doesNotMatch(written + model.summary + svg(model, { title: "t", alt: "a" }) + csv(model), /undefined|NaN|\[object/);
          assert.equal(written.match(/class="c k-/g).length, cells(model).length);
          assert.ok(cells(model).every((cell) => cell.say));
        }
      }
    }
  });

  test(`${preset.id}: its own actions can all be done, but for one that shows a full pool`, () => {
    const { model } = drawn({ preset: preset.id });
    const refused = part(model, "log").steps.filter((step) => step.off);
    assert.deepEqual(refused.map((step) => step.at), preset.id === "full" ? [4] : []);
  });
}

test("what the examples are there to show", () => {
  const said = (preset, more = {}) => part(drawn({ preset, ...more }).model, "log").steps.map((step) => step.text).reverse();
  const events = (preset, name, more = {}) => part(drawn({ preset, ...more }).model, "log").steps.flatMap((step) => step.events).filter((event) => event.name === name).length;
  assert.match(said("exact")[1], /its last block is full, block 3 is taken/);
  assert.match(said("cached")[1], /8 of 12 tokens are in the cache, 4 are computed/);
  assert.match(said("cached", { design: "copy-on-write" })[1], /11 of 12 tokens are in the cache, 1 is computed.* block 2 is shared, so 3 tokens of it are first copied to block 3/);
  assert.equal(events("once", "hit"), 0);
  assert.equal(events("once", "indexed"), 6, "both copies can be found");
  assert.match(said("reuse").at(-1), /4 of 12 tokens are in the cache/);
  assert.ok(events("reuse", "evicted") > 0);
  assert.equal(events("boundary", "copied"), 0);
  assert.equal(events("copy", "copied"), 1, "the second writer writes in place");
  assert.equal(events("copy", "copied", { design: "full-blocks" }), 0);
  assert.match(drawn({ preset: "full" }).model.summary, /^A cannot go on: the pool is full: 1 block needed, 0 free or idle\.$/);
  assert.match(drawn({ preset: "empty" }).model.summary, /^An empty pool: 8 blocks of 4 slots\.$/);
  const { requests } = part(drawn().model, "pool");
  assert.deepEqual(requests.map((one) => one.rows.map((row) => Number(row.entry.text))), [[0, 5, 6], [1, 2, 3, 4]]);
});

test("every button leads to a state that an address holds, and what cannot be done says why", () => {
  for (const { id } of PRESETS) {
    for (const one of buttons(drawn({ preset: id }).model)) {
      if (one.off) assert.match(one.off, /\.$/);
      else assert.equal(String(drawn({ preset: id, do: one.value }).state.do), one.value, one.say);
    }
  }
  const { model } = drawn({ preset: "full" });
  assert.match(html(model), /aria-label="Decode a token of A" aria-disabled="true" title="The pool is full: 1 block needed, 0 free or idle\."/);
});

test("a button that can be pressed can be pressed until a link holds no more", () => {
  let [state, pressed] = [drawn({ preset: "empty", slots: 64 }).state, 0];
  for (; ; pressed += 1) {
    const { model } = drawn(state);
    holds(model);
    const open = buttons(model).filter((one) => !one.off && !["undo", "redo", "reset"].includes(one.key));
    const asked = withState("", "pool", state);
    assert.deepEqual(validate(blocks, context, parse(asked, "pool")), state, asked);
    if (open.length === 0) break;
    state = drawn({ ...state, do: open[(pressed * 7) % open.length].value }).state;
    assert.ok(pressed < 200);
  }
  assert.ok(pressed > 60, String(pressed));
});

test("a new example brings its own sizes; another size keeps the actions", () => {
  const now = texts(drawn({ block: 2, do: "ncat.dA" }).state);
  const next = (changed) => validate(blocks, context, blocks.merge(now, new Map(Object.entries(changed))));
  assert.deepEqual(next({ preset: "full" }), drawn({ preset: "full" }).state);
  assert.equal(format(next({ block: "8" })), format(drawn({ block: 8, do: "ncat.dA" }).state));
});

test("what an address makes up is ignored", () => {
  const usual = format(validate(blocks, context));
  for (const text of ["preset:none", "block:3", "block:0", "slots:99999", "design:both", "do:xx", "do:dA.", "do:nnothing", "do:<b>", `do:${"dA.".repeat(200)}dA`, "do:d", "do:constructor"])
    assert.equal(format(validate(blocks, context, parse(`?pool=${text}`, "pool"))), usual, text);
  holds(drawn({ do: "dA.fZ.eB.k.wC.sA" }).model); // well formed, and nothing of it can be done
});

test("what stands in a slot is recorded, and stands where the table says", () => {
  const { model } = drawn();
  const { blocks: boxes, requests } = part(model, "pool");
  const ids = requests.map((one) => one.rows.flatMap((row) => boxes[Number(row.entry.text)].slots.filter((slot) => slot.exact).map((slot) => Number(slot.exact))));
  const [cat, repeat] = ["cat", "repeat"].map((name) => record(context.recordings.find((one) => one.prompt === name).id).tokens.map((one) => one.id));
  assert.deepEqual(ids, [cat.slice(0, 9), repeat.slice(0, 14)]);
});

test("a still of the pool has no buttons; it may show some parts only, and sequences of a record of its own", () => {
  const still = { ...context, options: { preset: "copy", block_tokens: 2, controls: false, parts: ["presses", "pool", "sums"] } };
  const { model, state } = drawn({}, still);
  assert.equal(state.block, 2);
  assert.deepEqual(model.parts.map((one) => one.kind), ["pool", "sums", "note"]);
  assert.doesNotMatch(html(model), /<button/);
  assert.ok(blocks.fields(state, still).every((field) => field.hidden));
  const tokens = [1, 2, 3, 4, 5].map((id) => ({ id, text: ` t${id}` }));
  const own = { ...context, options: { sequences: "own", names: ["first"] }, state: { do: "nfirst.dA" } };
  const found = { [`${context.recordings[0].model}/own`]: { sequences: [{ name: "first", label: "“first”", prompt_tokens: 4, tokens }] } };
  const mine = draw(blocks, validate(blocks, own), found, own);
  assert.deepEqual(part(mine, "pool").requests[0].rows.map((row) => row.words.text), ["t1 t2 t3 t4", "t5"]);
});

test("an example is offered where it is what it is called, with room for the prompt; a reserved block is counted", () => {
  const long = { ...context, recordings: context.recordings.map((one) => (one.prompt === "cat" ? { ...one, prompt_tokens: 60 } : one)) };
  const fields = blocks.fields({}, long);
  assert.deepEqual(fields[0].options.map((one) => one.value), PRESETS.map((one) => one.id).filter((id) => id !== "full"));
  assert.equal(fields.find((one) => one.name === "slots").value, 96);
  assert.deepEqual(blocks.fields({}, context)[0].options.map((one) => one.value), PRESETS.map((one) => one.id));
  for (const { id, slots } of PRESETS) assert.equal(drawn({ preset: id }).state.slots, slots);
  const { model } = drawn({}, { ...context, options: { reserve_null: true } });
  holds(model);
  assert.equal(part(model, "sums").terms.at(-1).n, 1);
  assert.equal(part(model, "pool").blocks[0].state, "reserved");
});

test("a request's hue is read at 4.5 to 1, on paper and under its letter", () => {
  const light = (colour) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  for (const hue of HUES) {
    assert.ok(1.05 / (light(hue) + 0.05) >= 4.5, hue);
    assert.ok((light(mix(hue, 0.15)) + 0.05) / (light("#1b1f24") + 0.05) >= 4.5, hue);
  }
});

test("sixty actions are replayed at once", () => {
  const ids = Array.from({ length: 60 }, (_, i) => ({ id: i, text: String(i), file: "f", key: String(i) }));
  const sources = new Map([["a", { name: "a", label: "a", prompt: 12, tokens: ids, other: () => undefined }]]);
  const start = performance.now();
  for (let i = 0; i < 20; i += 1) replay(["na", "sA", ..."dA.dB.".repeat(24).split(".").filter(Boolean)], sources, { blocks: 64, blockTokens: 1, design: "copy-on-write" });
  assert.ok(performance.now() - start < 2000);
});
