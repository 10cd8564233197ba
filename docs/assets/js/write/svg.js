// @ts-check
// A picture's model as one self-contained SVG with light colours: for slides, papers and the image that stands for a
// figure elsewhere. Boxes and texts are placed by counting characters, so that no font has to be measured.

import { escape } from "../format.js";
import { LIGHT, TINT, mix } from "../palette.js";
import { heads } from "./heads_svg.js";
import { mark } from "../pictures/plot.js";
import { LANE_STYLE, sample, sized } from "./lane.js";
import { log, pool, presses, sums } from "./pool_svg.js";
import { MONO, SANS, box, round, short, text, wrap } from "./shapes.js";

const WIDTH = 760;
const GAP = 14;
const LOOKS = /** @type {Record<string, {cell: number, row: number, head: number}>} */ ({
  numbers: { cell: 54, row: 22, head: 84 }, tint: { cell: 21, row: 15, head: 92 }, squares: { cell: 15, row: 18, head: 64 },
  matrix: { cell: 42, row: 24, head: 84 }, plain: { cell: 120, row: 22, head: 220 }, bars: { cell: 480, row: 24, head: 190 }, lanes: { cell: 450, row: 24, head: 138 },
});
const UNBOXED = new Set(["sign", "clip", "found"]); // said in words on the page too
const WIDE = /** @type {Record<string, number>} */ ({ text: 80, count: 50, wide: 92, exact: 176 });
export const STYLE = `text{font-family:system-ui,-apple-system,"Segoe UI",sans-serif;font-size:12px;fill:${LIGHT.ink}}`
  + `.mono{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace}.muted{fill:${LIGHT.muted}}.axis,.muted-line{stroke:${LIGHT.line};fill:none}`
  + `.hair{stroke:${LIGHT.hair};fill:none}.on{stroke:${LIGHT.paper};stroke-width:4px;stroke-linejoin:round;paint-order:stroke}` + ["query", "key", "value", "weight", "new", "muted", "negative", "plain", "again", "copied"].map((role) =>
    `.l-${role}{stroke:${LIGHT[/** @type {"query"} */ (role)]};fill:none}.f-${role}{fill:${LIGHT[/** @type {"query"} */ (role)]}}`).join("") + LANE_STYLE;

/** @typedef {{height: number, body: string, width?: number}} Drawn */

/** A picture that has left its page still says what it is, from which data it was drawn, and on what terms it may be used.
 *  @param {{summary: string, parts: any[]}} model @param {{title: string, alt: string, source?: string}} texts */
export function svg(model, texts) {
  const lines = wrap(model.summary, WIDTH - 40, SANS * 1.1);
  let y = 20 + lines.length * 18;
  let width = WIDTH;
  let body = lines.map((line, i) => text(20, 26 + i * 18, line, { weight: 600, size: 13 })).join("");
  for (const part of model.parts) {
    const drawn = /** @type {Drawn} */ (PARTS[/** @type {keyof typeof PARTS} */ (part.kind)](part));
    body += `<g transform="translate(20 ${y + GAP})">${drawn.body}</g>`;
    y += GAP + drawn.height;
    width = Math.max(width, (drawn.width ?? 0) + 40);
  }
  for (const words of texts.source ? [texts.title, texts.source] : []) {
    const drawn = note({ text: words });
    body += `<g transform="translate(20 ${y + GAP})">${drawn.body}</g>`;
    y += GAP + drawn.height;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y + 20}" width="${width}" height="${y + 20}" role="img">`
    + `<title>${escape(texts.title)}</title><desc>${escape(texts.alt)}</desc><style>${STYLE}</style>`
    + `<rect width="100%" height="100%" fill="${LIGHT.paper}"/>${body}</svg>\n`;
}

/** The colour under a cell. @param {any} cell */
function fill(cell) {
  const role = /** @type {"key"} */ (cell.neg ? "negative" : cell.role ?? "key");
  if (cell.kind === "masked") return LIGHT.hair;
  if (cell.t === undefined || cell.kind === "blank") return LIGHT.paper;
  return mix(LIGHT[role], cell.t * (cell.kind === "tint" ? 1 : TINT));
}

