// @ts-check
// The parts of the pool's picture: blocks, tables, the numbers that add up, the log. Nothing is decided here.

import { possible } from "../blocks/actions.js";
import { count, eventWords, told } from "../blocks/words.js";
import { spoken, token } from "../format.js";
import { pressesOf } from "./pool_presses.js";

/** @typedef {import("../blocks/actions.js").World} World */
/** @typedef {import("../blocks/actions.js").Source} Source */
/** @typedef {import("../blocks/actions.js").Step} Step */
/** @typedef {import("../blocks/actions.js").Sequence} Sequence */
/** @typedef {{world: World, sources: Map<string, Source>, all: string[], names: string[], script: string, drives: boolean}} Scene  what is shown */
/** @typedef {{state: "free"|"idle"|"used"|"reserved", place: number, holders: {letter: string, hue: number, row: number, filled: number}[]}} Held */

/** What each block is now. @param {World} world @returns {Held[]} */
function held(world) {
  const { manager, live, settings } = world;
  const all = /** @type {Held[]} */ (Array.from({ length: settings.blocks }, () => ({ state: "reserved", place: 0, holders: [] })));
  manager.pool.freeOrder().forEach((block, place) => Object.assign(all[block], { state: "free", place }));
  manager.index.idleOrder().forEach((block, place) => Object.assign(all[block], { state: "idle", place }));
  for (const { letter, hue, items } of live.values()) {
    manager.table(letter).forEach((block, row) => {
      const filled = Math.min(settings.blockTokens, items.length - row * settings.blockTokens);
      all[block].state = "used";
      all[block].holders.push({ letter, hue, row, filled });
    });
  }
  return all;
}

/** @param {Scene} scene */
export function pool(scene) {
  const { world } = scene;
  const all = held(world);
  const blocks = all.map((one, block) => box(world, one, block));
  const requests = [...world.live.values()].map((one) => request(scene, one, all));
  const cells = [...blocks.flatMap((one) => [one.head, ...one.slots]), ...requests.flatMap((one) => one.rows.flatMap((row) => [row.entry, row.words]))];
  return { kind: "pool", label: "The pool, in physical order", tables: "Block tables, in logical order", none: "No request holds a block.", width: world.settings.blockTokens, blocks, requests, cells, rows: lines(blocks, requests) };
}

/** @param {World} world @param {Held} one @param {number} block */
function box(world, one, block) {
  const { blockTokens } = world.settings;
  const last = world.steps.at(-1);
  const filled = one.state === "idle" ? blockTokens : Math.max(0, ...one.holders.map((holder) => holder.filled));
  const found = world.manager.index.holds(block);
  const now = last ? happened(last, block) : "";
  const words = { free: `free, ${ordinal(one.place)} in the list`, idle: `idle, ${ordinal(one.place)} to be evicted`, reserved: "reserved", used: `held by ${names(one)}, ref count ${one.holders.length}` }[one.state];
  return {
    name: String(block), state: one.state, now, found, holders: one.holders,
    tag: { free: `free · ${ordinal(one.place)}`, idle: `idle · ${ordinal(one.place)} out`, reserved: "reserved", used: one.holders.length === 1 ? "1 ref" : `${one.holders.length} refs` }[one.state],
    head: { kind: "block", text: String(block), say: `block ${block}: ${words}${found ? ", can be found by its content" : ""}${now ? `, ${now} just now` : ""}`, counted: String(one.holders.length) },
    slots: Array.from({ length: blockTokens }, (_, at) => slot(world, one, block, at, at < filled)),
  };
}

/** @param {Held} one */
function names(one) {
  return one.holders.map((holder) => holder.letter).join(" and ");
}

/** @param {number} place from 0 */
function ordinal(place) {
  const tens = (place % 100) - (place % 10) === 10;
  return `${place + 1}${(!tens && { 0: "st", 1: "nd", 2: "rd" }[place % 10]) || "th"}`;
}

/** @param {Step} step @param {number} block */
function happened(step, block) {
  const is = (/** @type {string} */ name, /** @type {string} */ field = "block") => step.events.some((event) => event.event === name && event[field] === block);
  if (is("copied", "target")) return "copied";
  const evicted = is("evicted");
  return is("allocated") ? (evicted ? "evicted, taken" : "taken") : evicted ? "evicted" : "";
}

/** @param {World} world @param {Held} one @param {number} block @param {number} at @param {boolean} filled */
function slot(world, one, block, at, filled) {
  const number = block * world.settings.blockTokens + at;
  const item = filled ? world.memory.get(number) : undefined;
  if (!item) return { kind: "slot", mark: "free", text: "", say: `slot ${number}, block ${block}: ${one.state === "used" ? "held, and empty" : "empty"}` };
  const holder = one.holders[0];
  const later = holder !== undefined && holder.row * world.settings.blockTokens + at >= world.manager.confirmed(holder.letter);
  const fresh = world.steps.at(-1)?.slots.has(number);
  const words = later ? ", room is made, not computed yet" : fresh ? ", written just now" : one.state === "idle" ? ", kept for whoever begins alike" : "";
  return { kind: "slot", mark: later ? "later" : fresh ? "new" : undefined, text: token(item.text, true), say: `slot ${number}, block ${block}: ${spoken(item.text)}${words}`, file: item.file, key: item.key, exact: String(item.id) };
}

