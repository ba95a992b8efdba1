// SPDX-License-Identifier: Apache-2.0
//
// The page of a report, second part: drawing. One time axis for all charts, one address axis for
// each space. A chart has a layer that is drawn when the view changes, and what follows the
// pointer on top of it.

// ---- colours ---------------------------------------------------------------------------------

let palette = {};
function readPalette() {
  const css = getComputedStyle(document.documentElement), dark = document.documentElement.classList.contains("dark");
  const get = (name) => css.getPropertyValue("--" + name).trim();
  palette = {
    dark, text: get("text"), muted: get("muted"), grid: get("grid"), plot: get("plot"), line: get("line"), bad: get("bad"),
    accent: get("accent"), back: get("back"), good: get("good"), warn: get("warn"), styles: new Map(), rgb: new Map(),
  };
  palette.hatch = pattern(8, (g) => {
    g.fillStyle = dark ? "#4a1513" : "#ffe3e0"; g.fillRect(0, 0, 8, 8);
    g.strokeStyle = palette.bad; g.lineWidth = 2.4; stripes(g, 8);
  });
  palette.reserved = pattern(8, (g) => { g.strokeStyle = palette.line; g.lineWidth = 1; stripes(g, 8); });
  palette.dots = pattern(4, (g) => { g.fillStyle = dark ? "#ffffff70" : "#00000060"; g.fillRect(1, 1, 1.4, 1.4); });
  palette.wait = pattern(6, (g) => {
    g.globalAlpha = 0.16; g.fillStyle = palette.warn; g.fillRect(0, 0, 6, 6);
    g.globalAlpha = 0.9; g.strokeStyle = palette.warn; g.lineWidth = 1.1; stripes(g, 6);
  });
}
function pattern(size, paint) {
  const c = document.createElement("canvas");
  c.width = c.height = size;
  paint(c.getContext("2d"));
  return c.getContext("2d").createPattern(c, "repeat");
}
function stripes(g, size) {
  g.beginPath();
  for (const d of [-size, 0, size]) { g.moveTo(d, size); g.lineTo(d + size, 0); }
  g.stroke();
}
function fillOf(colour, odd) {
  const key = colour * 2 + (odd ? 1 : 0);
  let style = palette.styles.get(key);
  if (!style) {
    const [hue, strong, bright] = COLOURS[colour], light = bright - (odd ? 6 : 0);
    style = palette.dark ? "hsl(" + hue + "," + Math.round(strong * 0.7) + "%," + Math.round((light - 56) * 0.8 + 19) + "%)" : "hsl(" + hue + "," + strong + "%," + light + "%)";
    palette.styles.set(key, style);
  }
  return style;
}
// States of a comparison: bits of the library.
const MOVED = 1, SIZED = 2, TIMED = 4, GONE = 8, NEW = 16;
const stateNames = [[GONE, "gone"], [NEW, "new"], [MOVED, "moved"], [SIZED, "sized"], [TIMED, "timed"]];
function changeFill(bits) {
  const d = palette.dark;
  if (bits & GONE) return d ? "#6e2b2b" : "#ffc1bc";
  if (bits & NEW) return d ? "#1f5a31" : "#aceebb";
  if (bits & SIZED) return d ? "#6b4a12" : "#fae17d";
  if (bits & MOVED) return d ? "#1f4c86" : "#b6dcff";
  if (bits & TIMED) return d ? "#4a3a78" : "#e0d0ff";
  return d ? "#22272e" : "#e7ebef";
}
const boxFill = (s, i) => (comparing ? changeFill(s.state[i]) : fillOf(s.colour[i], s.slots[i] > 0 && s.slot[i] % 2 === 1));

// ---- view -----------------------------------------------------------------------------------

let left = 84, right = 14; // margins of all charts; the right one has room for lanes
const plotWidth = (c) => c.width_ - left - right;
const X = (c, t) => left + (t - state.t0) / (state.t1 - state.t0) * plotWidth(c);
const T = (c, x) => state.t0 + (x - left) / plotWidth(c) * (state.t1 - state.t0);
const Y = (c, a) => c.top + (c.space.a1 - a) / (c.space.a1 - c.space.a0) * c.plot;
const A = (c, y) => c.space.a1 - (y - c.top) / c.plot * (c.space.a1 - c.space.a0);

const sameName = (s) => spaces.filter((other) => other.title === s.title);

