// @ts-check
// What pictures of measurements share: the choice of a device, logarithmic axes, points with every sample of theirs, and
// what stands in place of a picture while nothing is measured. Numbers are put in their places here and never made.

import { escape, significant, whole } from "../format.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {{id: string, name: string, model: string|null, date: string, credit: string, records: Record<string, string>}} Device */
/** @typedef {{figure: string, options: Record<string, any>, devices: Device[]}} Context */
/** @typedef {{samples_ms: number[], min_ms: number, median_ms: number, max_ms: number, spread: number}} Timing */
/** @typedef {(value: number) => number} Scale */
/** @typedef {{x: Scale, y: Scale, size: typeof SIZE}} Axes */

export const SIZE = { width: 400, height: 300, left: 62, right: 76, top: 14, bottom: 46 }; // whole on a phone
const EMPTY = { width: 400, height: 84 };
const UNEVEN = 1.5; // as the records have it: a median so many times the minimum
const LETTER = 8; // wide, at most, on a phone

/** @param {State} _state @param {Context} context @returns {import("../state.js").Field[]} */
export function deviceFields(_state, { devices }) {
  if (devices.length === 0) return [];
  return [{ name: "device", label: "Device", kind: "choice", value: devices[0].id, options: devices.map(({ id, name }) => ({ value: id, text: name })) }];
}

/** @param {State} state @param {Context} context @returns {Device|undefined} */
export function deviceOf(state, { devices }) {
  return devices.find(({ id }) => id === state.device) ?? devices[0];
}

/** The files of some kinds that the device has. @param {State} state @param {Context} context @param {string[]} kinds @returns {string[]} */
export function filesOf(state, context, kinds) {
  const device = deviceOf(state, context);
  return device ? kinds.flatMap((kind) => device.records[kind] ?? []) : [];
}

/** What is shown before there is a record. @param {string} what */
export function nothing(what) {
  const words = "No device has been measured yet.";
  const middle = EMPTY.width / 2;
  const body = `<path class="axis" d="M20 10V${EMPTY.height - 10}H${EMPTY.width - 20}"/><text class="muted" x="${middle}" y="36" text-anchor="middle">${words}</text>`
    + `<text class="muted" x="${middle}" y="58" text-anchor="middle">A record fills this in.</text>`;
  return {
    summary: `${words} ${what}`, credit: "Times are never borrowed: without a record there is no number.",
    parts: [{ kind: "drawing", label: words, ...EMPTY, body, rows: [["nothing", "", "", words, "", "", ""]] }],
  };
}

/** The values that a scale must hold, with a little room. @param {number[]} values @param {number} from @param {number} to @param {number} [room] @returns {Scale & {low: number, high: number}} */
export function log(values, from, to, room = 0.05) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const wide = Math.max(Math.log10(most / least), Math.log10(2));
  const [low, high] = [Math.log10(least) - room * wide, Math.log10(least) + (1 + room) * wide];
  const scale = (/** @type {number} */ value) => round(from + ((Math.log10(value) - low) / (high - low)) * (to - from));
  return Object.assign(scale, { low: 10 ** low, high: 10 ** high });
}

/** Where lines of a scale stand: powers of ten, and what lies between them where there are few. @param {{low: number, high: number}} scale @returns {number[]} */
export function marks({ low, high }) {
  const decades = Math.log10(high / low);
  const digits = decades > 2.5 ? [1] : decades > 1.2 ? [1, 3] : decades > 0.7 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1)
    for (const digit of digits) found.push(Number(`${digit}e${power}`));
  return found.filter((one) => one >= low && one <= high);
}

/** The frame: lines and figures of both axes. @param {Axes & {y: {low: number, high: number}}} axes @param {number[]} stops on the x axis @param {string} across @param {string} up */
export function frame({ x, y, size }, stops, across, up) {
  const [right, bottom] = [size.width - size.right, size.height - size.bottom];
  let last = -100;
  const below = stops.map((stop) => {
    const [at, words] = [x(stop), number(stop)];
    const named = at - last >= (words.length * LETTER) / 2 + 14;
    if (named) last = at + (words.length * LETTER) / 2 - 6;
    return `<path class="hair" d="M${at} ${size.top}V${bottom}"/>${named ? `<text class="muted" x="${at}" y="${bottom + 18}" text-anchor="middle">${words}</text>` : ""}`;
  });
  const beside = marks(y).map((mark) => `<path class="hair" d="M${size.left} ${y(mark)}H${right}"/><text class="muted" x="${size.left - 6}" y="${y(mark) + 4}" text-anchor="end">${number(mark)}</text>`);
  return below.join("") + beside.join("") + `<path class="axis" d="M${size.left} ${size.top}V${bottom}H${right}"/>`
    + `<text class="muted" x="${(size.left + right) / 2}" y="${bottom + 38}" text-anchor="middle">${escape(across)}</text>`
    + `<text class="muted" transform="translate(12 ${(size.top + bottom) / 2}) rotate(-90)" text-anchor="middle">${escape(up)}</text>`;
}

