// SPDX-License-Identifier: Apache-2.0
//
// The page of a report: what makes 10^5 boxes readable. Which of them can be seen, what is below a pixel as strips of
// density, families of names, and the whole as a small map with the window that is shown. All of it depends on the data and
// the view alone, so the same view is the same picture.

const FEW = 1000; // boxes that are drawn one by one, whatever their size

// ---- which boxes can be seen -----------------------------------------------------------------

// Boxes are in the order of their begins; per BLOCK of them, the last end.
const BLOCK = 256;
function indexTimes(s) {
  s.reach = new Float64Array(Math.ceil(s.n / BLOCK)).fill(-Infinity);
  for (let i = 0; i < s.n; i++) if (s.end[i] > s.reach[i / BLOCK | 0]) s.reach[i / BLOCK | 0] = s.end[i];
}
// Boxes with a moment in [t0, t1], in their order.
function eachAlive(s, t0, t1, visit) {
  for (let block = 0; block < s.reach.length; block++) {
    if (s.begin[block * BLOCK] > t1) return;
    if (s.reach[block] < t0) continue;
    for (let i = block * BLOCK; i < s.n && i < (block + 1) * BLOCK; i++) {
      if (s.begin[i] > t1) return;
      if (s.end[i] >= t0) visit(i);
    }
  }
}

// ---- strips of density -----------------------------------------------------------------------

