// Colours that everybody can tell apart from what they stand on, and modules that stay small.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { LIGHT, TINT } from "../../docs/assets/js/palette.js";
import { JS, ROOT } from "./site.js";

const css = readFileSync(new URL("docs/assets/css/tokens.css", ROOT), "utf8");
const block = (from) => Object.fromEntries([...css.slice(css.indexOf(from)).split("}")[0].matchAll(/--kv-([\w-]+): ([^;]+);/g)].map((found) => [found[1], found[2]]));
const schemes = { default: block('[data-md-color-scheme="default"]'), slate: block('[data-md-color-scheme="slate"]') };
const ROLES = ["query", "key", "value", "weight", "new", "negative", "plain", "shared", "copied", "evicted"];

const channels = (colour) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
const light = (rgb) => rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
function contrast(a, b) {
  const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}
const mixed = (over, under, share) => over.map((c, i) => c * share + under[i] * (1 - share));

test("pictures that leave the page have the page's light colours", () => {
  for (const [name, colour] of Object.entries(LIGHT)) assert.equal(schemes.default[name], colour, name);
  assert.equal(schemes.default.tint, `${TINT * 100}%`);
});

for (const [name, scheme] of Object.entries(schemes)) {
  const of = (role) => channels(scheme[role]);

  test(`${name}: text is read at 4.5 to 1, also on the deepest tint of a cell`, () => {
    for (const text of ["ink", "muted", ...ROLES]) {
      assert.ok(contrast(of(text), of("paper")) >= 4.5, `${text} on paper`);
    }
    for (const text of ["ink", "muted"]) assert.ok(contrast(of(text), of("soft")) >= 4.5, `${text} on soft`);
    const share = Number.parseInt(scheme.tint, 10) / 100;
    for (const role of ["query", "key", "value", "weight", "negative", "plain"]) {
      const under = mixed(of(role), of("paper"), share);
      assert.ok(contrast(of("ink"), under) >= 4.5, `ink on ${role}: ${contrast(of("ink"), under)}`);
    }
  });

  test(`${name}: lines and squares stand out at 3 to 1`, () => {
    for (const line of ["line", "again", "free", ...ROLES]) assert.ok(contrast(of(line), of("paper")) >= 3, line);
  });
}

test("modules stay small, are checked, and write HTML in few known places", () => {
  const names = readdirSync(JS, { recursive: true }).map(String).filter((name) => name.endsWith(".js"));
  assert.ok(names.length > 20);
  const writers = [];
  for (const name of names) {
    const source = readFileSync(new URL(name, JS), "utf8");
    assert.ok(Buffer.byteLength(source) <= 15 * 1024, `${name} is larger than 15 KiB`);
    assert.ok(source.startsWith("// @ts-check\n"), name);
    assert.doesNotMatch(source, /\beval\b|new Function|document\.write|outerHTML|insertAdjacentHTML/, name);
    assert.doesNotMatch(source, /Math\.(exp|sqrt|pow)|softmax\(/, `${name} must not compute what a model computes`);
    if (source.includes("innerHTML")) writers.push(name);
  }
  assert.deepEqual(writers.sort(), ["controls.js", "figure.js"]);
});