// What is used; with the limit in sight when it is near, or when it was asked for.
function fitAddresses(s) {
  const all = sameName(s).map((o) => o.own || o); // a plan with a change keeps the axis
  const low = Math.min(...all.map((o) => o.low)), top = Math.max(...all.map((o) => o.top), low + 1);
  const limit = Math.max(...all.map((o) => (state.whole ? Math.max(o.size, o.usable) : o.usable)));
  const near = limit > top && limit - low <= (top - low) * 4 / 3;
  s.a0 = low;
  s.a1 = limit > top && (near || state.whole) ? limit : top + (top - low) * 0.02;
  s.full = [s.a0, s.a1];
}
function fit() {
  state.t0 = axis.begin; state.t1 = axis.end;
  spaces.forEach(fitAddresses);
  refresh();
}
function setTimes(t0, t1) {
  const whole = axis.end - axis.begin, span = Math.min(Math.max(t1 - t0, whole * 1e-7, 1e-3), whole);
  if (t1 - t0 !== span) { const middle = (t0 + t1) / 2; t0 = middle - span / 2; }
  t0 = Math.max(axis.begin, Math.min(t0, axis.end - span));
  state.t0 = t0; state.t1 = t0 + span;
  refresh();
}
function zoomTime(factor, at) {
  const t = at === undefined ? (state.cursor !== null ? state.cursor : (state.t0 + state.t1) / 2) : at;
  setTimes(t - (t - state.t0) * factor, t + (state.t1 - t) * factor);
}
function zoomAddress(list, factor, at) {
  for (const s of list) {
    const a = at === undefined ? (s.a0 + s.a1) / 2 : at;
    const span = Math.max((s.a1 - s.a0) * factor, 4);
    s.a0 = a - (a - s.a0) / (s.a1 - s.a0) * span;
    s.a1 = s.a0 + span;
  }
  refresh();
}
const panTime = (part) => { const d = (state.t1 - state.t0) * part; setTimes(state.t0 + d, state.t1 + d); };
function panAddress(list, part) {
  for (const s of list) { const d = (s.a1 - s.a0) * part; s.a0 += d; s.a1 += d; }
  refresh();
}

// ---- draw -----------------------------------------------------------------------------------

let waiting = false;
function refresh() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; drawAll(); });
}
// What a chart shows without pointer and pins; drawn again only when this changes.
function baseKey(c) {
  const s = c.space, parts = [state.t0, state.t1, left, right, c.width_, c.ratio, palette.dark, state.hex, state.whole];
  if (s) parts.push(s.a0, s.a1, s.only, s.painted);
  if (c.extra) parts.push(c.extra());
  return parts.join();
}
const keyOf = (c) => (c.keyOf ? c.keyOf(c) : baseKey(c));
function layer(c, canvas, draw) {
  canvas.width = c.canvas.width; canvas.height = c.canvas.height; // also clears it
  const g = canvas.getContext("2d");
  g.setTransform(c.ratio, 0, 0, c.ratio, 0, 0);
  draw(c, g);
  c.layers = (c.layers || 0) + 1;
}
// What was searched for, on a layer of its own above a veil: the map below is not drawn again.
function drawFound(c, g) {
  if (state.query === "" || c.kind !== "map") return;
  const key = c.key + "\n" + state.query;
  if (c.foundKey !== key) {
    c.foundKey = key;
    c.found ??= document.createElement("canvas");
    layer(c, c.found, drawHits);
  }
  g.globalAlpha = 0.8; g.fillStyle = palette.plot; g.fillRect(left, c.top, plotWidth(c), c.plot); g.globalAlpha = 1;
  g.setTransform(1, 0, 0, 1, 0, 0);
  g.drawImage(c.found, 0, 0);
  g.setTransform(c.ratio, 0, 0, c.ratio, 0, 0);
}
function drawAll() {
  const shown = charts.filter((c) => !c.canvas.hidden);
  if (shown.some((c) => c.key !== keyOf(c))) lookAgain();
  for (const c of shown) {
    const key = keyOf(c), g = c.canvas.getContext("2d");
    if (c.key !== key) {
      c.key = key;
      layer(c, c.base, c.draw);
    }
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, c.canvas.width, c.canvas.height);
    g.drawImage(c.base, 0, 0);
    g.setTransform(c.ratio, 0, 0, c.ratio, 0, 0);
    drawFound(c, g);
    c.over(c, g);
  }
  showReadouts();
  followLink();
}
// The left margin has room for what stands there; a narrow page has less, and shorter labels.
function leftMargin(wide) {
  const g = document.createElement("canvas").getContext("2d"), [least, most] = wide ? [84, 170] : [58, 92];
  g.font = FONT;
  const labels = spaces.map((s) => bytesText(Math.max(s.peak, 0)));
  if (wide) for (const s of spaces) labels.push(addressText(Math.max(s.top, s.usable, s.size, -s.low)));
  for (const c of charts) if (c.kind === "map" && c.space.full) { const [a0, a1] = c.space.full, step = niceStep(a1 - a0, c.plot / 48, true); labels.push(tickText(Math.floor(a1 / step) * step, step)); }
  for (const r of reports) labels.push(...r.rows.map((row) => shorten(clean(row), 40)));
  const widest = labels.reduce((width, text) => Math.max(width, widthOf(g, text)), 0);
  const folds = reports.some((r) => r.groups.some(canFold)) ? 12 : 0; // room for the marks of groups
  return Math.ceil(Math.min(Math.max(widest + 14 + folds, least), most + folds));
}
function resize() {
  const wide = document.documentElement.clientWidth >= 600;
  document.documentElement.style.setProperty("--head", document.querySelector("header").offsetHeight + "px");
  left = leftMargin(wide);
  for (const c of charts) if (c.folds) showFolds(c);
  right = wide && spaces.some((s) => s.laneCount > 1) ? 130 : 14;
  for (const c of charts) {
    c.ratio = window.devicePixelRatio || 1;
    c.width_ = Math.max(c.canvas.clientWidth, 200);
    c.canvas.width = Math.round(c.width_ * c.ratio);
    c.canvas.height = Math.round(c.height * c.ratio);
  }
  drawAll();
}

const FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

function niceStep(span, ticks, binary) {
  const rough = Math.max(span / ticks, 1);
  if (binary) return Math.pow(2, Math.ceil(Math.log2(rough)));
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  for (const k of [1, 2, 5, 10]) if (k * power >= rough) return k * power;
  return 10 * power;
}

// What the axis shows. A number of an event says what comes first, not how long it takes.
function axisTitle() {
  if (["ns", "assumed ns", "cycles"].includes(axis.unit)) return "time in " + axis.unit;
  if (["event", "statement", "row"].includes(axis.unit)) return "number of the " + axis.unit + ": an order, not time";
  return axis.unit === "steps" ? "steps, not time" : axis.unit;
}
const AXIS = 34; // pixels: ticks, and the title below them
function drawTimeAxis(c, g, y) {
  const step = niceStep(state.t1 - state.t0, plotWidth(c) / 90, false);
  g.font = FONT; g.textAlign = "center"; g.fillStyle = palette.muted; g.strokeStyle = palette.grid;
  for (let t = Math.ceil(state.t0 / step) * step; t <= state.t1; t += step) {
    const x = Math.round(X(c, t)) + 0.5, half = widthOf(g, plain(t)) / 2;
    g.beginPath(); g.moveTo(x, y); g.lineTo(x, y + 4); g.stroke();
    if (x > left - 1) g.fillText(plain(t), Math.min(x, c.width_ - half - 1), y + 14);
  }
  g.textAlign = "right";
  g.fillText(axisTitle(), c.width_ - right, y + 28);
}

function drawCursor(c, g, top, bottom) {
  const t = state.cursor;
  if (t === null || t < state.t0 || t > state.t1) return;
  g.strokeStyle = palette.accent; g.lineWidth = 1;
  const x = Math.round(X(c, t)) + 0.5;
  g.beginPath(); g.moveTo(x, top); g.lineTo(x, bottom); g.stroke();
}

function clipPlot(c, g, top, height) {
  g.save(); g.beginPath(); g.rect(left, top, plotWidth(c), height); g.clip();
}

