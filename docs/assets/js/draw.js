// @ts-check
// A picture's model with the line that no figure lacks: which model computed these numbers, or on what they were counted.

import { recordingOf } from "./pictures/common.js";

/** @param {any} picture a module of pictures/ @param {import("./state.js").State} state @param {Record<string, any>} records
 *  @param {any} context @returns {{summary: string, parts: any[]}} */
export function draw(picture, state, records, context) {
  const model = picture.draw(state, records, context);
  const credit = model.credit ?? recordingOf(state, context)?.credit;
  return credit ? { ...model, parts: [...model.parts, { kind: "note", text: credit }] } : model;
}
