// @ts-check
// What stands round a figure follows its state: the caption tells which state its sentence speaks of, "link" leads to
// the present one, "data" lists the files it was drawn from, and the BibTeX entry has its address.

import { named } from "./controls.js";
import { address, file, fileName } from "./records.js";
import { format, validate, withState } from "./state.js";

/** @typedef {import("./figure.js").KvFigure} KvFigure */
/** @typedef {import("./state.js").State} State */

/** What the build wrote, for the way back. @type {WeakMap<Element, Node[]>} */
const written = new WeakMap();

/** @param {KvFigure} figure */
export function follow(figure) {
  const around = figure.closest("figure");
  const { state, context, picture } = figure;
  if (!around || !state) return;
  const own = validate(picture, context);
  const address = Object.keys(state).length > 0 ? withState("", context.figure, state) : "";
  around.querySelector(".kv-tool-link")?.setAttribute("href", `${address}#fig-${context.figure}`);
  tell(around.querySelector("figcaption"), about(picture, own, state, context));
  const code = around.querySelector(".kv-tool-cite code");
  const stated = format(state) === format(own) ? undefined : citation(String(kept(code)[0]?.textContent ?? ""), context.figure, address, state);
  if (code) put(code, stated === undefined ? undefined : [document.createTextNode(stated)]);
  list(figure, around.querySelector(".kv-made"), recordsOf(picture, own, context), recordsOf(picture, state, context));
}

/** What a caption's sentence is about, where that is not what is shown: the fields that are not told are those for whose
 *  every value it holds. @param {any} picture @param {State} own @param {State} state @param {any} context */
export function about(picture, own, state, context) {
  if (state.recording !== own.recording) return `This sentence is about ${context.recordings.find((/** @type {any} */ one) => one.id === own.recording)?.label}.`;
  const told = (/** @type {import("./state.js").Field} */ field) => (field.name === "step" ? picture.bySteps ?? true : field.told ?? true);
  const others = picture.fields(own, context).filter((/** @type {any} */ field) => told(field) && state[field.name] !== own[field.name]);
  if (others.length === 0) return "";
  return `This sentence is about ${others.map((/** @type {any} */ field) => named({ ...field, value: own[field.name] })).join(", ")}.`;
}

/** @param {Element|null} caption @param {string} words */
function tell(caption, words) {
  caption?.querySelector(".kv-of")?.remove();
  if (!caption || !words) return;
  const note = document.createElement("span");
  note.className = "kv-of";
  note.textContent = ` (${words})`;
  caption.append(note);
}

/** A BibTeX entry of a figure in a state: its address, and the state in words. @param {string} entry @param {string} figure
 *  @param {string} query @param {State} state */
export function citation(entry, figure, query, state) {
  const words = Object.entries(state).map(([name, value]) => `${name} ${value}`).join(", ").replace(/[&%$#_{}\\~^]/g, "\\$&");
  return entry.replaceAll(`#fig-${figure}`, `${query}#fig-${figure}`).replace(/^(\s*note\s*=\s*\{.*?)(\.?)(\},?)$/m, `$1. State: ${words}$3`);
}

/** @param {any} picture @param {State} state @param {any} context @returns {string[]} */
function recordsOf(picture, state, context) {
  return picture.needs(state, context).filter((/** @type {string} */ path) => !path.startsWith("figure:"));
}

/** The files under "data", each with the command that makes it. @param {KvFigure} figure @param {Element|null} made
 *  @param {string[]} own of the static frame @param {string[]} now */
async function list(figure, made, own, now) {
  if (!made) return;
  const { state } = figure;
  if (String(own) === String(now)) return put(made);
  const catalogue = made.querySelector('a[href*="#record-"]')?.getAttribute("href")?.split("#")[0] ?? "";
  try {
    const files = await Promise.all(now.map(file));
    if (figure.state === state) put(made, now.map((path, i) => item(path, files[i].identity.command, `${catalogue}#${anchor(path, figure.context)}`)));
  } catch {
    // the picture says that its numbers could not be fetched; the list stays
  }
}

/** @param {string} path @param {string|undefined} command @param {string} more */
function item(path, command, more) {
  const [line, link, code, made, further] = ["li", "a", "code", "code", "a"].map((tag) => document.createElement(tag));
  link.setAttribute("href", address(path));
  code.textContent = fileName(path);
  link.append(code);
  made.textContent = command ?? "";
  further.setAttribute("href", more);
  further.textContent = "more";
  line.append(link, ...(command ? [", made by ", made] : [", kept by hand"]), " (", further, ")");
  return line;
}

/** The id of a record's entry in the catalogue, where the site's own model is not named. @param {string} path @param {any} context */
export function anchor(path, context) {
  const own = `${context.recordings[0]?.model}/`;
  return `record-${(path.startsWith(own) ? path.slice(own.length) : path).replaceAll("/", "-")}`;
}

/** @param {Element|null} element @returns {Node[]} */
function kept(element) {
  if (!element) return [];
  const nodes = written.get(element) ?? [...element.childNodes];
  written.set(element, nodes);
  return nodes;
}

/** Put other content into an element, or back what the build wrote. @param {Element} element @param {Node[]} [nodes] */
function put(element, nodes) {
  const first = kept(element);
  element.replaceChildren(...(nodes ?? first));
}
