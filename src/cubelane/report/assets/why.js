"use strict";
// Why: the facts of the selected line, the chain from the crossing to its value, and where the value is named.
const SHOWN = 10;

function explain(fact, line = 0) {
  const why = byId("why");
  why.replaceChildren(el("h2", { text: "Why" }));
  if (!fact) {
    why.append(el("p", { class: "soft", text: line ? descendants(line)
      : "Select a line: its core and why, its share of the two lanes, and the chain from the crossing to it." }));
    const found = line ? valuesOf(line) : [];
    if (found.length) why.append(el("ul", { class: "links" }, ...found.map((f) => el("li", {}, link(`${f.name} (${f.op}, ${f.core})`, () => explain(f, line))))));
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
  if (fact.chain >= 0) chainOf(why, fact.chain);
  if (IR.selected && IR.selected.column.uses && IR.selected.column.uses.size) namedBy(why, IR.selected.column);
}

const link = (text, action) => el("button", { type: "button", text, onclick: action });

function chainOf(why, last) {
  const chain = [];
  for (let at = last; at >= 0; at = DATA.links[at][3]) chain.push(DATA.links[at]);
  chain.reverse();
  const list = el("ol", { class: "links" });
  const item = ([name, op, at], n) => el("li", { value: n + 1 }, link(`${name} (${op}, line ${at})`, () => selectLine(at)));
  const put = (from, to) => list.append(...chain.slice(from, to).map((c, n) => item(c, from + n)));
  if (chain.length <= SHOWN) put(0, chain.length);
  else {
    put(0, 3);
    const hidden = chain.length - SHOWN, more = el("li", { class: "more" }, link(`${number(hidden)} links more`, () => {
      more.replaceWith(...chain.slice(3, 3 + hidden).map((c, n) => item(c, 3 + n)));
    }));
    list.append(more);
    put(3 + hidden, chain.length);
  }
  why.append(el("h3", { text: "Chain from the crossing" }), list);
}

function namedBy(why, column) {
  const rows = [...column.uses];
  why.append(el("h3", { text: "Named by" }), el("ul", { class: "links" },
    ...rows.slice(0, SHOWN).map((i) => el("li", {}, link(short(column.lines[i][0]), () => { column.reveal(i); select(column, i); }))),
    ...(rows.length > SHOWN ? [el("li", { class: "soft", text: `and ${number(rows.length - SHOWN)} lines more` })] : [])));
}
function short(text) {
  const bare = typedSpans(text.trim()).filter((p) => p.nodeType === Node.TEXT_NODE).map((p) => p.textContent).join("");
  return bare.length > 60 ? `${bare.slice(0, 59)}…` : bare;
}

function valuesOf(line) {
  const found = new Map();
  for (const [, at, , , fact] of DATA.lines) {
    const f = at === line ? factOf(fact) : null;
    if (f && f.name && f.share) found.set(`${f.op} ${f.name}`, f);
  }
  return [...found.values()].slice(0, 40);
}

function descendants(line) {
  const last = linesOf(DATA.columns.length - 1).lines.filter((l) => l[1] === line).length;
  return last || DATA.lines.some((l) => l[1] === line)
    ? `Line ${line} became ${last} ${last === 1 ? "line" : "lines"} after the last pass.` : `Line ${line} left nothing in the programs.`;
}