function drawGround(c, g) {
  const s = c.space, width = plotWidth(c);
  g.fillStyle = palette.plot; g.fillRect(left, c.top, width, c.plot);
  clipPlot(c, g, c.top, c.plot);
  if (s.usable >= 0 && s.usable < s.a1) {
    const y = Y(c, s.usable);
    g.fillStyle = palette.reserved; g.fillRect(left, c.top, width, y - c.top);
  }
  const bankPixels = s.bank > 0 ? s.bank / (s.a1 - s.a0) * c.plot : 0;
  const step = bankPixels > 3 ? s.bank : niceStep(s.a1 - s.a0, 6, true);
  g.strokeStyle = bankPixels > 3 ? palette.line : palette.grid; g.lineWidth = 1;
  if (bankPixels > 3) g.setLineDash([3, 3]);
  for (let a = Math.ceil(s.a0 / step) * step; a <= s.a1; a += step) {
    const y = Math.round(Y(c, a)) + 0.5;
    g.beginPath(); g.moveTo(left, y); g.lineTo(left + width, y); g.stroke();
  }
  g.setLineDash([]);
  g.restore();
}

// A multiple of a step, exactly, in the largest unit that two steps consist of.
function tickText(a, step) {
  let unit = 0;
  while (step % 512 === 0) { step /= 1024; a /= 1024; unit++; } // halves too
  return a === 0 ? "0" : a.toLocaleString("en-US", { maximumFractionDigits: 1 }) + "\u00a0" + UNITS[unit];
}
function drawAddressAxis(c, g) {
  const s = c.space, step = niceStep(s.a1 - s.a0, c.plot / 48, true);
  g.font = FONT; g.textAlign = "right"; g.fillStyle = palette.muted;
  for (let a = Math.ceil(s.a0 / step) * step; a <= s.a1; a += step) {
    const y = Y(c, a), text = state.hex ? addressText(a) : tickText(a, step);
    if (y > c.top + 4) g.fillText(widthOf(g, text) <= left - 9 ? text : bytesText(a), left - 8, y + 4);
  }
  g.strokeStyle = palette.line;
  g.strokeRect(left + 0.5, c.top + 0.5, plotWidth(c) - 1, c.plot - 1);
  if (s.usable >= 0 && s.usable <= s.a1) {
    const y = Math.round(Y(c, s.usable)) + 0.5;
    g.strokeStyle = palette.bad; g.setLineDash([6, 4]);
    g.beginPath(); g.moveTo(left, y); g.lineTo(left + plotWidth(c), y); g.stroke();
    g.setLineDash([]);
  }
}

const LEAST = 1.2; // pixels that can be seen

// The pixels of box i, or null if it is out of sight.
function boxPixels(c, i) {
  const s = c.space;
  if (!placed(s, i) || !inLane(s, i)) return null;
  const x0 = X(c, s.begin[i]), x1 = X(c, s.end[i]);
  const y0 = Y(c, s.byte[i] + s.bytes[i]), y1 = Y(c, s.byte[i]);
  if (x1 < left || x0 > c.width_ - right || y1 < c.top || y0 > c.top + c.plot) return null;
  return [x0, y0, Math.max(x1 - x0, LEAST), Math.max(y1 - y0, LEAST)];
}

function drawBox(c, g, i) {
  const s = c.space, r = boxPixels(c, i);
  if (!r) return;
  const [x, y, w, h] = r;
  g.fillStyle = boxFill(s, i);
  g.fillRect(x, y, w, h);
  if (w < 3 || h < 3) return;
  if (s.padding[i] > 0) {
    g.fillStyle = palette.dots;
    g.fillRect(x, y, w, h * s.padding[i] / s.bytes[i]);
  }
  if (data.modes[s.mode[i]] === "alias") g.setLineDash([3, 2]);
  g.strokeStyle = palette.dark ? "#ffffff30" : "#00000038"; g.lineWidth = 1;
  g.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
  g.setLineDash([]);
  if (s.slots[i] > 0) { // which copy of the ring: a mark that climbs with the slot
    g.fillStyle = palette.dark ? "#ffffff80" : "#00000070";
    const step = h / s.slots[i];
    g.fillRect(x + 1, y + h - step * (s.slot[i] + 1), 2.5, Math.max(step, 1));
  }
}

