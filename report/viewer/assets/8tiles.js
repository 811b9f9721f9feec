// The treemap: a tile a row of the table, as large as its size. With a base, colour and
// sign tell what grew and what shrank.

const tiles = chart("tiles", "Treemap of the table below", 260);
const shownTiles = 100;
let laid = [], tile = -1, tileBox = null; // the tiles, and the one that is read

// squarify divides a rectangle among sizes, the largest first, into tiles that are as
// square as they can be (Bruls, Huizing, van Wijk: Squarified Treemaps, 2000).
function squarify(sizes, x, y, w, h) {
  const out = [];
  let left = sizes.reduce((n, s) => n + s, 0);
  for (let i = 0; i < sizes.length;) {
    const side = Math.min(w, h), scale = w * h / left;
    let sum = 0, count = 0, worst = Infinity;
    for (let j = i; j < sizes.length; j++) { // as many in one strip as make it better
      const total = sum + sizes[j], thick = total * scale / side;
      const shape = Math.max(...[sizes[i], sizes[j]].map((s) => { const long = s * scale / thick; return Math.max(long / thick, thick / long); }));
      if (shape > worst) break;
      [sum, count, worst] = [total, count + 1, shape];
    }
    const thick = sum * scale / side, across = w >= h;
    let at = 0;
    for (const size of sizes.slice(i, i + count)) {
      const long = size * scale / thick;
      out.push(across ? { x, y: y + at, w: thick, h: long } : { x: x + at, y, w: long, h: thick });
      at += long;
    }
    if (across) { x += thick; w -= thick; } else { y += thick; h -= thick; }
    left -= sum;
    i += count;
  }
  return out;
}

function tileText(g) {
  const change = g.base === undefined ? "" : `, ${signed(g.bytes - g.base)} against the base`;
  return `${g.name}: ${bytes(g.bytes)}${change}${g.count > 1 ? `, ${g.count} buffers` : ""}`;
}

function drawTiles() {
  const rows = matched.filter((g) => g.bytes > 0).sort((a, b) => b.bytes - a.bytes), rest = rows.slice(shownTiles);
  const list = rows.slice(0, shownTiles);
  if (rest.length > 0) {
    const sum = (f) => rest.reduce((n, g) => n + f(g), 0);
    list.push({ name: `${rest.length} others`, count: sum((g) => g.count), bytes: sum((g) => g.bytes), base: rest[0].base === undefined ? undefined : sum((g) => g.base) });
  }
  tiles.clear();
  const places = squarify(list.map((g) => g.bytes), 0, 0, tiles.width, tiles.height);
  laid = list.map((group, i) => ({ group, ...places[i] }));
  tile = -1;
  tileBox = svg("rect", { class: "chosen", visibility: "hidden" });
  tiles.node.append(...laid.map((t, i) => {
    const g = t.group, change = g.base === undefined ? 0 : g.bytes - g.base;
    const look = g.base === undefined ? `f${i % colours}` : change > 0 ? "tile-grew" : change < 0 ? "tile-shrank" : "tile-same";
    const lines = [g.name, bytes(g.bytes) + (g.base === undefined ? "" : ` (${signed(change)})`)].map((line, n) => svg("text", { class: "tile-text", x: 4, y: 14 + 13 * n }, line));
    return svg("svg", { x: t.x, y: t.y, width: t.w, height: t.h }, svg("rect", { class: "tile " + look, width: t.w, height: t.h }), ...(t.w > 60 && t.h > 32 ? lines : []));
  }), tileBox);
  if (laid.length === 0) tiles.node.append(svg("text", { x: 8, y: 20 }, "nothing matches"));
  readTile(-1);
}

function readTile(i) {
  tile = Math.min(Math.max(i, -1), laid.length - 1);
  const t = laid[tile];
  tileBox.setAttribute("visibility", t ? "visible" : "hidden");
  if (t) fill(tileBox, { x: t.x + 1, y: t.y + 1, width: Math.max(1, t.w - 2), height: Math.max(1, t.h - 2) }, []);
  const text = t ? tileText(t.group) : plural(laid.length, "tile");
  byId("tiles-read").textContent = t ? text : "";
  tiles.say(tile, laid.length - 1, text);
}

const tileUnder = (event) => {
  const p = tiles.place(event), x = p.x + left, y = p.y + top;
  return laid.findIndex((t) => x >= t.x && x < t.x + t.w && y >= t.y && y < t.y + t.h);
};
tiles.node.addEventListener("pointermove", (event) => { if (!still(event)) readTile(tileUnder(event)); });
tiles.node.addEventListener("pointerleave", (event) => { if (!still(event)) readTile(-1); });
tiles.node.addEventListener("click", (event) => { const first = laid[tileUnder(event)]?.group.first; if (first) pin(first); });
tiles.node.addEventListener("keydown", (event) => {
  const to = { ArrowRight: tile + 1, ArrowDown: tile + 1, ArrowLeft: Math.max(0, tile - 1), ArrowUp: Math.max(0, tile - 1), Home: 0, End: laid.length - 1, Escape: -1 }[event.key];
  const first = laid[tile]?.group.first;
  if (to !== undefined) readTile(to);
  else if ((event.key === "Enter" || event.key === " ") && first) pin(first);
  else return;
  event.preventDefault();
});
drawers.push(drawTiles);
for (const id of ["filter", "group", "peak-only"]) byId(id).addEventListener("input", () => { table(); drawTiles(); });
