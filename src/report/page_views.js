// SPDX-License-Identifier: Apache-2.0
//
// The page of a report: other views of a memory. A stack of live bytes by tensor, agent or memory
// over time, and a treemap of what the height consists of at the peak: data, padding, holes.
// Both count as the library does: every byte of the fullest lane once, for the first box that
// covers it, so that the parts of a moment sum to its live bytes.

const views = [
  { id: "map", label: "map", about: "addresses over time" },
  { id: "stacked", label: "stacked", about: "live bytes by category over time" },
  { id: "treemap", label: "treemap", about: "data, padding and holes at the peak" },
  comparing && { id: "slider", label: "slider", about: "both plans on the same axes" },
].filter(Boolean);
Object.assign(state, { view: "map", by: "tensor" });

const hasView = (c) => (c.views === undefined || c.views.includes(state.view)) && (c.by === undefined || c.by.includes(state.by));
function setView(view, by) {
  state.view = view;
  if (by !== undefined) state.by = by;
  for (const c of charts) c.canvas.hidden = !hasView(c);
  for (const s of spaces) {
    s.section.hidden = view === "slider";
    for (const [node, kind] of s.extras) node.hidden = kind !== view || (kind === "stacked" && state.by === "memory");
  }
  for (const node of document.querySelectorAll("[data-view]")) node.hidden = node.dataset.view !== view || (node.dataset.by !== undefined && node.dataset.by !== state.by);
  for (const button of byId("views").querySelectorAll("button[data-id]")) button.setAttribute("aria-selected", String(button.dataset.id === view));
  byId("by").value = state.by;
  byId("by").parentNode.hidden = view !== "stacked" || byId("by").options.length < 2;
  lookAway();
  resize();
}
function stepView(step) {
  const at = views.findIndex((view) => view.id === state.view);
  setView(views[(at + step + views.length) % views.length].id);
}

// ---- categories --------------------------------------------------------------------------------

const hasAgents = reports.some((report) => report.hasAgents);
// Who writes a box; without a statement that does, who declares it.
function agentOfBox(s, i) {
  const uses = s.report.program.tensors.get(stem(ownName(s, i))) || [];
  const writers = new Set(uses.filter((use) => use.writes).map((use) => agentOfLine(s.report, use.line)).filter(Boolean));
  return agentOfLine(s.report, s.line[i]) || [...writers].sort().join(" + ") || "no agent";
}

// The part of a name that all of a family have.
const searchKey = (name) => name && name.replace(/\u2026$/, "");

const BANDS = 64; // categories with an area of their own; smaller ones share the last
// of: category of each box; list: { key, label, fill }, by what they occupy over time, largest first.
function categoriesOf(s, by) {
  s.categories ??= {};
  const known = by + (s.painted || 0); // families of names may be opened
  if (s.categories[known]) return s.categories[known];
  const found = new Map(), names = new Map(), of = new Int32Array(s.n), colourOf = chooseColours();
  for (let i = 0; i < s.n; i++) {
    const text = s.name[i] + "," + s.line[i];
    if (!names.has(text)) names.set(text, by === "agent" ? agentOfBox(s, i) : groupOf(s, i));
    const key = names.get(text), category = found.get(key) || { key, label: key, colour: by === "agent" ? colourOf(key) : s.colour[i], area: 0, boxes: [] };
    category.area += s.bytes[i] * s.length[i];
    category.boxes.push(i);
    found.set(key, category);
  }
  let list = [...found.values()].sort((a, b) => b.area - a.area || (a.key < b.key ? -1 : 1));
  if (list.length > BANDS) {
    const rest = list.slice(BANDS - 1);
    list = [...list.slice(0, BANDS - 1), { key: null, label: plain(rest.length) + " others", colour: -1, boxes: rest.flatMap((category) => category.boxes) }];
  }
  list.forEach((category, k) => { for (const i of category.boxes) of[i] = k; delete category.boxes; });
  s.categories = { [known]: { of, list } };
  return s.categories[known];
}
const categoryFill = (category) => (category.colour < 0 ? palette.line : fillOf(category.colour, false));

// ---- what a moment consists of ----------------------------------------------------------------------

