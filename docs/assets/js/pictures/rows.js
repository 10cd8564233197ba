// @ts-check
// THE ROWS IN BLOCKS: keys and values of one head twice. In logical order, as the request knows them, and in physical order,
// as they lie in the pool. The rows are those of the recordings; where each lies was worked out by kvref's manager.

import { spoken, token, whole } from "../format.js";
import { clipAt, drawnDims, kvHead, layerField, numberCell, recordingOf, shard } from "./common.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./common.js").Context & {grid: {sizes: number[], tokens: Record<string, number>, recordings: Record<string, string>}}} Context */
/** @typedef {{id: string, index: any, k: number[][], v: number[][], file: string}} Owner */
/** @typedef {{record: any, file: string, size: number, one: any, who: string, at: number, layer: number, kv: number, owners: Record<string, Owner>, dims: number[], clip: {k: number, v: number}}} Scene */

/** @param {Context} context @param {string} who */
function recorded(context, who) {
  const [first] = context.recordings;
  return context.recordings.find((one) => one.model === first.model && one.prompt === context.grid.recordings[who]) ?? first;
}

/** @param {State} state @param {Context} context @returns {import("../state.js").Field[]} */
export function fields(state, context) {
  const { sizes, tokens, recordings } = context.grid;
  const both = Object.keys(recordings);
  const layers = recorded(context, both[0]).layers.filter((layer) => both.every((who) => recorded(context, who).layers.includes(layer)));
  const layer = layerField(/** @type {any} */ ({ recording: context.recordings[0].id }), context);
  const who = String(state.request ?? "A");
  const last = tokens[who] - 1;
  return [
    { name: "block", label: "Block", kind: "choice", value: 4, options: sizes.map((size) => ({ value: size, text: size === 1 ? "1 slot" : `${size} slots` })) },
    { name: "request", label: "Request", kind: "choice", value: "A", options: both.map((name) => ({ value: name, text: `${name} ${recorded(context, name).label}` })) },
    { name: "token", label: "Token", kind: "range", value: Math.min(5, last), min: 0, max: last, names: Array.from({ length: last + 1 }, (_, at) => `position ${at}`) },
    { ...layer, value: layers.includes(Number(layer.value)) ? layer.value : layers[0], options: layers.map((one) => ({ value: one, text: String(one) })) },
  ];
}

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  const both = Object.keys(context.grid.recordings).map((who) => recorded(context, who).id);
  return [`${recordingOf(state, context).model}/blocks`, ...both, ...both.map((id) => `${id}/kv-${shard(Number(state.layer))}`)];
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context @returns {Scene} */
function sceneOf(state, records, context) {
  const [file] = needs(state, context);
  const [record, layer] = [records[file], Number(state.layer)];
  const first = recorded(context, "A");
  const kv = kvHead(first, (first.chosen.find((one) => one.layer === layer) ?? first.chosen[0]).head);
  const owners = Object.fromEntries(Object.keys(record.recordings).map((who) => {
    const { id } = recorded(context, who);
    const shardFile = `${id}/kv-${shard(layer)}`;
    const of = (/** @type {string} */ part) => records[shardFile][part].map((/** @type {number[][]} */ row) => row[kv]);
    return [who, { id, index: records[id], k: of("k"), v: of("v"), file: shardFile }];
  }));
  const all = (/** @type {"k"|"v"} */ part) => Object.values(owners).flatMap((one) => one[part].flat());
  return {
    record, file, size: Number(state.block), one: record.by_size[String(state.block)], who: String(state.request), at: Number(state.token), layer, kv, owners,
    dims: drawnDims("first", owners.A.k), clip: { k: clipAt(all("k")), v: clipAt(all("v")) },
  };
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const scene = sceneOf(state, records, context);
  const { one, size, who, at } = scene;
  const row = Math.floor(at / size);
  const [block, place] = [one.tables[who][row], at % size];
  const text = spoken(scene.owners[who].index.tokens[at].text);
  return {
    summary: `${text}, position ${at} of ${who}: row ${row} of the table, place ${place}. The table says block ${block}, so its K and V lie in slot ${block}\u00a0×\u00a0${size}\u00a0+\u00a0${place}\u00a0=\u00a0${one.slots[who][at]}.`,
    parts: [
      { kind: "title", text: `Logical order: ${who}, as attention reads it` }, logical(scene),
      { kind: "title", text: "Physical order: the pool, as memory holds it" }, physical(scene),
      { kind: "legend", items: [
        { swatch: "key", text: "K, turned by position, as cached" }, { swatch: "value", text: "V" }, { text: `the first ${scene.dims.length} numbers of each row, grey where negative` }, { swatch: "new", text: "the chosen token" }, { swatch: "empty", text: "empty slot" },
      ] },
    ],
  };
}

