// Every figure of the built site: drawn again from the records, in its own state and in others.

import assert from "node:assert/strict";
import { test } from "node:test";
import { controls } from "../../docs/assets/js/controls.js";
import { cells, csv, draw, element, entries, html, svg } from "../../docs/assets/js/picture.js";
import { parse, format, validate } from "../../docs/assets/js/state.js";
import { figures, record, records } from "./site.js";

const all = await figures();

/** The values of a field worth trying: both ends and the middle. */
function tried(field) {
  if (field.kind === "text") return [field.value];
  const values = field.kind === "range" ? [field.min, Math.floor((field.min + field.max) / 2), field.max] : field.options.map((option) => option.value);
  return values.length <= 3 ? values : [values[0], values[values.length >> 1], values.at(-1)];
}

function* states(figure) {
  const { picture, context } = figure;
  const first = validate(picture, context);
  yield first;
  for (const field of picture.fields(first, context)) {
    for (const value of tried(field)) yield validate(picture, context, parse(`?x=${format({ ...first, [field.name]: value })}`, "x"));
  }
}

function drawn({ picture, context }, state) {
  return draw(picture, state, records(picture.needs(state, context)), context);
}

test("there are figures to test", () => assert.ok(all.length >= 18));

for (const figure of all) {
  const { id, picture, context } = figure;

  test(`${id}: the first live frame is the static one`, () => {
    const state = validate(picture, context);
    const model = drawn(figure, state);
    assert.ok(figure.html.includes(`<div class="kv-frame">${html(model)}</div>`));
    const fields = picture.fields(state, context).map((field) => ({ ...field, value: state[field.name] }));
    assert.ok(figure.html.includes(controls(fields)));
    const [tag] = figure.html.slice(1).split(" ");
    const label = figure.html.match(/ aria-label="([^"]*)"/)[1];
    assert.equal(element({ tag, picture: figure.html.match(/ picture="([^"]*)"/)[1], label: "", context }, fields, model),
      figure.html.replace(` aria-label="${label}"`, ' aria-label=""'));
  });

  test(`${id}: every cell that shows a number names the key that holds it`, () => {
    let seen = 0;
    for (const state of states(figure)) {
      for (const cell of cells(drawn(figure, state))) {
        assert.ok(cell.say, "a cell must have something to say");
        if (cell.exact === undefined) continue;
        const held = cell.key.split(".").reduce((values, name) => values[name], record(cell.file));
        assert.equal(String(held), cell.exact, `${cell.file} › ${cell.key}`);
        seen += 1;
      }
    }
    assert.ok(seen > 0 || html(drawn(figure, validate(picture, context))).includes("kv-drawing"));
  });

  test(`${id}: as many cells in the HTML as in the model, nothing undefined, one tab stop a grid`, () => {
    for (const state of states(figure)) {
      const model = drawn(figure, state);
      const written = html(model);
      assert.equal(written.match(/class="c k-/g)?.length ?? 0, cells(model).length);
      assert.doesNotMatch(written + model.summary, /undefined|NaN|Infinity|\[object/);
      assert.equal(written.match(/role="grid"/g)?.length ?? 0, written.match(/role="grid"[^>]* tabindex="0"/g)?.length ?? 0);
      assert.doesNotMatch(written, / style=| on\w+=|<script/);
    }
  });

  test(`${id}: SVG and CSV stand alone`, () => {
    const model = drawn(figure, validate(picture, context));
    const drawing = svg(model, { title: "a < b", alt: "c & d" });
    assert.match(drawing, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"/);
    assert.match(drawing, /<title>a &lt; b<\/title><desc>c &amp; d<\/desc>/);
    assert.doesNotMatch(drawing, /undefined|NaN|var\(|href=|class="(hair|axis)"[^>]*fill="#/);
    assert.equal(drawing, svg(drawn(figure, validate(picture, context)), { title: "a < b", alt: "c & d" }));
    const lines = csv(model).trim().split("\n");
    assert.equal(lines[0], "part,row,column,text,value,record,key");
    const nothing = context.devices?.length === 0; // no device was measured: one line says so
    assert.ok(lines.length > (nothing ? 1 : 3));
    assert.doesNotMatch(lines.join("\n"), /undefined|NaN/);
    const listed = entries(model);
    assert.equal(listed.length, lines.length - 1, "JSON has the same rows");
    assert.deepEqual(Object.keys(listed[0]), lines[0].split(","));
    assert.ok(nothing || listed.some((entry) => typeof entry.value === "number"));
  });
}

test("a grid keeps its size from step to step, so that nothing below it moves", () => {
  for (const figure of all) {
    const { picture, context } = figure;
    const field = picture.fields(validate(picture, context), context).find((one) => one.name === "step");
    if (!field) continue;
    const counts = tried(field).map((step) => html(drawn(figure, validate(picture, context, new Map([["step", String(step)]])))).match(/<tr|class="block|<li>/g).length);
    assert.equal(new Set(counts).size, 1, figure.id);
  }
});

/** The first figure of a picture, drawn with some fields changed. */
function shown(id, changed = {}) {
  const figure = all.find((one) => one.id === id);
  return drawn(figure, validate(figure.picture, figure.context, new Map(Object.entries(changed).map(([name, value]) => [name, String(value)]))));
}

test("the token that is written last stands in the strip, and is said not to be fed", () => {
  const figure = all.find((one) => one.id === "next-token");
  const { id, steps } = figure.context.recordings[0];
  const { final, reply_tokens: replied, tokens } = record(id);
  assert.equal(tokens.some((one) => one.position === final.position), false, "it has no place in the cache");
  const [last, before] = [steps - 1, steps - 2].map((step) => html(shown("next-token", { step })));
  assert.match(last, /m-final[^]*written, not fed[^]*▸ taken: written, not fed/);
  assert.match(before, /▸ taken, and fed in the next step/);
  assert.match(shown("tokens").summary, new RegExp(`then ${replied} of reply`));
  const others = figure.context.recordings.filter((one) => record(one.id).final.stop);
  for (const one of others) assert.match(html(shown("next-token", { recording: one.id, step: "last" })), /ends the reply, not fed/);
});

test("only blocks that are held are drawn", () => {
  const { blocks, room } = shown("lanes", { step: 1 }).parts.find((part) => part.kind === "blocks");
  assert.deepEqual([blocks.length, room], [1, 3]);
  assert.equal(shown("lanes").parts.find((part) => part.kind === "blocks").blocks.length, 4);
});

test("on the scale of intensities each decade is as wide as the next, and small bars can be seen", () => {
  const { rows } = shown("tour-intensity").parts.find((part) => part.name === "intensity");
  const { marks } = rows.at(-1).cells[0];
  assert.deepEqual(marks.map((one) => one.text), ["1", "10", "100", "1,000"]);
  for (const row of rows.slice(0, -1)) {
    const [cell] = row.cells;
    assert.ok(cell.bar > 0.015 && cell.bar <= 1, row.head.text);
    assert.ok(Math.abs(10 ** (cell.bar * (marks.length - 1)) / Number(cell.exact) - 1) < 1e-9);
  }
});

test("a phone shows score and weight beside the token", () => {
  const { columns, rows } = shown("decode-row").parts.find((part) => part.name === "keys");
  assert.deepEqual(columns.slice(0, 2).map((one) => one.text), ["score", "weight"]);
  assert.match(rows[1].cells[1].key, /^weights\./);
});

test("a picture that leaves the page names itself, its data and its licence, and has no box without a meaning", () => {
  for (const { id, html: page } of all) assert.match(page, new RegExp(`&quot;source&quot;:&quot;Figure ${id} · data SHA-256 [0-9a-f]{12} · CC BY 4.0&quot;`));
  const drawing = svg(shown("decode-row"), { title: "A title", alt: "x", source: "Figure x · data y · CC BY 4.0" });
  assert.match(drawing, />A title<\/text>[^]*>Figure x · data y · CC BY 4.0<\/text>/);
  assert.doesNotMatch(drawing, /<rect[^>]*width="11" height="11"[^>]*\/><text[^>]*>(colour:|◥)/);
});

test("Plotly gets the chosen layer's numbers, and its panels the chosen recording's size", () => {
  const figure = all.find((one) => one.id === "all-heads");
  const spec = record("figure:all-heads");
  for (const state of states(figure)) {
    const needed = records(figure.picture.needs(state, figure.context));
    const { data, layout } = figure.picture.plotly(spec, state, needed, figure.context);
    const weights = needed[`${state.recording}/attention-${String(state.layer).padStart(2, "0")}`].weights;
    assert.equal(data.length, weights[0].length);
    assert.equal(data[1].z[2][1], weights[2][1][1]);
    assert.equal(data[0].z[0].at(-1), weights.length > 1 ? null : weights[0][0][0]);
    assert.deepEqual(layout.xaxis.range, [-0.5, weights.length - 0.5]);
    assert.deepEqual(layout.shapes.map((one) => one.xref), data.map((trace) => trace.xaxis), "each panel has the edge of what is masked");
  }
});

test("on a roofline what does not fit beside the weights is hollow, and the heading says how many do", async () => {
  const { context, picture } = (await figures()).find((one) => one.id === "roofline");
  const shown = (changes) => {
    const state = validate(picture, context, new Map(Object.entries({ model: "llama-3-8b", device: "h100-sxm", ...changes }).map(([name, value]) => [name, String(value)])));
    return draw(picture, state, records(picture.needs(state, context)), context);
  };
  const [one, many] = [shown({ context: 4096, batch: 1 }), shown({ context: 4096, batch: 256 })];
  assert.doesNotMatch(one.summary, /fit/);
  assert.match(many.summary, / That many do not fit on one H100 SXM: at most 130 do\.$/);
  assert.match(html(many), /<circle class="l-plain" [^>]*r="6"/);
  assert.match(html(one), /<circle class="f-plain" [^>]*r="6"/);
  assert.match(html(one), /hollow: it does not fit/);
  assert.doesNotMatch(html(shown({ context: 16, batch: 256 })), /hollow/);
});
