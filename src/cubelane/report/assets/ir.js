"use strict";
// Source and IR: columns that light up together. A column makes the rows that are near its window and no others.
const IR = { open: new Map(), selected: null, line: 0, hovered: 0 };
const TAGS = { c: ["C", "cube core"], v: ["V", "vector lanes"], m: ["⇄", "crosses between the cores"], s: ["·", "either core"] };
const CHUNK = 60, TALL = 19;
const BLANK = el("div", { role: "option", "aria-selected": "false" }, el("span", { class: "no" }), el("span", { class: "tag" }), el("span", { class: "tx" }));

// Lines of pass i as [text, source line, core, crossing, fact], and the set of those the pass changed.
function linesOf(i) {
  let from = i;
  while (!DATA.columns[from].lines) from -= 1;
  return { lines: DATA.columns[from].lines.map((n) => DATA.lines[n]), fresh: new Set(from === i ? DATA.columns[i].fresh : []) };
}

// What is known of line number n of the table.
function factOf(n) {
  if (n < 0) return null;
  const [kind, line, name, chain] = DATA.facts[n];
  return { ...DATA.kinds[kind], line, name, chain };
}

class Column {
  constructor(key, order, title, small, lines, fresh) {
    Object.assign(this, { key, order, lines, fresh, rows: new Map(), chunks: [], index: new Map() });
    lines.forEach((l, i) => { if (l[1]) { if (!this.index.has(l[1])) this.index.set(l[1], []); this.index.get(l[1]).push(i); } });
    this.box = el("div", { class: "lines", role: "listbox", tabindex: "0", "aria-label": title });
    for (let i = 0; i < lines.length; i += CHUNK) {
      const chunk = el("div", { class: "chunk", role: "presentation", style: `height:${Math.min(CHUNK, lines.length - i) * TALL}px` });
      this.chunks.push(chunk);
      this.box.append(chunk);
    }
    this.node = el("div", { class: "column" }, el("h3", { text: title }, el("small", { text: small })), this.box);
    this.box.addEventListener("scroll", () => this.fill(), { passive: true });
    this.box.addEventListener("click", (e) => { const i = this.at(e); if (i >= 0) select(this, i); });
    this.box.addEventListener("mouseover", (e) => { const i = this.at(e); if (i >= 0) hover(lines[i][1]); });
    this.box.addEventListener("mouseleave", () => hover(0));
    this.box.addEventListener("keydown", (e) => columnKey(e, this));
    new ResizeObserver(() => this.fill()).observe(this.box);
  }
  at(event) { const row = event.target.closest(".ln"); return row ? Number(row.dataset.i) : -1; }
  fill() {
    const first = Math.floor((this.box.scrollTop - 400) / (TALL * CHUNK)), last = Math.floor((this.box.scrollTop + (this.box.clientHeight || 900) + 400) / (TALL * CHUNK));
    for (let n = Math.max(0, first); n <= last && n < this.chunks.length; n++) this.fillChunk(n);
  }
  fillChunk(n) {
    const chunk = this.chunks[n];
    if (chunk.firstChild) return;
    for (let i = n * CHUNK; i < Math.min(this.lines.length, (n + 1) * CHUNK); i++) {
      const row = this.make(i);
      this.rows.set(i, row);
      this.paint(i, row);
      chunk.append(row);
    }
  }
  make(i) {
    const [text, line, core, cross] = this.lines[i], [tag, meaning] = TAGS[core];
    const row = BLANK.cloneNode(true), [no, sign, words] = row.children;
    row.id = `${this.key}-${i}`;
    row.dataset.i = i; row.dataset.line = line;
    row.setAttribute("aria-posinset", i + 1); row.setAttribute("aria-setsize", this.lines.length);
    if (line) no.textContent = line;
    if (this.key !== "src") { sign.textContent = cross && core !== "m" ? `${tag}⇄` : tag; sign.title = cross ? `${meaning}; crossing` : meaning; }
    words.append(...(this.key === "src" ? pythonSpans(text) : typedSpans(text)));
    return row;
  }
  paint(i, row) {
    const [, line, core, cross] = this.lines[i], mine = IR.selected && IR.selected.column === this && IR.selected.i === i;
    row.className = `ln ${core}${cross ? " cross" : ""}${this.fresh.has(i) ? " new" : ""}${line && line === IR.line ? " lit" : ""}${line && line === IR.hovered ? " hov" : ""}${this.uses && this.uses.has(i) ? " use" : ""}${mine ? " sel" : ""}`;
    row.setAttribute("aria-selected", String(Boolean(mine)));
  }
  repaint(which) { for (const i of which) { const row = this.rows.get(i); if (row) this.paint(i, row); } }
  reveal(i, share = 3) {
    const top = i * TALL, box = this.box;
    if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 2 * TALL) box.scrollTop = top - box.clientHeight / share;
    this.fill();
  }
}