const LEAST_PART = 0.25; // pixels that the smallest box covers, so that it is seen
function rgbOf(style) {
  let rgb = palette.rgb.get(style);
  if (!rgb) {
    const g = document.createElement("canvas").getContext("2d");
    g.fillStyle = style; g.fillRect(0, 0, 1, 1);
    rgb = Array.from(g.getImageData(0, 0, 1, 1).data.slice(0, 3), (v) => v / 255);
    palette.rgb.set(style, rgb);
  }
  return rgb;
}
// A grid of lines with pixels along them. A strip changes the sums at its two ends only: each pixel is the sum of what is
// before it on its line. Four numbers a pixel: how much of it is covered, and the colours of that.
const newGrid = (lines, length) => ({ lines, stride: length + 2, sums: new Float32Array(4 * lines * (length + 2)) });
function addAt(sums, at, part, rgb) {
  sums[at] += part; sums[at + 1] += part * rgb[0]; sums[at + 2] += part * rgb[1]; sums[at + 3] += part * rgb[2];
}
function addStrip(grid, from, to, low, high, rgb) {
  if (to - from < LEAST_PART) to = from + LEAST_PART;
  if (high - low < LEAST_PART) high = low + LEAST_PART;
  from = Math.max(from, 0); to = Math.min(to, grid.stride - 2);
  if (!(to > from)) return;
  const i = Math.floor(from), j = Math.floor(to), f = from - i, e = to - j;
  for (let line = Math.max(Math.floor(low), 0); line < high && line < grid.lines; line++) {
    const part = Math.min(high, line + 1) - Math.max(low, line), at = 4 * line * grid.stride;
    addAt(grid.sums, at + 4 * i, part * (1 - f), rgb); addAt(grid.sums, at + 4 * (i + 1), part * f, rgb);
    addAt(grid.sums, at + 4 * j, -part * (1 - e), rgb); addAt(grid.sums, at + 4 * (j + 1), -part * e, rgb);
  }
}
// Sums along the lines, each pixel added to those of a picture, which `pixel` numbers.
function addGrid(grid, cells, pixel) {
  for (let line = 0; line < grid.lines; line++) {
    let cover = 0, r = 0, g = 0, b = 0;
    for (let k = 0, at = 4 * line * grid.stride; k < grid.stride - 2; k++, at += 4) {
      cover += grid.sums[at]; r += grid.sums[at + 1]; g += grid.sums[at + 2]; b += grid.sums[at + 3];
      if (cover < 1e-3) continue;
      const to = 4 * pixel(line, k);
      cells[to] += cover; cells[to + 1] += r; cells[to + 2] += g; cells[to + 3] += b;
    }
  }
}
// A picture of the cells: their mean colours, the denser the stronger.
function paintCells(cells, width, height) {
  const canvas = document.createElement("canvas"), g = canvas.getContext("2d");
  canvas.width = width; canvas.height = height;
  const image = g.createImageData(width, height);
  for (let k = 0; k < cells.length; k += 4) {
    const cover = cells[k];
    if (cover === 0) continue;
    for (let c = 0; c < 3; c++) image.data[k + c] = 255 * cells[k + 1 + c] / cover;
    image.data[k + 3] = 255 * Math.min(0.15 + 0.85 * cover, 1);
  }
  g.putImageData(image, 0, 0);
  return canvas;
}
// The boxes of a view: numbers of those with a pixel or more of their own (if asked for), and a picture of all others.
function mergeBoxes(s, view, width, height, wanted, split) {
  const w = Math.max(Math.ceil(width), 1), h = Math.max(Math.ceil(height), 1), across = newGrid(h, w);
  const kx = width / (view.t1 - view.t0), ky = height / (view.a1 - view.a0), large = [];
  let merged = 0, down = null;
  eachAlive(s, view.t0, view.t1, (i) => {
    if ((wanted && !wanted[i]) || !placed(s, i) || !inLane(s, i)) return;
    const x0 = (s.begin[i] - view.t0) * kx, x1 = (s.end[i] - view.t0) * kx, y0 = (view.a1 - s.byte[i] - s.bytes[i]) * ky, y1 = (view.a1 - s.byte[i]) * ky;
    if (y1 < 0 || y0 > height) return;
    if (split && x1 - x0 >= 1 && y1 - y0 >= 1) { large.push(i); return; }
    merged++;
    const rgb = rgbOf(boxFill(s, i));
    if (y1 - y0 <= x1 - x0) addStrip(across, x0, x1, y0, y1, rgb);
    else addStrip(down ??= newGrid(w, h), y0, y1, x0, x1, rgb);
  });
  if (merged === 0) return { large, merged, picture: null };
  const cells = new Float32Array(4 * w * h);
  addGrid(across, cells, (line, k) => line * w + k);
  if (down) addGrid(down, cells, (line, k) => k * w + line);
  return { large, merged, picture: paintCells(cells, w, h) };
}
// Bars of one row of the timeline that have less than a pixel, as one strip.
function mergeBars(c, g, bars) {
  const w = Math.max(Math.ceil(plotWidth(c)), 1), rows = c.report.rows.length, grid = newGrid(rows, w), critical = new Uint8Array(rows * w);
  for (const k of bars) {
    const bar = c.report.bars[k], x = X(c, bar[1]) - left, row = bar[0];
    addStrip(grid, x, X(c, bar[2]) - left, row, row + 1, rgbOf(fillOf(c.report.barColours[k], false)));
    if (bar[4] && x >= 0 && x < w) critical[row * w + Math.floor(x)] = 1;
  }
  const cells = new Float32Array(4 * rows * w);
  addGrid(grid, cells, (line, k) => line * w + k);
  const picture = paintCells(cells, w, rows);
  g.imageSmoothingEnabled = false;
  for (let row = 0; row < rows; row++) { const [y, h] = c.report.bands[row]; g.drawImage(picture, 0, row, w, 1, left, c.top + y, w, h); }
  g.fillStyle = palette.bad;
  for (let k = 0; k < critical.length; k++) if (critical[k]) { const [y, h] = c.report.bands[Math.floor(k / w)]; g.fillRect(left + k % w, c.top + y + h - foot(h), 1, foot(h)); }
}

