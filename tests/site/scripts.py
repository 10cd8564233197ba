"""What is asked of a page as it stands, in JavaScript. Each gives a list of what is wrong, or plain facts."""

# What a figure shows and how much room it takes. Plotly lies over the still picture and is looked at elsewhere.
FRAMES_OF_FIGURES = """() => Object.fromEntries([...document.querySelectorAll("figure.kv-figure")].map(figure => {
  const box = figure.firstElementChild.getBoundingClientRect(), shown = figure.querySelector(".kv-frame");
  const frame = shown.cloneNode(true);
  frame.querySelectorAll(".kv-live").forEach(element => element.remove());
  return [figure.id.replace("fig-", ""), {html: frame.innerHTML, width: Math.round(box.width), height: shown.offsetHeight}];
}))"""

REDRAW = "() => Promise.all([...document.querySelectorAll('figure.kv-figure > :first-child')].map(one => one.redraw()))"

# What the state of each figure consists of.
FIELDS = """() => Object.fromEntries([...document.querySelectorAll("figure.kv-figure")].map(figure =>
  [figure.id.replace("fig-", ""), Object.keys(figure.firstElementChild.state).sort()]))"""

# The files that the figures fetch for what they show, below the site.
RECORDS = """() => [...document.querySelectorAll("figure.kv-figure > :first-child")].flatMap(one =>
  one.picture.needs(one.state, one.context).map(path =>
    path.startsWith("figure:") ? `assets/figures/${path.slice(7)}.plotly.json`
    : /^(geometry|measured|own)[/]/.test(path) ? `data/${path}.json` : `data/recomputed/${path}.json`))"""

SMALL_TEXT = """() => {
  const small = new Set();
  for (const figure of document.querySelectorAll("figure.kv-figure")) {
    const walker = document.createTreeWalker(figure, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = walker.currentNode, holder = text.parentElement;
      if (!text.data.trim() || !holder.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
      if (holder.closest("title, desc, script, style, math, .kv-hidden, .visually-hidden")) continue;
      const matrix = holder.ownerSVGElement ? holder.getScreenCTM() : null;
      const size = parseFloat(getComputedStyle(holder).fontSize) * (matrix ? Math.hypot(matrix.a, matrix.b) : 1);
      if (size < 11.95) small.add(`${figure.id}: ${size.toFixed(1)} px "${text.data.trim().slice(0, 20)}" ${holder.className}`);
    }
  }
  return [...small].slice(0, 20);
}"""

# Targets stand alone; a link inside a sentence is exempt, as in WCAG 2.2.
SMALL_TARGETS = """() => [...document.querySelectorAll(
    "figure.kv-figure :is(a, button, input, select, summary, [role=gridcell], [tabindex]), kv-steps button")]
  .filter(element => element.checkVisibility({visibilityProperty: true}) && !element.closest("p, figcaption, .kv-tools pre"))
  .map(element => [element.labels?.[0] ?? element, element])
  .map(([target, element]) => [target.getBoundingClientRect(), element])
  .filter(([box]) => box.width > 0 && (box.width < 23.5 || box.height < 23.5))
  .map(([box, element]) => `${Math.round(box.width)}x${Math.round(box.height)} ${element.outerHTML.slice(0, 100)}`)
  .slice(0, 20)"""

MOVING = """() => [
  ...[...document.querySelectorAll("figure.kv-figure, figure.kv-figure *, kv-steps, kv-steps *")].filter(element => {
    const style = getComputedStyle(element);
    return `${style.transitionDuration},${style.animationDuration}`.split(",").some(time => parseFloat(time) > 0.011);
  }).map(element => element.outerHTML.slice(0, 80)),
  ...document.getAnimations().filter(one => one.playState === "running").map(one => `running: ${one.animationName ?? one.id}`),
].slice(0, 5)"""

# How the page fits: the scheme it shows; how far it goes sideways, and by what, unless something around that scrolls or
# clips; and the figures whose element is not as wide as what holds it.
FIT = """() => {
  const sticking = [], wide = [];
  const sideways = document.documentElement.scrollWidth - innerWidth;
  if (sideways > 0) for (const element of document.querySelectorAll("body *")) {
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.right <= innerWidth + 1) continue;
    let around = element, held = false;
    while ((around = around.parentElement) && around !== document.body)
      if (getComputedStyle(around).overflowX !== "visible") held = true;
    if (!held) sticking.push(element.tagName + "." + element.className);
  }
  for (const figure of document.querySelectorAll("figure.kv-figure")) {
    const style = getComputedStyle(figure.parentElement);
    const room = figure.parentElement.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    const widths = [figure, figure.firstElementChild].map(element => element.getBoundingClientRect().width);
    if (widths[0] === 0 && figure.closest("details:not([open])")) continue;
    if (widths.some(width => Math.abs(width - room) > 1)) wide.push(`${figure.id}: ${widths} in ${room}`);
  }
  return {dark: document.body.dataset.mdColorScheme === "slate", sideways, sticking: sticking.slice(0, 5), not_at_width: wide};
}"""