// --- text of a line ----------------------------------------------------------------------------------------------
function typedSpans(text) {
  const parts = [];
  let from = 0;
  for (let at = text.indexOf(": pl."); at >= 0; at = text.indexOf(": pl.", at + 1)) {
    if (at < from || !/\w/.test(text[at - 1] || "")) continue;
    const end = typeEnd(text, at + 2);
    parts.push(document.createTextNode(text.slice(from, at)), el("span", { class: "ty", text: text.slice(at, end) }));
    from = end;
  }
  parts.push(document.createTextNode(text.slice(from) || " "));
  return parts;
}
function typeEnd(text, at) {
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    const c = text[i];
    if ("[({".includes(c)) depth += 1;
    else if ("])}".includes(c)) { if (!depth) return i; depth -= 1; }
    else if (!depth && (c === "," || c === "=" || c === " ")) return i;
  }
  return text.length;
}
function pythonSpans(text) {
  let quote = "";
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quote) { if (c === quote) quote = ""; } else if (c === "'" || c === '"') quote = c;
    else if (c === "#") return [document.createTextNode(text.slice(0, i)), el("span", { class: "soft", text: text.slice(i) })];
  }
  return [document.createTextNode(text || " ")];
}

// --- selection ---------------------------------------------------------------------------------------------------
const ordered = () => [...IR.open.values()].sort((a, b) => a.order - b.order);

function hover(line) {
  if (IR.hovered === line) return;
  const old = IR.hovered;
  IR.hovered = line;
  for (const c of IR.open.values()) { c.repaint(c.index.get(old) || []); c.repaint(c.index.get(line) || []); }
}

function mark(column, i, line) {
  const old = { line: IR.line, selected: IR.selected };
  IR.selected = column ? { column, i } : null;
  IR.line = line;
  for (const c of IR.open.values()) {
    const uses = c.uses;
    c.uses = c === column ? usesOf(c, i) : null;
    c.repaint([...(c.index.get(old.line) || []), ...(c.index.get(line) || []), ...(uses || []), ...(c.uses || [])]);
  }
  if (old.selected) old.selected.column.repaint([old.selected.i]);
  if (column) column.repaint([i]);
}

function clearSelection() { mark(null, -1, 0); explain(null); }

function select(column, i) {
  const [, line, , , fact] = column.lines[i];
  mark(column, i, line);
  column.box.setAttribute("aria-activedescendant", `${column.key}-${i}`);
  for (const c of IR.open.values()) if (c !== column && line && c.index.has(line)) c.reveal(c.index.get(line)[0]);
  explain(factOf(fact), line);
}

function selectLine(line) {
  show("ir");
  const source = IR.open.get("src"), rows = source.index.get(line);
  if (rows) { select(source, rows[0]); source.reveal(rows[0]); }
}

function columnKey(event, me) {
  const now = IR.selected && IR.selected.column === me ? IR.selected.i : -1, all = ordered();
  const move = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -1e9, End: 1e9 }[event.key];
  if (move) {
    event.preventDefault();
    const to = Math.max(0, Math.min(me.lines.length - 1, now + move));
    if (me.lines.length) { me.reveal(to, 2); select(me, to); }
  } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
    event.preventDefault();
    const next = all[all.indexOf(me) + (event.key === "ArrowRight" ? 1 : -1)];
    if (next) { next.box.focus(); const first = next.index.get(IR.line); if (first) select(next, first[0]); }
  } else if (event.key === "Escape") clearSelection();
}

