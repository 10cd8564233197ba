// @ts-check
// What stands around figures: sentences with a button that puts a figure into a state ("demo"), the copied link, and
// the files of the present state. The files at the same links hold the static frame, for when no script runs.

import { draw } from "./draw.js";
import { KvFigure, figureOf } from "./figure.js";
import { load } from "./records.js";
import { parse, texts, validate } from "./state.js";

const SCALE = 2; // pixels of a PNG per pixel of the drawing

/** @param {MouseEvent} event */
function click(event) {
  const on = event.target instanceof Element ? event.target.closest("a.kv-demo, .kv-tool-link, .kv-tool-svg, .kv-tool-csv, .kv-tool-json, .kv-tool-png, .kv-copy") : null;
  if (!on || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  if (on.matches(".kv-demo")) return demo(event, /** @type {HTMLAnchorElement} */ (on));
  if (on.matches(".kv-copy")) return void copyCode(on);
  const figure = on.closest("figure.kv-figure")?.firstElementChild;
  if (!(figure instanceof KvFigure)) return;
  if (on.matches(".kv-tool-link")) return void copy(event, figure, /** @type {HTMLAnchorElement} */ (on));
  event.preventDefault();
  const kind = /** @type {const} */ (["svg", "csv", "json"]).find((name) => on.matches(`.kv-tool-${name}`)) ?? "png";
  save(figure, kind, /** @type {HTMLAnchorElement} */ (on).href);
}

/** @param {MouseEvent} event @param {HTMLAnchorElement} link */
function demo(event, link) {
  const address = new URL(link.href, location.href);
  const id = address.hash.replace("#fig-", "");
  const figure = address.pathname === location.pathname ? figureOf(id) : null;
  if (!figure) return;
  event.preventDefault();
  history.pushState(history.state, "", address.search + address.hash);
  dispatchEvent(new HashChangeEvent("hashchange")); // a tour opens the step that the figure stands in
  figure.choose(parse(address.search, id));
  const smooth = !matchMedia("(prefers-reduced-motion: reduce)").matches;
  const whole = figure.closest("figure");
  const block = whole && whole.clientHeight > innerHeight ? "start" : "nearest"; // of a tall one its controls and its sentence first
  whole?.scrollIntoView({ block, behavior: smooth ? "smooth" : "auto" });
}

/** @param {MouseEvent} event @param {KvFigure} figure @param {HTMLAnchorElement} link */
async function copy(event, figure, link) {
  if (!navigator.clipboard) return;
  event.preventDefault();
  history.replaceState(history.state, "", link.href);
  try {
    await navigator.clipboard.writeText(link.href);
    say(link, "copied");
  } catch {
    say(link, "in the address");
  }
}

/** Copy a listing or a BibTeX entry; where the browser will not, select it. @param {Element} button */
async function copyCode(button) {
  const code = button.parentElement?.querySelector("code");
  if (!code) return;
  try {
    await navigator.clipboard.writeText(code.textContent ?? "");
    say(button, "copied");
  } catch {
    getSelection()?.selectAllChildren(code);
  }
}

/** @param {Element} link @param {string} words */
function say(link, words) {
  const before = link.textContent;
  link.textContent = words;
  link.setAttribute("role", "status");
  setTimeout(() => {
    link.textContent = before;
    link.removeAttribute("role");
  }, 1500);
}

/** @param {KvFigure} figure @param {"svg"|"csv"|"json"|"png"} kind @param {string} still the file of the static frame */
async function save(figure, kind, still) {
  await figure.wake();
  const state = /** @type {import("./state.js").State} */ (figure.state);
  const model = figure.model ?? draw(figure.picture, state, await load(figure.picture.needs(state, figure.context)), figure.context);
  const { csv, entries, svg } = await import("./picture.js");
  const name = `${figure.context.figure}.${kind}`;
  if (kind === "csv") return download(new Blob([csv(model)], { type: "text/csv" }), name);
  if (kind === "json") {
    const told = await (await fetch(still)).json(); // title and licence stay; the cells are those of the present state
    const shown = entries(model);
    const records = [...new Set(shown.map((cell) => cell.record).filter(Boolean))];
    const now = { ...told, state, records, cells: shown };
    return download(new Blob([JSON.stringify(now)], { type: "application/json" }), name);
  }
  const caption = figure.closest("figure")?.querySelector("figcaption");
  const title = caption?.querySelector("strong")?.textContent ?? name;
  const finding = caption?.querySelector(".kv-finding")?.textContent ?? "";
  const drawing = svg(model, { title, alt: [model.summary, finding, caption?.querySelector(".kv-of")?.textContent?.trim()].filter(Boolean).join(" "), source: figure.context.source });
  if (kind === "svg") return download(new Blob([drawing], { type: "image/svg+xml" }), name);
  download(await pixels(drawing), name);
}

/** @param {string} drawing @returns {Promise<Blob>} */
async function pixels(drawing) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.naturalWidth * SCALE, image.naturalHeight * SCALE];
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, fail) => canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("no picture"))), "image/png"));
}

/** @param {Blob} blob @param {string} name */
function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

document.addEventListener("click", click);
addEventListener("popstate", () => {
  for (const figure of document.querySelectorAll("figure.kv-figure > :first-child")) {
    if (!(figure instanceof KvFigure)) continue;
    if (!figure.state) continue;
    const asked = parse(location.search, figure.context.figure);
    figure.choose(texts(validate(figure.picture, figure.context, asked)), false); // what an address leaves out is as at first
  }
});
const showButtons = () => document.querySelectorAll(".kv-tool-png[hidden], .kv-copy[hidden]").forEach((button) => button.removeAttribute("hidden"));
showButtons();
/** @type {any} */ (window).document$?.subscribe(showButtons);
