"use strict";
// The timeline: a canvas with a row for every pipe and ring slot; zoom, pan, keyboard, tooltips, the critical path.
const ROW = 24, HEAD = 24, SIDE = 104;
const T = { from: 0, to: 1, critical: false, chosen: -1, rows: [], spots: [] };

function buildTimeline() {
  const home = byId("timeline"), t = DATA.timeline;
  if (!t) { home.append(el("p", { text: "Nothing ran to its end, so there is no timeline." })); return; }
  home.append(el("p", { class: "key", text: `A model, not a measurement: ${number(t.cycles)} cycles, ${t.microseconds} µs at ${t.clock} GHz. Solid: computes. Striped: moves data. Hollow and dotted: waits for a ring. Thick underline: critical path.` }));
  const pressed = el("button", { type: "button", "aria-pressed": "false", text: "Critical path", onclick: () => flipCritical() });
  T.button = pressed;
  home.append(el("div", { id: "bar", role: "group", "aria-label": "Timeline view" },
    el("button", { type: "button", text: "Zoom in", onclick: () => zoom(0.5) }), el("button", { type: "button", text: "Zoom out", onclick: () => zoom(2) }),
    el("button", { type: "button", text: "Earlier", onclick: () => pan(-0.4) }), el("button", { type: "button", text: "Later", onclick: () => pan(0.4) }),
    el("button", { type: "button", text: "Whole", onclick: () => view(0, t.cycles) }), pressed,
    el("span", { class: "soft", id: "span", "aria-live": "polite" })));
  T.canvas = el("canvas", { id: "chart", tabindex: "0", role: "img", "aria-label": "Timeline of the cores. Left and right: previous and next op, up and down: row, plus and minus: zoom, shift and arrows: pan, 0: whole, c: critical path." });
  T.tip = el("div", { id: "tip", hidden: "" });
  home.append(el("div", { id: "stage" }, T.canvas, T.tip), el("p", { class: "mono", id: "said", "aria-live": "polite" }), el("p", { class: "key", text: "Keys on the chart: ←→ op, ↑↓ row, + − zoom, shift ←→ pan, 0 whole, c critical path, Enter: go to the source line. Mouse: wheel with ctrl zooms, drag pans." }));
  home.append(...figuresOf(t));
  prepareRows(t);
  T.from = 0; T.to = t.cycles;
  listen(T.canvas);
  shown.timeline = draw;
  themeListeners.push(() => { T.patterns = null; draw(); });
  new ResizeObserver(() => draw()).observe(byId("stage"));
}

function prepareRows(t) {
  T.rows = t.rows.map((r) => ({ label: `${r.agent} ${r.pipe}`, computes: r.computes, agent: r.agent, events: [] }));
  t.events.forEach((e, i) => { if (e[0] >= 0) T.rows[e[0]].events.push(i); });
  t.rings.forEach((ring, n) => {
    for (let slot = 0; slot < ring.depth; slot++) {
      const uses = t.uses.filter((u) => u[0] === n && u[1] === slot);
      if (uses.length) T.rows.push({ label: `${ring.name.replace("cube to lanes", "C→V").replace("lanes to cube", "V→C")} ${slot}`, uses });
    }
  });
  T.onPath = new Set(t.critical);
}

function figuresOf(t) {
  const cards = [];
  cards.push(table("Cycles of each core", ["core", "busy", "computing", "waiting for a ring", "idle"],
    t.times.map((a) => ({ cells: [a.agent, ...[a.busy, a.computing, a.waiting, a.idle].map((c) => `${number(c)} (${percent(c, t.cycles)})`)] })), [1, 2, 3, 4]));
  cards.push(table("Where the time of the critical path goes", ["core", "op", "line", "cycles"],
    t.path.slice(0, 12).map(([a, op, line, c]) => ({ cells: [a, op, String(line), `${number(c)} (${percent(c, t.cycles)})`] })), [2, 3]));
  cards.push(table("Bytes over each path", ["path", "bytes"], Object.entries(t.bytes).map(([p, b]) => ({ cells: [p, number(b)] })), [1]));
  return [el("p", { text: `Cube and lanes work at the same time for ${percent(t.overlap, 1)} of the cycles.` }), el("h2", { text: "What if: split mode and ring depth side by side" }), whatIf(), el("h2", { text: "Figures" }), el("div", { class: "figures" }, ...cards)];
}