// As much of a name as there is room for: all of it, its index, its two ends, or nothing.
const widths = new Map();
function widthOf(g, text) {
  if (!widths.has(text)) widths.set(text, g.measureText(text).width);
  return widths.get(text);
}
function labelFor(g, name, room) {
  if (name.length > 400) name = shorten(name, 400);
  if (widthOf(g, name) <= room) return name;
  const index = name.slice(stem(name).length);
  if (index !== "" && widthOf(g, index) <= room) return index;
  let letters = Math.floor(room / 5.5);
  while (letters >= 5 && widthOf(g, shorten(name, letters)) > room) letters--;
  return letters >= 5 ? shorten(name, letters) : "";
}
// Agents often differ in their last letter: "softmax_0 rows" becomes "\u2026_0 rows".
function labelOfBox(g, s, i, room) {
  const name = nameOf(s, i), own = ownName(s, i);
  if (name === own || widthOf(g, name) <= room) return labelFor(g, name, room);
  for (let from = 1; from < name.length - own.length - 1; from++) if (widthOf(g, "\u2026" + name.slice(from)) <= room) return "\u2026" + name.slice(from);
  return labelFor(g, own, room);
}
// After all boxes, so that none is on a name.
function drawLabel(c, g, i) {
  const s = c.space, r = boxPixels(c, i);
  if (!r || r[2] < 18 || r[3] < 11) return;
  const [x, y, w, h] = r, from = Math.max(x, left), top = Math.max(y, c.top), low = Math.min(y + h, c.top + c.plot);
  const label = low - top < 11 ? "" : labelOfBox(g, s, i, Math.min(x + w, c.width_ - right) - from - 9);
  if (label) g.fillText(label, from + 6, (top + low) / 2 + 4);
}

function overlap(s, i, j) {
  return { begin: Math.max(s.begin[i], s.begin[j]), end: Math.min(s.end[i], s.end[j]),
    low: Math.max(s.byte[i], s.byte[j]), high: Math.min(s.byte[i] + s.bytes[i], s.byte[j] + s.bytes[j]) };
}

function drawConflicts(c, g) {
  const s = c.space, seen = new Set();
  if (!s.conflicts) return;
  for (let i = 0; i < s.n; i++) {
    if (s.partner[i] < 0 || !inLane(s, i)) continue;
    const o = overlap(s, i, s.index.get(s.partner[i]));
    const x0 = X(c, o.begin), x1 = X(c, o.end), y0 = Y(c, o.high), y1 = Y(c, o.low);
    if (x1 < left || x0 > c.width_ - right) continue;
    if (x1 - x0 < 2 && y1 - y0 < 2) { // one mark for all that share a pixel
      const pixel = Math.round(x0) * 65536 + Math.round(y0);
      if (seen.has(pixel)) continue;
      seen.add(pixel);
    }
    g.fillStyle = palette.hatch; g.fillRect(x0, y0, Math.max(x1 - x0, 2), Math.max(y1 - y0, 2));
    g.strokeStyle = palette.bad; g.lineWidth = 1.5; g.strokeRect(x0, y0, Math.max(x1 - x0, 2), Math.max(y1 - y0, 2));
  }
  drawConflictLabels(c, g);
}
// Who shares the bytes, where there is room and no other name.
function drawConflictLabels(c, g) {
  const s = c.space, used = [], pairs = new Set();
  g.font = FONT; g.textAlign = "left";
  for (let i = 0; i < s.n && used.length < 200; i++) {
    if (s.partner[i] < 0 || !inLane(s, i)) continue;
    const j = s.index.get(s.partner[i]), o = overlap(s, i, j);
    const x0 = Math.max(X(c, o.begin), left), y0 = Y(c, o.high), y1 = Y(c, o.low);
    const text = shorten(nameOf(s, Math.min(i, j)), 40) + " \u00d7 " + shorten(nameOf(s, Math.max(i, j)), 40), w = widthOf(g, text) + 8;
    if (X(c, o.end) - x0 < w + 8 || y1 - y0 < 20 || pairs.has(text)) continue;
    pairs.add(text);
    const row = [x0 + 4, (y0 + y1) / 2 - 8];
    while (row[1] + 18 < y1 && used.some((u) => row[0] < u[0] + u[2] && u[0] < row[0] + w && Math.abs(u[1] - row[1]) < 17)) row[1] += 17;
    if (row[1] + 18 > y1) continue;
    used.push([...row, w]);
    g.fillStyle = palette.back; g.fillRect(row[0], row[1], w, 16);
    g.fillStyle = palette.bad; g.fillText(text, row[0] + 4, row[1] + 12);
  }
}