/** @param {Scene} scene */
function columns(scene) {
  const span = scene.dims.length;
  return [{ text: "block", look: "count" }, { text: "K", span, role: "key" }, { text: "V", span, role: "value" }];
}

/** @param {Scene} scene */
function logical(scene) {
  const { one, size, who, file } = scene;
  const rows = Array.from({ length: one.tokens[who] }, (_, at) => {
    const row = Math.floor(at / size);
    const block = one.tables[who][row];
    return {
      head: { text: token(scene.owners[who].index.tokens[at].text, true), sub: String(at) }, kind: at % size === 0 ? "edge" : undefined, mark: at === scene.at ? "new" : undefined,
      cells: [tag(who, at % size === 0 ? String(block) : "", `${who}, position ${at}: row ${row} of its table, block`, file, `by_size.${size}.tables.${who}.${row}`, String(block)), ...values(scene, who, at)],
    };
  });
  return { kind: "table", name: "logical", look: "tint", corner: "pos.", label: `K and V of ${who} in logical order, layer ${scene.layer}, KV head ${scene.kv}`, columns: columns(scene), rows };
}

/** @param {Scene} scene */
function physical(scene) {
  const { one, size, file } = scene;
  const owner = new Map(Object.keys(one.slots).reverse().flatMap((who) => one.slots[who].map((/** @type {number} */ slot, /** @type {number} */ at) => [slot, { who, at }])));
  const rows = Array.from({ length: scene.record.slots }, (_, slot) => {
    const held = owner.get(slot);
    const block = Math.floor(slot / size);
    const holders = Object.keys(one.tables).filter((who) => one.tables[who].includes(block));
    const edge = slot % size === 0;
    const words = held ? token(scene.owners[held.who].index.tokens[held.at].text, true) : "";
    return {
      head: { text: words || "·", sub: String(slot) }, kind: edge ? "edge" : undefined, mark: one.slots[scene.who][scene.at] === slot ? "new" : undefined,
      cells: [
        holders.length ? tag(holders.length > 1 ? "shared" : holders[0], edge ? `${block}\u00a0${holders.join("")}` : "", `slot ${slot}: ${holders.join(" and ")}, block`, file, `by_size.${size}.tables.${holders[0]}.${one.tables[holders[0]].indexOf(block)}`, String(block))
          : { kind: "blank", text: edge ? String(block) : "", say: `slot ${slot}: block ${block} is free` },
        ...(held ? values(scene, held.who, held.at) : [...scene.dims, ...scene.dims].map(() => ({ kind: "blank", text: "", say: `slot ${slot}: ${holders.length ? `held by ${holders.join(" and ")}, and empty` : "free"}` }))),
      ],
    };
  });
  return { kind: "table", name: "physical", look: "tint", corner: "slot", label: `K and V in physical order, ${whole(scene.record.slots)} slots`, columns: columns(scene), rows };
}

/** Whose block it is. @param {string} who @param {string} text @param {string} say @param {string} file @param {string} key @param {string} exact */
function tag(who, text, say, file, key, exact) {
  const hue = who === "shared" ? "shared" : `o${who.charCodeAt(0) - 65}`;
  return { kind: "count", text, role: hue, say, file, key, exact };
}

/** The row of K and the row of V. @param {Scene} scene @param {string} who @param {number} at */
function values({ owners, dims, clip, kv }, who, at) {
  const { index, file, ...rows } = owners[who];
  const text = spoken(index.tokens[at].text);
  return /** @type {("k"|"v")[]} */ (["k", "v"]).flatMap((part) => dims.map((d) => {
    const cell = numberCell(rows[part][at][d], part === "k" ? "key" : "value", clip[part], file, `${part}.${at}.${kv}.${d}`, `${part.toUpperCase()} of ${who}, position ${at} ${text}, number ${d}`);
    return { ...cell, kind: "tint", text: "", t: Math.max(0.04, Number(cell.t) * 0.85), clip: false };
  }));
}