// --- view ------------------------------------------------------------------------------------------------------
function view(from, to) {
  const all = DATA.timeline.cycles, span = Math.max(20, Math.min(all, to - from));
  T.from = Math.max(0, Math.min(all - span, from)); T.to = T.from + span;
  draw();
}
function zoom(factor, around = null) {
  const span = T.to - T.from;
  let middle = around ?? (T.from + T.to) / 2;
  if (around === null && T.chosen >= 0) { const e = DATA.timeline.events[T.chosen]; middle = e[1] + e[2] / 2; }
  const part = around === null ? 0.5 : (middle - T.from) / span;
  view(middle - span * factor * part, middle + span * factor * (1 - part));
}
function pan(part) { const span = T.to - T.from; view(T.from + span * part, T.to + span * part); }
function flipCritical() { T.critical = !T.critical; T.button.setAttribute("aria-pressed", String(T.critical)); draw(); }

// --- drawing ---------------------------------------------------------------------------------------------------
function pattern(context, ink, kind) {
  T.patterns = T.patterns || {};
  const key = ink + kind;
  if (T.patterns[key]) return T.patterns[key];
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const c = tile.getContext("2d");
  c.strokeStyle = c.fillStyle = ink;
  if (kind === "stripe") { c.lineWidth = 2.5; c.beginPath(); for (const o of [-8, 0, 8]) { c.moveTo(o, 8); c.lineTo(o + 8, 0); } c.stroke(); }
  else { c.fillRect(1, 3, 2, 2); c.fillRect(5, 7, 2, 2); }
  return (T.patterns[key] = context.createPattern(tile, "repeat"));
}

function draw() {
  const canvas = T.canvas;
  if (!canvas || byId("timeline").hidden) return;
  const width = byId("stage").clientWidth, height = HEAD + T.rows.length * ROW + 6, ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio); canvas.style.height = `${height}px`;
  }
  const c = canvas.getContext("2d");
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, height);
  const inks = { ink: colour("ink"), soft: colour("soft"), rule: colour("rule"), cube: colour("cube"), vector: colour("vector"), mixed: colour("mixed"), focus: colour("focus"), panel: colour("panel"), red: colour("red") };
  const scale = (width - SIDE - 8) / (T.to - T.from), x = (time) => SIDE + (time - T.from) * scale;
  T.scale = scale;
  T.spots = [];
  axis(c, x, inks, width, height);
  c.save(); c.beginPath(); c.rect(SIDE, 0, width - SIDE, height); c.clip();
  T.rows.forEach((row, i) => (row.uses ? drawUses(c, row, i, x, inks, width) : drawEvents(c, row, i, x, inks, width)));
  c.restore();
  const span = byId("span");
  const text = `cycles ${number(Math.round(T.from))} to ${number(Math.round(T.to))} of ${number(DATA.timeline.cycles)}`;
  if (span.textContent !== text) span.textContent = text;
}

function axis(c, x, inks, width, height) {
  c.font = "12px system-ui, sans-serif"; c.textBaseline = "middle";
  const span = T.to - T.from, raw = span / Math.max(3, (width - SIDE) / 110), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  c.strokeStyle = inks.rule; c.fillStyle = inks.soft; c.lineWidth = 1;
  for (let at = Math.ceil(T.from / step) * step; at <= T.to; at += step) {
    c.beginPath(); c.moveTo(x(at), HEAD - 6); c.lineTo(x(at), height); c.stroke();
    if (x(at) < width - 40) c.fillText(number(Math.round(at)), x(at) + 3, 10);
  }
  T.rows.forEach((row, i) => {
    const top = HEAD + i * ROW, next = T.rows[i - 1];
    if (!next || next.agent !== row.agent) { c.strokeStyle = inks.soft; c.beginPath(); c.moveTo(0, top); c.lineTo(width, top); c.stroke(); }
    c.fillStyle = inks.ink; c.fillText(row.label, 6, top + ROW / 2, SIDE - 10);
  });
}

