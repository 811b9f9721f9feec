// What can be saved: the timeline as SVG, DOT and HTML+SVG, the table as CSV and JSON.

function save(name, type, text) {
  const a = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}
const fileName = (end) => `${state.view.module}-${state.view.space}`.replace(/[^\w.-]+/g, "_") + end;

// timelineSVG is a file of its own: colours are written out, titles show on hover.
function timelineSVG(view) {
  const width = 1200, height = 800, most = memory(view);
  const root = getComputedStyle(document.documentElement);
  const part = (x, to, y, size, more, title) => svg("rect", {
    x: (x / view.width * width).toFixed(2), y: ((1 - (y + size) / most) * height).toFixed(2), width: Math.max(0.5, (to - x) / view.width * width).toFixed(2), height: Math.max(0.1, size / most * height).toFixed(2), ...more,
  }, svg("title", null, title));
  const node = svg("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height });
  for (const a of view.allocations) node.append(part(0, view.width, a.y, a.bytes, { fill: "#ffffff", stroke: "#999999" }, `allocation ${a.index}, ${a.kind}, ${exact(a.bytes)}`));
  for (const b of view.buffers) {
    if (b.y !== undefined) node.append(part(b.start, b.end, b.y, b.bytes, { fill: root.getPropertyValue(`--c${b.colour}`).trim() }, `${describe(b)}\n${b.op ?? ""}\n${lives(b)}`));
  }
  return new XMLSerializer().serializeToString(node);
}

// timelineDOT is a graph whose nodes have places: neato -n draws it.
function timelineDOT(view) {
  const quote = (s) => '"' + s.replace(/[\\"]/g, "\\$&").replace(/\n/g, "\\n") + '"';
  const most = memory(view), root = getComputedStyle(document.documentElement);
  const lines = view.buffers.filter((b) => b.y !== undefined).map((b) => {
    const w = (b.end - b.start) / view.width * 16, h = b.bytes / most * 10;
    const at = `${((b.start / view.width * 16 + w / 2) * 72).toFixed(2)},${((b.y / most * 10 + h / 2) * 72).toFixed(2)}`;
    return `  ${quote(b.id)} [pos="${at}", width=${Math.max(w, 0.01).toFixed(4)}, height=${Math.max(h, 0.01).toFixed(4)}, fillcolor=${quote(root.getPropertyValue(`--c${b.colour}`).trim())}, label=${quote(h > 0.2 && w > 1 ? b.name : "")}, tooltip=${quote(describe(b))}];`;
  });
  return ["graph {", `  label=${quote(`${view.module}, ${view.space} memory`)};`, "  node [shape=box, style=filled, fixedsize=true];", ...lines, "}", ""].join("\n");
}

function timelineHTML(view) {
  const title = el("title", null, `${view.module}, ${view.space} memory`);
  return `<!DOCTYPE html>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="default-src 'none'">\n${title.outerHTML}\n${timelineSVG(view)}\n`;
}

// cell writes a field of CSV; a spreadsheet takes none for a formula.
function cell(value) {
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? "'" + value : String(value ?? "");
  return '"' + text.replaceAll('"', '""') + '"';
}

function tableCSV() {
  const rows = matched.map((g) => [g.name, g.bytes, g.base, g.unpadded, g.count, g.like.shape, g.like.op, g.like.source]);
  return [["name", "bytes", "base_bytes", "unpadded_bytes", "count", "shape", "operation", "source"], ...rows].map((r) => r.map(cell).join(",")).join("\r\n") + "\r\n";
}

function tableJSON() {
  return JSON.stringify(matched.map((g) => ({ name: g.name, bytes: g.bytes, base_bytes: g.base, unpadded_bytes: g.unpadded, count: g.count, shape: g.like.shape, operation: g.like.op, source: g.like.source })), null, 2) + "\n";
}

for (const [id, end, type, make] of [
  ["save-svg", ".svg", "image/svg+xml", timelineSVG], ["save-dot", ".dot", "text/vnd.graphviz", timelineDOT], ["save-html", ".html", "text/html", timelineHTML],
  ["save-csv", ".csv", "text/csv", tableCSV], ["save-json", ".json", "application/json", tableJSON],
]) byId(id).addEventListener("click", () => save(fileName(end), type, make(state.view)));
