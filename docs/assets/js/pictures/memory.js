// @ts-check
// The calculator: how many bytes the caches of up to four models take, what the weights leave of a device, and how many
// requests fit. The sizes come from the table of models, or from a config.json that the reader pastes; the bytes are
// counted by memory/arithmetic.js, which is held to Python's answers.

import { FORMATS, Refused, bytesPerToken, cacheSize, leftBytes, requestsThatFit, weightBytes } from "../memory/arithmetic.js";
import { unpack } from "../memory/own.js";
import { adopt } from "../memory/paste.js";
import { binary, both, count, exact, layers, terms, warnings, whole } from "../memory/words.js";

export { adopt };

/** @typedef {import("../state.js").State} State */
/** @typedef {import("../memory/arithmetic.js").Geometry & {verified?: boolean, evidence?: string, unverified_fields?: string[]}} Row */
/** @typedef {{models: {id: string, name: string}[], options: Record<string, any>}} Context */
/** @typedef {{row: Row, size: import("../memory/arithmetic.js").Size, refused?: string, terms: string[], token: Fraction, later: Fraction,
 *             weights: bigint|null, left: bigint|null, fit: bigint|null}} Answer */
/** @typedef {import("../memory/arithmetic.js").Fraction} Fraction */

const TABLE = "geometry/models";
const SLOTS = ["model", "second", "third", "fourth"];
const PRESET = ["gpt-2-small", "llama-2-7b", "llama-3-8b", "llama-2-70b"];
const NAMES = /** @type {Record<string, string>} */ ({ int8: "int8, 16-bit scale per 64", int4: "int4, scale and zero per 64" });
const OWN = { value: "own", text: "pasted config.json" };
const HINT = "Read here: Llama, Mistral, Qwen, Gemma, GPT-2 and DeepSeek. Phi, gpt-oss, Falcon, hybrids and nested text_config are read by python -m gen memory --config FILE. What you paste stays on this page.";
const EVIDENCE = /** @type {Record<string, string>} */ ({ config: "config.json", "config-copies": "config copies", vendor: "vendor", "port+params": "port, checked" });
const EMPTY = { n: 0n, d: 1n };

/** @param {State} _state @param {Context} context @returns {import("../state.js").Field[]} */
export function fields(_state, context) {
  const models = context.models.map(({ id, name }) => ({ value: id, text: name }));
  const none = { value: "none", text: "–" };
  const named = (/** @type {string} */ name, /** @type {string} */ label, /** @type {(string|number)[]} */ values, /** @type {string|number} */ value, text = String, told = true) =>
    ({ name, label, told, kind: /** @type {const} */ ("choice"), value, options: values.map((one) => ({ value: one, text: text(one) })) });
  const typed = (/** @type {string} */ name, /** @type {string} */ label, /** @type {number} */ value, /** @type {number} */ max, told = true) =>
    ({ name, label, told, kind: /** @type {const} */ ("range"), typed: true, value, min: 1, max });
  return [
    ...SLOTS.map((name, i) => ({ name, label: i === 0 ? "Model" : `and model ${i + 1}`, told: false, kind: /** @type {const} */ ("choice"), value: PRESET[i],
      options: i === 0 ? [...models, OWN] : [none, ...models, OWN] })),
    typed("tokens", "Tokens", 4096, 10_000_000),
    typed("batch", "Requests", 1, 100_000),
    named("dtype", "Cache in", ["fp32", "fp16", "bf16", "fp8", "int8", "int4"], "fp16", (value) => NAMES[value] ?? String(value)),
    named("block", "Block", [1, 8, 16, 32, 64, 128, 256], 1, (value) => (value === 1 ? "none" : `${value} tokens`)),
    named("ranks", "Tensor parallel", [1, 2, 4, 8, 16, 32, 64], 1, (value) => (value === 1 ? "1 device" : `${value} devices`)),
    typed("device", "GiB of a device", 80, 10_000, false),
    named("bits", "Weights in", [32, 16, 8, 4], 16, (value) => `${value} bits`, false),
    { name: "own", label: "Paste a config.json", told: false, kind: /** @type {const} */ ("text"), value: "", hint: HINT, fits: (text) => text === "" || unpack(text) !== null },
  ];
}

