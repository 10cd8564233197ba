// @ts-check
// The one element behind every picture. Its content, drawn at build, is already the figure; this adopts it: controls
// work, cells can be read, the address keeps the state. Nothing is fetched before the reader does something.

import { follow } from "./around.js";
import { complain, sync, touched, wrong } from "./controls.js";
import { draw } from "./draw.js";
import { showOrigin } from "./numbers.js";
import { makeReadable, spokenCell } from "./reading.js";
import { fileName, load } from "./records.js";
import { format, parse, placeOf, texts, validate, valueAt, withState } from "./state.js";
import { cells, html } from "./write/html.js";

export const PICTURES = ["strip", "grid", "cells", "lanes", "matrix", "heads", "bars", "top", "chart", "heatmaps", "memory", "blocks", "roofline", "timeline", "waits", "story", "rows", "waste", "chain", "changes", "times", "agreement", "ratios", "samples", "roofs"];
const WAIT_MS = 150; // a slider moves faster than an address may

export class KvFigure extends HTMLElement {
  /** @type {any} */ context = {};
  /** @type {any} */ picture;
  /** @type {import("./state.js").State|null} */ state = null;
  /** @type {any} */ model;
  /** @type {Promise<any>|undefined} */ #ready;
  /** @type {IntersectionObserver|undefined} */ #near;
  #turn = 0;
  #timer = 0;

  connectedCallback() {
    this.context = JSON.parse(this.getAttribute("context") ?? "{}");
    this.#near = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && this.wake(), { rootMargin: "300px" });
    this.#near.observe(this);
    this.addEventListener("click", this.#press); // pressed before the module is here: it is waited for
  }

  /** A button of the picture has the value that it leads to. @param {MouseEvent} event */
  #press = (event) => {
    const button = event.target instanceof Element ? event.target.closest(".kv-frame button") : null;
    if (!(button instanceof HTMLElement) || button.hasAttribute("aria-disabled") || !button.dataset.for) return;
    this.choose(new Map([[button.dataset.for, button.dataset.value ?? ""]]));
  };

  disconnectedCallback() {
    this.#near?.disconnect();
  }

  /** The part that the picture stands in. @returns {HTMLElement} */
  get frame() {
    return /** @type {HTMLElement} */ (this.querySelector(".kv-frame"));
  }

  /** Load the picture's module, adopt the static frame, and take up the state that the address asks for. */
  wake() {
    this.#near?.disconnect();
    this.#ready ??= this.#wake();
    return this.#ready;
  }