// Bytes of one lane, for the first box that covers each: part(box, from, to) in the order of addresses. The sum of them.
function eachPart(s, alive, lane, part) {
  let floor = -Infinity, live = 0;
  for (const i of alive) {
    if (s.lane[i] > lane || lane >= s.lane[i] + s.lanes[i]) continue;
    const from = Math.max(s.byte[i], floor), to = s.byte[i] + s.bytes[i];
    if (to <= from) continue;
    live += to - from;
    floor = to;
    if (part) part(i, from, to);
  }
  return live;
}
// Lanes that need to be examined: where a box begins; the first of those with the most bytes.
function fullestLane(s, alive) {
  if (s.laneCount === 1) return 0;
  let best = 0, most = -1;
  for (const lane of [...new Set(alive.map((i) => s.lane[i]))].slice(0, 256)) {
    const live = eachPart(s, alive, lane, null);
    if (live > most) { most = live; best = lane; }
  }
  return best;
}
// Boxes alive at rising times: next(t) gives those with an address, by address, and those without.
function sweep(s) {
  let at = 0, alive = [], loose = [];
  return (t) => {
    const still = (i) => s.end[i] > t;
    let changed = false;
    alive = alive.filter(still); loose = loose.filter(still);
    for (; at < s.n && s.begin[at] <= t; at++) {
      if (!still(at)) continue;
      if (!placed(s, at)) loose.push(at);
      else if (s.bytes[at] > 0) { alive.push(at); changed = true; }
    }
    if (changed) alive.sort((i, j) => s.byte[i] - s.byte[j]);
    return [alive, loose];
  };
}
function addMoment(s, [alive, loose], of, out, base) {
  const lane = s.only >= 0 ? s.only : fullestLane(s, alive);
  let live = eachPart(s, alive, lane, (i, from, to) => { out[base + of[i]] += to - from; });
  for (const i of loose) { out[base + of[i]] += s.bytes[i]; live += s.bytes[i]; }
  return live;
}

// Times that are drawn: all at which something changes, or for each pixel the one with the most live bytes.
function edgesOf(s) {
  if (s.edges) return s.edges;
  const all = new Float64Array(2 * s.n);
  all.set(s.begin); all.set(s.end, s.n);
  s.edges = all.sort().filter((t, k, list) => k === 0 || t !== list[k - 1]);
  return s.edges;
}
const firstAfter = (list, t) => { // of a sorted list: how many are at most t
  let low = 0, high = list.length;
  while (low < high) { const middle = (low + high) >> 1; if (list[middle] <= t) low = middle + 1; else high = middle; }
  return low;
};
function drawnTimes(s, t0, t1, columns) {
  const edges = edgesOf(s), from = firstAfter(edges, t0), to = firstAfter(edges, t1);
  const all = [t0, ...edges.subarray(from, Math.min(to, from + columns + 1))];
  if (to - from <= columns) return all;
  const out = [], width = (t1 - t0) / columns;
  let k = from, level = liveAt(s, t0), step = firstStep(s, t0);
  for (let c = 0; c < columns; c++) {
    const begin = t0 + c * width, end = begin + width;
    let best = begin, most = level;
    for (; step < s.live.length && s.live[step] < end; step += 2) {
      level = s.live[step + 1];
      if (level > most) { most = level; best = s.live[step]; }
    }
    while (k < to && edges[k] < end) k++;
    out.push(best);
  }
  return out;
}
// Where in the pairs of the live curve the first time after t is.
function firstStep(s, t) {
  let low = 0, high = s.live.length / 2;
  while (low < high) { const middle = (low + high) >> 1; if (s.live[2 * middle] <= t) low = middle + 1; else high = middle; }
  return 2 * low;
}
const liveAt = (s, t) => { const k = firstStep(s, t); return k === 0 ? 0 : s.live[k - 1]; };

// ---- stacked -------------------------------------------------------------------------------------------

