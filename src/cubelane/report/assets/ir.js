"use strict";
// Source and IR: columns that light up together, and the Why panel.
DATA.columns.forEach((c, i) => { if (!c.lines) c.lines = DATA.columns[i - 1].lines.map((l) => [...l.slice(0, 4), 0, l[5]]); });
const IR = { open: new Map(), selected: null, line: 0 };
const TAGS = { c: ["C", "cube core"], v: ["V", "vector lanes"], m: ["⇄", "crosses between the cores"], s: ["·", "either core"] };
const CHUNK = 100;
const BLANK = el("div", { role: "option", "aria-selected": "false" }, el("span", { class: "no" }), el("span", { class: "tag" }), el("span", { class: "tx" }));

function makeColumn(title, small, lines, key) {
  const box = el("div", { class: "lines", role: "listbox", tabindex: "0", "aria-label": title });
  const index = new Map(), rows = [];
  let chunk = null;
  lines.forEach(([text, line, core, cross, fresh, fact], i) => {
    if (i % CHUNK === 0) { chunk = el("div", { class: "chunk", role: "presentation" }); box.append(chunk); }
    const [tag, meaning] = TAGS[core];
    const row = BLANK.cloneNode(true), [no, sign, words] = row.children;
    row.className = `ln ${core}${cross ? " cross" : ""}${fresh ? " new" : ""}`;
    row.id = `${key}-${i}`;
    if (line) no.textContent = line;
    if (key !== "src") { sign.textContent = cross && core !== "m" ? `${tag}⇄` : tag; sign.title = cross ? `${meaning}; crossing` : meaning; }
    words.textContent = text || " ";
    row.cubelane = { line, fact, column: key, i };
    chunk.append(row);
    rows.push(row);
    if (line) { if (!index.has(line)) index.set(line, []); index.get(line).push(row); }
  });
  const column = el("div", { class: "column" }, el("h3", { text: title }, el("small", { text: small })), box);
  box.addEventListener("click", (e) => { const row = e.target.closest(".ln"); if (row) select(row); });
  box.addEventListener("mouseover", (e) => { const row = e.target.closest(".ln"); if (row) hover(row.cubelane.line); });
  box.addEventListener("mouseleave", () => hover(0));
  box.addEventListener("keydown", (e) => columnKey(e, key));
  return { key, column, box, index, rows };
}

const ordered = () => [...IR.open.values()].sort((a, b) => (a.key === "src" ? -1 : b.key === "src" ? 1 : a.order - b.order));

function columnKey(event, key) {
  const me = IR.open.get(key), all = ordered();
  const now = IR.selected && IR.selected.cubelane.column === key ? IR.selected.cubelane.i : -1;
  const move = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -1e9, End: 1e9 }[event.key];
  if (move) {
    event.preventDefault();
    const to = Math.max(0, Math.min(me.rows.length - 1, now + move));
    if (me.rows.length) { select(me.rows[to]); reveal(me, me.rows[to], true); }
  } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
    event.preventDefault();
    const next = all[all.indexOf(me) + (event.key === "ArrowRight" ? 1 : -1)];
    if (next) { next.box.focus(); const first = next.index.get(IR.line); if (first) select(first[0]); }
  } else if (event.key === "Escape") { clearSelection(); }
}

function hover(line) {
  if (IR.hovered === line) return;
  for (const c of IR.open.values()) (c.index.get(IR.hovered) || []).forEach((r) => r.classList.remove("hov"));
  IR.hovered = line;
  if (line) for (const c of IR.open.values()) (c.index.get(line) || []).forEach((r) => r.classList.add("hov"));
}

function reveal(column, row, near = false) {
  const box = column.box, top = row.getBoundingClientRect().top - box.getBoundingClientRect().top;
  if (top < 0 || top > box.clientHeight - 24) box.scrollTop += top - (near ? box.clientHeight / 2 : box.clientHeight / 3);
}

function clearSelection() {
  for (const c of IR.open.values()) for (const r of c.index.get(IR.line) || []) r.classList.remove("lit");
  if (IR.selected) { IR.selected.classList.remove("sel"); IR.selected.setAttribute("aria-selected", "false"); }
  IR.selected = null; IR.line = 0;
  explain(null);
}

function select(row) {
  clearSelection();
  const { line, fact, column } = row.cubelane;
  IR.selected = row; IR.line = line;
  row.classList.add("sel"); row.setAttribute("aria-selected", "true");
  IR.open.get(column).box.setAttribute("aria-activedescendant", row.id);
  light(line, column);
  explain(fact >= 0 ? DATA.facts[fact] : null, line);
}

function light(line, from) {
  for (const c of IR.open.values()) {
    const rows = (line && c.index.get(line)) || [];
    rows.forEach((r) => r.classList.add("lit"));
    if (rows.length && c.key !== from) reveal(c, rows[0]);
  }
}

