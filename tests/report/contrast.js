// All visible texts whose contrast with their ground is below 4.5 (WCAG 2.1, 1.4.3), as [element, ratio].
() => {
  const parse = (text) => text.match(/[\d.]+/g).map(Number);
  const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const has_text = (e) => [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim());
  const low = new Map();
  for (const e of document.querySelectorAll("main *, header *, #tabs *")) {
    if (!e.checkVisibility() || e.closest("svg, canvas, [hidden]") || !has_text(e)) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) low.set(`${e.tagName}.${e.className}`, ratio.toFixed(2));
  }
  return [...low];
}