  async #wake() {
    const name = PICTURES.find((one) => one === this.getAttribute("picture"));
    if (!name) return;
    this.picture = await import(`./pictures/${name}.js`);
    this.state = validate(this.picture, this.context);
    this.#listen();
    this.picture.adopt?.(this); // what this picture alone has to listen to
    const asked = parse(location.search, this.context.figure);
    const chosen = touched(this.querySelector("form"), this.fields()); // by a hand faster than the module; it outweighs the address
    if (asked.size + chosen.size > 0) await this.choose(new Map([...asked, ...chosen]), chosen.size > 0);
    follow(this);
    this.toggleAttribute("live", true);
  }

  #listen() {
    const form = this.querySelector("form");
    form?.addEventListener("submit", (event) => event.preventDefault());
    form?.addEventListener("input", (event) => {
      const control = /** @type {HTMLInputElement|HTMLSelectElement} */ (event.target);
      const field = this.fields().find((/** @type {any} */ one) => one.name === control.name);
      if (!field) return;
      const words = wrong(field, control.value);
      complain(/** @type {HTMLFormElement} */ (form), control, words);
      if (!words) this.choose(new Map([[field.name, field.kind === "choice" ? control.value : valueAt(field, control.value)]]));
    });
    form?.addEventListener("click", (event) => {
      const button = event.target instanceof Element ? event.target.closest("button") : null;
      if (!button || !this.state || button.hasAttribute("aria-disabled")) return;
      const name = String(button.dataset.for);
      const field = this.fields().find((/** @type {any} */ one) => one.name === name);
      if (field) this.choose(new Map([[name, valueAt(field, placeOf(field) + Number(button.dataset.by))]]));
    });
    for (const kind of ["pointerover", "focusin"])
      this.addEventListener(kind, () => this.#learn().then(() => this.#catchUp()), { once: true });
    makeReadable(this.frame, {
      cellAt: (element) => this.#cellAt(element),
      read: (cell) => this.#read(cell),
      explain: async (_, element, byKey) => {
        await this.#learn();
        const cell = this.#cellAt(element);
        if (cell?.file) showOrigin(element, { record: cell.file, key: cell.key, exact: cell.exact, say: cell.say }, byKey);
      },
    });
  }

  /** Fetch what the frame shows, so that its cells can be read; the frame stays as it is. */
  async #learn() {
    if (this.model || !this.picture || !this.state) return;
    const state = this.state;
    const model = draw(this.picture, state, await load(this.picture.needs(state, this.context)), this.context);
    if (state === this.state) this.model = model;
  }

  /** What a drawn cell holds, once the records are here. @param {Element} element */
  #cellAt(element) {
    return this.model ? cells(this.model)[[...this.frame.querySelectorAll(".c")].indexOf(element)] : undefined;
  }

  /** Read what the reader came to before its value was here. */
  #catchUp() {
    const grid = document.activeElement;
    if (grid && this.frame.contains(grid)) grid.dispatchEvent(new FocusEvent("focusin", { bubbles: true }));
    const under = this.frame.querySelector(".c:hover");
    if (under) this.#read(this.#cellAt(under));
  }

  /** @param {any} cell */
  #read(cell) {
    const line = this.querySelector(".kv-readout");
    if (line && cell) line.textContent = spokenCell(cell) + (cell.file ? ` · ${fileName(cell.file)} › ${cell.key}` : "");
  }

  /** Change fields of the state; values that do not exist are dropped. @param {Map<string, string>} changed @param {boolean} [keep] in the address */
  async choose(changed, keep = true) {
    if (!this.picture || !this.state) await this.wake();
    const now = texts(/** @type {import("./state.js").State} */ (this.state));
    const wanted = this.picture.merge?.(now, changed) ?? new Map([...now, ...changed]);
    const next = validate(this.picture, this.context, wanted);
    if (this.state && format(next) === format(this.state)) return;
    this.state = next;
    sync(this.querySelector("form"), this.fields());
    await this.redraw();
    follow(this);
    if (keep) this.#keep();
  }

  /** The fields with the present values. @returns {import("./state.js").Field[]} */
  fields() {
    const state = /** @type {import("./state.js").State} */ (this.state);
    return this.picture.fields(state, this.context).map((/** @type {any} */ field) => ({ ...field, value: state[field.name] }));
  }

  /** Draw the present state from its records. */
  async redraw() {
    this.#turn += 1;
    const turn = this.#turn;
    const state = /** @type {import("./state.js").State} */ (this.state);
    try {
      const model = draw(this.picture, state, await load(this.picture.needs(state, this.context)), this.context);
      if (turn === this.#turn) this.show(model);
    } catch (problem) {
      const status = this.querySelector(".kv-status");
      if (status) status.textContent = "These numbers could not be fetched; the picture shows the state before.";
      if (!(problem instanceof TypeError)) console.warn(problem);
    }
  }

  /** Put a model in place of the frame's content, keeping where the reader was. @param {any} model */
  show(model) {
    const grids = [...this.frame.querySelectorAll("[role=grid]")];
    const focused = grids.indexOf(/** @type {Element} */ (document.activeElement));
    const pressed = this.frame.contains(document.activeElement) ? document.activeElement?.getAttribute("data-key") : null;
    const lefts = [...this.frame.querySelectorAll(".kv-scroll")].map((box) => box.scrollLeft);
    this.model = model;
    this.frame.innerHTML = html(model);
    this.frame.querySelectorAll(".kv-scroll").forEach((box, i) => (box.scrollLeft = lefts[i] ?? 0));
    const status = this.querySelector(".kv-status");
    if (status) status.textContent = model.summary;
    if (focused >= 0) /** @type {HTMLElement|undefined} */ (this.frame.querySelectorAll("[role=grid]")[focused])?.focus({ preventScroll: true });
    if (pressed) this.#refocus(pressed);
  }

  /** Back to the button that was pressed; if what it belonged to is gone, to the first one. @param {string} key */
  #refocus(key) {
    const buttons = [...this.frame.querySelectorAll("button")];
    (buttons.find((one) => one.dataset.key === key) ?? buttons[0])?.focus({ preventScroll: true });
  }

  #keep() {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => {
      const { figure } = this.context;
      history.replaceState(history.state, "", withState(location.search, figure, /** @type {any} */ (this.state)) + location.hash);
    }, WAIT_MS);
  }
}

/** The figure element of an id, if it stands on this page. @param {string} id @returns {KvFigure|null} */
export function figureOf(id) {
  const element = document.getElementById(`fig-${id}`)?.firstElementChild;
  return element instanceof KvFigure ? element : null;
}