// times[k] to times[k + 1] has values[k * count ...], one for each category of the list.
function stackOf(c, t0, t1, columns) {
  if (c.all) return memoryStack(t0, t1, columns);
  const s = c.space, { of, list } = categoriesOf(s, state.by), times = drawnTimes(s, t0, t1, columns), next = sweep(s);
  const values = new Float64Array(times.length * list.length);
  times.forEach((t, k) => addMoment(s, next(t), of, values, k * list.length));
  return { times, list, values };
}
// All memories: live bytes in all of their lanes.
function memoryStack(t0, t1, columns) {
  const list = spaces.map((s, k) => ({ key: s.title, label: clean(s.title), colour: k % COLOURS.length }));
  let times = [...new Set(spaces.flatMap((s) => drawnTimes(s, t0, t1, columns)))].sort((a, b) => a - b);
  const values = new Float64Array(times.length * list.length);
  times.forEach((t, k) => spaces.forEach((s, j) => { values[k * list.length + j] = liveAt(s, t) * s.laneCount; }));
  return { times, list, values };
}
const stackPeak = (c) => (c.all ? c.peak ??= maxOf(memoryStack(axis.begin, axis.end, Infinity)) : Math.max(...sameName(c.space).map((o) => o.peak), 1));
function maxOf({ times, list, values }) {
  let most = 1;
  for (let k = 0; k < times.length; k++) most = Math.max(most, sumAt(values, list.length, k));
  return most;
}
function sumAt(values, count, k) {
  let sum = 0;
  for (let j = 0; j < count; j++) sum += values[k * count + j];
  return sum;
}
function stackLimit(c) {
  if (!c.all) return liveLimit(c.space);
  const bytes = spaces.every((s) => s.usable >= 0) ? spaces.reduce((sum, s) => sum + s.usable * s.laneCount, 0) : -1, peak = stackPeak(c);
  return { bytes, drawn: bytes >= 0 && (bytes <= 3 * peak || state.whole), times: bytes / peak };
}
function stackScale(c) {
  const limit = stackLimit(c), base = c.height - AXIS, most = Math.max(stackPeak(c), limit.drawn ? limit.bytes : 0);
  return { limit, base, most, y: (v) => base - v / most * (base - 20) };
}
function drawStacked(c, g) {
  const { limit, base, most, y } = stackScale(c), stack = stackOf(c, state.t0, state.t1, Math.round(plotWidth(c))), { times, list, values } = stack, n = list.length;
  c.stack = stack;
  g.fillStyle = palette.plot; g.fillRect(left, 0, plotWidth(c), base);
  clipPlot(c, g, 0, base);
  const floor = new Float64Array(times.length), xs = [...times.map((t) => X(c, t)), X(c, state.t1)];
  const outlined = times.length * 5 < plotWidth(c); // lines between areas, not instead of them
  for (let j = 0; j < n; j++) {
    g.globalAlpha = state.query !== "" && !list[j].label.toLowerCase().includes(state.query) ? 0.25 : 1;
    g.fillStyle = categoryFill(list[j]);
    g.strokeStyle = palette.dark ? "#ffffff40" : "#00000048"; g.lineWidth = 0.6;
    for (let k = 0, end; k < times.length; k = end + 1) { // each stretch in which the category has bytes
      for (end = k; end < times.length && values[end * n + j] > 0; end++);
      if (end === k) continue;
      g.beginPath();
      for (let i = k; i < end; i++) { const v = y(floor[i] + values[i * n + j]); g.lineTo(xs[i], v); g.lineTo(xs[i + 1], v); }
      for (let i = end - 1; i >= k; i--) { const v = y(floor[i]); g.lineTo(xs[i + 1], v); g.lineTo(xs[i], v); floor[i] += values[i * n + j]; }
      g.closePath(); g.fill();
      if (outlined) g.stroke();
    }
    g.globalAlpha = 1;
  }
  drawBandNames(c, g, stack, xs, y);
  g.font = FONT;
  const tags = c.all ? [] : drawPeak(c, g, "peak ", X(c, c.space.peakTime), y(c.space.peak));
  if (limit.bytes >= 0) drawLiveLimit(c, g, limit, limit.drawn ? y(limit.bytes) : -1, tags);
  g.restore();
  g.strokeStyle = palette.line; g.lineWidth = 1; g.strokeRect(left + 0.5, 0.5, plotWidth(c) - 1, base - 1);
  const step = niceStep(most, 5, true);
  g.textAlign = "right"; g.fillStyle = palette.muted; g.font = FONT;
  for (let v = 0; v <= most; v += step) if (y(v) < base - 10 || v === 0) g.fillText(tickText(v, step), left - 8, v === 0 ? base : y(v) + 4);
  drawTimeAxis(c, g, base);
}
// A name in its area, where that stays high enough for as long as the name is.
function drawBandNames(c, g, { times, list, values }, xs, y) {
  const n = list.length;
  g.font = FONT; g.textAlign = "left"; g.fillStyle = palette.text;
  for (let j = 0; j < n; j++) {
    const text = shorten(list[j].label, 28), room = widthOf(g, text) + 10;
    let from = 0, low = -Infinity, high = Infinity, best = null;
    for (let k = 0; k < times.length; k++) {
      let floor = 0;
      for (let i = 0; i < j; i++) floor += values[k * n + i];
      const top = y(floor + values[k * n + j]), bottom = y(floor);
      if (Math.max(low, top) + 13 > Math.min(high, bottom)) { from = k; low = top; high = bottom; } else { low = Math.max(low, top); high = Math.min(high, bottom); }
      if (high - low < 13) { from = k + 1; low = -Infinity; high = Infinity; continue; }
      const begin = Math.max(xs[from], left), wide = Math.min(xs[k + 1], c.width_ - right) - begin;
      if (wide >= room && (!best || high - low > best.tall)) best = { x: begin + 5, y: (low + high) / 2 + 4, tall: high - low };
    }
    if (best) g.fillText(text, best.x, best.y);
  }
}
// The moment t of a chart: its categories with their bytes, and the sum.
function stackMoment(c, t) {
  const list = c.all ? memoryStack(t, t, 1).list : categoriesOf(c.space, state.by).list, values = new Float64Array(list.length);
  if (c.all) spaces.forEach((s, j) => { values[j] = liveAt(s, t) * s.laneCount; });
  else addMoment(c.space, sweep(c.space)(t), categoriesOf(c.space, state.by).of, values, 0);
  return { list, values, sum: sumAt(values, values.length, 0) };
}
function stackUnder(c, px, py) {
  const t = Math.floor(T(c, px)), { base, y } = stackScale(c), moment = stackMoment(c, t);
  if (py > base) return null;
  let at = -1, floor = 0;
  moment.values.forEach((v, j) => { if (at < 0 && v > 0 && py <= y(floor) && py >= y(floor + v)) at = j; floor += v; });
  return { key: "stack " + (c.all ? "all" : spaces.indexOf(c.space)) + " " + t + " " + at, card: () => stackCard(c, t, moment, at), search: at < 0 || c.all || state.by === "agent" ? null : searchKey(moment.list[at].key) };
}
function stackCard(c, t, { list, values, sum }, at) {
  const rows = [["sum", bothBytes(sum)]], order = list.map((_, j) => j).filter((j) => values[j] > 0).sort((a, b) => values[b] - values[a]);
  if (!c.all && c.space.usable > 0) rows.push(["", percent(sum, c.space.usable) + " of " + bytesText(c.space.usable)]);
  for (const j of order.slice(0, 12)) {
    const swatch = element("i", { class: "swatch" });
    swatch.style.background = categoryFill(list[j]);
    rows.push([element("span", {}, swatch, shorten(list[j].label, 32)), bothBytes(values[j]) + ", " + percent(values[j], sum)]);
  }
  if (order.length > 12) rows.push(["and " + plain(order.length - 12) + " more", bothBytes(order.slice(12).reduce((all, j) => all + values[j], 0))]);
  return [element("div", { class: "name" }, at < 0 ? (c.all ? "all memories" : clean(c.space.title)) : shorten(list[at].label, 200)), element("div", { class: "muted" }, "live at " + timeText(t)), factsList(rows)];
}
function fillStackLegend(c) {
  const list = c.all ? memoryStack(axis.begin, axis.begin, 1).list : categoriesOf(c.space, state.by).list;
  c.legend.replaceChildren(...list.map((category) => {
    const swatch = element("i");
    swatch.style.background = categoryFill(category);
    return category.key === null || c.all || state.by === "agent" ? element("span", {}, swatch, shorten(category.label, 32))
      : element("button", { title: category.key + ": search for it", onclick: () => { byId("search").value = searchKey(category.key); search(searchKey(category.key)); } }, swatch, element("b", {}, shorten(category.label, 32)));
  }));
}
function drawStackedWithLegend(c, g) { drawStacked(c, g); fillStackLegend(c); }
const overStacked = (c, g) => drawCursor(c, g, 0, c.height - AXIS);

