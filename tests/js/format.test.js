import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, escape, fixed, percent, scientific, significant, token, whole } from "../../docs/assets/js/format.js";

test("numbers are written with separators, a real minus sign and fixed decimals", () => {
  assert.equal(whole(46080), "46,080");
  assert.equal(whole(-1234567), "−1,234,567");
  assert.equal(fixed(-0.374), "−0.37");
  assert.equal(fixed(-0.001), "0.00"); // no minus before nothing
  assert.equal(fixed(1234.5, 1), "1,234.5");
  assert.equal(significant(0.9987), "0.999");
  assert.equal(significant(1021.4), "1,021");
  assert.equal(significant(2), "2");
  assert.equal(scientific(25674891264), "2.57 × 10¹⁰");
  assert.equal(scientific(0.00005, 1), "5 × 10⁻⁵");
  assert.equal(scientific(123), "123");
});

test("bytes and shares", () => {
  assert.equal(bytes(23040), "22.5\u00a0KiB");
  assert.equal(bytes(691200), "675\u00a0KiB");
  assert.equal(bytes(512), "512\u00a0B");
  assert.equal(bytes(2 ** 30 * 1.25), "1.25\u00a0GiB");
  assert.equal(percent(0.336), "33.6\u202f%");
  assert.equal(percent(0.0001), "<\u202f0.1\u202f%");
  assert.equal(percent(0.3665), "36.7\u202f%"); // half of the last digit goes up, as recorded: a product would be 36.649…
  assert.equal(fixed(0.125), "0.13");
  assert.equal(fixed(1.005), "1.01");
  assert.equal(fixed(2.5e-7, 7), "0.0000003");
  assert.equal(percent(1), "100\u202f%");
  assert.equal(percent(0), "0.0\u202f%");
});

test("white space of tokens is visible, and nothing becomes markup", () => {
  assert.equal(token(" cat"), "␣cat");
  assert.equal(token(" cat", true), "cat");
  assert.equal(token("\n\n"), "↵↵");
  assert.equal(token(" ", true), "␣");
  assert.equal(escape(`<img src=x onerror="a('b')">&`), "&lt;img src=x onerror=&quot;a(&#39;b&#39;)&quot;&gt;&amp;");
});