function drawEvents(c, row, i, x, inks, width) {
  const top = HEAD + i * ROW + 3, tall = ROW - 7, ink = row.agent === "AIC" ? inks.cube : inks.vector;
  for (const n of row.events) {
    const [, start, cycles, waited, label] = DATA.timeline.events[n];
    const left = x(start), right = x(start + cycles), wait = x(start - waited);
    if (right < SIDE || wait > width) continue;
    const wide = Math.max(1, right - left), faint = T.critical && !T.onPath.has(n);
    c.globalAlpha = faint ? 0.25 : 1;
    if (waited && left - wait > 1) {
      c.fillStyle = pattern(c, inks.soft, "dots"); c.fillRect(wait, top, left - wait, tall);
      c.strokeStyle = inks.soft; c.setLineDash([3, 3]); c.lineWidth = 1; c.strokeRect(wait + 0.5, top + 0.5, left - wait - 1, tall - 1); c.setLineDash([]);
    }
    c.fillStyle = row.computes || wide < 4 ? ink : pattern(c, ink, "stripe");
    c.fillRect(left, top, wide, tall);
    if (wide > 3) { c.strokeStyle = ink; c.lineWidth = 1; c.strokeRect(left + 0.5, top + 0.5, wide - 1, tall - 1); }
    const name = DATA.timeline.labels[label][0];
    if (wide > 7 * name.length + 8) caption(c, name, Math.max(left, SIDE) + 4, top + tall / 2, row.computes, inks);
    if (T.onPath.has(n)) { c.fillStyle = inks.ink; c.fillRect(left, top + tall, wide, 3); }
    c.globalAlpha = 1;
    if (n === T.chosen) { c.strokeStyle = inks.focus; c.lineWidth = 3; c.strokeRect(left - 2, top - 2, wide + 4, tall + 4); }
    T.spots.push([left, Math.max(right, left + 3), wait, i, n]);
  }
}

function caption(c, name, left, middle, solid, inks) {
  c.font = "11px system-ui, sans-serif";
  if (!solid) { c.fillStyle = inks.panel; c.fillRect(left - 2, middle - 7, c.measureText(name).width + 4, 14); }
  c.fillStyle = solid ? inks.panel : inks.ink;
  c.fillText(name, left, middle);
}

function drawUses(c, row, i, x, inks, width) {
  const top = HEAD + i * ROW + 5, tall = ROW - 11;
  for (const [, , tile, start, full, end] of row.uses) {
    if (x(end) < SIDE || x(start) > width) continue;
    c.fillStyle = pattern(c, inks.mixed, "stripe"); c.fillRect(x(start), top, Math.max(1, x(full) - x(start)), tall);
    c.fillStyle = inks.mixed; c.globalAlpha = 0.55; c.fillRect(x(full), top, Math.max(1, x(end) - x(full)), tall); c.globalAlpha = 1;
    c.strokeStyle = inks.mixed; c.lineWidth = 1; c.strokeRect(x(start) + 0.5, top + 0.5, Math.max(1, x(end) - x(start) - 1), tall - 1);
    if (x(end) - x(full) > 46) caption(c, `tile ${tile}`, Math.max(x(full), SIDE) + 4, top + tall / 2, false, inks);
    T.spots.push([x(start), Math.max(x(end), x(start) + 3), x(start), i, `tile ${tile} in this slot: filled from ${number(start)} to ${number(full)}, given back at ${number(end)}`]);
  }
}

// --- input -----------------------------------------------------------------------------------------------------
function describe(n) {
  if (typeof n === "string") return n;
  const t = DATA.timeline, [row, start, cycles, waited, label, reason, cause, bytes, slot] = t.events[n];
  const [op, variable, line, path] = t.labels[label], why = t.reasons[reason];
  const words = { issue: "it was issued", pipe: "its pipe was busy", operand: "an operand came", buffer: "its buffer was read out", ring: "the ring let it" };
  const before = cause >= 0 ? t.labels[t.events[cause][4]] : null;
  let text = `${op} ${variable}\n${T.rows[row].label}, line ${line}\ncycles ${number(start)} to ${number(start + cycles)} (${number(cycles)})`;
  if (waited) text += `\nwaited ${number(waited)} cycles for the ring`;
  if (bytes) text += `\n${number(bytes)} bytes, ${path}`;
  if (slot >= 0) text += `, slot ${slot}`;
  if (why) text += `\nstarted when ${words[why]}${before ? `: after ${before[0]} (line ${before[2]})` : ""}`;
  return text + (T.onPath.has(n) ? "\non the critical path" : "");
}

