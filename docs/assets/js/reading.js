// @ts-check
// Reading a grid of cells: one tab stop, arrows move inside, the value of the cell at hand is read out once. Works on
// whatever carries role="grid"; what a cell holds is asked from its figure.

/** @typedef {{cellAt: (element: Element) => any, read: (cell: any) => void, explain: (cell: any, element: Element, byKey: boolean) => void}} Reader */

const SPOKEN_WHOLE = new Set(["square", "slot", "token"]); // what is said of these has their value in it
const MOVES = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] });

/** @param {HTMLElement} frame @param {Reader} reader */
export function makeReadable(frame, reader) {
  frame.addEventListener("pointerover", (event) => {
    const cell = cellOf(event.target);
    if (cell && event.pointerType === "mouse") reader.read(reader.cellAt(cell));
  });
  // A press would focus the whole grid and bring it into sight, away from under the pointer, before it is a click.
  frame.addEventListener("mousedown", (event) => void (cellOf(event.target) && event.preventDefault()));
  frame.addEventListener("click", (event) => {
    const cell = cellOf(event.target);
    if (!cell) return;
    activate(cell, reader);
    reader.explain(reader.cellAt(cell), cell, false);
  });
  frame.addEventListener("focusin", (event) => {
    const grid = /** @type {Element} */ (event.target);
    if (grid.getAttribute("role") === "grid") activate(current(grid), reader);
  });
  frame.addEventListener("focusout", (event) => /** @type {Element} */ (event.target).querySelector(".at")?.classList.remove("at"));
  frame.addEventListener("keydown", (event) => press(event, reader));
}

/** @param {KeyboardEvent} event @param {Reader} reader */
function press(event, reader) {
  const grid = /** @type {HTMLElement} */ (event.target);
  if (grid.getAttribute("role") !== "grid" || event.altKey || event.metaKey) return;
  const cell = current(grid);
  if (!cell) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    reader.explain(reader.cellAt(cell), cell, true);
  }
  const next = target(grid, cell, event);
  if (next === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  if (next) activate(next, reader);
}

/** The cell a key leads to; null at an edge; undefined if the key does not move. @param {Element} grid @param {Element} cell
 *  @param {KeyboardEvent} event @returns {Element|null|undefined} */
function target(grid, cell, event) {
  const rows = [...grid.querySelectorAll("tr, [role=row]")].map((row) => [...row.querySelectorAll(".c")]).filter((row) => row.length > 0);
  const r = rows.findIndex((row) => row.includes(cell));
  const c = rows[r]?.indexOf(cell) ?? -1;
  if (event.key === "Home") return event.ctrlKey ? rows[0][0] : rows[r][0];
  if (event.key === "End") return event.ctrlKey ? rows.at(-1)?.at(-1) : rows[r].at(-1);
  const move = MOVES[event.key];
  if (!move || event.ctrlKey) return undefined;
  const row = rows[r + move[0]];
  return row?.[Math.min(c + move[1], move[0] ? row.length - 1 : Infinity)] ?? null;
}

/** @param {Element} grid @returns {Element|null} */
function current(grid) {
  const id = grid.getAttribute("aria-activedescendant");
  return (id && grid.querySelector(`[id="${id}"]`)) || grid.querySelector(".c");
}

/** Make a cell the one at hand. @param {Element|null} cell @param {Reader} reader */
function activate(cell, reader) {
  const grid = /** @type {HTMLElement|null} */ (cell?.closest("[role=grid]"));
  if (!cell || !grid) return;
  const model = reader.cellAt(cell);
  for (const old of grid.querySelectorAll(".c[id], .c.at")) {
    old.classList.remove("at");
    old.removeAttribute("id");
    old.removeAttribute("aria-label");
  }
  const id = `${grid.closest("figure")?.id ?? "kv"}-at`;
  document.getElementById(id)?.removeAttribute("id");
  cell.id = id;
  cell.classList.add("at");
  if (model) cell.setAttribute("aria-label", spokenCell(model));
  grid.setAttribute("aria-activedescendant", id);
  if (document.activeElement !== grid) grid.focus({ preventScroll: true });
  cell.scrollIntoView({ block: "nearest", inline: "nearest" });
  reader.read(model);
}

/** What is said of a cell: its place and its recorded value. @param {any} cell @returns {string} */
export function spokenCell(cell) {
  const whole = cell.exact === undefined || SPOKEN_WHOLE.has(cell.kind);
  return whole ? cell.say : `${cell.say}: ${cell.exact.replace("-", "−")}`;
}

/** @param {EventTarget|null} target @returns {Element|null} */
function cellOf(target) {
  return target instanceof Element ? target.closest(".c") : null;
}
