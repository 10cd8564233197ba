// @ts-check
// A picture's model as HTML: tables and boxes, so that values are text which can be read, selected, spoken and printed.
// The same function writes the static frame at build and the live frame in the browser.

import { escape } from "../format.js";
import { classes } from "./cell.js";
import { sample, stretched } from "./lane.js";
import { log, pool, presses, sums } from "./pool.js";

const MUTE = new Set(["note", "axis"]); // what stands in a table and is no cell to be read

/** The picture. @param {{parts: any[]}} model */
export function html(model) {
  return model.parts.map((part) => WRITERS[/** @type {keyof typeof WRITERS} */ (part.kind)](part)).join("");
}

/** Every cell of a picture in the order in which it stands in the HTML. @param {{parts: any[]}} model @returns {any[]} */
export function cells(model) {
  return model.parts.flatMap((part) => {
    if (part.kind === "strip") return part.items;
    if (part.kind === "pool") return part.cells;
    if (part.kind === "table") return part.rows.flatMap((/** @type {any} */ row) => row.cells.filter((/** @type {any} */ cell) => !MUTE.has(cell.kind)));
    if (part.kind === "heads") return part.groups.flatMap((/** @type {any} */ group) => group.heads);
    if (part.kind === "blocks") return part.blocks.flatMap((/** @type {any} */ block) => block.slots);
    return [];
  });
}

/** @param {number} share @param {{at: number}[]} [marks] lines of a scale */
function bar(share, marks = []) {
  const lines = marks.map((one) => `M${(one.at * 100).toFixed(2)} 0V10`).join("");
  return `<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width="${(share * 100).toFixed(2)}" height="10"/>${lines ? `<path d="${lines}"/>` : ""}</svg>`;
}

/** The figures of a scale, under its lines. @param {any} cell */
function axis(cell) {
  const last = cell.marks.length - 1;
  const figures = cell.marks.map((/** @type {any} */ one, /** @type {number} */ i) =>
    `<text x="${(one.at * 100).toFixed(2)}%" y="11"${i === 0 ? "" : ` text-anchor="${i === last && one.at > 0.97 ? "end" : "middle"}"`}>${escape(one.text)}</text>`).join("");
  return `<td class="note axis"><svg class="bar">${figures}</svg></td>`;
}

/** @param {string|undefined} text @param {string|undefined} sub */
function two(text, sub) {
  return escape(text ?? "") + (sub === undefined ? "" : ` <small>${escape(sub)}</small>`);
}

/** @param {any} part */
function strip(part) {
  const items = part.items.map((/** @type {any} */ item) => {
    const top = item.top === undefined ? "" : `<small>${escape(item.top)}</small> `;
    const sub = item.sub === undefined ? "" : ` <small>${escape(item.sub)}</small>`;
    const aside = item.aside === undefined ? "" : ` <small class="aside">${escape(item.aside)}</small>`;
    return `<span role="gridcell" class="${classes(item)}">${top}<b>${escape(item.text)}</b>${sub}${aside}</span>`;
  }).join("");
  const full = part.full ? " full" : "";
  return `<div class="kv-strip${full}" role="grid" aria-label="${escape(part.label)}" tabindex="0"><div role="row">${items}</div></div>`;
}

/** @param {any} part */
function table(part) {
  const bands = part.bands ? `<tr>${part.bands.map((/** @type {any} */ band) => (band.text === "" ? `<td${band.look ? ` class="h-${band.look}"` : ""}></td>`
    : `<th scope="colgroup" colspan="${band.span}">${escape(band.text)}</th>`)).join("")}</tr>` : "";
  const head = part.columns.map((/** @type {any} */ column) => `<th scope="col"${attributes(column)}>${two(column.text, column.sub)}</th>`).join("");
  const rows = part.rows.map(row).join("");
  return `<div class="kv-scroll"><table class="kv-table look-${part.look} n-${part.name}" role="grid" aria-label="${escape(part.label)}" tabindex="0">`
    + `${part.look === "squares" ? columns(part) : ""}<thead>${bands}<tr><th scope="col" class="corner">${escape(part.corner)}</th>${head}</tr></thead><tbody>${rows}</tbody></table></div>`;
}

/** Widths that no row sets. @param {any} part */
function columns(part) {
  const all = part.columns.map((/** @type {any} */ column) => `<col${column.span ? ` span="${column.span}"` : ""}${column.look ? ` class="h-${column.look}"` : ""}>`);
  return `<colgroup><col class="h-head">${all.join("")}</colgroup>`;
}