// The lines of the same function that name the value a line makes, or that make what it names. Names are unique there.
function usesOf(column, i) {
  if (column.key === "src") return null;
  const name = made(column.lines[i][0]), found = new Set();
  if (!name) return found;
  const word = new RegExp(`(^|[^\\w.])${name}(?!\\w)`), [low, high] = functionAround(column, i);
  for (let n = low; n < high; n++) if (n !== i && column.lines[n][0].includes(name) && word.test(column.lines[n][0])) found.add(n);
  return found;
}
function made(text) { const m = /^\s*([A-Za-z_]\w*)(: pl\.| = )/.exec(text); return m ? m[1] : ""; }
function functionAround(column, i) {
  const starts = (n) => /^\s*def /.test(column.lines[n][0]);
  let low = i, high = i + 1;
  while (low > 0 && !starts(low)) low -= 1;
  while (high < column.lines.length && !starts(high)) high += 1;
  return [low, high];
}

// --- passes ------------------------------------------------------------------------------------------------------
(function passes() {
  const bar = byId("passes"), strip = byId("strip"), buttons = [];
  const open = (column, before) => { IR.open.set(column.key, column); strip.insertBefore(column.node, before); column.fill(); };
  open(new Column("src", -1, "Python", DATA.file, DATA.source.map((t, i) => [t, i + 1, "s", 0, -1]), new Set()), null);
  const narrow = matchMedia("(max-width: 760px)");
  const toggle = (i, on) => {
    const key = `p${i}`;
    if (on && !IR.open.has(key)) {
      if (narrow.matches) ordered().filter((c) => c.order >= 0).forEach((c) => toggle(c.order, false));
      const c = DATA.columns[i], { lines, fresh } = linesOf(i), later = ordered().find((x) => x.order > i);
      const made = new Column(key, i, i ? `after ${c.name}` : c.name, i ? `+${c.changed} −${c.gone}` : "", lines, fresh);
      open(made, later ? later.node : null);
      if (IR.line && made.index.has(IR.line)) made.reveal(made.index.get(IR.line)[0]);
    } else if (!on && IR.open.has(key)) {
      if (IR.selected && IR.selected.column.key === key) clearSelection();
      IR.open.get(key).node.remove();
      IR.open.delete(key);
    }
    buttons[i].setAttribute("aria-pressed", String(IR.open.has(key)));
  };
  const idle = el("span");
  let folded = 0;
  DATA.columns.forEach((c, i) => {
    const same = i > 0 && !c.changed && !c.gone;
    buttons[i] = el("button", { type: "button", "aria-pressed": "false", text: c.name, onclick: () => toggle(i, !IR.open.has(`p${i}`)) });
    if (i && !same) buttons[i].append(el("span", { class: "delta", text: `+${c.changed} −${c.gone}` }));
    if (same) { folded += 1; idle.append(buttons[i], " "); } else bar.append(buttons[i]);
  });
  if (folded) bar.append(el("details", {}, el("summary", { text: `${folded} ${folded === 1 ? "pass" : "passes"} changed nothing` }), idle));
  const last = DATA.columns.length - 1, at = (name) => DATA.columns.findIndex((c) => c.name === name);
  toggle(at("expand-mixed-kernel") > 0 ? at("expand-mixed-kernel") : last, true);
  if (innerWidth >= 1700 && at("lower-auto-vector-split") > 0) toggle(at("lower-auto-vector-split"), true);
  const types = byId("types");
  const fit = () => document.documentElement.style.setProperty("--above", `${Math.round(strip.getBoundingClientRect().top + scrollY + 56)}px`);
  // The file begins with imports and constants; its column begins where the kernel does, once its height is known.
  let kernel = Math.min(...linesOf(0).lines.map((l) => l[1]).filter(Boolean));
  shown.ir = () => { fit(); if (Number.isFinite(kernel)) IR.open.get("src").box.scrollTop = (kernel - 1) * TALL; kernel = Infinity; };
  addEventListener("resize", fit);
  types.addEventListener("click", () => types.setAttribute("aria-pressed", String(strip.classList.toggle("typed"))));
  byId("ir-key").append(el("b", { text: "C" }), " cube core, ", el("b", { text: "V" }), " vector lanes, ", el("b", { text: "⇄" }),
    " crossing, ", el("b", { text: "·" }), " either, ", el("b", { text: "+" }), " changed by the pass, ", el("b", { text: "┊" }), " names the selected value. Arrow keys move, Escape clears.");
})();
