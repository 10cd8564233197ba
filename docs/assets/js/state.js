// @ts-check
// The state of a figure: what the reader chose. Read from the address, checked against the values that exist, written
// back as ?lanes=step:4#fig-lanes. A value that does not exist is dropped without a word, so no address can break a page.

/** @typedef {{value: string|number, text: string}} Option */
/** @typedef {{name: string, label: string, kind: "choice"|"range"|"text", value: string|number, options?: Option[],
 *             min?: number, max?: number, names?: string[], values?: number[], grid?: string, typed?: boolean, told?: boolean, hidden?: boolean, fits?: (text: string) => boolean, hint?: string}} Field
 *  A range that is typed is a number field, one with values stops at these alone (`grid` names its ticks); a text is whatever fits.
 *  What is not told makes no difference to the caption's sentence; what is hidden has no control. */
/** @typedef {Record<string, string|number>} State */
/** @typedef {{fields: (state: State, context: any) => Field[]}} HasFields */

const LONGEST = 500;

/** What the address says about a figure, unchecked. @param {string} search @param {string} id @returns {Map<string, string>} */
export function parse(search, id) {
  const found = new Map();
  const text = new URLSearchParams(search).get(id);
  if (text === null || text.length > LONGEST) return found;
  for (const pair of text.split(",")) {
    const at = pair.indexOf(":");
    if (at > 0) found.set(pair.slice(0, at), pair.slice(at + 1));
  }
  return found;
}

/** The value of a field that a text stands for, or undefined. @param {Field} field @param {string|undefined} text */
export function accept(field, text) {
  if (text === undefined) return undefined;
  if (field.kind === "choice") return field.options?.find((option) => String(option.value) === text)?.value;
  if (field.kind === "text") return field.fits?.(text) ? text : undefined;
  if (text === "last") return field.max;
  if (field.values) return field.values.find((value) => String(value) === text);
  if (!/^\d{1,8}$/.test(text)) return undefined;
  const number = Number(text);
  return number >= (field.min ?? 0) && number <= (field.max ?? 0) ? number : undefined;
}

/** Where a slider stands for a value. @param {Field} field @param {string|number} [value] */
export function placeOf(field, value = field.value) {
  return field.values ? field.values.indexOf(Number(value)) : Number(value);
}

/** The value at a place of a slider, as a text. @param {Field} field @param {string|number} place */
export function valueAt(field, place) {
  return String(field.values ? field.values[Number(place)] : place);
}

/** A whole, valid state: later fields may depend on earlier ones (the layers of a recording, say).
 *  @param {HasFields} picture @param {any} context @param {Map<string, string>} [raw] @returns {State} */
export function validate(picture, context, raw = new Map()) {
  /** @type {State} */
  const state = {};
  const names = picture.fields({}, context).map((field) => field.name);
  const preset = new Map(Object.entries(context.state ?? {}).map(([name, value]) => [name, String(value)]));
  for (const name of names) {
    const field = picture.fields(state, context).find((candidate) => candidate.name === name);
    if (!field) continue;
    state[name] = accept(field, raw.get(name)) ?? accept(field, preset.get(name)) ?? field.value;
  }
  return state;
}

/** State as unchecked texts, to be changed and validated again. @param {State} state @returns {Map<string, string>} */
export function texts(state) {
  return new Map(Object.entries(state).map(([name, value]) => [name, String(value)]));
}

/** The state as it stands in an address. @param {State} state */
export function format(state) {
  return Object.entries(state).map(([name, value]) => `${name}:${value}`).join(",");
}

/** The query string of a page with one figure's state put in; the others stay.
 *  @param {string} search @param {string} id @param {State} state */
export function withState(search, id, state) {
  const rest = search.replace(/^\?/, "").split("&").filter((part) => part !== "" && part.split("=")[0] !== id);
  return `?${[...rest, `${id}=${format(state)}`].join("&")}`;
}