/** As short as an axis needs it. @param {number} value */
export function number(value) {
  return value >= 1000 ? whole(value) : significant(value);
}

/** Milliseconds in words. @param {number} ms */
export function time(ms) {
  return `${ms >= 100 ? whole(ms) : significant(ms)}\u00a0ms`;
}

const SHAPES = [
  (/** @type {number} */ x, /** @type {number} */ y) => `M${x - 4} ${y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z`,
  (/** @type {number} */ x, /** @type {number} */ y) => `M${x - 3.5} ${y - 3.5}h7v7h-7z`,
  (/** @type {number} */ x, /** @type {number} */ y) => `M${x} ${y - 5}l4.6 8.2h-9.2z`,
  (/** @type {number} */ x, /** @type {number} */ y) => `M${x} ${y - 5}l5 5l-5 5l-5 -5z`,
];

/** A lane's mark. @param {number} x @param {number} y @param {string} role @param {number} shape */
export function mark(x, y, role, shape) {
  return `<path class="f-${role}" d="${SHAPES[shape % SHAPES.length](x, y)}"/>`;
}

/** How a legend shows a lane's mark. @param {string} role @param {number} shape */
export function swatch(role, shape) {
  return `mark${shape % SHAPES.length} r-${role}`;
}

/** A line from the least to the most, and where the middle lies. @param {number} x @param {number[]} ends on the page, least, middle, most @param {string} role */
export function whisker(x, [least, middle, most], role) {
  return `<path class="l-${role}" stroke-width="1" d="M${x} ${least}V${most}M${x - 4} ${middle}h8"/>`;
}

/** Every sample of a timing, its whisker, and the mark at its minimum. @param {number} at @param {Timing} taken @param {Scale} y @param {string} role @param {number} shape */
export function timing(at, taken, y, role, shape) {
  const dots = taken.samples_ms.map((ms, i) => `<circle cx="${round(at + 2.5 + (i % 3) * 1.5)}" cy="${y(ms)}" r="1.3"/>`).join("");
  return `<g class="f-${role}" fill-opacity=".45">${dots}</g>${whisker(at, [y(taken.min_ms), y(taken.median_ms), y(taken.max_ms)], role)}${mark(at, y(taken.min_ms), role, shape)}`;
}

/** A line through points; dashed for what was predicted. @param {number[][]} places @param {string} role @param {boolean} [dashed] */
export function line(places, role, dashed = false) {
  return `<path class="l-${role}" stroke-width="${dashed ? 1.5 : 2}"${dashed ? ' stroke-dasharray="5 4"' : ""} d="M${places.map((place) => place.join(" ")).join("L")}"/>`;
}

/** Names at the ends of lines, moved apart where they would touch. @param {{at: number[], words: string, role: string, inside?: boolean}[]} ends @param {typeof SIZE} size */
export function names(ends, size) {
  let low = -100;
  const sorted = [...ends].sort((a, b) => a.at[1] - b.at[1]);
  return sorted.map(({ at: [x, y], words, role, inside }) => {
    const place = inside ? y - 6 : Math.max(y + 4, low + 16);
    if (!inside) low = place;
    return `<text class="f-${role} on" font-weight="600" x="${inside ? x - 8 : Math.min(x + 10, size.width - size.right + 10)}" y="${round(Math.min(place, size.height - 4))}"${inside ? ' text-anchor="end"' : ""}>${escape(words)}</text>`;
  }).join("");
}

/** How many of the timings are of a machine that did something else too, in words; nothing where none is. @param {Timing[]} all */
export function uneven(all) {
  const busy = all.filter(({ spread }) => spread > UNEVEN).length;
  return busy === 0 ? "" : ` The machine was busy: in ${busy} of ${all.length} points the median lies far above the fastest sample.`;
}

/** What a timing says, a line a number, for the files that a figure comes with. @param {string} part @param {string} row @param {string} column @param {Timing} taken @param {string} file @param {string} key */
export function told(part, row, column, taken, file, key) {
  const one = (/** @type {string} */ words, /** @type {number} */ ms, /** @type {string} */ name) => [part, row, `${column}: ${words}`, time(ms), ms, file, `${key}.${name}`];
  return [
    one("minimum", taken.min_ms, "min_ms"), one("median", taken.median_ms, "median_ms"), one("maximum", taken.max_ms, "max_ms"),
    ...taken.samples_ms.map((ms, i) => one(`sample ${i}`, ms, `samples_ms.${i}`)),
  ];
}

/** @param {number} n */
export function round(n) {
  return Math.round(n * 10) / 10;
}