// ---- treemap --------------------------------------------------------------------------------------------

// What the height of a memory consists of at its live peak, in the fullest lane: { height, parts }; the parts sum to the
// height. A heap begins at the top of its region: its height says nothing, and the live bytes are all.
const LEAVES = 60;
function wasteOf(s) {
  if (s.waste && s.waste.painted === s.painted) return s.waste;
  const [alive, loose] = sweep(s)(s.peakTime), groups = new Map(), isHeap = s.used < s.top;
  const height = isHeap ? s.used : Math.max(s.top - Math.min(s.low, 0), s.peak);
  const add = (kind, i, bytes) => {
    if (bytes <= 0) return;
    const name = groupOf(s, i), key = kind + name, leaf = groups.get(key) || { kind, label: name, bytes: 0, count: 0, colour: s.colour[i], at: s.byte[i] };
    leaf.bytes += bytes; leaf.count++;
    groups.set(key, leaf);
  };
  let live = eachPart(s, alive, fullestLane(s, alive), (i, from, to) => {
    const rounded = Math.min(s.padding[i], to - from); // padding is at the end of a box
    add("data", i, to - from - rounded); add("padding", i, rounded);
  });
  for (const i of loose) { live += s.bytes[i]; add("data", i, s.bytes[i] - s.padding[i]); add("padding", i, s.padding[i]); }
  const { holes, rounded } = isHeap || loose.length > 0 ? { holes: [], rounded: 0 } : holesOf(s, alive, add), rest = height - live - rounded;
  const free = holes.reduce((sum, hole) => sum + hole.bytes, 0);
  const empty = free === rest ? holes : rest > 0 ? [{ kind: "hole", label: "not used then", bytes: rest, at: -1, count: 1, colour: -1 }] : [];
  const kind = (name) => [...groups.values()].filter((part) => part.kind === name);
  s.waste = { painted: s.painted, height, live, parts: [...fewer(kind("data"), "tensors"), ...fewer(kind("padding"), "tensors"), ...fewer(empty, "holes")] };
  return s.waste;
}
// What is between the boxes up to the top. Bytes after a box that rounding takes, and those before one that its
// alignment skips, are padding.
function holesOf(s, alive, add) {
  const holes = [];
  let floor = Math.min(s.low, 0), before = -1, rounded = 0;
  const pad = (i, bytes) => { if (bytes > 0) { add("padding", i, bytes); rounded += bytes; floor += bytes; } };
  const close = (to, next) => {
    if (before >= 0) pad(before, Math.min(s.rounding[before], to - floor));
    if (next >= 0 && s.byte[next] === to && to - floor < s.alignment[next]) pad(next, to - floor);
    if (to > floor) holes.push({ kind: "hole", label: "hole", bytes: to - floor, at: floor, count: 1, colour: -1 });
  };
  eachPart(s, alive, fullestLane(s, alive), (i, from, to) => { close(from, i); floor = Math.max(floor, to); before = i; });
  close(s.top, -1);
  return { holes, rounded };
}
// The largest parts; the others as one.
function fewer(list, word) {
  list.sort((a, b) => b.bytes - a.bytes || a.at - b.at);
  if (list.length <= LEAVES) return list;
  const rest = list.slice(LEAVES - 1);
  return [...list.slice(0, LEAVES - 1), { kind: rest[0].kind, label: plain(rest.length) + " other " + word, bytes: rest.reduce((sum, p) => sum + p.bytes, 0), at: -1, count: rest.length, colour: -1 }];
}
// Rows of nearly square rectangles (Bruls, Huizing, van Wijk: squarified treemaps): each item gets `rect`, of an area in
// proportion to its bytes.
function squarify(items, x, y, w, h) {
  let left_ = items.reduce((sum, item) => sum + item.bytes, 0), k = 0;
  while (k < items.length && left_ > 0) {
    const side = Math.min(w, h), scale = w * h / left_;
    let row = [], sum = 0, worst = Infinity;
    for (; k < items.length; k++) {
      const more = sum + items[k].bytes, all = [...row, items[k]], thick = more * scale / side;
      const ratio = Math.max(...all.map((item) => { const long = item.bytes * scale / thick; return Math.max(long / thick, thick / long); }));
      if (ratio > worst && row.length > 0) break;
      row = all; sum = more; worst = ratio;
    }
    const thick = sum * scale / side;
    let at = 0;
    for (const item of row) {
      const long = item.bytes / sum * side;
      item.rect = w >= h ? [x, y + at, thick, long] : [x + at, y, long, thick];
      at += long;
    }
    if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
    left_ -= sum;
  }
}
const KINDS = [["data", "data"], ["padding", "padding"], ["hole", "holes"]];
function kindsOf(s) {
  const { parts } = wasteOf(s);
  return KINDS.map(([kind, label]) => { const own = parts.filter((p) => p.kind === kind); return { kind, label, parts: own, bytes: own.reduce((sum, p) => sum + p.bytes, 0) }; }).filter((k) => k.bytes > 0);
}
function drawTreemap(c, g) {
  const groups = kindsOf(c.space);
  squarify(groups, 1, 1, c.width_ - 2, c.height - 2);
  c.leaves = [];
  g.font = FONT; g.textAlign = "left";
  for (const group of groups) {
    squarify(group.parts, ...group.rect);
    for (const leaf of group.parts) { c.leaves.push({ ...leaf }); drawLeaf(g, leaf); }
  }
  for (const group of groups) { g.strokeStyle = palette.text; g.lineWidth = 2; g.strokeRect(...group.rect); }
  fillTreemapFacts(c, groups);
}
function drawLeaf(g, leaf) {
  const [x, y, w, h] = leaf.rect;
  g.fillStyle = leaf.kind === "hole" ? palette.plot : leaf.colour < 0 ? palette.line : fillOf(leaf.colour, false);
  g.fillRect(x, y, w, h);
  if (leaf.kind !== "data") { g.fillStyle = leaf.kind === "hole" ? palette.reserved : palette.dots; g.fillRect(x, y, w, h); }
  g.strokeStyle = palette.dark ? "#ffffff40" : "#00000048"; g.lineWidth = 1;
  if (w > 3 && h > 3) g.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
  const text = labelFor(g, leaf.label + (leaf.kind === "padding" ? " padding" : leaf.kind === "hole" && leaf.at >= 0 ? " at " + addressText(leaf.at) : ""), w - 10), size = bytesText(leaf.bytes);
  if (!text || h < 16) return;
  const rows = h > 34 && widthOf(g, size) <= w - 10 ? [text, size] : [text];
  g.fillStyle = leaf.kind === "data" ? palette.text : palette.back;
  if (leaf.kind !== "data") { g.globalAlpha = 0.85; g.fillRect(x + 3, y + 3, Math.max(...rows.map((row) => widthOf(g, row))) + 5, 14 * rows.length + 2); g.globalAlpha = 1; }
  g.fillStyle = palette.text;
  rows.forEach((row, k) => g.fillText(row, x + 6, y + 14 + 14 * k));
}
function fillTreemapFacts(c, groups) {
  const { height } = wasteOf(c.space);
  const text = groups.map((group) => group.label + " " + bothBytes(group.bytes) + ", " + percent(group.bytes, height));
  c.legend.replaceChildren(element("span", {}, element("b", {}, "height " + bothBytes(height)), " at the live peak, " + timeText(c.space.peakTime) + ":"), ...text.map((part) => element("span", {}, part)));
  c.canvas.setAttribute("aria-label", "treemap of " + clean(c.space.title) + ": height " + bothBytes(height) + "; " + text.join("; "));
}
function leafUnder(c, x, y) {
  const leaf = (c.leaves || []).find(({ rect: [lx, ly, w, h] }) => x >= lx && x < lx + w && y >= ly && y < ly + h);
  return leaf ? { key: "leaf " + spaces.indexOf(c.space) + " " + leaf.kind + leaf.label + leaf.at, leaf, card: () => leafCard(c.space, leaf), search: leaf.kind === "hole" || leaf.colour < 0 ? null : searchKey(leaf.label) } : null;
}
function leafCard(s, leaf) {
  const { height } = wasteOf(s), rows = [["size", bothBytes(leaf.bytes)], ["share", percent(leaf.bytes, height) + " of the height"]];
  if (leaf.kind === "hole" && leaf.at >= 0) rows.push(["bytes", addressText(leaf.at) + " to " + addressText(leaf.at + leaf.bytes)]);
  if (leaf.kind !== "hole" && leaf.count > 1) rows.push(["boxes", plain(leaf.count)]);
  return [element("div", { class: "name" }, shorten(leaf.label, 200)), element("div", { class: "muted" }, { data: "data", padding: "padding: beyond what the data need", hole: "no box is there" }[leaf.kind] + ", at " + timeText(s.peakTime)), factsList(rows)];
}
function overTreemap(c, g) {
  for (const mark of [state.hover, state.pinned]) {
    const leaf = mark && mark.leaf && (c.leaves || []).find((other) => other.kind === mark.leaf.kind && other.label === mark.leaf.label && other.at === mark.leaf.at);
    if (leaf && mark.key.startsWith("leaf " + spaces.indexOf(c.space) + " ")) { g.strokeStyle = mark === state.pinned ? palette.accent : palette.text; g.lineWidth = 2.5; g.strokeRect(...leaf.rect); }
  }
}

