// Formulas as MathML, typeset at build time: [{tex, display}] on stdin, a list of HTML strings on stdout.
// \query{…} \key{…} \val{…} \weight{…} give a part the colour of its role, as in figures and code.
import { readFileSync } from "node:fs";
import katex from "katex";

const ROLES = ["query", "key", "value", "weight"];
// KaTeX knows colours but no classes in MathML: each role travels as the name of a colour that there is not.
const macros = Object.fromEntries(
  ROLES.map((role) => [role === "value" ? "\\val" : `\\${role}`, `\\textcolor{kvrole${role}}{#1}`]),
);

function typeset({ tex, display }) {
  const html = katex.renderToString(tex, { displayMode: display, output: "mathml", strict: "error", macros: { ...macros } });
  const math = html.replace(/^<span class="katex">|<\/span>$|<annotation[^>]*>.*?<\/annotation>|<\/?semantics>/gs, "");
  return math.replace(/mathcolor="kvrole(\w+)"/g, 'class="kv-role-$1"');
}

const answers = JSON.parse(readFileSync(0, "utf8")).map((formula) => {
  try {
    return { html: typeset(formula) };
  } catch (error) {
    return { error: error.message };
  }
});
process.stdout.write(JSON.stringify(answers));