function outline(c, g, mark, colour, width) {
  if (!mark || mark.space !== c.space) return;
  const r = boxPixels(c, mark.box);
  if (!r) return;
  g.strokeStyle = colour; g.lineWidth = width;
  g.strokeRect(r[0], r[1], Math.max(r[2], 2), Math.max(r[3], 2));
}

function drawMap(c, g) {
  drawGround(c, g);
  clipPlot(c, g, c.top, c.plot);
  drawBoxes(c, g, null);
  drawConflicts(c, g);
  g.restore();
  drawAddressAxis(c, g);
}
function drawHits(c, g) {
  clipPlot(c, g, c.top, c.plot);
  drawBoxes(c, g, c.space.hit);
  drawConflicts(c, g);
  g.restore();
}
// All boxes, or those that are wanted. Of many, those below a pixel are merged (page_scale.js).
function drawBoxes(c, g, wanted) {
  const s = c.space;
  let list = [];
  if (s.n > FEW) {
    const found = mergeBoxes(s, { t0: state.t0, t1: state.t1, a0: s.a0, a1: s.a1 }, plotWidth(c), c.plot, wanted, true);
    c.merged = found.merged; c.large = found.large.length;
    if (found.picture) { g.imageSmoothingEnabled = false; g.drawImage(found.picture, left, c.top); }
    list = found.large;
  } else for (let i = 0; i < s.n; i++) if (!wanted || wanted[i]) list.push(i);
  for (const i of list) drawBox(c, g, i);
  g.font = FONT; g.textAlign = "left"; g.fillStyle = palette.text;
  for (const i of list) drawLabel(c, g, i);
}
// Lanes to the right, addresses upwards: the memory at the time of the cursor, or at the peak.
function drawLanes(c, g) {
  const s = c.space, x0 = c.width_ - right + 26, width = right - 32;
  if (s.laneCount < 2 || width < 40) return;
  const t = state.cursor === null ? s.peakTime : state.cursor;
  g.save();
  g.beginPath(); g.rect(x0, c.top, width, c.plot); g.clip();
  g.fillStyle = palette.plot; g.fillRect(x0, c.top, width, c.plot);
  eachAlive(s, t, t, (i) => {
    if (t >= s.end[i] || !placed(s, i) || !inLane(s, i)) return;
    const x = x0 + s.lane[i] / s.laneCount * width, w = Math.max(s.lanes[i] / s.laneCount * width, 1);
    const y = Y(c, s.byte[i] + s.bytes[i]), h = Math.max(Y(c, s.byte[i]) - y, 0.7);
    g.fillStyle = boxFill(s, i); g.fillRect(x, y, w, h);
    if (h > 3 && w > 3) { g.strokeStyle = palette.dark ? "#ffffff30" : "#00000038"; g.lineWidth = 1; g.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1); }
    for (const [mark, colour] of [[state.hover, palette.text], [state.pinned, palette.accent]]) {
      if (mark && mark.space === s && mark.box === i) { g.strokeStyle = colour; g.lineWidth = 2; g.strokeRect(x, y, w, Math.max(h, 2)); }
    }
  });
  g.restore();
  g.strokeStyle = palette.line; g.lineWidth = 1; g.strokeRect(x0 + 0.5, c.top + 0.5, width - 1, c.plot - 1);
}
// Below them: what they are.
function overLive(c, g) {
  const s = c.space, x0 = c.width_ - right + 26, width = right - 32;
  drawCursor(c, g, 0, c.height - AXIS);
  if (s.laneCount < 2 || width < 40) return;
  g.font = FONT; g.fillStyle = palette.muted; g.textAlign = "center";
  g.fillText(plain(s.laneCount) + " lanes", x0 + width / 2, 12);
  g.fillText("at " + timeText(Math.floor(state.cursor === null ? s.peakTime : state.cursor)), x0 + width / 2, 27);
}

function overMap(c, g) {
  const s = c.space;
  drawLanes(c, g);
  clipPlot(c, g, c.top, c.plot);
  if (state.line > 0) for (let i = 0; i < s.n; i++) if (s.line[i] === state.line) outline(c, g, { space: s, box: i }, palette.accent, 1.5);
  for (const mark of state.others) outline(c, g, mark, palette.warn, 2.5);
  outline(c, g, state.hover, palette.text, 1.5);
  outline(c, g, state.pinned, palette.accent, 2.5);
  drawCursor(c, g, c.top, c.top + c.plot);
  g.restore();
}