// The curve of live bytes: where several steps share a pixel, the least and the most of them.
function traceLive(c, g, y, base) {
  const s = c.space, last = s.live.length / 2;
  let k = 0, high = last;
  while (k < high) { const middle = (k + high) >> 1; if (s.live[2 * middle] < state.t0) k = middle + 1; else high = middle; }
  let level = k > 0 ? s.live[2 * k - 1] : 0, points = 2;
  g.beginPath(); g.moveTo(left, base); g.lineTo(left, y(level));
  while (k < last && s.live[2 * k] <= state.t1) {
    const pixel = Math.floor(X(c, s.live[2 * k])), first = k;
    let low = level, most = level;
    for (; k < last && s.live[2 * k] <= state.t1 && (k === first || Math.floor(X(c, s.live[2 * k])) === pixel); k++) {
      low = Math.min(low, s.live[2 * k + 1]); most = Math.max(most, s.live[2 * k + 1]);
    }
    const x = k === first + 1 ? X(c, s.live[2 * first]) : pixel + 0.5;
    g.lineTo(x, y(level));
    if (k > first + 1) { g.lineTo(x, y(most)); g.lineTo(x, y(low)); points += 2; }
    level = s.live[2 * k - 1];
    g.lineTo(x, y(level));
    points += 2;
  }
  const end = X(c, Math.min(axis.end, state.t1));
  g.lineTo(end, y(level)); g.lineTo(end, base); g.closePath();
  c.points = points + 2;
}

// ---- families --------------------------------------------------------------------------------

// Where the next part of a name ends: at a separator, or before the number at its end.
const isDigit = (code) => code >= 48 && code <= 57;
function partEnd(name, from) {
  let k = from;
  while (k < name.length && ".:/[#_".includes(name[k])) k++;
  for (const start = k; k < name.length; k++) {
    if (".:/[#".includes(name[k])) return k;
    if (k > start && isDigit(name.charCodeAt(k)) && !isDigit(name.charCodeAt(k - 1)) && /^\d+$/.test(name.slice(k))) return k;
  }
  return name.length;
}
// A family: names that begin alike. `ids` are numbers of strings; parts are families of one more part of the name.
const newFamily = (key, depth, parent) => ({ key, depth, parent, ids: [], parts: null, open: false, colour: 0, boxes: 0, bytes: 0, peak: 0 });
function splitFamily(s, family) {
  if (family.parts) return family.parts;
  const parts = new Map();
  for (const id of family.ids) {
    const name = s.report.strings[id] || "(unnamed)", key = name.slice(0, partEnd(name, family.key.length));
    let part = parts.get(key);
    if (!part) parts.set(key, part = newFamily(key, family.depth + 1, family));
    part.ids.push(id);
    part.boxes += s.uses[id]; part.bytes = Math.max(part.bytes, s.widest[id]); part.peak += s.alive[id];
  }
  family.parts = [...parts.values()];
  return family.parts;
}
// A part that is alone is the family itself, with a longer name; and one that has only boxes of its own is not opened.
function partsOf(s, family) {
  let parts = splitFamily(s, family);
  while (parts.length === 1 && parts[0].key.length > family.key.length && parts[0].ids.length > 1) {
    family.key = parts[0].key;
    family.parts = null;
    parts = splitFamily(s, family);
  }
  return parts;
}
const canOpen = (family) => family.ids.length > 1; // different names differ in some part