function selectLine(line) {
  show("ir");
  const rows = IR.open.get("src").index.get(line);
  if (rows) { select(rows[0]); reveal(IR.open.get("src"), rows[0]); }
}

// --- why -------------------------------------------------------------------------------------------------------
function explain(fact, line = 0) {
  const why = byId("why");
  why.replaceChildren(el("h2", { text: "Why", style: "margin-top:0" }));
  if (!fact) {
    why.append(el("p", { class: "soft", text: line ? descendants(line)
      : "Select a line: its core and why, its share of the two lanes, and the chain from the crossing to it." }));
    if (line) why.append(el("ul", {}, ...values(line).map((f) => el("li", {}, el("button", { type: "button",
      text: `${f.name} (${f.op}, ${f.core})`, onclick: () => explain(f, line) })))));
    return;
  }
  const list = el("dl");
  const add = (name, value) => value !== undefined && value !== "" && list.append(el("dt", { text: name }), el("dd", { text: value }));
  add("op", fact.op);
  add("value", fact.name);
  add("core", `${fact.core}: ${fact.coreWhy}`);
  if (fact.boundary) add("crossing", "a tile goes from one core to the other here");
  add("type", fact.type);
  add("lanes", fact.share);
  if (fact.box !== undefined) {
    add("box", `${fact.box} of ${fact.extent} cells per lane`);
    add("stride", `lane 1 starts at cell ${fact.stride}`);
    add("valid", Array.isArray(fact.valid) ? `lane 0: ${fact.valid[0]}, lane 1: ${fact.valid[1]}` : fact.valid);
  }
  add("source", fact.line ? `line ${fact.line}` : undefined);
  why.append(list);
  if (fact.chain && fact.chain.length) {
    why.append(el("h3", { text: "Chain from the crossing", style: "margin-top:12px" }), el("ol", { class: "chain" },
      ...fact.chain.map(([name, op, at]) => el("li", {}, el("button", { type: "button", text: `${name} (${op}, line ${at})`, onclick: () => selectLine(at) })))));
  }
}

function values(line) {
  const found = new Map();
  for (const column of DATA.columns) for (const [, at, , , , fact] of column.lines) {
    const f = at === line && fact >= 0 ? DATA.facts[fact] : null;
    if (f && f.name && f.share) found.set(`${f.op} ${f.name}`, f);
  }
  return [...found.values()].slice(0, 40);
}

function descendants(line) {
  const counts = DATA.columns.map((c) => c.lines.filter((l) => l[1] === line).length);
  return counts[counts.length - 1] || counts.some(Boolean)
    ? `Line ${line} became ${counts[counts.length - 1]} lines after the last pass.` : `Line ${line} left nothing in the programs.`;
}

// --- passes ----------------------------------------------------------------------------------------------------
(function passes() {
  const bar = byId("passes"), strip = byId("strip"), buttons = [];
  const source = makeColumn("Python", DATA.file, DATA.source.map((t, i) => [t, i + 1, "s", 0, 0, -1]), "src");
  IR.open.set("src", source);
  strip.append(source.column);
  const narrow = matchMedia("(max-width: 760px)");
  const toggle = (i, on) => {
    const key = `p${i}`;
    if (on && !IR.open.has(key)) {
      if (narrow.matches) IR.open.forEach((c, k) => k !== "src" && toggle(c.order, false));
      const c = DATA.columns[i];
      const made = makeColumn(i ? `after ${c.name}` : c.name, i ? `+${c.changed} −${c.gone}` : "", c.lines, key);
      made.order = i;
      IR.open.set(key, made);
      const later = [...IR.open.values()].filter((x) => x.order > i).sort((a, b) => a.order - b.order)[0];
      strip.insertBefore(made.column, later ? later.column : null);
      if (IR.line) light(IR.line, null);
    } else if (!on && IR.open.has(key)) {
      if (IR.selected && IR.selected.cubelane.column === key) clearSelection();
      IR.open.get(key).column.remove();
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
  if (folded) bar.append(el("details", {}, el("summary", { text: `${folded} passes changed nothing` }), idle));
  const last = DATA.columns.length - 1;
  const split = DATA.columns.findIndex((c) => c.name === "lower-auto-vector-split");
  const expand = DATA.columns.findIndex((c) => c.name === "expand-mixed-kernel");
  toggle(expand > 0 ? expand : last, true);
  if (innerWidth >= 1500 && split > 0) toggle(split, true);
  byId("ir-key").append(el("b", { text: "C" }), " cube core, ", el("b", { text: "V" }), " vector lanes, ", el("b", { text: "⇄" }),
    " crossing, ", el("b", { text: "·" }), " either, ", el("b", { text: "+" }), " changed by the pass. Arrow keys move, Escape clears.");
  explain(null);
})();
