// @ts-check
// All query heads of a layer at a glance: one small triangle of attention weights per head. As a drawing first, and
// as the same panels in Plotly once the reader moves, to zoom and to read single values.

import { escape, spoken } from "../format.js";
import { kvHead, layerField, recordingField, recordingOf, shard } from "./common.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./common.js").Context} Context */

const WIDTH = 680;
const PER_ROW = 3;
const LEVELS = 10;
const GAP = 26;
const DIRECTIONS = "rows ↓ the token that looks · columns → the token that is looked at";
const TOP = 30; // room for the words on rows and columns, and for Plotly's buttons

/** @param {State} state @param {Context} context */
export function fields(state, context) {
  return [recordingField(state, context), layerField(state, context)];
}

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  const { id } = recordingOf(state, context);
  return [id, `${id}/attention-${shard(Number(state.layer))}`];
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const recording = recordingOf(state, context);
  const { weights, file } = found(state, records, recording);
  const heads = weights[0].length;
  const side = (WIDTH - (PER_ROW - 1) * GAP) / PER_ROW;
  const body = Array.from({ length: heads }, (_, head) => {
    const [x, y] = [(head % PER_ROW) * (side + GAP), TOP + Math.floor(head / PER_ROW) * (side + GAP + 6)];
    return `<g transform="translate(${x.toFixed(1)} ${y.toFixed(1)})">${panel(weights, head, side, title(recording, head))}</g>`;
  }).join("");
  const words = `<text class="muted" x="0" y="12">${escape(DIRECTIONS)}</text>`;
  return {
    summary: `Layer ${state.layer}: ${heads} query heads; each row is a token that looks, each column a token that is looked at.`,
    parts: [
      { kind: "drawing", label: `Attention weights of ${heads} query heads in layer ${state.layer}`, width: WIDTH,
        height: TOP + Math.ceil(heads / PER_ROW) * (side + GAP + 6), body: words + body, rows: rows(weights, file) },
      { kind: "legend", items: [{ swatch: "scale", text: "weight, from 0 to 1, the same in all panels" }, { text: "above the stairs: masked" }] },
    ],
  };
}

/** What Plotly draws: the description made at build, with the chosen layer's numbers put in.
 *  @param {any} spec @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function plotly(spec, state, records, context) {
  const recording = recordingOf(state, context);
  const { weights, tokens } = found(state, records, recording);
  const names = tokens.map((/** @type {any} */ one) => `${one.position} ${spoken(one.text)}`);
  const data = spec.data.map((/** @type {any} */ trace, /** @type {number} */ head) => ({ ...trace, z: square(weights, head), x: tokens.map((/** @type {any} */ one) => one.position),
    y: tokens.map((/** @type {any} */ one) => one.position), customdata: names.map((/** @type {string} */ row) => names.map((/** @type {string} */ column) => [row, column])) }));
  const ranges = { x: [-0.5, tokens.length - 0.5], y: [tokens.length - 0.5, -0.5] };
  const axes = Object.entries(spec.layout).filter(([name]) => /^[xy]axis\d*$/.test(name));
  const shapes = data.map((/** @type {any} */ trace) => ({ type: "path", path: stairs(tokens.length), xref: trace.xaxis, yref: trace.yaxis }));
  return { data, layout: { ...spec.layout, shapes, ...Object.fromEntries(axes.map(([name, axis]) => [name, { ...axis, range: ranges[/** @type {"x"|"y"} */ (name[0])] }])) } };
}

/** The edge between what is read and what is masked, in the units of Plotly's axes: without it a masked cell looks like a
 *  weight of 0. @param {number} n */
function stairs(n) {
  return `M-0.5,-0.5${Array.from({ length: n }, (_, i) => `V${i - 0.5}H${i + 0.5}`).join("")}V${n - 0.5}H-0.5Z`;
}

/** @param {State} state @param {import("./common.js").Records} records @param {import("./common.js").Recording} recording */
function found(state, records, recording) {
  const file = `${recording.id}/attention-${shard(Number(state.layer))}`;
  return { file, weights: records[file].weights, tokens: records[recording.id].tokens };
}

/** @param {number[][][]} weights @param {number} head @returns {(number|null)[][]} */
function square(weights, head) {
  return weights.map((heads) => weights.map((_, j) => heads[head][j] ?? null));
}

/** @param {import("./common.js").Recording} recording @param {number} head */
function title(recording, head) {
  return recording.group_size > 1 ? `head ${head} · reads KV head ${kvHead(recording, head)}` : `head ${head}`;
}

/** One triangle; cells of the same depth share a path, so that nine panels stay small.
 *  @param {number[][][]} weights @param {number} head @param {number} side @param {string} words */
function panel(weights, head, side, words) {
  const n = weights.length;
  const cell = side / n;
  /** @type {string[]} */
  const paths = Array.from({ length: LEVELS + 1 }, () => "");
  weights.forEach((heads, i) => heads[head].forEach((weight, j) => {
    paths[Math.round(Math.min(1, weight) * LEVELS)] += `M${(j * cell).toFixed(1)} ${(18 + i * cell).toFixed(1)}h${cell.toFixed(2)}v${cell.toFixed(2)}h-${cell.toFixed(2)}z`;
  }));
  const tinted = paths.map((path, level) => (path === "" || level === 0 ? "" : `<path class="f-weight" fill-opacity="${level / LEVELS}" d="${path}"/>`)).join("");
  const stairs = Array.from({ length: n }, (_, i) => `V${(18 + i * cell).toFixed(1)}H${((i + 1) * cell).toFixed(1)}`).join("");
  return `<text class="muted" x="0" y="12">${escape(words)}</text>${tinted}<path class="axis" d="M0 18${stairs}V${(18 + side).toFixed(1)}H0z"/>`;
}

/** @param {number[][][]} weights @param {string} file */
function rows(weights, file) {
  return weights.flatMap((heads, i) => heads.flatMap((row, head) => row.map((weight, j) => [`head ${head}`, i, j, weight, weight, file, `weights.${i}.${head}.${j}`])));
}