OPEN_DETAILS = "() => document.querySelectorAll('article details').forEach(details => details.open = true)"

# On a phone the lanes leave out the column of tokens (.h-text): the strip above it names them.
HIDDEN_TEXT = """() => [...document.querySelectorAll(
    "article :is(h1, h2, h3, p, li, td, th, figcaption, .kv-frame, dt, dd, pre)")]
  .filter(element => !element.checkVisibility({visibilityProperty: true, opacityProperty: true}))
  .filter(element => !element.closest(
    "details:not([open]), .kv-controls, .kv-tools, .kv-readout, .h-text, [role=status], [hidden]"))
  .map(element => element.outerHTML.slice(0, 100))"""

DEAD_CONTROLS = """() => [...document.querySelectorAll("article :is(button, select, input)")]
  .filter(element => element.checkVisibility({visibilityProperty: true}))
  .filter(element => !element.closest("form[action]"))
  .map(element => element.outerHTML.slice(0, 100))"""

TO_BE_PRINTED = """() => [...document.querySelectorAll("article :is(figcaption, h1, h2)")]
  .map(one => one.matches("figcaption") ? one.textContent : one.firstChild.textContent)"""

WIDER_THAN_PAPER = """width => [...document.querySelectorAll("article figure *")]
  .map(element => [element.getBoundingClientRect(), element])
  .filter(([box]) => box.width > 0 && (box.right > width + 1 || box.left < -1))
  .map(([box, element]) => `${element.closest("figure").id} ${element.tagName}.${element.className} ${Math.round(box.right)}`)
  .slice(0, 5)"""

# What Tab should stop at within the article. A radio group is one stop. The browser, the theme and the page make a box
# a stop when it scrolls, and take that back, some frames after its width has changed: so the list is taken when it has
# been the same for ten frames, and each element in it is then marked with its number.
STOPS = """() => {
  const groups = new Set();
  return [...document.querySelectorAll("article :is(a[href], button, input, select, textarea, summary, [tabindex])")]
    .filter(one => one.tabIndex >= 0 && !one.disabled && one.checkVisibility({visibilityProperty: true}))
    .filter(one => one.type !== "radio" || (!groups.has(one.name) && groups.add(one.name)));
}"""
MARK_STOPS = f"""async () => {{
  const stops = {STOPS}, drawn = () => new Promise(done => requestAnimationFrame(done));
  let last = stops();
  for (let same = 0, frames = 0; same < 10; frames++) {{
    if (frames > 600) throw new Error("what Tab should reach has not come to rest in 600 frames");
    await drawn();
    const now = stops();
    same = now.length === last.length && now.every((one, i) => one === last[i]) ? same + 1 : 0;
    last = now;
  }}
  last.forEach((one, number) => one.dataset.stop = number);
  return last.length;
}}"""

# The marked stops that were not reached and still are stops.
MISSED = f"""reached => ({STOPS})()
  .filter(one => one.dataset.stop && !reached.includes(Number(one.dataset.stop))).map(one => one.outerHTML.slice(0, 120))"""

# Writes down, at each press of Tab and before it does anything, where focus is: whether one of the marked stops (a radio
# group's stands for all its buttons), whether that is to be seen, and what it is. To be asked for with kvFocused().
WATCH_FOCUS = """() => {
  const seen = [];
  const write = () => {
    const element = document.activeElement;
    if (!element || element === document.body) return void seen.push(null);
    const style = getComputedStyle(element);
    const marked = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== "none";
    const group = element.type === "radio" && document.querySelector(`[name="${element.name}"][data-stop]`);
    const box = element.getBoundingClientRect();
    const name = element.outerHTML.slice(0, 120);
    seen.push({stop: (group || element).dataset.stop ?? null, marked, shown: box.bottom > 0 && box.top < innerHeight, name});
  };
  addEventListener("keydown", event => event.key === "Tab" && write(), true);
  window.kvFocused = () => { write(); return seen.splice(0); };
}"""
