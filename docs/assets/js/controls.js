// @ts-check
// The controls of a figure: written as HTML once, then kept in step with the state. Every control is a form element
// with a visible label; a range has a button on either side, for those who cannot drag.

import { escape, whole } from "./format.js";
import { accept, placeOf, valueAt } from "./state.js";

/** @typedef {import("./state.js").Field} Field */

/** @param {Field[]} fields */
export function controls(fields) {
  const shown = fields.filter(useful);
  return shown.length === 0 ? "" : `<form class="kv-controls" autocomplete="off">${shown.map(control).join("")}${shown.some((field) => field.typed) ? '<p class="kv-wrong" role="status"></p>' : ""}</form>`;
}

/** A choice between one thing is none. @param {Field} field */
function useful(field) {
  if (field.hidden || field.kind === "text") return !field.hidden;
  return field.kind === "range" ? (field.max ?? 0) > (field.min ?? 0) : (field.options?.length ?? 0) > 1;
}

/** @param {Field} field */
function control(field) {
  if (field.kind === "choice") return `<label>${escape(field.label)} <select name="${field.name}">${options(field)}</select></label>`;
  if (field.kind === "text") return paste(field);
  const at = placeOf(field);
  const [min, max] = ends(field);
  if (field.typed) return `<label>${escape(field.label)} <input type="number" name="${field.name}" min="${field.min}" max="${field.max}" value="${at}" inputmode="numeric"></label>`;
  const button = (/** @type {number} */ by, /** @type {string} */ sign, /** @type {string} */ words) =>
    `<button type="button" data-by="${by}" data-for="${field.name}" aria-label="${words} ${escape(field.label.toLowerCase())}"${end(field, at, by)}>${sign}</button>`;
  return `<span class="kv-range">${button(-1, "◀", "previous")}<label>${escape(field.label)} <input type="range" name="${field.name}" min="${min}" max="${max}" value="${at}"${field.grid ? ` list="${field.grid}"` : ""} aria-valuetext="${escape(name(field, at))}"></label>${ticks(field)}`
    + `${button(1, "▶", "next")}<output>${escape(name(field, at))}</output></span>`;
}

/** A box to paste into, closed at first; the picture that asks for it says what it makes of the text. @param {Field} field */
function paste(field) {
  return `<details class="kv-paste"><summary>${escape(field.label)}</summary><p>${escape(field.hint ?? "")}</p><textarea aria-label="${escape(field.label)}" rows="6" spellcheck="false"></textarea><p role="status"></p></details>`;
}

/** A tick at every stop, so that it is seen where a slider can come to rest. @param {Field} field */
function ticks(field) {
  if (!field.grid || !field.values) return "";
  return `<datalist id="${field.grid}">${stops(field)}</datalist>`;
}

/** @param {Field} field */
function stops(field) {
  return (field.values ?? []).map((_, place) => `<option value="${place}"></option>`).join("");
}

/** The first and the last place of a slider. @param {Field} field */
function ends(field) {
  return field.values ? [0, field.values.length - 1] : [field.min ?? 0, field.max ?? 0];
}

/** @param {Field} field @param {number} at @param {number} by */
function end(field, at, by) {
  const [min, max] = ends(field);
  return at + by < min || at + by > max ? ' aria-disabled="true"' : "";
}

/** @param {Field} field @param {number} at @param {boolean} [alone] as no control has it */
function name(field, at, alone = false) {
  return field.names?.[at] ?? (field.values ? whole(field.values[at]) : alone ? whole(at) : String(at));
}

/** @param {Field} field */
function options(field) {
  return (field.options ?? []).map((option) => `<option value="${escape(option.value)}"${option.value === field.value ? " selected" : ""}>${escape(option.text)}</option>`).join("");
}

/** A field and its value in words. @param {Field} field */
export function named(field) {
  if (field.name === "step") return field.value === 0 ? "the prefill" : `decode step ${field.value}`;
  const text = field.options?.find((option) => option.value === field.value)?.text ?? (field.kind === "text" ? String(field.value) : name(field, placeOf(field), true));
  const label = field.label.replace(/^./, (letter) => letter.toLowerCase());
  return text === "none" ? `no ${label}` : `${label} ${text}`;
}

/** Why what was typed is not taken, or nothing. @param {Field} field @param {string} text */
export function wrong(field, text) {
  if (!field.typed || accept(field, text) !== undefined) return "";
  return `${field.label}: a whole number from ${whole(field.min ?? 0)} to ${whole(field.max ?? 0)}; still showing ${whole(Number(field.value))}.`;
}

/** Say so beside the controls. @param {HTMLFormElement} form @param {Element} control @param {string} words */
export function complain(form, control, words) {
  const line = form.querySelector(".kv-wrong");
  if (line) line.textContent = words;
  if (words) control.setAttribute("aria-invalid", "true");
  else control.removeAttribute("aria-invalid");
}

/** What a reader chose before anything listened: the controls that no longer stand as they were written.
 *  @param {HTMLFormElement|null} form @param {Field[]} fields @returns {Map<string, string>} */
export function touched(form, fields) {
  const found = new Map();
  for (const field of form ? fields : []) {
    const control = /** @type {any} */ (form?.elements.namedItem(field.name));
    if (!control || field.hidden || field.kind === "text") continue;
    const written = control.options ? [...control.options].find((option) => option.defaultSelected)?.value : control.defaultValue;
    if (control.value !== "" && control.value !== written) found.set(field.name, field.kind === "choice" ? control.value : valueAt(field, control.value));
  }
  return found;
}

/** Put a state's values into the controls. @param {HTMLFormElement|null} form @param {Field[]} fields */
export function sync(form, fields) {
  for (const field of form ? fields : []) {
    const found = form?.elements.namedItem(field.name);
    if (found instanceof HTMLSelectElement) {
      const wanted = options(field);
      if (found.innerHTML !== wanted) found.innerHTML = wanted;
      found.value = String(field.value);
    } else if (found instanceof HTMLInputElement) {
      const at = placeOf(field);
      [found.min, found.max] = ends(field).map(String);
      if (field.typed) complain(/** @type {HTMLFormElement} */ (form), found, "");
      if (!field.typed || found !== document.activeElement) found.value = String(at); // never under the reader's hands
      if (field.typed) continue;
      found.setAttribute("aria-valuetext", name(field, at));
      const around = found.closest(".kv-range");
      const output = around?.querySelector("output");
      if (output) output.textContent = name(field, at);
      const list = around?.querySelector("datalist");
      if (list && list.options.length !== field.values?.length) list.innerHTML = stops(field);
      for (const button of around?.querySelectorAll("button") ?? []) {
        if (end(field, at, Number(button.dataset.by))) button.setAttribute("aria-disabled", "true");
        else button.removeAttribute("aria-disabled");
      }
    }
  }
}