/** @param {any} part @returns {Drawn} */
function strip(part) {
  let x = 0;
  let y = 0;
  const height = part.full ? 54 : 26;
  const body = part.items.map((/** @type {any} */ item) => {
    const aside = item.aside === undefined ? 0 : item.aside.length * SANS + 8;
    const inner = Math.max(part.full ? 46 : 26, item.text.length * MONO + 12);
    const w = inner + aside;
    if (item.divide) x += 10;
    if (x + w > WIDTH - 40) [x, y] = [0, y + height + 6];
    const ink = item.mark === "future" || item.mark === "final" ? LIGHT.muted : LIGHT.ink;
    const edge = item.mark === "now" ? LIGHT.new : LIGHT.line;
    const middle = x + inner / 2;
    const drawn = (item.divide ? box(x - 7, y, 2, height, LIGHT.ink) : "")
      + box(x, y, w, height, item.role === "prompt" ? LIGHT.soft : LIGHT.paper, edge, item.mark === "now" ? 2 : 1, item.mark === "final")
      + (aside ? text(x + inner, y + (part.full ? 31 : 17), item.aside, { muted: true }) : "")
      + (item.top === undefined ? "" : text(middle, y + 14, item.top, { anchor: "middle", muted: true }))
      + text(middle, y + (part.full ? 31 : 17), item.text, { anchor: "middle", mono: true, fill: ink })
      + (item.sub === undefined ? "" : text(middle, y + 48, item.sub, { anchor: "middle", muted: true }));
    x += w + 4;
    return drawn;
  }).join("");
  return { height: y + height, body };
}

/** @param {any} part @returns {Drawn} */
function table(part) {
  const look = LOOKS[part.look];
  const widths = part.columns.flatMap((/** @type {any} */ column) => Array.from({ length: column.span ?? 1 }, () => (part.look === "lanes" && column.look ? 76 : WIDE[column.look]) ?? look.cell));
  const lefts = [look.head];
  for (const w of widths) lefts.push(/** @type {number} */ (lefts.at(-1)) + w);
  const tall = part.look === "tint" || part.look === "matrix";
  let y = 0;
  let body = "";
  if (part.bands) {
    let at = -1;
    for (const band of part.bands) {
      body += text(lefts[Math.max(0, at)], 13, band.text, { weight: 600 });
      at += band.span;
    }
    y += 20;
  }
  body += text(0, y + 13, part.corner, { muted: true });
  let at = 0;
  for (const column of part.columns) {
    const [left, right] = [lefts[at], lefts[at + (column.span ?? 1)]];
    const middle = (left + right) / 2;
    const ink = column.mark === "new" ? LIGHT.new : undefined;
    const [x, anchor] = tall ? [middle, "middle"] : part.look === "bars" || (part.look === "lanes" && !column.look) || column.look === "text" || (column.span ?? 1) > 1 ? [left + 4, "start"] : [right - 6, "end"];
    const one = part.look === "plain" && column.sub ? `${column.text} ${column.sub}` : column.text ?? "";
    body += text(x, y + 13, one, { anchor, muted: !ink, fill: ink, weight: ink ? 700 : undefined });
    if (column.sub && part.look === "lanes") body += text(x, y + 27, column.sub, { anchor, muted: true });
    else if (column.sub && part.look !== "plain") body += text(middle, y + 27, short(column.sub, (column.span ?? 1) * look.cell), { anchor: "middle", mono: true, size: 10.5 });
    at += column.span ?? 1;
  }
  y += tall || part.look === "lanes" ? 34 : 20;
  for (const row of part.rows) {
    const height = row.kind === "track" ? 2 * look.row : look.row;
    body += tableRow(part, row, { ...look, row: height }, lefts, y);
    y += height;
  }
  return { height: y, body, width: lefts.at(-1) };
}

/** @param {any} part @param {any} row @param {{cell: number, row: number, head: number}} look @param {number[]} lefts @param {number} y */
function tableRow(part, row, look, lefts, y) {
  const pale = row.mark === "future";
  const head = [row.head.text, row.head.sub].filter((one) => one !== undefined).join("  ");
  let body = text(0, y + look.row * 0.72, short(head, look.head), { mono: part.look === "numbers" || part.look === "matrix", muted: pale, weight: row.kind === "total" || row.mark === "new" ? 700 : undefined, fill: row.mark === "new" ? LIGHT.new : undefined });
  let at = 0;
  for (const cell of row.cells) {
    const next = at + (cell.span ?? 1);
    body += tableCell(part.look, cell, lefts[at], y, lefts[next] - lefts[at], look.row);
    at = next;
  }
  if (row.mark === "new") body += `<rect x="${look.head - 1}" y="${y}" width="${round(/** @type {number} */ (lefts.at(-1)) - look.head)}" height="${look.row - 1}" fill="none" stroke="${LIGHT.new}" stroke-width="2"/>`;
  return body;
}