export function needs() {
  return [TABLE];
}

/** @param {State} state @param {Record<string, any>} records */
export function draw(state, records) {
  const question = { tokens: Number(state.tokens), batch: Number(state.batch), stored: FORMATS[state.dtype], block: Number(state.block), ranks: Number(state.ranks) };
  const chosen = [...new Set(SLOTS.map((name) => String(state[name])))].filter((id) => id !== "none");
  const rows = chosen.map((id) => (id === "own" ? unpack(String(state.own)) : records[TABLE].models[id])).filter((row) => row !== null && row !== undefined);
  const answers = rows.map((/** @type {Row} */ row) => answer(row, question, state));
  const asked = `${count(question.batch, "request")} of ${count(question.tokens, "token")}, ${state.dtype}${question.ranks > 1 ? `, on each of ${question.ranks} devices` : ""}`;
  if (answers.length === 0) return { summary: "Paste a config.json into the box, or choose a model.", parts: [] };
  return {
    summary: `${asked}: ${answers.map((one) => `${one.row.name} ${one.refused ? "does not divide" : binary(total(one))}`).join(", ")}.`,
    parts: [bars(answers, asked), sizes(answers, question, state), ...explained(answers, question)],
  };
}

/** @param {Row} row @param {import("../memory/arithmetic.js").Question} question @param {State} state @returns {Answer} */
function answer(row, question, state) {
  const weights = weightBytes(row, Number(state.bits), question.ranks);
  const left = weights === null ? null : leftBytes(Number(state.device), weights);
  try {
    const size = cacheSize(row, question);
    const [token, later] = [false, true].map((full) => bytesPerToken(row, question.stored, question.ranks, full));
    return { row, size, terms: terms(size, row, question), token, later, weights, left, fit: left === null ? null : requestsThatFit(left, size.request) };
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    const size = { groups: [], request: EMPTY, bytes: 0n, stateBytes: 0n };
    return { row, size, refused: problem.message, terms: [], token: EMPTY, later: EMPTY, weights, left, fit: null };
  }
}

/** @param {Answer} one @returns {Fraction} */
function total(one) {
  return { n: one.size.bytes, d: 1n };
}

/** @param {Row} row */
function marked(row) {
  return row.verified === false ? `${row.name} (not verified)` : row.name;
}

/** @param {Answer[]} answers @param {string} asked */
function bars(answers, asked) {
  const largest = answers.reduce((most, one) => (one.size.bytes > most ? one.size.bytes : most), 1n);
  const rows = answers.map((one) => ({
    head: { text: marked(one.row) },
    cells: [one.refused ? { kind: "blank", text: "", say: one.refused }
      : { kind: "bar", role: "plain", bar: Number((one.size.bytes * 10_000n) / largest) / 10_000, text: binary(total(one)), say: `${one.row.name}: ${both(total(one))}`, counted: String(one.size.bytes) }],
  }));
  return { kind: "table", name: "memory", look: "bars", corner: "model", label: `Cache of ${asked}`, columns: [{ text: `cache of ${asked}` }], rows };
}

