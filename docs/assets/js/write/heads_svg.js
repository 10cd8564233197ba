// @ts-check
// Query heads over the KV head that they read, as part of an SVG that stands alone.

import { LIGHT, mix } from "../palette.js";
import { box, text } from "./shapes.js";

/** @param {any} part @returns {import("./svg.js").Drawn} */
export function heads(part) {
  let x = 0;
  const body = part.groups.map((/** @type {any} */ group) => {
    const w = group.heads.length * 60;
    const left = x;
    const query = group.heads.map((/** @type {any} */ head, /** @type {number} */ i) => {
      const middle = left + i * 60 + 28;
      return box(left + i * 60, 0, 56, 40, mix(LIGHT.query, 0.15), head.mark ? LIGHT.new : LIGHT.query, head.mark ? 3 : 1) + text(middle, 17, head.text, { anchor: "middle", weight: 600 })
        + text(middle, 33, head.sub, { anchor: "middle", muted: true }) + `<path d="M${middle} 40L${left + w / 2 - 2} 66" class="axis"/>`;
    }).join("");
    x += w + 18;
    return query + box(left, 66, w / 2 - 2, 26, mix(LIGHT.key, 0.3), LIGHT.key) + box(left + w / 2 - 2, 66, w / 2 - 2, 26, mix(LIGHT.value, 0.3), LIGHT.value)
      + text(left + w / 4, 83, "K", { anchor: "middle", weight: 600 }) + text(left + (w * 3) / 4, 83, "V", { anchor: "middle", weight: 600 })
      + text(left + w / 2, 108, group.name, { anchor: "middle", muted: true });
  }).join("");
  return { height: 112, body, width: x };
}