/** @param {string} look @param {any} cell @param {number} x @param {number} y @param {number} w @param {number} h */
function tableCell(look, cell, x, y, w, h) {
  if (cell.kind === "note") return text(x + (look === "squares" ? 4 : w - 6), y + h * 0.72, cell.text, { anchor: look === "squares" ? "start" : "end", muted: true });
  if (cell.kind === "square") return square(cell.mark, x, y, w, h);
  if (cell.kind === "count") return text(x + w - 4, y + h * 0.72, cell.text, { anchor: "end", mono: true });
  if (cell.kind === "lane") return sized(cell, x, y + h - Math.min(h, 40), w, Math.min(h, 40)); // a track keeps apart from the one above
  if (cell.kind === "axis") return cell.marks.map((/** @type {any} */ one) => text(x + one.at * (look === "lanes" ? w : w - 90), y + h * 0.6, one.text, { anchor: "middle", muted: true })).join("");
  if (cell.kind === "bar") return box(x, y + 4, Math.max(1, cell.bar * (w - 90)), h - 8, LIGHT[/** @type {"key"} */ (cell.role)])
    + (cell.marks ?? []).map((/** @type {any} */ one) => `<path class="hair" d="M${round(x + one.at * (w - 90))} ${y}V${y + h}"/>`).join("") + text(x + cell.bar * (w - 90) + 6, y + h * 0.72, cell.text, { mono: true });
  if (look === "tint") return box(x + 0.5, y + 0.5, w - 1, h - 1, fill(cell), cell.kind === "blank" ? LIGHT.hair : "none", 1) + edge(cell, x, y, w, h);
  const under = cell.bar === undefined ? box(x + 0.5, y + 0.5, w - 1, h - 1, fill(cell)) : box(x + 0.5, y + 1, cell.bar * (w - 50), h - 2, mix(LIGHT.weight, 0.4));
  const corner = cell.clip ? `<path d="M${round(x + w - 7)} ${y + 0.5}h6.5v6.5z" fill="${LIGHT.ink}"/>` : "";
  const ring = look === "matrix" && cell.mark === "now" ? box(x + 1, y + 1, w - 2, h - 2, "none", LIGHT.new, 2) : "";
  return under + corner + ring + text(x + w - 6, y + h * 0.68, cell.text, { anchor: "end", mono: true });
}

/** The outline of new columns. @param {any} cell @param {number} x @param {number} y @param {number} w @param {number} h */
function edge(cell, x, y, w, h) {
  return cell.edge ? box(cell.edge === "start" ? x - 0.5 : x + w - 1.5, y, 2, h, LIGHT.new) : "";
}

/** @param {string} mark @param {number} x @param {number} y @param {number} w @param {number} h */
function square(mark, x, y, w, h) {
  if (mark === "new") return box(x + 1, y + 1, w - 2, h - 2, LIGHT.new);
  if (mark === "again") return box(x + 1.5, y + 1.5, w - 3, h - 3, mix(LIGHT.again, 0.25), LIGHT.again) + `<path d="M${round(x + 2)} ${round(y + h - 2)}L${round(x + w - 2)} ${round(y + 2)}" stroke="${LIGHT.again}"/>`;
  return mark === "kept" ? `<circle cx="${round(x + w / 2)}" cy="${round(y + h / 2)}" r="1.8" fill="${LIGHT.line}"/>` : "";
}

