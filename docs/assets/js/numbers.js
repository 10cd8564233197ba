// @ts-check
// Touch any number: its recorded value, the file and key that hold it, and the command that makes it again. One small
// box for numbers in sentences and for cells of pictures.

import { address, file, fileName, isMeasured, precision } from "./records.js";

/** @typedef {{record: string, key: string, exact: string, precision?: string, say?: string}} Origin */

/** Show where a number comes from, beside it. Who asked by key is taken into the box; closing it leads back.
 *  @param {Element} beside @param {Origin} origin @param {boolean} [byKey] */
export async function showOrigin(beside, origin, byKey = false) {
  const box = theBox();
  box.replaceChildren(...contents(origin));
  if (!box.matches(":popover-open")) box.showPopover();
  place(box, beside.getBoundingClientRect());
  if (byKey) box.focus();
  const command = box.querySelector(".kv-command");
  try {
    const { identity, environment } = await file(origin.record);
    const on = box.querySelector(".kv-on");
    if (on?.isConnected) on.textContent = `${environment.name}, ${environment.date}`;
    if (command?.isConnected) command.textContent = identity.command ?? "nothing: kept by hand";
    const how = box.querySelector(".kv-how");
    if (how?.isConnected) how.textContent = origin.precision ?? precision(origin, identity.tolerance?.absolute);
  } catch {
    if (command?.isConnected) command.textContent = "python -m gen run";
  }
  if (box.matches(":popover-open")) place(box, beside.getBoundingClientRect());
}

function theBox() {
  const found = document.getElementById("kv-origin");
  if (found) return found;
  const box = document.createElement("div");
  box.id = "kv-origin";
  box.popover = "auto";
  box.tabIndex = -1;
  box.setAttribute("role", "dialog");
  box.setAttribute("aria-label", "Where this number comes from");
  document.body.append(box);
  return box;
}

/** @param {Origin} origin */
function contents(origin) {
  const link = element("a", fileName(origin.record));
  link.setAttribute("href", address(origin.record));
  const rows = /** @type {[string, ...Node[]][]} */ ([["recorded value", element("code", origin.exact), element("small", "", "kv-how")], ["file", link],
    ["key", element("code", origin.key)], ["made by", element("code", "…", "kv-command")], ...(isMeasured(origin.record) ? [/** @type {[string, Node]} */ (["measured on", element("span", "…", "kv-on")])] : [])]);
  const list = document.createElement("dl");
  for (const [name, ...value] of rows) list.append(element("dt", name), wrap("dd", value));
  const close = element("button", "Close", "kv-close");
  close.setAttribute("type", "button");
  close.addEventListener("click", () => theBox().hidePopover());
  return [...(origin.say ? [element("p", origin.say)] : []), list, close];
}

/** @param {string} tag @param {string} text @param {string} [name] */
function element(tag, text, name) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (name) made.className = name;
  return made;
}

/** @param {string} tag @param {Node[]} inside */
function wrap(tag, inside) {
  const made = document.createElement(tag);
  made.append(...inside);
  return made;
}

/** Below the number where there is room, else above; never over the edge. @param {HTMLElement} box @param {DOMRect} at */
function place(box, at) {
  box.style.left = "8px"; // measured where nothing squeezes it
  const { offsetWidth: width, offsetHeight: height } = box;
  const below = at.bottom + 8 + height <= innerHeight;
  box.style.left = `${Math.max(8, Math.min(at.left, document.documentElement.clientWidth - width - 8))}px`;
  box.style.top = `${Math.max(8, below ? at.bottom + 8 : at.top - height - 8)}px`;
}

document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a.kv-num") : null;
  if (!(link instanceof HTMLElement) || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  const { record, key, exact, precision: known } = link.dataset;
  if (!record || !key) return;
  event.preventDefault();
  showOrigin(link, { record, key, exact: exact ?? link.textContent ?? "", precision: known }, event.detail === 0); // no pointer: by keyboard
});
