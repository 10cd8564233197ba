// @ts-check
// A tour in steps: one section at a time with Previous and Next, arrow keys, and "All steps". Without scripting, in
// print and in search all sections are there; a link or a search that leads into a hidden step opens it.

import { parse, withState } from "./state.js";

export class KvSteps extends HTMLElement {
  at = 0;
  all = false;
  /** @type {AbortController|undefined} */ #on;

  connectedCallback() {
    if (this.steps.length === 0) return;
    this.querySelector(":scope > .kv-steps-bar") ?? this.prepend(this.#bar());
    this.#on = new AbortController();
    const { signal } = this.#on;
    addEventListener("hashchange", () => this.#follow(), { signal });
    addEventListener("popstate", () => this.#read(), { signal });
    document.addEventListener("keydown", (event) => this.#press(event), { signal });
    this.addEventListener("beforematch", (event) => this.#open(/** @type {Element} */ (event.target)), { signal });
    this.#read();
    this.#follow();
  }

  /** Take up the step that the address names. */
  #read() {
    const asked = parse(location.search, this.name).get("step") ?? "1";
    const number = /^\d{1,2}$/.test(asked) ? Number(asked) : 1;
    this.all = asked === "all";
    this.go(number >= 1 && number <= this.steps.length ? number - 1 : 0, false);
  }

  disconnectedCallback() {
    this.#on?.abort();
  }

  get name() {
    return this.getAttribute("figure") ?? "tour";
  }

  /** @returns {HTMLElement[]} */
  get steps() {
    return [...this.querySelectorAll(":scope > .kv-step")].filter((one) => one instanceof HTMLElement);
  }

  #bar() {
    const bar = document.createElement("div");
    bar.className = "kv-steps-bar";
    bar.append(button("kv-previous", "◀ Previous", () => this.go(this.at - 1)), where(), button("kv-next", "Next ▶", () => this.#onward()),
      button("kv-all", "All steps", () => this.#toggle()));
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "Steps of the tour");
    return bar;
  }

  /** The next step; after the last one the next page. */
  #onward() {
    if (this.at < this.steps.length - 1 && !this.all) this.go(this.at + 1);
    else if (nextPage()) location.assign(nextPage()?.href ?? "");
  }

  #toggle() {
    this.all = !this.all;
    this.go(this.at);
  }

  /** Show a step. @param {number} step @param {boolean} [keep] in the address */
  go(step, keep = true) {
    const { steps } = this;
    if (step < 0 || step >= steps.length) return;
    this.at = step;
    steps.forEach((one, i) => (this.all || i === step ? one.removeAttribute("hidden") : one.setAttribute("hidden", "until-found")));
    const [previous, count, next, all] = /** @type {HTMLElement[]} */ ([...(this.querySelector(":scope > .kv-steps-bar")?.children ?? [])]);
    mark(previous, this.all || step === 0);
    const last = this.all || step === steps.length - 1;
    next.textContent = last && nextPage() ? `${nextPage()?.title} ▶` : "Next ▶";
    mark(next, last && !nextPage());
    all.setAttribute("aria-pressed", String(this.all));
    const title = steps[step].querySelector("h2")?.firstChild?.textContent?.trim() ?? "";
    count.replaceChildren(...(this.all ? [`${steps.length} steps`] : [`${step + 1} of ${steps.length}`, heading(title)]));
    if (!keep) return;
    history.pushState(history.state, "", withState(location.search, this.name, { step: this.all ? "all" : step + 1 }));
    if (this.getBoundingClientRect().top < 0) this.scrollIntoView({ block: "start" });
  }

  /** Open the step that an element stands in. @param {Element|null} inside */
  #open(inside) {
    const step = this.steps.findIndex((one) => one === inside || (inside !== null && one.contains(inside)));
    if (step < 0 || this.all || step === this.at) return;
    this.go(step, false);
  }

  #follow() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !this.contains(target)) return;
    this.#open(target);
    target.scrollIntoView();
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const on = event.target instanceof Element ? event.target : document.body;
    const busy = on.closest("input, select, textarea, [role=grid], [contenteditable], .kv-scroll, pre");
    if (by === 0 || this.all || busy || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.go(this.at + by);
  }
}

/** @param {string} name @param {string} text @param {() => void} act */
function button(name, text, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = name;
  made.textContent = text;
  made.addEventListener("click", () => made.hasAttribute("aria-disabled") || act());
  return made;
}

function where() {
  const count = document.createElement("span");
  count.className = "kv-steps-at";
  count.setAttribute("role", "status");
  return count;
}

/** @param {string} title of a step, left out where there is no room */
function heading(title) {
  const made = document.createElement("span");
  made.className = "kv-steps-title";
  made.textContent = ` · ${title}`;
  return made;
}

/** The page after this one, as the footer names it. */
function nextPage() {
  const link = /** @type {HTMLAnchorElement|null} */ (document.querySelector("a.md-footer__link--next"));
  const title = link?.querySelector(".md-ellipsis")?.textContent?.trim();
  return link && title ? { href: link.href, title } : null;
}

/** @param {HTMLElement} button @param {boolean} disabled */
function mark(button, disabled) {
  if (disabled) button.setAttribute("aria-disabled", "true");
  else button.removeAttribute("aria-disabled");
}
