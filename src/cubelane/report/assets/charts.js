"use strict";
// Lanes, memory, verdicts.
const AGENT_NAME = { AIV0: "lane 0", AIV1: "lane 1", AIC: "cube core" };

function hatches(id) {
  const line = (angle, stroke) => svg("pattern", { id: `${id}-${stroke}`, width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${angle})` },
    svg("line", { x1: 0, y1: 0, x2: 0, y2: 8, stroke: `var(--${stroke})`, "stroke-width": 3 }));
  return svg("defs", {}, line(45, "lane0"), line(-45, "lane1"), line(0, "cube"), line(90, "red"));
}

function laneFigure(t, n) {
  const width = 340, height = Math.max(60, Math.min(380, Math.round((width * t.rows) / t.columns)));
  const x = (c) => 2 + (c / t.columns) * width, y = (r) => 2 + (r / t.rows) * height;
  const words = `${t.name}: ${t.windows.length} windows, ${t.overlaps.length} overlaps of the lanes, ${t.gaps.length} gaps`;
  const drawing = svg("svg", { viewBox: `0 0 ${width + 4} ${height + 4}`, width: width + 4, role: "img", "aria-label": words }, hatches(`h${n}`),
    svg("rect", { x: 2, y: 2, width, height, fill: "none", stroke: "var(--soft)" }));
  const box = ([r0, r1, c0, c1], props, title) => drawing.append(svg("rect", { x: x(c0), y: y(r0), width: x(c1) - x(c0), height: y(r1) - y(r0), ...props }, svg("title", { text: title })));
  for (const w of t.windows) {
    const ink = { AIV0: "lane0", AIV1: "lane1" }[w.agent] || "cube";
    box(w.rect, { fill: `url(#h${n}-${ink})`, "fill-opacity": 0.65, stroke: `var(--${ink})`, "stroke-width": 1.5, class: "window" }, `${AGENT_NAME[w.agent]}: ${area(w.rect)}, line ${w.line}`);
  }
  for (const r of t.overlaps) box(r, { fill: "var(--red)", "fill-opacity": 0.75, stroke: "var(--red)", "stroke-width": 2, class: "overlap" }, `both lanes write ${area(r)}`);
  for (const r of t.gaps) box(r, { fill: `url(#h${n}-red)`, "fill-opacity": 0.6, stroke: "var(--red)", "stroke-width": 2, "stroke-dasharray": "6 4", class: "gap" }, `nobody writes ${area(r)}`);
  return drawing;
}

const area = ([r0, r1, c0, c1]) => `rows ${r0}..${r1 - 1}, columns ${c0}..${c1 - 1}`;

(function lanes() {
  const home = byId("lanes");
  home.append(el("p", { class: "key", text: "What each core wrote of every stored tensor, as run: lane 0 is hatched /, lane 1 \\, the cube core |. Red: both lanes wrote it (filled) or nobody did (dashed)." }));
  if (!DATA.lanes.length) home.append(el("p", { text: "Nothing was run, so there is nothing to draw." }));
  const figures = el("div", { class: "figures" });
  DATA.lanes.forEach((t, n) => {
    const card = el("div", { class: "card" }, el("h3", { class: "mono", text: `${t.name} [${t.shape.join(", ")}]` }), laneFigure(t, n));
    const list = el("ul");
    for (const w of t.windows.slice(0, 8)) list.append(el("li", { text: `${AGENT_NAME[w.agent]}: ${area(w.rect)} (line ${w.line})` }));
    if (t.windows.length > 8) list.append(el("li", { text: `and ${t.windows.length - 8} windows more` }));
    for (const r of t.overlaps.slice(0, 8)) list.append(el("li", { class: "red", text: `overlap: both lanes write ${area(r)}` }));
    for (const r of t.gaps.slice(0, 8)) list.append(el("li", { class: "red", text: `gap: nobody writes ${area(r)}` }));
    if (!t.overlaps.length && !t.gaps.length) list.append(el("li", { class: "good", text: "no overlap, no gap" }));
    card.append(list);
    figures.append(card);
  });
  home.append(figures);
})();

(function memory() {
  const home = byId("memory");
  home.append(el("p", { class: "key", text: "Bytes of live tiles over time in the timing model (filled) above the rings (hatched). The dashed line is the capacity where the chart reaches that far; the bar below shows the fullest moment against it." }));
  if (!DATA.memory.length) home.append(el("p", { text: "Nothing was run, so there is nothing to draw." }));
  const figures = el("div", { class: "figures memory" });
  DATA.memory.forEach((m, n) => figures.append(memoryCard(m, n)));
  home.append(figures);
})();

function memoryCard(m, n) {
  const live = Math.max(...m.steps.map((s) => s[1])), most = live + m.rings, over = most > m.capacity || m.allotted > m.capacity;
  const words = `${m.agent} ${m.space}: at most ${number(live)} bytes of tiles and ${number(m.rings)} of rings at once, ${number(m.capacity)} there`;
  const card = el("div", { class: "card" }, el("h3", {}, `${m.agent} ${m.space} `, el("span", { class: over ? "red" : "soft", text: percent(most, m.capacity) })), memoryChart(m, n, live, over, words));
  card.append(el("p", { class: over ? "red" : "soft", text: `${number(live)} tiles + ${number(m.rings)} rings of ${number(m.capacity)} bytes; the program allots ${number(m.allotted)}${m.allotted > m.capacity ? ": does not fit" : ""}` }));
  if (m.alive.length) {
    const more = m.alive.length > 6 ? ` and ${m.alive.length - 6} more` : "";
    card.append(el("p", { class: "soft" }, `fullest at cycle ${number(m.fullest)}: `, el("span", { class: "mono", text: m.alive.slice(0, 6).map(([name, size]) => `${name} ${number(size)}`).join(", ") + more })));
  }
  return card;
}

function memoryChart(m, n, live, over, words) {
  const width = 360, height = 110, bar = height + 16, end = DATA.timeline ? DATA.timeline.cycles : 1, most = live + m.rings;
  const limit = Math.max(1, most * 1.05, most > 0.4 * m.capacity ? m.capacity * 1.05 : 0), y = (b) => 4 + height - (b / limit) * height, x = (t) => (t / end) * width;
  const ink = m.agent === "AIC" ? "var(--cube)" : "var(--vector)", share = (b) => Math.min(1, b / Math.max(m.capacity, 1)) * (width - 2);
  let path = `M0,${y(m.rings)}`;
  for (const [t, b] of m.steps) path += `H${x(t).toFixed(1)}V${y(m.rings + b).toFixed(1)}`;
  path += `H${width}V${y(m.rings)}Z`;
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height + 32}`, width, role: "img", "aria-label": words }, hatches(`m${n}`),
    svg("rect", { x: 0, y: y(m.rings), width, height: 4 + height - y(m.rings), fill: `url(#m${n}-cube)` }),
    svg("path", { d: path, fill: ink, "fill-opacity": 0.8 }),
    svg("line", { x1: 0, x2: width, y1: height + 4, y2: height + 4, stroke: "var(--soft)" }),
    svg("text", { x: 2, y: y(most) - 3 < 10 ? y(most) + 11 : y(most) - 3, class: "axis", text: number(most) }),
    svg("rect", { x: 1, y: bar, width: share(m.rings), height: 12, fill: `url(#m${n}-cube)` }),
    svg("rect", { x: 1 + share(m.rings), y: bar, width: Math.max(0, share(most) - share(m.rings)), height: 12, fill: over ? "var(--red)" : ink }),
    svg("rect", { x: 1, y: bar, width: width - 2, height: 12, fill: "none", stroke: over ? "var(--red)" : "var(--soft)" }));
  if (m.capacity <= limit) drawing.append(svg("line", { x1: 0, x2: width, y1: y(m.capacity), y2: y(m.capacity), stroke: "var(--red)", "stroke-dasharray": "6 4", "stroke-width": 1.5 }));
  return drawing;
}

(function verdicts() {
  const home = byId("verdicts");
  for (const v of DATA.verdicts) {
    const box = el("div", { class: `verdict${v.ok ? "" : " bad"}` }, el("h3", { text: `${v.ok ? "✓ holds" : "✗ fails"}: ${v.name}` }), el("p", { class: "soft", text: v.seen }));
    if (v.more) box.append(el("pre", { text: v.more }));
    for (const f of v.findings) {
      box.append(el("p", {}, el("b", { text: `${f.code}: ` }), document.createTextNode(f.message)));
      if (f.location.line) box.append(el("button", { type: "button", text: `line ${f.location.line}`, onclick: () => selectLine(f.location.line) }));
      for (const note of f.notes) box.append(el("p", { class: "soft", text: note }));
      if (f.instead) box.append(el("p", { text: `instead: ${f.instead}` }));
    }
    home.append(box);
  }
})();