// ---- building -------------------------------------------------------------------------------------------

// The views of one memory, after its map: hidden until they are asked for.
function buildViews(s, section) {
  const stacked = element("div", { class: "legend" }), facts = element("div", { class: "legend" });
  section.append(facts);
  addChart("stacked", section, 300 + AXIS, drawStackedWithLegend, overStacked, { space: s, views: ["stacked"], by: ["tensor", "agent"], legend: stacked, under: stackUnder, extra: () => state.by });
  section.append(stacked);
  addChart("treemap", section, 340, drawTreemap, overTreemap, { space: s, views: ["treemap"], legend: facts, under: leafUnder, timeless: true });
  s.extras = [[stacked, "stacked"], [facts, "treemap"]];
}
function buildMemories() {
  if (comparing || spaces.length < 2) return;
  const section = element("section", { class: "space", "data-view": "stacked", "data-by": "memory" }, element("div", { class: "head" }, element("h2", {}, "all memories"), element("span", { class: "muted" }, "live bytes in all lanes")));
  const legend_ = element("div", { class: "legend" });
  byId("charts").append(section);
  addChart("stacked", section, 300 + AXIS, drawStackedWithLegend, overStacked, { all: true, views: ["stacked"], by: ["memory"], legend: legend_, under: stackUnder });
  section.append(legend_);
}
function buildSwitch() {
  const nav = element("nav", { id: "views", role: "tablist", "aria-label": "views" });
  for (const view of views) {
    const button = element("button", { role: "tab", title: view.about + " (v)", onclick: () => setView(view.id) }, view.label);
    button.dataset.id = view.id;
    nav.append(button);
  }
  const select = element("select", { id: "by", onchange: () => setView(state.view, select.value) }, element("option", { value: "tensor" }, "tensor"));
  if (hasAgents) select.append(element("option", { value: "agent" }, "agent"));
  if (!comparing && spaces.length > 1) select.append(element("option", { value: "memory" }, "memory"));
  nav.append(element("label", { class: "muted" }, "by ", select));
  nav.append(element("button", { id: "ranging", title: "drag to select a range of time (r), or hold Shift", "aria-pressed": "false", onclick: toggleRanging }, "select a range"));
  byId("charts").prepend(nav, element("p", { id: "range-text", role: "status" }));
}