// The most that a memory has: drawn where the curve keeps a third of the height, or when it was asked for.
function liveLimit(s) {
  const bytes = Math.max(...sameName(s).map((o) => o.usable)), peak = Math.max(...sameName(s).map((o) => o.peak), 1);
  return { bytes, drawn: bytes >= 0 && (bytes <= 3 * peak || state.whole), times: bytes / peak };
}
// A text between x and x + width on the ground of the plot.
function drawTag(g, tag, align) {
  g.fillStyle = palette.plot; g.globalAlpha = 0.85; g.fillRect(tag.x - 2, tag.base - 10, tag.width + 4, 13);
  g.globalAlpha = 1; g.fillStyle = palette.bad; g.textAlign = align;
  g.fillText(tag.text, align === "right" ? tag.x + tag.width : tag.x, tag.base);
}
const apart = (a, b) => a.x + a.width + 6 < b.x || b.x + b.width + 6 < a.x || Math.abs(a.base - b.base) > 13;
// A mark at the peak, and its name beside it where there is room: both as tags, for others to keep away from.
function drawPeak(c, g, words, px, py) {
  const text = words + bytesText(c.space.peak), width = widthOf(g, text), toRight = px + 8 + width < left + plotWidth(c);
  const tag = { text, width, x: toRight ? px + 8 : Math.max(px - 8 - width, left + 2), base: py - 4 };
  drawTag(g, tag, toRight ? "left" : "right");
  g.beginPath(); g.moveTo(px, py); g.lineTo(px - 5, py - 8); g.lineTo(px + 5, py - 8); g.closePath(); g.fill();
  return [tag, { x: px - 5, width: 10, base: tag.base }];
}
// The capacity, in words that leave the name of the peak free: at the right or at the left of its line, or above the curve.
// Where there is no room and no line, only the head of the memory says it.
function limitTag(c, g, limit, y, others) {
  const short = "capacity " + bytesText(limit.bytes), base = Math.max(y - 4, 12);
  for (const text of y < 0 ? [short + ", " + plain(limit.times) + " times the peak", short] : [short]) {
    const width = widthOf(g, text);
    for (const x of [c.width_ - right - 6 - width, left + 6]) {
      const tag = { text, width, x, base };
      if (x >= left && others.every((other) => apart(tag, other))) return tag;
    }
  }
  return y < 0 ? null : { text: short, width: widthOf(g, short), x: c.width_ - right - 6 - widthOf(g, short), base: y + 13 };
}
function drawLiveLimit(c, g, limit, y, others) {
  g.font = FONT;
  const tag = limitTag(c, g, limit, y, others);
  if (tag) drawTag(g, tag, "right");
  if (y < 0) return;
  g.strokeStyle = palette.bad; g.lineWidth = 1; g.setLineDash([6, 4]);
  g.beginPath(); g.moveTo(left, Math.round(y) + 0.5); g.lineTo(c.width_ - right, Math.round(y) + 0.5); g.stroke();
  g.setLineDash([]);
}
function drawLive(c, g) {
  const s = c.space, base = c.height - AXIS, high = base - 18, peak = Math.max(...sameName(s).map((o) => o.peak), 1), limit = liveLimit(s);
  const most = Math.max(peak, limit.drawn ? limit.bytes : 0);
  const y = (v) => base - v / most * high;
  g.fillStyle = palette.plot; g.fillRect(left, 0, plotWidth(c), base);
  clipPlot(c, g, 0, base + 1);
  traceLive(c, g, y, base);
  g.globalAlpha = 0.2; g.fillStyle = palette.accent; g.fill();
  g.globalAlpha = 1; g.strokeStyle = palette.accent; g.lineWidth = 1.2; g.stroke();
  g.font = FONT;
  const tags = drawPeak(c, g, "live peak ", X(c, s.peakTime), y(s.peak));
  if (limit.bytes >= 0) drawLiveLimit(c, g, limit, limit.drawn ? y(limit.bytes) : -1, tags);
  g.restore();
  g.textAlign = "right"; g.fillStyle = palette.muted; g.font = FONT;
  const step = niceStep(most, 3, true);
  for (let v = step; v <= most; v += step) if (y(v) < base - 16) g.fillText(tickText(v, step), left - 8, y(v) + 4);
  g.fillText("live", left - 8, base - 2);
  drawTimeAxis(c, g, base);
}
