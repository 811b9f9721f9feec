// The table of buffers, or of groups of them.

const shownRows = 300;
let matched = []; // the rows of the table, all of them

// rowsOf gives the buffers of a view that match, with their counterparts in the base; or
// groups of them, by a key, with those buffers at the peak that are on the page in groups only.
// Where one side knows only what is live at its dump, that of the other is laid beside it.
function rowsOf(view, key, matches) {
  const groups = new Map(), base = partner(view), peakOnly = byId("peak-only").checked, dump = ofDump(view);
  for (const [of, mine] of [[view, true], [base, false]]) {
    for (const b of [...(of?.buffers ?? []), ...(key && atDump(of) === dump && of?.groups || [])]) {
      if ((dump ? b.end <= of.steps : peakOnly && !b.at_peak && !b.count) || !matches(b)) continue;
      const head = mine ? b : b.is;
      const id = key ? b[key] || "not told" : head ? "head " + head.id : "base " + b.id;
      if (!groups.has(id)) groups.set(id, { name: key ? id : b.name, count: 0, bytes: 0, unpadded: 0, base: base ? 0 : undefined, like: b });
      const g = groups.get(id);
      if (!mine) {
        g.base += b.bytes;
        continue;
      }
      g.count += b.count ?? 1;
      g.bytes += b.bytes;
      g.unpadded += b.unpadded;
      if (b.id && !(g.first?.bytes >= b.bytes)) g.first = b; // the largest
    }
  }
  return [...groups.values()].sort((a, b) => base ? b.bytes - b.base - (a.bytes - a.base) || b.bytes - a.bytes : b.bytes - a.bytes);
}

// matcher gives the test of a text against a regular expression, or throws what is wrong
// with it. A browser cannot stop a test that has begun: an expression whose test of one
// name may take more than a moment is refused, and the sum of all tests is bounded.
function matcher(text) {
  const pattern = new RegExp(text, "i");
  const bare = text.replace(/\\.|\[(?:\\.|[^\]\\])*\]/g, "x").replace(/\(\?/g, "(").replace(/([*+?}])\?/g, "$1");
  if (/\)[*+{]/.test(bare) || bare.match(/[*+?{]/g)?.length > 3) throw new Error("it could take forever; repeat no group, and nothing more than three times");
  const end = performance.now() + 1000;
  return (s) => {
    if (performance.now() > end) throw new Error("it takes more than a second");
    return pattern.test(s);
  };
}

function table() {
  const text = byId("filter").value, key = byId("group").value, view = state.view, base = partner(view);
  let fault = null;
  try {
    const matches = matcher(text);
    matched = rowsOf(view, key, (b) => !text || [b.name, b.op, b.source].some((s) => s && matches(s)));
  } catch (error) {
    [matched, fault] = [[], error];
  }
  byId("peak-only").parentNode.hidden = ofDump(view);
  byId("filter").ariaInvalid = fault && "true";
  const texts = key ? [] : [["shape", "shape"], ["operation", "op"], ["source", "source"]].filter(([, field]) => matched.some((g) => g.like[field])); // a snapshot has no shapes
  const heads = [[key ? byId("group").selectedOptions[0].text : "buffer"], ["size", true], ...(base ? [["base", true], ["change", true]] : []), ...(view.padded ? [["padding", true]] : []), ...(key ? [["buffers", true]] : texts.map(([name]) => [name]))];
  const rows = matched.slice(0, shownRows).map((g) => {
    const name = el("td", { class: "name" }, g.first ? el("button", { type: "button" }, g.name) : g.name);
    if (g.first) name.firstChild.addEventListener("click", () => pin(g.first));
    const numbers = [[bytes(g.bytes), true], ...(base ? [[bytes(g.base), true], [signed(g.bytes - g.base), true]] : []), ...(view.padded ? [[bytes(g.bytes - g.unpadded), true]] : []), ...(key ? [[String(g.count), true]] : [])];
    return el("tr", { "data-id": key ? null : g.first?.id }, name, ...cells("td", numbers), ...texts.map(([, field]) => el("td", { class: "name" }, g.like[field] ?? "")));
  });
  byId("table").replaceChildren(el("table", null, el("thead", null, el("tr", null, ...cells("th", heads))), el("tbody", null, ...rows)));
  const total = matched.reduce((n, g) => n + g.bytes, 0);
  const out = view.left_out;
  byId("table-note").textContent = fault ? "The filter is no regular expression that can be used: " + fault.message : `${plural(matched.length, key ? "group" : "buffer")}, ${bytes(total)}` + (matched.length > shownRows ? `; the first ${shownRows} are listed` : "") +
    (base && ofDump(view) ? "; of both sides what is live at the dump" : "") + (base ? "; what grew most against the base comes first" : "") + (out ? `; ${out.count} smaller buffers (up to ${bytes(out.largest_bytes)}) are not on this page${key && atDump(view) === ofDump(view) ? `, but ${atDump(view) ? "they" : out.peak_count + " at the peak"} are counted in their groups` : ""}` : "");
}
drawers.push(table);
markers.push(() => {
  const id = state.pinned?.id;
  for (const row of byId("table").querySelectorAll("tr[data-id]")) row.classList.toggle("now", row.dataset.id === id);
});
