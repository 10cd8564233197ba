// @ts-check
// A line chart as a drawing, from the very description that Plotly gets later: lines and points, a plain or a logarithmic
// axis, labels beside the lines. Roles, not colours, stand in the description; the page gives each role its colour in both schemes.

import { escape, scientific } from "../format.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./common.js").Context} Context */

const [WIDTH, HEIGHT] = [680, 380];

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
    summary: layout.meta.summary, credit: layout.meta.credit,
    parts: [{
      kind: "drawing", label: layout.meta.alt, width: WIDTH, height: HEIGHT, body, rows: rows(data),
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
  const [x0, x1] = layout.xaxis.range ?? [Math.min(...xs), Math.max(...xs)];
  const [y0, y1] = layout.yaxis.range; // powers of ten on a logarithmic axis, as the heights of labels are
  const { l: left, r, t: top, b } = layout.margin; // as Plotly has them; the upper one leaves room for its buttons
  const [right, bottom] = [WIDTH - r, HEIGHT - b];
  return {
    x: (/** @type {number} */ value) => left + ((value - x0) / (x1 - x0 || 1)) * (right - left),
    y: (/** @type {number} */ level) => top + ((y1 - level) / (y1 - y0)) * (bottom - top),
    level: layout.yaxis.type === "log" ? Math.log10 : (/** @type {number} */ value) => value,
    xs: layout.xaxis.tickvals ?? [...new Set(xs)], left, right, top, bottom,
  };
}

/** @param {any} axes @param {any} layout */
function grid(axes, layout) {
  let body = "";
  layout.yaxis.tickvals.forEach((/** @type {number} */ value, /** @type {number} */ i) => {
    const y = axes.y(axes.level(value)).toFixed(1);
    body += `<path class="hair" d="M${axes.left} ${y}H${axes.right}"/>`;
    body += `<text class="muted" x="${axes.left - 8}" y="${Number(y) + 4}" text-anchor="end">${escape(layout.yaxis.ticktext[i])}</text>`;
  });
  axes.xs.forEach((/** @type {number} */ x, /** @type {number} */ i) => {
    body += `<text class="muted" x="${axes.x(x).toFixed(1)}" y="${axes.bottom + 18}" text-anchor="middle">${escape(layout.xaxis.ticktext?.[i] ?? x)}</text>`;
  });
  body += `<path class="axis" d="M${axes.left} ${axes.top}V${axes.bottom}H${axes.right}"/>`;
  body += `<text class="muted" x="${(axes.left + axes.right) / 2}" y="${axes.bottom + 38}" text-anchor="middle">${escape(layout.xaxis.title.text)}</text>`;
  return body + `<text class="muted" transform="translate(14 ${(axes.top + axes.bottom) / 2}) rotate(-90)" text-anchor="middle">${escape(layout.yaxis.title.text)}</text>`;
}

/** @param {any} trace @param {any} axes */
function line(trace, axes) {
  const pairs = trace.x.map((/** @type {number} */ x, /** @type {number} */ i) => [x, axes.level(trace.y[i])]);
  const points = pairs.filter((/** @type {number[]} */ pair) => Number.isFinite(pair[1])).map((/** @type {number[]} */ pair) => [axes.x(pair[0]).toFixed(1), axes.y(pair[1]).toFixed(1)]);
  if (points.length === 0) return "";
  const dots = trace.mode.includes("markers") ? points.map((/** @type {string[]} */ point) => dot(trace, point)).join("") : "";
  if (!trace.mode.includes("lines")) return dots;
  const path = points.map((/** @type {string[]} */ point) => point.join(" ")).join("L");
  const dash = trace.line.dash === "dash" ? ' stroke-dasharray="7 5"' : "";
  const thin = trace.opacity === undefined ? "" : ` stroke-opacity="${trace.opacity}"`;
  return `<path class="l-${trace.meta.role}" d="M${path}" stroke-width="${trace.line.width}"${dash}${thin}/>${dots}`;
}

/** A point, open or filled. @param {any} trace @param {string[]} place */
function dot(trace, [x, y]) {
  const open = trace.marker.symbol === "circle-open";
  return `<circle class="${open ? "l" : "f"}-${trace.meta.role}" cx="${x}" cy="${y}" r="${trace.marker.size / 2}"${open ? ' stroke-width="2"' : ""}/>`;
}

/** @param {any} layout @param {any} axes */
function labels(layout, axes) {
  return layout.annotations.map((/** @type {any} */ note) => {
    const beside = note.xref === "x"; // a point of the chart; else the end of a line
    const [x, y] = [beside ? axes.x(note.x) + (note.xshift ?? 0) : axes.right + 8, axes.y(note.y) - (note.yshift ?? 0)];
    const anchor = note.xanchor === "right" ? ' text-anchor="end"' : "";
    return note.text.split("<br>").map((/** @type {string} */ words, /** @type {number} */ i) =>
      `<text class="f-${note.meta?.role ?? note.name}" x="${x.toFixed(1)}" y="${(y + 4 + i * 15).toFixed(1)}"${anchor}>${escape(words)}</text>`).join("");
  }).join("");
}

/** @param {any[]} data */
function rows(data) {
  return data.flatMap((trace) => trace.x.map((/** @type {number} */ x, /** @type {number} */ i) =>
    [trace.name, trace.meta.row ?? "", x, scientific(trace.y[i]), trace.y[i], trace.meta.record, trace.meta.keys[i]]));
}
