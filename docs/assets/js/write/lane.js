// @ts-check
// A lane: what happens along a line of time, as spans between its left and right end. In the page it stretches to the
// room that there is, in a file it has a size; the same spans give both. Each look has a shape of its own beside its colour.

import { LIGHT, mix } from "../palette.js";
import { round } from "./shapes.js";

/** @typedef {{look: string, at: number, to: number, low?: number, high?: number}} Span  from 0 to 1, low and high counted from below */

const LINES = new Set(["waiting", "preempted", "swapped"]); // nothing is computed meanwhile
const STRIPES = new Set(["idle", "again"]); // broad, dashed lines
const SHAPES = /** @type {Record<string, [number, number]>} */ ({ decode: [0.24, 0.76], idle: [0.24, 0.76], spread: [0.42, 0.58], most: [0.22, 0.78] });
const FULL = /** @type {[number, number]} */ ([0.08, 0.92]);
const [WIDE, TALL] = [1000, 100]; // of the stretched drawing

/** What is drawn last lies on top. */
const ORDER = ["mark", "waiting", "preempted", "swapped", "idle", "spread", "most", "used", "unused", "prefill", "again", "decode", "tick", "cut", "stop", "middle", "far", "limit"];

/** Paths by look. @param {{spans: Span[], marks?: {at: number}[]}} cell @param {number} x @param {number} y @param {number} w @param {number} h
 *  @returns {Map<string, string>} */
export function paths(cell, x, y, w, h) {
  /** @type {Map<string, string>} */
  const found = new Map();
  const add = (/** @type {string} */ look, /** @type {string} */ d) => found.set(look, (found.get(look) ?? "") + d);
  const across = (/** @type {number} */ at) => round(x + at * w);
  const up = (/** @type {number} */ share) => round(y + (1 - share) * h);
  const upright = (/** @type {string} */ look, /** @type {number} */ at, /** @type {number} */ low, /** @type {number} */ high) => add(look, `M${across(at)} ${up(low)}V${up(high)}`);
  for (const one of cell.marks ?? []) upright("mark", one.at, 0, 1);
  for (const { look, at, to, low, high } of cell.spans) {
    const [bottom, top] = low === undefined || high === undefined ? SHAPES[look] ?? FULL : [low, high];
    if (LINES.has(look) || STRIPES.has(look)) add(look, `M${across(at)} ${up((bottom + top) / 2)}H${across(to)}`);
    else if (look === "limit") add(look, `M${across(at)} ${up(top)}H${across(to)}`);
    else if (at === to) upright(look, at, bottom, top);
    else add(look, `M${across(at)} ${up(bottom)}V${up(top)}H${across(to)}V${up(bottom)}Z`);
    if (low === undefined && look === "decode") upright("tick", to, bottom, top);
    if (low === undefined && look === "prefill") upright("cut", to, bottom, top);
    if (look === "preempted" || look === "swapped") upright("stop", at, ...FULL);
  }
  return new Map(ORDER.filter((look) => found.has(look)).map((look) => [look, /** @type {string} */ (found.get(look))]));
}

/** In the page. @param {any} cell */
export function stretched(cell) {
  const drawn = [...paths(cell, 0, 0, WIDE, TALL)].map(([look, d]) => `<path class="s-${look}" d="${d}"/>`).join("");
  return `<svg class="lane" viewBox="0 0 ${WIDE} ${TALL}" preserveAspectRatio="none" aria-hidden="true">${drawn}</svg>`;
}

/** In a file. @param {any} cell @param {number} x @param {number} y @param {number} w @param {number} h */
export function sized(cell, x, y, w, h) {
  return [...paths(cell, x, y, w, h)].map(([look, d]) => `<path class="s-${look}" d="${d}"/>`).join("");
}

/** A sample for a legend. @param {string} look @param {number} w @param {number} h */
export function sample(look, w, h) {
  const upright = ["tick", "stop", "middle", "far"].includes(look);
  const spans = look === "decode" ? [{ look, at: 0, to: 0.5 }, { look, at: 0.5, to: 1 }] : [{ look, at: upright ? 0.5 : 0, to: upright ? 0.5 : 1 }];
  return sized({ spans }, 0, 0, w, h);
}

/** The looks in a file; figure.css has the same for both schemes. */
export const LANE_STYLE = `[class^="s-"]{fill:none}.s-mark{stroke:${LIGHT.hair}}.s-prefill,.s-most{fill:${LIGHT.plain}}.s-decode{fill:${mix(LIGHT.new, 0.25)}}`
  + `.s-tick{stroke:${LIGHT.new};stroke-width:1.5}.s-cut{stroke:${LIGHT.paper};stroke-width:1.5}.s-waiting{stroke:${LIGHT.line};stroke-width:1.5;stroke-dasharray:1.5 3}`
  + `.s-idle{stroke:${LIGHT.again};stroke-width:10;stroke-dasharray:1.5 3}.s-again{stroke:${LIGHT.plain};stroke-width:17;stroke-dasharray:2 2}.s-preempted{stroke:${LIGHT.negative};stroke-width:2;stroke-dasharray:1.5 3}`
  + `.s-swapped{stroke:${LIGHT.negative};stroke-width:2;stroke-dasharray:7 3}.s-stop{stroke:${LIGHT.ink};stroke-width:3}.s-used{fill:${mix(LIGHT.plain, 0.4)}}.s-unused{fill:${LIGHT.hair}}.s-limit{stroke:${LIGHT.ink};stroke-dasharray:3 2}`
  + `.s-spread{fill:${LIGHT.line}}.s-middle{stroke:${LIGHT.paper};stroke-width:3}.s-far{stroke:${LIGHT.new};stroke-width:3}`;