/** A request and its table. @param {Scene} scene @param {Sequence} one @param {Held[]} all */
function request(scene, one, all) {
  const { manager, settings } = scene.world;
  const { letter, hue, items, source: text, parent } = one;
  const table = manager.table(letter);
  const empty = table.length * settings.blockTokens - items.length;
  const buttons = scene.drives ? pressesOf(scene, one) : [];
  return {
    letter, hue, buttons,
    title: parent ? `fork of ${parent}` : text.label,
    sub: [count(items.length, "token"), count(table.length, "block"), ...(empty ? [`${count(empty, "slot")} empty`] : ["no slot empty"])].join(" · "),
    note: buttons[0]?.off ?? "",
    rows: table.map((block, row) => entry(scene.world, one, all[block], block, row)),
  };
}

/** @param {World} world @param {Sequence} one @param {Held} held @param {number} block @param {number} row */
function entry(world, { letter, items }, held, block, row) {
  const { blockTokens } = world.settings;
  const own = items.slice(row * blockTokens, (row + 1) * blockTokens);
  const others = held.holders.filter((other) => other.letter !== letter);
  const fresh = own.some((_, at) => world.steps.at(-1)?.slots.has(block * blockTokens + at) && row * blockTokens + at < world.manager.confirmed(letter));
  const text = own.map((item) => item.text.replace(/\n/g, "↵")).join("").trim();
  return {
    row: String(row), others, fresh,
    entry: { kind: "entry", text: String(block), say: `${letter}, row ${row} of its table: block ${block}${others.length ? `, shared with ${others.map((other) => other.letter).join(" and ")}` : ""}`, counted: String(block) },
    words: { kind: "words", text, sub: `${own.length}/${blockTokens}`, say: `${letter}, row ${row}: ${spoken(text)}, ${own.length} of ${count(blockTokens, "slot")} written`, counted: String(own.length) },
  };
}

/** The rows of the CSV. @param {any[]} blocks @param {any[]} requests */
function lines(blocks, requests) {
  return [
    ...blocks.flatMap((one) => [["pool", `block ${one.name}`, "ref count", [one.state, ...one.holders.map((/** @type {any} */ holder) => holder.letter)].join(" "), one.head.counted, "", ""],
      ...one.slots.map((/** @type {any} */ cell, /** @type {number} */ at) => ["pool", `block ${one.name}`, at, cell.text, cell.exact ?? "", cell.file ?? "", cell.key ?? ""])]),
    ...requests.flatMap((one) => one.rows.map((/** @type {any} */ row) => ["tables", one.letter, row.row, row.words.text, row.entry.counted, "", ""])),
  ];
}

/** Numbers that add up after every action. @param {Scene} scene */
export function sums({ world }) {
  const { pool, index } = world.manager;
  const all = held(world);
  const refs = all.reduce((sum, _, block) => sum + pool.refCount(block), 0);
  const rows = [...world.live.keys()].reduce((sum, letter) => sum + world.manager.table(letter).length, 0);
  const written = all.reduce((sum, one) => sum + Math.max(0, ...one.holders.map((holder) => holder.filled)), 0);
  const room = pool.usedBlocks * world.settings.blockTokens;
  const terms = [["free", pool.freeBlocks], ["idle", pool.idleBlocks], ["in use", pool.usedBlocks], ["reserved", pool.reservedBlocks]];
  const facts = [`ref counts: ${refs} = ${count(rows, "table row")}`, `slots in use: ${written} filled + ${room - written} empty = ${room}`];
  const orders = [["taken next", pool.freeOrder()], ["then evicted", index.idleOrder()]].map(([text, blocks]) => ({ text, blocks: [...blocks].join(" → ") || "none" }));
  return { kind: "sums", terms: terms.map(([text, n]) => ({ text, n, look: text === "in use" ? "used" : text })), total: pool.totalBlocks, facts, orders,
    rows: [...terms.map(([text, n]) => ["sum", String(text), "blocks", "", String(n), "", ""]), ["sum", "ref counts", "rows", "", String(refs), "", ""]] };
}

/** @param {Scene} scene */
export function log({ world }) {
  const steps = world.steps.map((step, at) => ({ at: at + 1, text: told({ ...world, steps: [step] }), events: step.events.map(eventWords), off: !possible(step) })).reverse();
  return { kind: "log", label: "Event log, newest first", steps, rows: [] };
}

/** @param {Scene} scene */
export function legend({ world, drives }) {
  const all = held(world);
  return { kind: "legend", items: [
    { swatch: "new", text: "written just now" },
    ...(all.some((one) => one.holders.length > 1) ? [{ swatch: "shared", text: "shared: more than one table names it" }] : []),
    { swatch: "found", text: "◆ full and written: can be found by its content" },
    ...(all.some((one) => one.state === "idle") ? [{ text: "idle: nobody holds it, and what is in it is kept until the room is needed" }] : []),
    { text: "ref: a table row that names the block" },
    ...(drives ? [{ text: "Write other: the model’s second choice, as recorded · Fork: one more reply from here · Share: the same prompt again" }] : []),
  ] };
}