const FAMILIES_FIRST = 24; // families at first
function buildFamilies(s) {
  const strings = s.report.strings, root = newFamily("", 0, null);
  s.uses = new Uint32Array(strings.length); s.widest = new Float64Array(strings.length); s.alive = new Float64Array(strings.length);
  for (let i = 0; i < s.n; i++) {
    const id = s.name[i];
    if (s.uses[id]++ === 0) root.ids.push(id);
    s.widest[id] = Math.max(s.widest[id], s.bytes[i]);
  }
  for (const number of s.peakBoxes) { const i = s.index.get(number); s.alive[s.name[i]] += s.bytes[i]; }
  s.families = root;
  root.open = true;
  // Level by level, as long as all of them are few; one that has most boxes is opened alone, too.
  for (let more = true; more;) {
    const closed = shownFamilies(s).filter((f) => !f.open), next = closed.filter(canOpen), half = next.filter((f) => f.boxes > s.n / 2);
    const fits = (list) => list.length > 0 && closed.length + list.length <= FAMILIES_FIRST && list.reduce((sum, f) => sum + partsOf(s, f).length - 1, closed.length) <= FAMILIES_FIRST;
    const chosen = fits(next) ? next : fits(half) ? half : [];
    for (const family of chosen) family.open = true;
    more = chosen.length > 0;
  }
  colourFamilies(s);
}
// Families from above, those that are open before their parts.
function shownFamilies(s) {
  const out = [], walk = (family) => { for (const part of partsOf(s, family)) { out.push(part); if (part.open) walk(part); } };
  walk(s.families);
  return out;
}
// Each family that is not open has a colour, and its boxes have it.
function colourFamilies(s) {
  const colours = new Uint8Array(s.report.strings.length), families = new Array(s.report.strings.length);
  let turn = 0;
  for (const family of shownFamilies(s)) {
    if (family.open) continue;
    family.colour = turn++ % COLOURS.length;
    for (const id of family.ids) { colours[id] = family.colour; families[id] = family; }
  }
  for (let i = 0; i < s.n; i++) s.colour[i] = colours[s.name[i]];
  s.familyOf = families;
  s.painted = (s.painted || 0) + 1; // charts are drawn again
}
function toggleFamily(s, family) {
  family.open = !family.open;
  colourFamilies(s);
  fillParts(s);
  if (["peak", "boxes"].includes(state.tab)) showPanel();
  refresh();
}
// What a box counts to in lists: its family, or its tensor.
const groupOf = (s, i) => (s.families ? familyName(s.familyOf[s.name[i]]) : stem(ownName(s, i)));
const familyName = (family) => clean(family.key) + (family.ids.length > 1 ? "\u2026" : "");

// The legend of families: a button opens or closes one, its name searches for it.
function familyTree(s) {
  const entries = element("div", { class: "entries tree" }), input = element("input", { type: "search", placeholder: "find a family", "aria-label": "find a family of names" }), most = 200;
  const fill = () => {
    const wanted = input.value.trim().toLowerCase(), found = shownFamilies(s).filter((f) => clean(f.key).toLowerCase().includes(wanted));
    entries.replaceChildren(...found.slice(0, most).map((family) => familyRow(s, family)),
      element("span", {}, found.length > most ? "and " + plain(found.length - most) + " more" : found.length === 0 ? "no family of this name" : ""));
  };
  input.addEventListener("input", fill);
  fill();
  const details = element("details", { class: "families" }, element("summary", {}, plain(shownFamilies(s).filter((f) => !f.open).length) + " families of " + plain(s.families.ids.length) + " names"), input, entries);
  details.open = s.treeOpen === true;
  details.addEventListener("toggle", () => { s.treeOpen = details.open; });
  return details;
}
function familyRow(s, family) {
  const swatch = element("i"), name = familyName(family), opens = canOpen(family);
  swatch.style.background = family.open ? "transparent" : fillOf(family.colour, false);
  const toggle_ = element("button", { class: "fold", "aria-expanded": String(family.open), "aria-label": (family.open ? "close " : "open ") + name, onclick: () => toggleFamily(s, family) }, opens ? (family.open ? "\u25be" : "\u25b8") : "");
  if (!opens) toggle_.disabled = true;
  const row = element("div", { class: "family" }, toggle_, swatch, element("button", { title: name + ": search for it", onclick: () => { byId("search").value = clean(family.key); search(clean(family.key)); } },
    element("b", {}, shorten(name, 48)), " " + plain(family.boxes) + (family.boxes === 1 ? " box" : " boxes") + (family.peak > 0 ? ", " + bytesText(family.peak) + " at the peak" : "")));
  row.style.paddingLeft = 14 * (family.depth - 1) + "px";
  return row;
}

// ---- the whole ---------------------------------------------------------------------------------

