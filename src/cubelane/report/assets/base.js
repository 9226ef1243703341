"use strict";
// Shared helpers, the header, the tabs, the theme. All text goes through textContent: nothing of a kernel is ever HTML.
const DATA = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (key === "text") node.textContent = value;
    else if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.filter((c) => c !== null));
  return node;
}

function svg(tag, props = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(props)) {
    if (key === "text") node.textContent = value;
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

const number = (n) => n.toLocaleString("en-US");
const percent = (part, whole) => (whole ? `${Math.round((100 * part) / whole)} %` : "0 %");

function table(caption, header, rows, numeric = []) {
  const kind = (i) => (numeric.includes(i) ? "n" : null);
  return el("div", { class: "scroll" }, el("table", {},
    el("caption", { text: caption }),
    el("thead", {}, el("tr", {}, ...header.map((h, i) => el("th", { text: h, class: kind(i), scope: "col" })))),
    el("tbody", {}, ...rows.map((row) => el("tr", { class: row.mark || null },
      ...row.cells.map((c, i) => el(i ? "td" : "th", { class: row.span ? null : kind(i), colspan: row.span && i ? row.span : null, scope: i ? null : "row", text: c })))))));
}

// --- header ----------------------------------------------------------------------------------------------------
(function header() {
  byId("kernel").textContent = DATA.kernel;
  const chips = byId("chips");
  const chip = (text, kind = null) => chips.append(el("li", { text, class: kind }));
  chip(DATA.file);
  chip(`${DATA.target} (${DATA.chip})`);
  if (DATA.summary) chip(`split ${DATA.summary.mode}`);
  const bad = DATA.verdicts.filter((v) => !v.ok);
  chip(bad.length ? `✗ ${bad.map((v) => v.name).join(", ")}` : "✓ all checks hold", bad.length ? "bad" : "good");
  if (DATA.timeline) chip(`model: ${number(DATA.timeline.cycles)} cycles`);
})();

// --- theme -----------------------------------------------------------------------------------------------------
const themeListeners = [];
(function theme() {
  const set = (name) => {
    document.documentElement.dataset.theme = name;
    themeListeners.forEach((f) => f());
  };
  set(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  byId("theme").addEventListener("click", () => set(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
})();
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// --- tabs ------------------------------------------------------------------------------------------------------
const shown = {};
function show(id, focus = false) {
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const mine = tab.getAttribute("aria-controls") === id;
    tab.setAttribute("aria-selected", String(mine));
    tab.tabIndex = mine ? 0 : -1;
    byId(tab.getAttribute("aria-controls")).hidden = !mine;
    if (mine && focus) tab.focus();
  }
  if (shown[id]) shown[id]();
}
(function tabs() {
  const all = [...document.querySelectorAll("[role=tab]")];
  all.forEach((tab, i) => {
    tab.addEventListener("click", () => show(tab.getAttribute("aria-controls")));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      show(all[(i + step + all.length) % all.length].getAttribute("aria-controls"), true);
    });
  });
})();