/** @param {any} part @returns {Drawn} */
function blocks(part) {
  const [slot, perRow] = [42, 4];
  const body = part.blocks.map((/** @type {any} */ block, /** @type {number} */ b) => {
    const x = (b % perRow) * (block.slots.length * slot + 12);
    const y = Math.floor(b / perRow) * 58;
    return text(x, y + 12, `block ${block.name}`, { muted: true }) + block.slots.map((/** @type {any} */ one, /** @type {number} */ s) => {
      const left = x + s * slot;
      return box(left, y + 18, slot, 26, one.mark === "free" ? LIGHT.paper : mix(LIGHT.plain, 0.15), one.mark === "new" ? LIGHT.new : LIGHT.line, one.mark === "new" ? 2 : 1)
        + text(left + slot / 2, y + 35, short(one.text, slot), { anchor: "middle", mono: true, size: 11 });
    }).join("");
  }).join("");
  const height = Math.ceil(part.blocks.length / perRow) * 58;
  return { height: height + 6, body: body + text(0, height + 2, part.note, { muted: true }) };
}

/** @param {any} part @returns {Drawn} */
function legend(part) {
  let x = 0;
  let y = 12;
  const body = part.items.map((/** @type {any} */ item) => {
    const boxed = item.swatch && !UNBOXED.has(item.swatch);
    const w = item.text.length * SANS + (boxed ? roomOf(item.swatch) + 22 : 22);
    if (x > 0 && x + w > WIDTH - 40) [x, y] = [0, y + 18];
    const drawn = (boxed ? swatch(item.swatch, x, y - 10) : "") + text(x + (boxed ? roomOf(item.swatch) : 0), y, item.text, { muted: true });
    x += w;
    return drawn;
  }).join("");
  return { height: y + 2, body };
}

/** @param {string} swatch */
function roomOf(swatch) {
  return swatch === "scale" ? 66 : swatch.startsWith("lane-") ? 30 : 18;
}

/** @param {string} name @param {number} x @param {number} y */
function swatch(name, x, y) {
  if (name.startsWith("lane-")) return `<g transform="translate(${x} ${y - 2})">${sample(name.slice(5), 22, 16)}</g>`;
  if (name === "scale") return [0, 0.25, 0.5, 0.75, 1].map((share, i) => box(x + i * 12, y + 0.5, 12, 11, mix(LIGHT.weight, share), LIGHT.line)).join("");
  if (name === "final") return box(x + 0.5, y + 0.5, 11, 11, LIGHT.paper, LIGHT.line, 1, true);
  if (name.startsWith("sq-")) return square(name.slice(3), x, y, 12, 12);
  if (name.startsWith("mark")) return mark(x + 6, y + 6, name.slice(8), Number(name[4]));
  if (name === "dashed") return `<path class="l-plain" stroke-width="1.5" stroke-dasharray="5 4" d="M${x} ${y + 6}h14"/>`;
  if (name === "dotted") return `<path class="l-new" stroke-width="1.5" stroke-dasharray="2 3" d="M${x} ${y + 6}h14"/>`;
  if (name.startsWith("line-")) return `<path class="l-${name.slice(5)}" stroke-width="2"${name === "line-key" ? ' stroke-dasharray="4 2"' : ""} d="M${x} ${y + 6}h14"/>`;
  if (name === "new" || name === "now") return box(x + 1, y + 1, 10, 10, LIGHT.paper, LIGHT.new, 2);
  const plain = { prompt: LIGHT.soft, reply: LIGHT.paper, empty: LIGHT.paper, masked: LIGHT.hair };
  const role = /** @type {any} */ (LIGHT)[name];
  return box(x + 0.5, y + 0.5, 11, 11, role ? mix(role, 0.8) : /** @type {any} */ (plain)[name] ?? LIGHT.paper, LIGHT.line);
}

/** @param {any} part @returns {Drawn} */
function title(part) {
  const fillColour = part.role ? LIGHT[/** @type {"key"} */ (part.role)] : LIGHT.ink;
  return { height: 14, body: text(0, 12, part.text, { weight: 700, fill: fillColour }) };
}

/** @param {any} part @returns {Drawn} */
function note(part) {
  const lines = wrap(part.text, WIDTH - 40, SANS);
  return { height: 16 * lines.length - 4, body: lines.map((line, i) => text(0, 10 + i * 16, line, { muted: true })).join("") };
}

/** @param {any} part @returns {Drawn} */
function drawing(part) {
  return { height: part.height, width: part.width, body: part.body };
}

const PARTS = { strip, table, heads, blocks, legend, title, note, drawing, presses, pool, sums, log };
