// @ts-check
// A picture's model as rows: one a cell, with the exact value and where it is recorded, unless it was
// counted just now. As CSV, and as plain objects.

const HEADER = ["part", "row", "column", "text", "value", "record", "key"];
const NO_TEXT = /^(true|false|-?\d+(\.\d+)?(e[+-]?\d+)?)$/;

/** @param {{parts: any[]}} model @returns {any[][]} */
function rows(model) {
  return model.parts.flatMap((part) => {
    if (part.kind === "strip") return part.items.map((/** @type {any} */ item, /** @type {number} */ i) => line("tokens", item.role, i, item));
    if (part.kind === "table") return [...part.rows.flatMap((/** @type {any} */ row) => rowLines(part, row)), ...(part.more ?? [])];
    if (part.kind === "heads") return part.groups.flatMap((/** @type {any} */ group) => group.heads.map((/** @type {any} */ head) => line("heads", group.name, head.text, head)));
    if (part.kind === "blocks") return part.blocks.flatMap((/** @type {any} */ block) => block.slots.map((/** @type {any} */ slot, /** @type {number} */ s) => line("blocks", block.name, s, slot)));
    return part.rows ?? []; // as the picture lists them
  });
}

/** @param {{parts: any[]}} model */
export function csv(model) {
  return [HEADER, ...rows(model)].map((fields) => fields.map(quote).join(",")).join("\n") + "\n";
}

/** The same for JSON, where a number is one, and yes and no are. @param {{parts: any[]}} model @returns {Record<string, any>[]} */
export function entries(model) {
  return rows(model).map((fields) => {
    const entry = Object.fromEntries(HEADER.map((name, i) => [name, fields[i] ?? ""]));
    return { ...entry, value: NO_TEXT.test(entry.value) ? JSON.parse(entry.value) : entry.value };
  });
}

/** @param {any} part @param {any} row */
function rowLines(part, row) {
  const columns = part.columns.flatMap((/** @type {any} */ column) => Array.from({ length: column.span ?? 1 }, (_, i) => `${column.text || i}`));
  let at = 0;
  return row.cells.flatMap((/** @type {any} */ cell) => {
    const column = columns[at];
    at += cell.span ?? 1;
    return cell.kind === "note" || (cell.exact ?? cell.counted) === undefined ? [] : [line(part.name, [row.head.text, row.head.sub].filter(Boolean).join(" "), column, cell)];
  });
}

/** @param {string} part @param {string} row @param {string|number} column @param {any} cell */
function line(part, row, column, cell) {
  return [part, row, column, cell.kind === "square" ? cell.mark : cell.text ?? "", cell.exact ?? cell.counted ?? "", cell.file ?? "", cell.key ?? ""];
}

/** @param {unknown} field */
function quote(field) {
  const text = String(field ?? "");
  return /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}