const MINI = 46; // pixels
const wholeView = (c) => ({ t0: axis.begin, t1: axis.end, a0: c.space.full[0], a1: c.space.full[1] });
function drawMini(c, g) {
  const s = c.space, width = plotWidth(c);
  g.fillStyle = palette.plot; g.fillRect(left, 0, width, MINI);
  const { picture } = mergeBoxes(s, wholeView(c), width, MINI, null, false);
  if (picture) { g.imageSmoothingEnabled = false; g.drawImage(picture, left, 0); }
  g.font = FONT; g.textAlign = "right"; g.fillStyle = palette.muted;
  g.fillText("all", left - 8, MINI / 2 + 4);
}
// The window that is shown, in pixels of the small map.
function miniWindow(c) {
  const whole = wholeView(c), width = plotWidth(c), s = c.space, part = (v, from, to, size) => Math.max(0, Math.min((v - from) / (to - from), 1)) * size;
  const x0 = part(state.t0, whole.t0, whole.t1, width), x1 = part(state.t1, whole.t0, whole.t1, width);
  const y0 = MINI - part(s.a1, whole.a0, whole.a1, MINI), y1 = MINI - part(s.a0, whole.a0, whole.a1, MINI);
  return { x0, y0, x1: Math.max(x1, x0 + 4), y1: Math.max(y1, y0 + 4) };
}
function overMini(c, g) {
  const { x0, y0, x1, y1 } = miniWindow(c), width = plotWidth(c);
  g.save(); g.beginPath(); g.rect(left, 0, width, MINI); g.clip();
  g.fillStyle = palette.back; g.globalAlpha = 0.6;
  g.fillRect(left, 0, x0, MINI); g.fillRect(left + x1, 0, width - x1, MINI); g.fillRect(left + x0, 0, x1 - x0, y0); g.fillRect(left + x0, y1, x1 - x0, MINI - y1);
  g.globalAlpha = 1;
  g.restore();
  g.strokeStyle = palette.accent; g.lineWidth = 1.5; g.strokeRect(left + x0 + 0.75, y0 + 0.75, Math.max(x1 - x0 - 1.5, 2), Math.max(y1 - y0 - 1.5, 2));
}
// The window follows the pointer; a click beside it brings it there.
function listenMini(chart) {
  const canvas = chart.canvas, s = chart.space;
  let grip = null;
  const point = (event) => { const r = canvas.getBoundingClientRect(); return [event.clientX - r.left - left, event.clientY - r.top]; };
  const moveTo = (x, y) => {
    const whole = wholeView(chart), t = whole.t0 + x / plotWidth(chart) * (whole.t1 - whole.t0), a = whole.a1 - y / MINI * (whole.a1 - whole.a0);
    const time = state.t1 - state.t0, span = s.a1 - s.a0, full = span >= (whole.a1 - whole.a0) * 0.999;
    for (const other of full ? [] : sameName(s)) {
      const a0 = Math.max(whole.a0, Math.min(a - span / 2, whole.a1 - span));
      other.a0 = a0; other.a1 = a0 + span;
    }
    setTimes(t - time / 2, t + time / 2);
  };
  canvas.addEventListener("pointerdown", (event) => {
    const [x, y] = point(event), w = miniWindow(chart), inside = x >= w.x0 && x <= w.x1 && y >= w.y0 && y <= w.y1;
    grip = inside ? [x - (w.x0 + w.x1) / 2, y - (w.y0 + w.y1) / 2] : [0, 0];
    canvas.setPointerCapture(event.pointerId);
    canvas.classList.add("dragging");
    if (!inside) moveTo(x, y);
    event.preventDefault();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!grip) return;
    const [x, y] = point(event);
    moveTo(x - grip[0], y - grip[1]);
  });
  for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, () => { grip = null; canvas.classList.remove("dragging"); });
}
function addMini(s, section) {
  if (s.n <= FEW) return;
  const canvas = element("canvas", { role: "img", class: "mini", "aria-label": "all of " + clean(s.title) + "; the frame is what the map below shows, and can be dragged" });
  canvas.style.height = MINI + "px";
  const chart = { kind: "mini", canvas, height: MINI, draw: drawMini, over: overMini, base: document.createElement("canvas"), key: "", space: s, top: 0, plot: MINI, views: ["map"],
    keyOf: (c) => [left, right, c.width_, c.ratio, palette.dark, s.only, s.painted, ...s.full].join() };
  section.append(canvas);
  charts.push(chart);
  listenMini(chart);
}

function prepareSpace(s) {
  indexTimes(s);
  if (s.grouped && !comparing) buildFamilies(s);
}
spaces.forEach(prepareSpace);
