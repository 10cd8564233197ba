// Pictures of measurements, from numbers that were made up here: what they show of them, and what stands there without.

import assert from "node:assert/strict";
import { test } from "node:test";
import { csv, draw, entries, html, svg } from "../../docs/assets/js/picture.js";
import { log, marks, names } from "../../docs/assets/js/pictures/plot.js";
import { address, fileName, isMeasured, precision } from "../../docs/assets/js/records.js";
import { parse, validate } from "../../docs/assets/js/state.js";

const PICTURES = Object.fromEntries(await Promise.all(["times", "agreement", "ratios", "samples", "roofs"].map(async (name) => [name, await import(`../../docs/assets/js/pictures/${name}.js`)])));

function timing(ms, spread = 1.1) {
  const samples = Array.from({ length: 8 }, (_, n) => ms * (1 + (2 * (spread - 1) * n) / 7));
  return { samples_ms: samples, min_ms: ms, median_ms: ms * spread, max_ms: samples[7], spread, dropped: 0 };
}

function point(ms, predicted, intensity = 1) {
  return { measured: timing(ms), parts: {}, predicted: { ms: predicted, copied_bytes: 0 }, error_percent: (100 * (predicted - ms)) / ms, why: null, intensity, flops_per_second: 1e9 * intensity };
}

const ratio = (of_minima) => ({ of_minima, median_of_pairs: of_minima, lowest: of_minima * 0.9, highest: of_minima * 1.2, lopsided: false, verdict: null, bound: null });

function records(scale = 1) {
  return {
    prefill: { dtype: "float32", tokens: [16, 1024], at: { 16: point(70 * scale, 34, 8), 1024: point(2300 * scale, 1600, 300) } },
    decode: { contexts: [16, 1024, 4096], at: {
      16: { contiguous: point(39 * scale, 34), concat: point(41 * scale, 34), none: point(45 * scale, 34) },
      1024: { contiguous: point(42 * scale, 37), concat: point(48 * scale, 44), none: point(2340 * scale, 1671) },
      4096: { contiguous: point(53 * scale, 46), concat: point(72 * scale, 70) },
    } },
    paged: { contexts: [128], at: { 128: { contiguous: point(40 * scale, 34), paged: point(41 * scale, 34), shuffled: point(42 * scale, 34), gathered: timing(60 * scale) } } },
    batch: { contexts: [256], batches: { 256: [1, 8] }, at: { 256: { 1: point(40 * scale, 35, 0.5), 8: point(60 * scale, 50, 4) } } },
    pays: { contexts: [1, 8, 32], pays_from_ratio: 1.1, at: { 1: { ratio: ratio(0.98) }, 8: { ratio: ratio(1.2) }, 32: { ratio: ratio(1.8) } } },
    others: { contexts: [16, 512], decode: { 16: { dynamic_ratio: ratio(1.8), static_ratio: ratio(2) }, 512: { dynamic_ratio: ratio(1.9), static_ratio: ratio(2.1) } }, prefill: { 16: { dynamic_ratio: ratio(1.1) }, 512: { dynamic_ratio: ratio(1.2) } } },
    budget: { products: timing(36 * scale), kvref: timing(41 * scale), transformers: timing(72 * scale), products_share: { bound: 0.8 }, speedup: { bound: 1.4 } },
    ceilings: { read: { bytes_per_second: 16e9 }, copy: { bytes_per_second: 14e9 }, products: { float32: { flops_per_second: 150e9 } } },
    products: { dtype: "float32", weight_bytes: 5.4e8, rows: [1, 512], at: { 1: { measured: timing(36), flops: 2.7e8, flops_per_second: 7.5e9 }, 512: { measured: timing(1200), flops: 1.4e11, flops_per_second: 1.15e11 } } },
  };
}

const SHOWN = [["times", "prefill"], ["times", "decode"], ["times", "paged"], ["times", "batch"], ["ratios", "pays"], ["ratios", "others"], ["samples", undefined], ["samples", "rounds"], ["agreement", undefined], ["roofs", "products"], ["roofs", "passes"]];

function context(part, ids) {
  const kinds = Object.keys(records());
  const devices = ids.map((id) => ({ id, name: id === "own/b" ? "yours: B" : "A", model: "m", date: "2026-11-29", credit: `Measured on ${id}.`, records: Object.fromEntries(kinds.map((kind) => [kind, `${id}/${kind}`])) }));
  return { figure: "x", options: part ? { part } : {}, recordings: [], devices };
}

