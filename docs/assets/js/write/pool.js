// @ts-check
// THE POOL as HTML: buttons, blocks in physical order beside the requests' tables in logical order, the numbers that add
// up, and the log. Hues and letters say whose a block is; borders and words say what state it is in.

import { escape } from "../format.js";
import { classes } from "./cell.js";

/** @param {{text: string, say: string, key: string, value: string, off: string}} one */
function button({ text, say, key, value, off }) {
  const disabled = off ? ` aria-disabled="true" title="${escape(off)}"` : ` data-value="${escape(value)}"`;
  return `<button type="button" data-for="do" data-key="${escape(key)}" aria-label="${escape(say)}"${disabled}>${escape(text)}</button>`;
}

/** @param {any} part */
export function presses(part) {
  const groups = part.groups.map((/** @type {any[]} */ group) => `<span>${group.map(button).join("")}</span>`).join("");
  return `<div class="kv-press" role="group" aria-label="${escape(part.label)}">${groups}</div><p class="kv-note kv-full">${escape(part.note)}</p>`;
}

/** @param {any} part */
export function pool(part) {
  const blocks = part.blocks.map(block).join("");
  const requests = part.requests.map((/** @type {any} */ one) => request(one, part.width)).join("");
  return `<div class="kv-pool"><div class="kv-physical"><p class="kv-head">${escape(part.label)}</p>`
    + `<div class="kv-boxes w${part.width}" role="grid" aria-label="${escape(part.label)}" tabindex="0">${blocks}</div></div>`
    + `<div class="kv-logical"><p class="kv-head">${escape(part.tables)}</p>${requests || `<p class="kv-note">${escape(part.none)}</p>`}</div></div>`;
}

/** @param {any} one */
function block(one) {
  const hue = one.holders.length > 1 ? "shared" : one.holders.length ? `o${one.holders[0].hue}` : "";
  const who = one.holders.map(owner).join("");
  const slots = one.slots.map((/** @type {any} */ slot) => `<span role="gridcell" class="${classes(slot)}">${escape(slot.text)}</span>`).join("");
  const just = one.now ? `<em>${escape(one.now)}</em>` : "";
  return `<div role="row" class="box s-${one.state}${hue ? ` ${hue}` : ""}"><span role="gridcell" class="${classes(one.head)}"><b>${escape(one.name)}</b>${who}${one.found ? '<i class="found">◆</i>' : ""}`
    + `<small>${just || escape(one.tag)}</small></span><span class="slots" role="presentation">${slots}</span></div>`;
}

/** A request's letter in its hue. @param {{letter: string, hue: number}} one */
function owner({ letter, hue }) {
  return `<i class="who o${hue}">${escape(letter)}</i>`;
}

/** @param {any} one @param {number} width slots of a block */
function request(one, width) {
  const buttons = one.buttons.length ? `<div class="kv-press" role="group" aria-label="Request ${escape(one.letter)}">${one.buttons.map(button).join("")}</div>` : "";
  const note = one.note ? `<p class="kv-note kv-full">${escape(one.note)}</p>` : "";
  return `<div class="kv-request o${one.hue}"><p class="kv-whose">${owner(one)} <b>${escape(one.title)}</b> <small>${escape(one.sub)}</small></p>${buttons}${note}`
    + `<div class="kv-rows w${width}" role="grid" aria-label="The block table of ${escape(one.letter)}, in logical order" tabindex="0">${one.rows.map(row).join("")}</div></div>`;
}

/** @param {any} one */
function row({ row: number, others, fresh, entry, words }) {
  return `<div role="row"><span role="rowheader">${escape(number)}</span><span aria-hidden="true">→</span><span role="gridcell" class="${classes(entry)}${others.length ? " shared" : ""}">${escape(entry.text)}</span>`
    + `<span role="gridcell" class="${classes(words)}${fresh ? " m-new" : ""}">${escape(words.text)}</span><small>${escape(words.sub)}${others.map(owner).join("")}</small></div>`;
}

/** @param {any} part */
export function sums({ terms, total, facts, orders }) {
  const added = terms.map((/** @type {any} */ one) => `<span><b>${one.n}</b> <i class="s-${escape(one.look)}">${escape(one.text)}</i></span>`).join("<span>+</span>");
  const lines = facts.map((/** @type {string} */ text) => `<span>${escape(text)}</span>`).join("");
  const lists = orders.map((/** @type {any} */ one) => `<span>${escape(one.text)}: <b>${escape(one.blocks)}</b></span>`).join("");
  return `<div class="kv-sums"><p>${added}<span>=</span><span><b>${total}</b> ${total === 1 ? "block" : "blocks"}</span></p><p>${lines}</p><p>${lists}</p></div>`;
}

/** @param {any} part */
export function log({ label, steps }) {
  const all = steps.map((/** @type {any} */ step) => `<li value="${step.at}"><p>${escape(step.text)}</p>${step.events.length ? `<ul>${step.events.map(event).join("")}</ul>` : ""}</li>`).join("");
  return `<p class="kv-head">${escape(label)}</p><div class="kv-log" role="region" aria-label="${escape(label)}" tabindex="0"><ol>${all || "<li>Nothing has happened yet.</li>"}</ol></div>`;
}

/** @param {{name: string, words: string}} one */
function event({ name, words }) {
  return `<li><code>${escape(name)}</code> ${escape(words)}</li>`;
}