/** @param {any} column */
function attributes(column) {
  const names = [column.role && `r-${column.role}`, column.mark && `m-${column.mark}`, column.look && `h-${column.look}`].filter(Boolean);
  return (column.span ? ` colspan="${column.span}"` : "") + (names.length ? ` class="${names.join(" ")}"` : "");
}

/** @param {any} row */
function row(row) {
  const names = [row.mark && `m-${row.mark}`, row.kind && `k-${row.kind}`].filter(Boolean);
  const open = names.length ? `<tr class="${names.join(" ")}">` : "<tr>";
  if (row.head.text === "") return `${open}<td></td>${row.cells.map(cell).join("")}</tr>`;
  return `${open}<th scope="row">${row.head.sub === undefined ? escape(row.head.text) : `<span>${escape(row.head.text)}</span> <small>${escape(row.head.sub)}</small>`}</th>${row.cells.map(cell).join("")}</tr>`;
}

/** @param {any} cell */
function cell(cell) {
  const span = cell.span ? ` colspan="${cell.span}"` : "";
  if (cell.kind === "note") return `<td class="note${cell.look ? ` h-${cell.look}` : ""}${cell.mark ? ` m-${cell.mark}` : ""}"${span}>${escape(cell.text)}</td>`;
  if (cell.kind === "axis") return axis(cell);
  if (cell.kind === "lane") return `<td class="${classes(cell)}"${span}>${stretched(cell)}</td>`;
  const inside = cell.bar === undefined ? escape(cell.text ?? "") : `${bar(cell.bar, cell.marks)}<span>${escape(cell.text)}</span>`;
  return `<td class="${classes(cell)}"${span}>${inside}</td>`;
}

/** @param {any} part */
function heads(part) {
  const groups = part.groups.map((/** @type {any} */ group) => {
    const query = group.heads.map((/** @type {any} */ head) => `<span role="gridcell" class="${classes(head)}">${two(head.text, head.sub)}</span>`).join("");
    return `<div role="row" class="group"><div class="asks">${query}</div><div class="fork" aria-hidden="true"></div>`
      + `<div role="rowheader" class="kvhead"><span class="r-key">K</span><span class="r-value">V</span> <small>${escape(group.name)}</small></div></div>`;
  }).join("");
  return `<div class="kv-heads" role="grid" aria-label="${escape(part.label)}" tabindex="0">${groups}</div>`;
}

/** @param {any} part */
function blocks(part) {
  const all = part.blocks.map((/** @type {any} */ block) => {
    const slots = block.slots.map((/** @type {any} */ slot) => `<span role="gridcell" class="${classes(slot)}">${escape(slot.text)}</span>`).join("");
    return `<div role="row" class="block"><span role="rowheader">block ${escape(block.name)}</span>${slots}</div>`;
  }).join("");
  const room = `<div class="block room" aria-hidden="true"></div>`.repeat(part.room ?? 0); // so that nothing moves when more are held
  return `<div class="kv-blocks" role="grid" aria-label="${escape(part.label)}" tabindex="0">${all}${room}</div><p class="kv-note">${escape(part.note)}</p>`;
}

/** @param {any} part */
function legend(part) {
  const items = part.items.map((/** @type {any} */ item) => `<li>${item.swatch ? swatch(item.swatch) : ""}${escape(item.text)}</li>`);
  return `<ul class="kv-legend">${items.join("")}</ul>`;
}

/** A box of a style, or a piece of a lane. @param {string} name */
function swatch(name) {
  if (!name.startsWith("lane-")) return `<span class="sw sw-${name}" aria-hidden="true"></span>`;
  return `<svg class="sw-lane" viewBox="0 0 22 16" aria-hidden="true">${sample(name.slice(5), 22, 16)}</svg>`;
}

/** @param {any} part */
function title(part) {
  return `<p class="kv-head${part.role ? ` r-${part.role}` : ""}">${escape(part.text)}</p>`;
}

/** @param {any} part */
function note(part) {
  return `<p class="kv-note">${escape(part.text)}</p>`;
}

/** A drawing: the picture has escaped its texts. @param {any} part */
function drawing(part) {
  return `<div class="kv-scroll" role="group" aria-label="${escape(part.label)}" tabindex="0"><svg class="kv-drawing" viewBox="0 0 ${part.width} ${part.height}" role="img" aria-label="${escape(part.label)}">${part.body}</svg></div>`;
}

const WRITERS = { strip, table, heads, blocks, legend, title, note, drawing, presses, pool, sums, log };