function tell(n, left, top) {
  const text = describe(n), wide = byId("stage").clientWidth;
  T.tip.textContent = text;
  T.tip.hidden = false;
  const size = T.tip.getBoundingClientRect();
  T.tip.style.left = `${Math.max(4, Math.min(wide - size.width - 4, left + 12))}px`;
  T.tip.style.top = `${Math.max(2, Math.min(byId("stage").clientHeight - size.height - 2, top + 14))}px`;
}

function spotAt(px, py) {
  const row = Math.floor((py - HEAD) / ROW);
  let best = null;
  for (const s of T.spots) if (s[3] === row && px >= s[2] && px <= s[1]) best = s;
  return best;
}

function choose(n) {
  T.chosen = n;
  const [row, start, cycles] = DATA.timeline.events[n];
  if (start + cycles < T.from || start > T.to) { const span = T.to - T.from; view(start - span / 3, start - span / 3 + span); } else draw();
  byId("said").textContent = describe(n).replaceAll("\n", "; ");
  tell(n, SIDE + (start - T.from) * T.scale, HEAD + row * ROW + ROW);
}

function stepRow(by) {
  const rows = DATA.timeline.rows.length, now = T.chosen >= 0 ? DATA.timeline.events[T.chosen] : null;
  const row = now ? Math.max(0, Math.min(rows - 1, now[0] + by)) : 0, at = now ? now[1] : T.from;
  const events = T.rows[row].events;
  choose(events.find((n) => DATA.timeline.events[n][1] >= at) ?? events[events.length - 1]);
}

function stepEvent(by) {
  if (T.chosen < 0) { stepRow(0); return; }
  const events = T.rows[DATA.timeline.events[T.chosen][0]].events, next = events[events.indexOf(T.chosen) + by];
  if (next !== undefined) choose(next);
}

function listen(canvas) {
  let drag = null;
  canvas.addEventListener("pointerdown", (e) => { drag = { x: e.clientX, from: T.from, to: T.to, moved: false }; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointermove", (e) => {
    if (drag) {
      const by = (drag.x - e.clientX) / T.scale;
      if (Math.abs(drag.x - e.clientX) > 3) { drag.moved = true; T.tip.hidden = true; view(drag.from + by, drag.to + by); }
      return;
    }
    const spot = spotAt(e.offsetX, e.offsetY);
    if (spot) tell(spot[4], e.offsetX, e.offsetY); else T.tip.hidden = true;
  });
  canvas.addEventListener("pointerup", (e) => {
    const spot = drag && !drag.moved ? spotAt(e.offsetX, e.offsetY) : null;
    drag = null;
    if (spot && typeof spot[4] === "number") choose(spot[4]); else if (spot) tell(spot[4], e.offsetX, e.offsetY);
  });
  canvas.addEventListener("pointerleave", () => { if (!drag) T.tip.hidden = true; });
  canvas.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && Math.abs(e.deltaX) <= Math.abs(e.deltaY)) return;
    e.preventDefault();
    if (e.ctrlKey) zoom(e.deltaY > 0 ? 1.25 : 0.8, T.from + (e.offsetX - SIDE) / T.scale); else pan(e.deltaX / 1000);
  }, { passive: false });
  canvas.addEventListener("keydown", (e) => {
    const actions = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => view(0, DATA.timeline.cycles), c: flipCritical,
      ArrowLeft: () => (e.shiftKey ? pan(-0.3) : stepEvent(-1)), ArrowRight: () => (e.shiftKey ? pan(0.3) : stepEvent(1)),
      ArrowUp: () => stepRow(-1), ArrowDown: () => stepRow(1), Escape: () => { T.chosen = -1; T.tip.hidden = true; draw(); },
      Enter: () => { if (T.chosen >= 0) selectLine(DATA.timeline.labels[DATA.timeline.events[T.chosen][4]][2]); } };
    if (actions[e.key]) { e.preventDefault(); actions[e.key](); }
  });
}