/** @param {Answer[]} answers @param {import("../memory/arithmetic.js").Question} question @param {State} state */
function sizes(answers, question, state) {
  const line = (/** @type {string} */ name, /** @type {(one: Answer) => Fraction|null} */ of) =>
    ({ head: { text: name }, cells: answers.map((one) => bytesCell(one, name, one.refused ? null : of(one))) });
  const at = (/** @type {bigint|null} */ n) => (n === null ? null : { n, d: 1n });
  const rows = [
    line("each token", (one) => one.token),
    line("once windows are full", (one) => one.later),
    line("one request", (one) => one.size.request),
    { ...line(question.batch === 1 ? "all of it" : `all ${whole(question.batch)} requests`, total), kind: "total" },
    { head: { text: "parameters" }, cells: answers.map(parametersCell) },
    line(`weights in ${state.bits} bits`, (one) => at(one.weights)),
    { head: { text: `left of ${whole(Number(state.device))} GiB` }, cells: answers.map(leftCell) },
    { head: { text: "requests that fit, at most" }, cells: answers.map((one) => numberCell(one, "requests that fit", one.fit)), kind: "total" },
    { head: { text: "how the sizes are known" }, cells: answers.map(evidenceCell) },
  ];
  return { kind: "table", name: "sizes", look: "plain", corner: "in bytes", label: "What it takes and what fits", columns: answers.map((one) => ({ text: one.row.name })), rows };
}

/** @param {Answer} one @param {string} name @param {Fraction|null} size */
function bytesCell(one, name, size) {
  if (size === null) return unknown(one, name);
  return { kind: "count", text: binary(size), say: `${one.row.name}, ${name}: ${both(size)}`, counted: exact(size).replace(/,| B$/g, "") };
}

/** @param {Answer} one @param {string} name @param {bigint|null} number */
function numberCell(one, name, number) {
  return number === null ? unknown(one, name) : { kind: "count", text: whole(number), say: `${one.row.name}, ${name}: ${whole(number)}`, counted: String(number) };
}

/** @param {Answer} one */
function leftCell(one) {
  if (one.left === 0n) return { kind: "count", text: "nothing", say: `${one.row.name}: the weights alone do not fit`, counted: "0" };
  return bytesCell(one, "left by the weights", one.left === null ? null : { n: one.left, d: 1n });
}

/** @param {Answer} one @param {string} name */
function unknown(one, name) {
  return { kind: "count", text: "–", say: one.refused ?? `${one.row.name}, ${name}: unknown, nobody says how many parameters` };
}

/** @param {Answer} one */
function parametersCell(one) {
  const { id, name, parameters } = one.row;
  if (parameters.total === null) return unknown(one, "parameters");
  const recorded = id === "own" ? {} : { file: TABLE, key: `models.${id}.parameters.total`, exact: String(parameters.total) };
  return { kind: "count", text: whole(parameters.total), say: `${name}, parameters${id === "own" ? `: ${whole(parameters.total)}` : ""}`, ...recorded };
}

/** @param {Answer} one */
function evidenceCell(one) {
  const { id, name, evidence, verified } = one.row;
  if (id === "own") return { kind: "count", text: "pasted", say: `${name}: pasted` };
  return { kind: "count", text: verified ? EVIDENCE[String(evidence)] : "not verified", say: `${name}, evidence`, file: TABLE, key: `models.${id}.evidence`, exact: String(evidence) };
}

/** The formula with its numbers, the layers that count, and what to beware of. @param {Answer[]} answers @param {import("../memory/arithmetic.js").Question} question */
function explained(answers, question) {
  const note = (/** @type {string} */ text) => ({ kind: "note", text });
  const formulas = answers.map((one) => note(`${one.row.name}: ${one.refused ?? `${one.terms.join(" + ")} = ${both(one.size.request)}`}`));
  const kept = answers.map((one) => note(`${one.row.name}: ${layers(one.row).join("; ")}.`));
  const beware = answers.flatMap((one) => [
    ...warnings(one.row, question.tokens, question.ranks).map((text) => note(`${text.startsWith(one.row.name) ? "" : `${one.row.name}: `}${text}.`)),
    ...(one.row.unverified_fields?.length ? [note(`${one.row.name}, not verified: ${one.row.unverified_fields.join("; ")}.`)] : []),
  ]);
  return [{ kind: "title", text: "One request" }, ...formulas, { kind: "title", text: "Which layers count" }, ...kept,
    ...(beware.length ? [{ kind: "title", text: "Beware" }, ...beware] : [])];
}
