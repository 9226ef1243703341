"use strict";
// What if: every split mode with rings of every depth, side by side on one time scale.
function whatIf() {
  const rows = DATA.whatIf, cells = rows.flatMap((r) => r.cells || []).filter((c) => c.cycles !== undefined);
  if (!cells.length) return el("p", { text: "No other way to compile this kernel could be timed." });
  const best = Math.min(...cells.map((c) => c.cycles)), most = Math.max(...cells.map((c) => c.cycles));
  const depths = [...new Set(rows.flatMap((r) => (r.cells || []).map((c) => c.depth)))].sort((a, b) => a - b);
  const words = (d) => (d === 0 ? "no ring" : d === 1 ? "1 slot" : `${d} slots`);
  const head = el("tr", {}, el("th", { scope: "col", text: "split mode" }), ...depths.map((d) => el("th", { scope: "col", text: words(d) })));
  const body = rows.map((r) => el("tr", { class: r.chosen ? "chosen" : null }, el("th", { scope: "row", text: r.mode }),
    ...(r.refused ? [el("td", { colspan: depths.length, class: "soft", text: `refused: ${r.refused}` })]
      : depths.map((d) => whatIfCell(r, r.cells.find((c) => c.depth === d), best, most)))));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What if: cycles by split mode and ring depth" }, el("table", { class: "whatif" },
    el("caption", { text: "One time scale for all: solid computes, pale moves data, dotted waits for a ring. “compiled” is this kernel as it stands." }),
    el("thead", {}, head), el("tbody", {}, ...body)));
}

function whatIfCell(row, cell, best, most) {
  if (!cell) return el("td", { text: "–" });
  if (cell.cycles === undefined) return el("td", { class: "soft", text: cell.refused });
  const behind = cell.cycles === best ? "best" : `+${(100 * (cell.cycles / best - 1)).toFixed(1)} %`;
  const here = row.chosen && cell.depth === row.depth;
  return el("td", { class: cell.cycles === best ? "best" : null }, el("div", {}, el("b", { text: number(cell.cycles) }),
    el("span", { class: cell.cycles === best ? "good" : "soft", text: ` ${behind}${here ? ", compiled" : ""}` })), strip(row, cell, most));
}

function strip(row, cell, most) {
  const wide = 200, tall = 9, x = (t) => (t / most) * wide;
  const words = `${row.mode}, ${cell.depth} slots: ${number(cell.cycles)} cycles, cube and lanes overlap ${percent(cell.overlap, 1)}`;
  const box = svg("svg", { viewBox: `0 0 ${wide} ${cell.tracks.length * (tall + 2)}`, width: wide, role: "img", "aria-label": words });
  cell.tracks.forEach((track, n) => {
    const top = n * (tall + 2), ink = track.agent === "AIC" ? "var(--cube)" : "var(--vector)";
    box.append(svg("rect", { x: 0, y: top, width: x(cell.cycles), height: tall, fill: "var(--hover)" }));
    const path = (flat, inset) => {
      let d = "";
      for (let i = 0; i < flat.length; i += 2) d += `M${x(flat[i]).toFixed(1)},${top + inset}h${Math.max(0.4, x(flat[i + 1])).toFixed(1)}v${tall - 2 * inset}h${-Math.max(0.4, x(flat[i + 1])).toFixed(1)}z`;
      return d;
    };
    box.append(svg("path", { d: path(track.wait, 3.5), fill: "none", stroke: "var(--soft)", "stroke-width": 0.8, "stroke-dasharray": "1.5 1.5" }),
      svg("path", { d: path(track.move, 1.5), fill: ink, "fill-opacity": 0.35 }), svg("path", { d: path(track.compute, 0), fill: ink }));
  });
  return box;
}