function drawn(name, part, ids, raw) {
  const picture = PICTURES[name];
  const where = context(part, ids);
  const state = validate(picture, where, raw);
  const held = Object.fromEntries(picture.needs(state, where).map((path) => [path, records(path.startsWith("own/") ? 3 : 1)[path.split("/")[2]]]));
  return draw(picture, state, held, where);
}

for (const [name, part] of SHOWN) {
  test(`${name} ${part ?? ""}: without a device it says so, in every form`, () => {
    const model = drawn(name, part, []);
    assert.match(model.summary, /^No device has been measured yet\./);
    assert.match(html(model), /kv-drawing/);
    assert.match(csv(model), /nothing,,,No device has been measured yet\./);
    assert.match(svg(model, { title: "t", alt: "a" }), /No device has been measured yet/);
    assert.deepEqual(PICTURES[name].needs(validate(PICTURES[name], context(part, [])), context(part, [])), []);
    assert.deepEqual(PICTURES[name].fields({}, context(part, [])), []);
  });

  test(`${name} ${part ?? ""}: every number in its files is one of the record's`, () => {
    const model = drawn(name, part, ["measured/a"]);
    assert.match(model.summary, /^A[:,]/);
    assert.doesNotMatch(html(model) + svg(model, { title: "t", alt: "a" }) + model.summary, /undefined|NaN|Infinity|\[object/);
    const listed = entries(model);
    assert.ok(listed.length > 2);
    for (const { record, key, value } of listed) {
      const held = key.split(".").reduce((values, step) => values[step], records()[record.split("/")[2]]);
      assert.equal(value, held, key);
    }
  });

  test(`${name} ${part ?? ""}: the reader's own machine is offered, and shown when it is chosen`, () => {
    const ids = ["measured/a", "own/b"];
    assert.deepEqual(PICTURES[name].fields({}, context(part, ids))[0].options.map(({ text }) => text), ["A", "yours: B"]);
    const model = drawn(name, part, ids, parse("?x=device:own/b", "x"));
    assert.match(model.summary, /^yours: B/);
    assert.ok(entries(model).every(({ record }) => record.startsWith("own/b/")));
    assert.equal(html(drawn(name, part, ids, parse("?x=device:own/nobody", "x"))), html(drawn(name, part, ids)), "unknown devices are ignored");
  });
}

test("a step's picture shows each sample, its extremes and what was predicted", () => {
  const model = drawn("times", "decode", ["measured/a"]);
  const [drawing] = model.parts;
  assert.equal(drawing.body.match(/<circle/g).length, 8 * 8, "a dot a sample");
  assert.equal(drawing.body.match(/stroke-dasharray="5 4"/g).length, 3, "a dashed line a lane");
  assert.equal(model.summary, "A: at 1,024 tokens a step takes 42\u00a0ms in place, 48\u00a0ms copied, 2,340\u00a0ms without a cache.");
});

test("agreement counts what lies within a fifth", () => {
  const model = drawn("agreement", undefined, ["measured/a"]);
  assert.match(model.summary, /^A: \d+ of 15 predictions within a fifth, \d+ passes slower than predicted, 0 faster\.$/);
});

test("axes: scales rise, lines lie inside, names do not touch", () => {
  const scale = log([3, 4000], 0, 100);
  assert.ok(scale(3) < scale(40) && scale(40) < scale(4000));
  assert.ok(scale.low < 3 && scale.high > 4000);
  for (const ends of [[1, 1], [1, 1.3], [2, 900], [0.002, 70_000]]) {
    const found = log(ends, 0, 100);
    const lines = marks(found);
    assert.ok(lines.length >= 2 && lines.length <= 12, String(lines));
    assert.ok(lines.every((one) => one >= found.low && one <= found.high));
  }
  const size = { width: 400, height: 300, left: 54, right: 76, top: 14, bottom: 46 };
  const ys = [...names([{ at: [324, 100], words: "a", role: "plain" }, { at: [324, 101], words: "b", role: "key" }], size).matchAll(/ y="([\d.]+)"/g)].map((one) => Number(one[1]));
  assert.ok(ys[1] - ys[0] >= 16);
});

test("a measurement has a file, and is exact or rounded, but has no tolerance", () => {
  assert.equal(fileName("measured/a/decode"), "data/measured/a/decode.json");
  assert.equal(fileName("own/a/decode"), "data/own/a/decode.json");
  assert.ok(address("own/a/decode").endsWith("/data/own/a/decode.json"));
  assert.ok(isMeasured("own/a/decode") && isMeasured("measured/a/x") && !isMeasured("smollm2/cat"));
  assert.equal(precision({ key: "at.1.min_ms", exact: "42.1" }), "4 significant digits, measured once");
  assert.equal(precision({ key: "from_tokens", exact: "6" }), "exact");
});
