// @ts-check
// A line chart as a drawing, from the very description that Plotly gets later: lines, a logarithmic axis, labels beside
// the lines. Roles, not colours, stand in the description; the page gives each role its colour in both schemes.

import { escape, scientific } from "../format.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./common.js").Context} Context */

// The same margins as in the description; the upper one leaves room for Plotly's buttons.
const SIZE = { width: 680, height: 380, left: 64, right: 132, top: 36, bottom: 48 };

export function fields() {
  return [];
}

/** @param {State} _state @param {Context} context */
export function needs(_state, context) {
  return [`figure:${context.figure}`];
}

/** @param {State} _state @param {import("./common.js").Records} records @param {Context} context */
export function draw(_state, records, context) {
  const { data, layout } = records[`figure:${context.figure}`];
  const axes = scales(data, layout);
  const body = grid(axes, layout) + data.map((/** @type {any} */ trace) => line(trace, axes)).join("") + labels(layout, axes);
  return {
    summary: layout.meta.summary,
    parts: [{
      kind: "drawing", label: layout.meta.alt, width: SIZE.width, height: SIZE.height, body, rows: rows(data),
    }, { kind: "legend", items: layout.meta.legend ?? [] }],
  };
}

/** What Plotly draws: the description as it is. @param {any} spec */
export function plotly(spec) {
  return spec;
}

/** @param {any[]} data @param {any} layout */
function scales(data, layout) {
  const xs = data.flatMap((trace) => trace.x);
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const [y0, y1] = layout.yaxis.range; // powers of ten
  const width = SIZE.width - SIZE.left - SIZE.right;
  const height = SIZE.height - SIZE.top - SIZE.bottom;
  return {
    x: (/** @type {number} */ value) => SIZE.left + ((value - x0) / (x1 - x0 || 1)) * width,
    y: (/** @type {number} */ exponent) => SIZE.top + ((y1 - exponent) / (y1 - y0)) * height,
    xs: [...new Set(xs)], right: SIZE.width - SIZE.right, bottom: SIZE.height - SIZE.bottom,
  };
}

/** @param {any} axes @param {any} layout */
function grid(axes, layout) {
  let body = "";
  layout.yaxis.tickvals.forEach((/** @type {number} */ value, /** @type {number} */ i) => {
    const y = axes.y(Math.log10(value)).toFixed(1);
    body += `<path class="hair" d="M${SIZE.left} ${y}H${axes.right}"/>`;
    body += `<text class="muted" x="${SIZE.left - 8}" y="${Number(y) + 4}" text-anchor="end">${escape(layout.yaxis.ticktext[i])}</text>`;
  });
  for (const x of axes.xs) body += `<text class="muted" x="${axes.x(x).toFixed(1)}" y="${axes.bottom + 18}" text-anchor="middle">${x}</text>`;
  body += `<path class="axis" d="M${SIZE.left} ${SIZE.top}V${axes.bottom}H${axes.right}"/>`;
  body += `<text class="muted" x="${(SIZE.left + axes.right) / 2}" y="${axes.bottom + 38}" text-anchor="middle">${escape(layout.xaxis.title.text)}</text>`;
  return body + `<text class="muted" transform="translate(14 ${(SIZE.top + axes.bottom) / 2}) rotate(-90)" text-anchor="middle">${escape(layout.yaxis.title.text)}</text>`;
}

/** @param {any} trace @param {any} axes */
function line(trace, axes) {
  const points = trace.x.map((/** @type {number} */ x, /** @type {number} */ i) => [x, trace.y[i]]).filter((/** @type {number[]} */ pair) => pair[1] > 0);
  if (points.length === 0) return "";
  const path = points.map((/** @type {number[]} */ pair) => `${axes.x(pair[0]).toFixed(1)} ${axes.y(Math.log10(pair[1])).toFixed(1)}`).join("L");
  const dash = trace.line.dash === "dash" ? ' stroke-dasharray="7 5"' : "";
  const thin = trace.opacity === undefined ? "" : ` stroke-opacity="${trace.opacity}"`;
  return `<path class="l-${trace.meta.role}" d="M${path}" stroke-width="${trace.line.width}"${dash}${thin}/>`;
}

/** @param {any} layout @param {any} axes */
function labels(layout, axes) {
  return layout.annotations.map((/** @type {any} */ note) => {
    const y = axes.y(note.y);
    return note.text.split("<br>").map((/** @type {string} */ words, /** @type {number} */ i) =>
      `<text class="f-${note.meta?.role ?? note.name}" x="${axes.right + 8}" y="${(y + 4 + i * 15).toFixed(1)}">${escape(words)}</text>`).join("");
  }).join("");
}

/** @param {any[]} data */
function rows(data) {
  return data.flatMap((trace) => trace.x.map((/** @type {number} */ x, /** @type {number} */ i) =>
    [trace.name, trace.meta.row ?? "", x, scientific(trace.y[i]), trace.y[i], trace.meta.record, trace.meta.keys[i]]));
}
