// @ts-check
// The classes of a cell, for the style sheet: its kind, role, tint and marks.

const STEPS = 10; // levels of tint

/** @param {any} cell */
export function classes(cell) {
  const names = ["c", `k-${cell.kind ?? "token"}`];
  if (cell.role) names.push(`r-${cell.role}`);
  if (cell.t !== undefined) names.push(`t${Math.round(cell.t * STEPS)}`);
  if (cell.neg) names.push("neg");
  if (cell.clip) names.push("clip");
  if (cell.mark) names.push(`m-${cell.mark}`);
  if (cell.edge) names.push(`e-${cell.edge}`);
  if (cell.divide) names.push("divide");
  return names.join(" ");
}
