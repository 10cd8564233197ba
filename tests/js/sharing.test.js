// The pictures of blocks and sharing: what JavaScript replays is what Python recorded, rows lie where the tables say.

import assert from "node:assert/strict";
import { test } from "node:test";
import { codes, replay } from "../../docs/assets/js/blocks/actions.js";
import { draw, html, cells } from "../../docs/assets/js/picture.js";
import { validate } from "../../docs/assets/js/state.js";
import { figures, record, records } from "./site.js";

const all = await figures();

/** A figure drawn with some fields changed. */
function shown(id, changed = {}) {
  const { picture, context } = all.find((one) => one.id === id);
  const state = validate(picture, context, new Map(Object.entries(changed).map(([name, value]) => [name, String(value)])));
  return { state, context, picture, model: draw(picture, state, records(picture.needs(state, context)), context) };
}

const { model: home } = all.find((one) => one.id === "block-rows").context.recordings[0];
const sharing = record(`${home}/sharing`);
const blocks = record(`${home}/blocks`);

/** What Python recorded of a world. */
function seen({ manager, live }) {
  const tables = Object.fromEntries([...live.keys()].map((letter) => [letter, [...manager.table(letter)]]));
  return { tables, free: [...manager.pool.freeOrder()], idle: [...manager.index.idleOrder()] };
}

const items = (tokens) => tokens.map(({ id, text }) => ({ id, text, file: "", key: "" }));
const recorded = (name) => {
  const index = record(`${home}/${name}`);
  const other = (position) => index.steps[position - index.prompt_tokens]?.top[1];
  return { name, label: name, prompt: index.prompt_tokens, tokens: items(index.tokens), other };
};
const sequences = new Map(sharing.sequences.map((one) => [one.name, { name: one.name, label: one.label, prompt: one.prompt_tokens, tokens: items(one.tokens), other: () => undefined }]));
const recordings = new Map(["cat", "repeat"].map((name) => [name, recorded(name)]));
const told = [
  ["the two requests", { ...blocks, actions: blocks.actions, design: "full-blocks", block_tokens: 4, blocks: blocks.slots / 4 }, recordings],
  ["the shared prompt", sharing.stories.prompt, sequences],
  ["the copy", sharing.stories.copy, recordings],
];

for (const [name, story, sources] of told) {
  test(`${name}: every action gives the events, tables and orders that Python recorded`, () => {
    const all = codes(story.script);
    assert.deepEqual(all, story.actions.map((action) => action.code));
    for (let done = 1; done <= all.length; done += 1) {
      const world = replay(all.slice(0, done), sources, { blocks: story.blocks, blockTokens: story.block_tokens, design: story.design });
      const { events, tables, free, idle } = story.actions[done - 1];
      assert.deepEqual(world.steps.at(-1).events, events, all[done - 1]);
      assert.deepEqual(seen(world), { tables, free, idle });
    }
  });
}

test("every row is drawn twice, with the same recorded numbers, in the slot that the table names", () => {
  for (const size of blocks.sizes) {
    const { model } = shown("block-rows", { block: size });
    const [logical, physical] = model.parts.filter((part) => part.kind === "table");
    const numbers = (row) => row.cells.filter((cell) => cell.kind === "tint").map((cell) => `${cell.file} ${cell.key}`);
    blocks.by_size[size].slots.A.forEach((slot, at) => assert.deepEqual(numbers(physical.rows[slot]), numbers(logical.rows[at])));
    assert.equal(physical.rows.filter((row) => row.mark === "new").length, 1);
    assert.equal(physical.rows.length, blocks.slots);
  }
  assert.match(shown("block-rows", { block: 4, token: 5 }).model.summary, /slot 5\u00a0×\u00a04\u00a0\+\u00a01\u00a0=\u00a021/);
  assert.match(html(shown("block-rows", { block: 1 }).model), /r-shared">0\u00a0AB/);
  assert.match(shown("block-rows", { request: "B", token: 13 }).model.summary, /“by”, position 13 of B/);
});

test("the parts of each bar end at the whole", () => {
  for (const trace of ["long", "short"]) {
    for (const row of shown("waste", { trace }).model.parts[0].rows) {
      const { spans } = row.cells[0];
      assert.ok(Math.abs(spans.at(-1).to - 1) < 2e-3);
      spans.slice(1).forEach((span, i) => assert.equal(span.at, spans[i].to));
    }
  }
});

test("a second prompt hits as long as its hashes are equal", () => {
  const { others } = shown("hash-chain").context.grid;
  assert.deepEqual(others, sharing.chains.order);
  for (const prompt of others) {
    const { model } = shown("hash-chain", { prompt });
    const [table] = model.parts;
    const hits = table.rows.map((row) => row.kind === "hit");
    assert.equal(hits.filter(Boolean).length, sharing.chains.of[prompt].hits);
    assert.equal(hits.indexOf(false), sharing.chains.of[prompt].hits, "no hit after a miss");
    for (const row of table.rows.filter((one) => one.kind === "hit")) assert.equal(row.cells[1].text, row.cells[3].text);
  }
});

test("what is apart begins at the other token, and not in layer 0 after it", () => {
  for (const change of sharing.rows_order) {
    const { model } = shown("what-is-shared", { change });
    const [{ items }, { rows, columns }] = model.parts;
    const { first } = sharing.rows[change];
    rows.forEach((row, layer) => row.cells.forEach((cell, at) => {
      assert.equal(cell.kind, at < first || (layer === 0 && at > first) ? "blank" : "tint", `${change}, layer ${layer}, position ${at}`);
    }));
    assert.deepEqual(items.flatMap((item, at) => (item.mark ? [at] : [])), [first]);
    assert.equal(columns.reduce((sum, column) => sum + column.span, 0), items.length);
  }
});

test("the copy shows equal rows, then rows that part; before the last action there are none", () => {
  const rows = (action) => shown("copy-on-write", { action }).model.parts.filter((part) => part.kind === "table");
  const [b, a] = rows(7);
  const texts = (row) => row.cells.map((cell) => cell.text).join(" ");
  assert.deepEqual(a.rows.slice(0, 2).map(texts), b.rows.slice(0, 2).map(texts));
  assert.notEqual(texts(a.rows[2]), texts(b.rows[2]));
  assert.ok(rows(5).flatMap((part) => part.rows).every((row) => row.cells.every((cell) => cell.kind === "blank")));
  assert.match(shown("copy-on-write", { action: 6 }).model.summary, /block 1 is shared, so 2 tokens of it are first copied to block 2/);
});

test("each action of a story has its words, and its cells can be read", () => {
  const { picture, context } = shown("shared-prompt");
  const [field] = picture.fields({}, context);
  assert.equal(field.names.length, sharing.stories.prompt.actions.length + 1);
  assert.match(field.names[10], /10 · E begins/);
  for (let action = 0; action <= field.max; action += 1) assert.ok(cells(shown("shared-prompt", { action }).model).length > 0);
});
