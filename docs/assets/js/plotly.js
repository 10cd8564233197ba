// @ts-check
// A figure that Plotly draws again over its static drawing: only near the viewport and only after the reader's first
// scroll, pointer or key; one request for the library; colours by role from the page's own, in both schemes.

import { KvFigure } from "./figure.js";
import { load } from "./records.js";

const BUNDLE = new URL("../vendor/plotly-cartesian.min.js", import.meta.url).href;
const SIZE = 12; // pixels, as in the still drawing
const CONFIG = { displaylogo: false, showSendToCloud: false, responsive: false, displayModeBar: "hover", modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };
/** @type {Promise<any>|undefined} */
let library;

/** Resolves once the reader has done something. @type {Promise<void>} */
const moved = new Promise((done) => {
  for (const kind of ["scroll", "pointerdown", "pointermove", "keydown", "touchstart", "wheel"]) addEventListener(kind, () => done(), { once: true, passive: true, capture: true });
});

/** The library, fetched once for all figures. Its rules are kept in a sheet that page changes do not remove. */
function plotly() {
  library ??= new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = BUNDLE;
    script.onload = () => done(/** @type {any} */ (window).Plotly);
    script.onerror = () => fail(new Error("the chart library could not be fetched"));
    document.head.append(script);
  }).then((found) => {
    keepRules();
    return found;
  });
  return library;
}

function keepRules() {
  const rules = [...document.styleSheets].filter((sheet) => sheet.ownerNode instanceof HTMLStyleElement && sheet.ownerNode.id.startsWith("plotly.js"))
    .flatMap((sheet) => [...sheet.cssRules].map((rule) => rule.cssText));
  const kept = new CSSStyleSheet();
  kept.replaceSync(rules.join("\n"));
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, kept];
}

export class KvPlotly extends KvFigure {
  /** @type {HTMLElement|undefined} */ #live;
  /** @type {ResizeObserver|undefined} */ #size;
  /** @type {MutationObserver|undefined} */ #scheme;
  /** @type {IntersectionObserver|undefined} */ #close;

  connectedCallback() {
    super.connectedCallback();
    this.#close = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && this.#start(), { rootMargin: "200px" });
    this.#close.observe(this);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    for (const observer of [this.#size, this.#scheme, this.#close]) observer?.disconnect();
  }

  async #start() {
    this.#close?.disconnect();
    await moved;
    await this.wake();
    if (this.#live || !this.isConnected) return;
    try {
      await this.#draw(await plotly());
    } catch (problem) {
      console.warn(problem); // the static drawing stays
    }
  }

  /** Draw over the static drawing, in its place and size. @param {any} library */
  async #draw(library) {
    const box = this.querySelector(".kv-drawing")?.getBoundingClientRect();
    if (!box) return;
    const place = /** @type {Element} */ (this.querySelector(".kv-drawing")?.parentElement);
    const live = document.createElement("div");
    live.className = "kv-live";
    live.setAttribute("role", "group");
    live.setAttribute("aria-labelledby", `fig-${this.context.figure}-caption`);
    place.append(live);
    this.#live = live;
    await this.#plot(library, "newPlot");
    this.toggleAttribute("drawn", true);
    const again = () => this.#plot(library, "react");
    this.#size = new ResizeObserver(() => live.clientWidth > 0 && again());
    this.#size.observe(this);
    this.#scheme = new MutationObserver(again);
    this.#scheme.observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
  }

  /** @param {any} library @param {"newPlot"|"react"} how */
  async #plot(library, how) {
    const drawing = this.querySelector(".kv-drawing");
    if (!drawing || !this.#live || !this.state) return;
    const spec = (await load([`figure:${this.context.figure}`]))[`figure:${this.context.figure}`];
    const records = await load(this.picture.needs(this.state, this.context));
    const { data, layout } = this.picture.plotly(spec, this.state, records, this.context);
    const { width, height } = drawing.getBoundingClientRect();
    const colour = colours(this);
    await library[how](this.#live, data.map((/** @type {any} */ trace) => themedTrace(trace, colour)), { ...themedLayout(layout, colour, getComputedStyle(this).fontFamily), width, height, autosize: false }, CONFIG);
  }

  /** @param {any} model */
  show(model) {
    const live = this.#live;
    super.show(model);
    if (!live) return;
    this.querySelector(".kv-drawing")?.parentElement?.append(live);
    plotly().then((library) => this.#plot(library, "react"));
  }
}

/** The colours that the page gives to roles now. @param {Element} element @returns {(role: string) => string} */
function colours(element) {
  const style = getComputedStyle(element);
  return (role) => style.getPropertyValue(`--kv-${role}`).trim();
}

/** @param {any} trace @param {(role: string) => string} colour */
function themedTrace(trace, colour) {
  const role = colour(trace.meta.role);
  if (trace.type === "heatmap") return { ...trace, colorscale: [[0, colour("paper")], [1, role]] };
  return { ...trace, line: { ...trace.line, color: role }, ...(trace.marker ? { marker: { ...trace.marker, color: role } } : {}) };
}

/** @param {any} layout @param {(role: string) => string} colour @param {string} family the page's own letters, as in the still drawing */
function themedLayout(layout, colour, family) {
  const font = { family, size: SIZE };
  const axis = { gridcolor: colour("hair"), linecolor: colour("line"), tickcolor: colour("line"), zerolinecolor: colour("line"), tickfont: { ...font, color: colour("muted") } };
  const axes = Object.fromEntries(Object.entries(layout).filter(([name]) => /^[xy]axis\d*$/.test(name)).map((/** @type {[string, any]} */ [name, own]) => [name, { ...own, ...axis, ...(name[0] === "x" ? { showgrid: false } : {}), ...(own.title ? { title: { ...own.title, font: { ...font, color: colour("muted") } } } : {}) }]));
  const annotations = (layout.annotations ?? []).map((/** @type {any} */ note) => ({ ...note, font: { ...font, color: colour(note.name || "muted") } }));
  return {
    ...layout, ...axes, annotations, shapes: (layout.shapes ?? []).map((/** @type {any} */ shape) => ({ ...shape, line: { width: 1, color: colour("line") } })), paper_bgcolor: colour("paper"), plot_bgcolor: colour("paper"),
    font: { ...font, color: colour("ink") }, hoverlabel: { bgcolor: colour("paper"), bordercolor: colour("line"), font: { ...font, color: colour("ink") } },
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom", // a finger scrolls the page
    modebar: { bgcolor: colour("paper"), color: colour("muted"), activecolor: colour("ink") },
  };
}
