// @ts-check
// THE POOL in an SVG that stands alone: blocks in physical order, then the requests' tables and the numbers that add up.

import { HUES, LIGHT, mix } from "../palette.js";
import { SANS, box, short, text, wrap } from "./shapes.js";

const [WIDTH, SLOT, HIGH, HEAD] = [720, 42, 24, 20];

/** Nothing can be pressed there. */
export function presses() {
  return { height: -14, body: "" }; // and no gap
}

/** @param {any} part @returns {{height: number, body: string}} */
export function pool(part) {
  const across = Math.min(part.width, 4);
  const [wide, high] = [Math.max(2, across) * SLOT, HEAD + Math.ceil(part.width / 4) * HIGH];
  const perRow = Math.max(1, Math.floor((WIDTH + 14) / (wide + 14)));
  let body = text(0, 12, part.label, { weight: 700 });
  part.blocks.forEach((/** @type {any} */ one, /** @type {number} */ i) => {
    body += block(one, (i % perRow) * (wide + 14), 24 + Math.floor(i / perRow) * (high + 12), wide, high, across);
  });
  let y = 24 + Math.ceil(part.blocks.length / perRow) * (high + 12) + 8;
  body += text(0, y + 12, part.tables, { weight: 700 });
  y += 24;
  for (const one of part.requests) {
    body += letter(one, 0, y) + text(22, y + 12, one.title, { weight: 600 }) + text(WIDTH, y + 12, one.sub, { anchor: "end", muted: true });
    y += 22;
    for (const row of one.rows) {
      body += text(22, y + 12, `${row.row} →`, { muted: true }) + box(52, y, 28, 17, row.others.length ? mix(LIGHT.shared, 0.18) : mix(HUES[one.hue], 0.18), row.others.length ? LIGHT.shared : HUES[one.hue])
        + text(66, y + 13, row.entry.text, { anchor: "middle", weight: 600 }) + text(90, y + 13, short(row.words.text, 470), { mono: true })
        + text(WIDTH, y + 13, row.others.length ? `${row.words.sub} · also ${row.others.map((/** @type {any} */ other) => other.letter).join(", ")}` : row.words.sub, { anchor: "end", muted: true });
      y += 21;
    }
    y += 8;
  }
  return { height: y, body };
}

/** @param {any} one @param {number} x @param {number} y @param {number} wide @param {number} high @param {number} across */
function block(one, x, y, wide, high, across) {
  const colour = one.holders.length > 1 ? LIGHT.shared : one.holders.length ? HUES[one.holders[0].hue] : LIGHT.line;
  const used = one.state === "used";
  const drawn = one.slots.map((/** @type {any} */ slot, /** @type {number} */ at) => {
    const [left, top, w] = [x + (at % across) * (wide / across), y + HEAD + Math.floor(at / across) * HIGH, wide / across];
    const fresh = slot.mark === "new";
    return box(left, top, w, HIGH, slot.text && used ? mix(colour, 0.14) : LIGHT.paper, LIGHT.hair)
      + (fresh ? box(left + 1, top + 1, w - 2, HIGH - 2, "none", LIGHT.new, 2) : "")
      + text(left + w / 2, top + 16, short(slot.text, w), { anchor: "middle", mono: true, size: 11, muted: !used });
  }).join("");
  const owners = one.holders.map((/** @type {any} */ holder, /** @type {number} */ i) => letter(holder, x + 22 + i * 17, y + 1)).join("");
  return drawn + box(x, y - 1, wide, high + 1, "none", colour, used ? 1.5 : 1, !used) + text(x + 5, y + 14, one.name, { weight: 700 }) + owners
    + text(x + wide - 5, y + 14, one.holders.length > 2 && wide < 120 ? "" : `${one.found ? "◆ " : ""}${one.tag}`, { anchor: "end", muted: true, size: 11 });
}

/** A request's letter in its hue. @param {{letter: string, hue: number}} one @param {number} x @param {number} y */
function letter(one, x, y) {
  return box(x, y, 15, 16, HUES[one.hue]) + text(x + 7.5, y + 12.5, one.letter, { anchor: "middle", weight: 700, fill: LIGHT.paper });
}

/** @param {any} part */
export function sums({ terms, total, facts, orders }) {
  const added = `${terms.map((/** @type {any} */ one) => `${one.n} ${one.text}`).join(" + ")} = ${total} ${total === 1 ? "block" : "blocks"}`;
  const rest = [...facts, ...orders.map((/** @type {any} */ one) => `${one.text}: ${one.blocks}`)].flatMap((line) => wrap(line, WIDTH, SANS));
  return { height: 16 + rest.length * 17, body: text(0, 12, added, { weight: 600 }) + rest.map((line, i) => text(0, 29 + i * 17, line, { muted: true })).join("") };
}

/** @param {any} part */
export function log({ label, steps }) {
  const lines = steps.flatMap((/** @type {any} */ step) => wrap(`${step.at}. ${step.text}`, WIDTH, SANS));
  return { height: 18 + lines.length * 16, body: text(0, 12, label, { weight: 700 }) + lines.map((/** @type {string} */ line, /** @type {number} */ i) => text(0, 30 + i * 16, line, { muted: true })).join("") };
}
