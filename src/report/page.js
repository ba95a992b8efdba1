// SPDX-License-Identifier: Apache-2.0
//
// The page of a report. Everything is drawn from the columns of numbers in the element
// "data"; text of the user only ever becomes textContent or a string on a canvas.
//
//   read      columns -> spaces with typed arrays
//   view      the time axis (one for all charts) and the address axis of each space
//   draw      maps, live bytes, timeline: canvases, redrawn as a whole in a frame
//   ask       what is under the pointer, what is alive at a time, where is room
//   panels    peak, findings, conflicts, changes, boxes, and the source below them
//   input     pointer, wheel, keys
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const reports = data.reports;
  const comparing = reports.length === 2;
  const byId = (id) => document.getElementById(id);

  // ---- small things ---------------------------------------------------------------------

  // Characters that do something instead of being seen.
  const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]/gu;
  const clean = (text) => (text || "").replace(HIDDEN, "\ufffd");
  const shorten = (text, most) => (text.length > most ? text.slice(0, most - 1) + "\u2026" : text);

  function element(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key === "class") node.className = value;
      else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else node.setAttribute(key, value);
    }
    for (const child of children) if (child !== null && child !== undefined) node.append(child);
    return node;
  }

  const plain = (n) => n.toLocaleString("en-US", { maximumFractionDigits: 0 });

  function bytesText(n) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let value = Math.abs(n), unit = 0;
    while (value >= 1024 && unit < units.length - 1) { value /= 1024; unit++; }
    const digits = unit === 0 || value === Math.floor(value) ? 0 : 1;
    return (n < 0 ? "-" : "") + value.toFixed(digits) + "\u00a0" + units[unit];
  }

  const bothBytes = (n) => (Math.abs(n) < 1024 ? plain(n) + " B" : plain(n) + " B (" + bytesText(n) + ")");
  const percent = (part, whole) => (whole > 0 ? (100 * part / whole).toFixed(1) + "\u00a0%" : "");
  const timeText = (t) => (axis.unit === "ns" ? plain(t) + " ns" : axis.unit + " " + plain(t));
  const addressText = (n) => {
    if (!state.hex) return plain(n);
    return (n < 0 ? "-" : "") + "0x" + Math.abs(n).toString(16);
  };

  // ---- read ------------------------------------------------------------------------------

  // A column is one number for all boxes, or differences, runs of equal ones as [difference, times].
  function readColumn(value, count) {
    const out = new Float64Array(count);
    if (typeof value === "number") return out.fill(value);
    let i = 0, at = 0;
    for (const step of value) {
      if (typeof step === "number") out[i++] = at += step;
      else for (let k = 0; k < step[1]; k++) out[i++] = at += step[0];
    }
    return out;
  }

  const stem = (name) => { const at = name.search(/[[#]/); return at > 0 ? name.slice(0, at) : name; };

  const encoder = new TextEncoder(), hues = new Map();
  function hueOf(name) { // the same as in the library: FNV-1a of the UTF-8 bytes
    const key = stem(name || "(unnamed)");
    if (hues.has(key)) return hues.get(key);
    let hash = 2166136261;
    for (const byte of encoder.encode(key)) hash = Math.imul(hash ^ byte, 16777619);
    hash ^= hash >>> 15;
    hues.set(key, (hash >>> 0) % 360);
    return hues.get(key);
  }

  // A space of the page: facts as they came, and a typed array per property of its boxes.
  function readSpace(report, raw, part) {
    const { boxes, name, lanes, padding, ...facts } = raw, n = boxes.count;
    const space = { ...facts, report, part, n, title: name, laneCount: lanes, paddingSum: padding, only: -1, a0: 0, a1: 1 };
    for (const [key, value] of Object.entries(boxes)) if (key !== "count") space[key] = readColumn(value, n);
    space.end = new Float64Array(n);
    space.hue = new Int16Array(n);
    space.index = new Map();
    for (let i = 0; i < n; i++) {
      space.end[i] = space.begin[i] + space.length[i];
      space.index.set(space.number[i], i);
      space.hue[i] = hueOf(report.strings[space.name[i]]);
    }
    return space;
  }

  // Bars of the timeline: [row, begin, end, ready, critical, line, name, waited for].
  function readBars(report) {
    const { count, ...raw } = report.bars, c = {};
    for (const [key, value] of Object.entries(raw)) c[key] = readColumn(value, count);
    const bars = [];
    for (let i = 0; i < count; i++) {
      bars.push([c.row[i], c.begin[i], c.begin[i] + c.length[i], c.begin[i] - c.wait[i], c.critical[i], c.line[i],
        report.strings[c.name[i]], report.strings[c.for[i]]]);
    }
    return bars;
  }

  const spaces = [];
  reports.forEach((report, part) => {
    report.bars = readBars(report);
    report.spaces.forEach((raw) => spaces.push(readSpace(report, raw, part)));
  });
  // The two sides of a space stand below each other.
  if (comparing) spaces.sort((a, b) => {
    const order = (s) => reports[0].spaces.findIndex((r) => r.name === s.title);
    const x = order(a), y = order(b);
    return (x < 0 ? 1e9 : x) - (y < 0 ? 1e9 : y) || a.part - b.part;
  });
  const nameOf = (s, i) => clean(s.report.strings[s.name[i]]) || "(unnamed)";
  const formOf = (s, i) => clean(s.report.strings[s.form[i]]);
  const placed = (s, i) => (s.open[i] & 2) === 0;
  const inLane = (s, i) => s.only < 0 || !placed(s, i) || (s.lane[i] <= s.only && s.only < s.lane[i] + s.lanes[i]);

  const axis = {
    begin: Math.min(...reports.map((r) => r.begin)),
    end: Math.max(...reports.map((r) => r.end)),
    unit: clean(reports[0].unit),
  };

  // ---- state --------------------------------------------------------------------------------

  const state = {
    t0: axis.begin, t1: axis.end, cursor: null, pointer: null, hex: false, whole: false, query: "", matches: [], match: -1,
    hover: null, pinned: null, others: [], line: 0, tab: "peak",
  };
  const charts = []; // { kind, space or report, canvas, height, draw (once per view), over (each frame) }

  // ---- colours ---------------------------------------------------------------------------------

  let palette = {};
  function readPalette() {
    const css = getComputedStyle(document.documentElement), dark = document.documentElement.classList.contains("dark");
    const get = (name) => css.getPropertyValue("--" + name).trim();
    palette = {
      dark, text: get("text"), muted: get("muted"), grid: get("grid"), plot: get("plot"), line: get("line"), bad: get("bad"),
      accent: get("accent"), back: get("back"), good: get("good"), warn: get("warn"), styles: new Map(),
    };
    palette.hatch = pattern(8, (g) => {
      g.fillStyle = dark ? "#4a1513" : "#ffe3e0"; g.fillRect(0, 0, 8, 8);
      g.strokeStyle = palette.bad; g.lineWidth = 2.4; stripes(g, 8);
    });
    palette.reserved = pattern(8, (g) => { g.strokeStyle = palette.line; g.lineWidth = 1; stripes(g, 8); });
    palette.dots = pattern(4, (g) => { g.fillStyle = dark ? "#ffffff70" : "#00000060"; g.fillRect(1, 1, 1.4, 1.4); });
    palette.wait = pattern(6, (g) => { g.strokeStyle = palette.warn; g.lineWidth = 1; stripes(g, 6); });
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
  function fillOf(hue, odd) {
    const key = hue * 2 + (odd ? 1 : 0);
    let style = palette.styles.get(key);
    if (!style) {
      const light = palette.dark ? (odd ? 27 : 35) : (odd ? 72 : 81);
      style = "hsl(" + hue + "," + (palette.dark ? 42 : 62) + "%," + light + "%)";
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
  const boxFill = (s, i) => (comparing ? changeFill(s.state[i]) : fillOf(s.hue[i], s.slots[i] > 0 && s.slot[i] % 2 === 1));

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
    const all = sameName(s);
    const low = Math.min(...all.map((o) => o.low)), top = Math.max(...all.map((o) => o.top), low + 1);
    const limit = Math.max(...all.map((o) => (state.whole ? Math.max(o.size, o.usable) : o.usable)));
    const near = limit > top && limit - low <= (top - low) * 4 / 3;
    s.a0 = low;
    s.a1 = limit > top && (near || state.whole) ? limit : top + (top - low) * 0.02;
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
    const s = c.space, parts = [state.t0, state.t1, left, right, c.width_, c.ratio, palette.dark, state.query, state.hex];
    if (s) parts.push(s.a0, s.a1, s.only);
    return parts.join();
  }
  function drawAll() {
    for (const c of charts) {
      const key = baseKey(c), g = c.canvas.getContext("2d");
      if (c.key !== key) {
        c.key = key;
        c.base.width = c.canvas.width; c.base.height = c.canvas.height; // also clears it
        const b = c.base.getContext("2d");
        b.setTransform(c.ratio, 0, 0, c.ratio, 0, 0);
        c.draw(c, b);
      }
      g.setTransform(1, 0, 0, 1, 0, 0);
      g.clearRect(0, 0, c.canvas.width, c.canvas.height);
      g.drawImage(c.base, 0, 0);
      g.setTransform(c.ratio, 0, 0, c.ratio, 0, 0);
      c.over(c, g);
    }
    showReadouts();
  }
  function resize() {
    const wide = document.documentElement.clientWidth >= 600;
    left = wide ? 84 : 58;
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

  function drawTimeAxis(c, g, y) {
    const step = niceStep(state.t1 - state.t0, plotWidth(c) / 90, false);
    g.font = FONT; g.textAlign = "center"; g.fillStyle = palette.muted; g.strokeStyle = palette.grid;
    for (let t = Math.ceil(state.t0 / step) * step; t <= state.t1; t += step) {
      const x = Math.round(X(c, t)) + 0.5;
      g.beginPath(); g.moveTo(x, y); g.lineTo(x, y + 4); g.stroke();
      if (x > left - 1 && x < c.width_ - 20) g.fillText(plain(t), x, y + 14);
    }
    g.textAlign = "right";
    g.fillText(axis.unit, left - 8, y + 14);
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

  function drawAddressAxis(c, g) {
    const s = c.space, step = niceStep(s.a1 - s.a0, c.plot / 48, true);
    g.font = FONT; g.textAlign = "right"; g.fillStyle = palette.muted;
    for (let a = Math.ceil(s.a0 / step) * step; a <= s.a1; a += step) {
      const y = Y(c, a);
      if (y > c.top + 4) g.fillText(left < 70 && !state.hex ? bytesText(a).replace("\u00a0", "") : addressText(a), left - 8, y + 4);
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

  // The pixels of box i, or null if it is out of sight.
  function boxPixels(c, i) {
    const s = c.space;
    if (!placed(s, i) || !inLane(s, i)) return null;
    const x0 = X(c, s.begin[i]), x1 = X(c, s.end[i]);
    const y0 = Y(c, s.byte[i] + s.bytes[i]), y1 = Y(c, s.byte[i]);
    if (x1 < left || x0 > c.width_ - right || y1 < c.top || y0 > c.top + c.plot) return null;
    return [x0, y0, Math.max(x1 - x0, 0.7), Math.max(y1 - y0, 0.7)];
  }

  function drawBox(c, g, i) {
    const s = c.space, r = boxPixels(c, i);
    if (!r) return;
    const [x, y, w, h] = r;
    const dim = state.query !== "" && !s.hit[i];
    g.globalAlpha = dim ? 0.18 : 1;
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
    if (w > 26 && h > 11 && !dim) {
      g.fillStyle = palette.text;
      const inside = Math.max(x, left), room = Math.min(x + w, c.width_ - right) - inside - 9;
      const label = shorten(nameOf(s, i), Math.floor(room / 6.1));
      if (room > 12) g.fillText(label, inside + 6, Math.max(y, c.top) + Math.min(h / 2, c.plot) + 4);
    }
  }

  function overlap(s, i, j) {
    return { begin: Math.max(s.begin[i], s.begin[j]), end: Math.min(s.end[i], s.end[j]),
      low: Math.max(s.byte[i], s.byte[j]), high: Math.min(s.byte[i] + s.bytes[i], s.byte[j] + s.bytes[j]) };
  }

  function drawConflicts(c, g) {
    const s = c.space;
    if (!s.conflicts) return;
    for (let i = 0; i < s.n; i++) {
      if (s.partner[i] < 0 || !inLane(s, i)) continue;
      const o = overlap(s, i, s.index.get(s.partner[i]));
      const x0 = X(c, o.begin), x1 = X(c, o.end), y0 = Y(c, o.high), y1 = Y(c, o.low);
      if (x1 < left || x0 > c.width_ - right) continue;
      g.fillStyle = palette.hatch; g.fillRect(x0, y0, Math.max(x1 - x0, 2), Math.max(y1 - y0, 2));
      g.strokeStyle = palette.bad; g.lineWidth = 1.5; g.strokeRect(x0, y0, Math.max(x1 - x0, 2), Math.max(y1 - y0, 2));
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
    const s = c.space;
    drawGround(c, g);
    clipPlot(c, g, c.top, c.plot);
    g.font = FONT; g.textAlign = "left";
    for (let i = 0; i < s.n; i++) drawBox(c, g, i);
    g.globalAlpha = 1;
    drawConflicts(c, g);
    g.restore();
    drawAddressAxis(c, g);
  }
  // Lanes to the right, addresses upwards: the memory at the time of the cursor, or at the peak.
  function drawLanes(c, g) {
    const s = c.space, x0 = c.width_ - right + 26, width = right - 32;
    if (s.laneCount < 2 || width < 40) return;
    const t = state.cursor === null ? s.peakTime : state.cursor;
    g.save();
    g.beginPath(); g.rect(x0, c.top, width, c.plot); g.clip();
    g.fillStyle = palette.plot; g.fillRect(x0, c.top, width, c.plot);
    for (let i = 0; i < s.n; i++) {
      if (s.begin[i] > t) break;
      if (t >= s.end[i] || !placed(s, i) || !inLane(s, i)) continue;
      const x = x0 + s.lane[i] / s.laneCount * width, w = Math.max(s.lanes[i] / s.laneCount * width, 1);
      const y = Y(c, s.byte[i] + s.bytes[i]), h = Math.max(Y(c, s.byte[i]) - y, 0.7);
      g.fillStyle = boxFill(s, i); g.fillRect(x, y, w, h);
      if (h > 3 && w > 3) { g.strokeStyle = palette.dark ? "#ffffff30" : "#00000038"; g.lineWidth = 1; g.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1); }
      for (const [mark, colour] of [[state.hover, palette.text], [state.pinned, palette.accent]]) {
        if (mark && mark.space === s && mark.box === i) { g.strokeStyle = colour; g.lineWidth = 2; g.strokeRect(x, y, w, Math.max(h, 2)); }
      }
    }
    g.restore();
    g.strokeStyle = palette.line; g.lineWidth = 1; g.strokeRect(x0 + 0.5, c.top + 0.5, width - 1, c.plot - 1);
  }
  // Below them: what they are.
  function overLive(c, g) {
    const s = c.space, x0 = c.width_ - right + 26, width = right - 32;
    drawCursor(c, g, 0, c.height - 18);
    if (s.laneCount < 2 || width < 40) return;
    g.font = FONT; g.fillStyle = palette.muted; g.textAlign = "center";
    g.fillText("lanes 0 to " + plain(s.laneCount), x0 + width / 2, 12);
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

  function drawLive(c, g) {
    const s = c.space, base = c.height - 18, high = base - 14, most = Math.max(...sameName(s).map((o) => o.peak), 1);
    const y = (v) => base - v / most * high;
    g.fillStyle = palette.plot; g.fillRect(left, 0, plotWidth(c), base);
    clipPlot(c, g, 0, base + 1);
    g.beginPath(); g.moveTo(left, base);
    let level = 0;
    for (let k = 0; k < s.live.length; k += 2) {
      const x = X(c, s.live[k]);
      g.lineTo(x, y(level)); level = s.live[k + 1]; g.lineTo(x, y(level));
    }
    g.lineTo(X(c, axis.end), y(level)); g.lineTo(X(c, axis.end), base); g.closePath();
    g.globalAlpha = 0.2; g.fillStyle = palette.accent; g.fill();
    g.globalAlpha = 1; g.strokeStyle = palette.accent; g.lineWidth = 1.2; g.stroke();
    const px = X(c, s.peakTime), py = y(s.peak);
    g.fillStyle = palette.bad;
    g.beginPath(); g.moveTo(px, py); g.lineTo(px - 5, py - 8); g.lineTo(px + 5, py - 8); g.closePath(); g.fill();
    g.font = FONT;
    const label = "peak " + bytesText(s.peak), toRight = px < left + plotWidth(c) - 110;
    g.textAlign = toRight ? "left" : "right";
    g.fillText(label, px + (toRight ? 8 : -8), Math.max(py - 1, 10));
    g.restore();
    g.textAlign = "right"; g.fillStyle = palette.muted; g.font = FONT;
    g.fillText("live", left - 8, base - 2);
    drawTimeAxis(c, g, base);
  }


  const ROW = 24;
  function barPixels(c, bar) {
    return [X(c, bar[1]), c.top + bar[0] * ROW + 3, Math.max(X(c, bar[2]) - X(c, bar[1]), 0.7), ROW - 6];
  }
  function drawTimeline(c, g) {
    const report = c.report, height = report.rows.length * ROW;
    g.fillStyle = palette.plot; g.fillRect(left, c.top, plotWidth(c), height);
    g.font = FONT; g.textAlign = "right"; g.fillStyle = palette.muted;
    report.rows.forEach((row, k) => g.fillText(shorten(clean(row), left < 70 ? 8 : 12), left - 8, c.top + k * ROW + 16));
    clipPlot(c, g, c.top, height);
    g.textAlign = "left";
    g.fillStyle = palette.wait;
    for (const bar of report.bars) if (bar[3] < bar[1]) g.fillRect(X(c, bar[3]), c.top + bar[0] * ROW + ROW / 2 - 2, X(c, bar[1]) - X(c, bar[3]), 4);
    for (const bar of report.bars) {
      const [x, y, w, h] = barPixels(c, bar);
      if (x + w < left || x > c.width_ - right) continue;
      g.fillStyle = fillOf(hueOf(bar[6] || ""), false); g.fillRect(x, y, w, h);
      if (w > 3) { g.strokeStyle = palette.dark ? "#ffffff30" : "#00000030"; g.lineWidth = 1; g.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1); }
      if (bar[4]) { g.fillStyle = palette.bad; g.fillRect(x, y + h - 2.5, w, 2.5); }
      if (w > 24) { g.fillStyle = palette.text; g.fillText(shorten(clean(bar[6]), Math.floor((w - 6) / 6.1)), Math.max(x, left) + 4, y + h / 2 + 4); }
    }
    g.restore();
    g.strokeStyle = palette.line; g.lineWidth = 1; g.strokeRect(left + 0.5, c.top + 0.5, plotWidth(c) - 1, height - 1);
    drawTimeAxis(c, g, c.top + height);
  }
  function overTimeline(c, g) {
    const height = c.report.rows.length * ROW;
    clipPlot(c, g, c.top, height);
    g.strokeStyle = palette.accent; g.lineWidth = 1.5;
    if (state.line > 0) for (const bar of c.report.bars) if (bar[5] === state.line) g.strokeRect(...barPixels(c, bar));
    for (const [mark, colour] of [[state.hover, palette.text], [state.pinned, palette.accent]]) {
      if (!mark || !mark.bar || mark.report !== c.report) continue;
      const [x, y, w, h] = barPixels(c, mark.bar);
      g.strokeStyle = colour; g.lineWidth = 2; g.strokeRect(x, y, Math.max(w, 2), h);
    }
    drawCursor(c, g, c.top, c.top + height);
    g.restore();
  }

  // ---- ask --------------------------------------------------------------------------------------

  // The smallest box under a point; two pixels of grace for tiny ones.
  function boxUnder(c, x, y) {
    const s = c.space, t0 = T(c, x - 2), t1 = T(c, x + 2), low = A(c, y + 2), high = A(c, y - 2);
    let best = -1, least = Infinity;
    for (let i = 0; i < s.n; i++) {
      if (s.begin[i] > t1) break; // boxes are in the order of their begins
      if (s.end[i] < t0 || s.byte[i] > high || s.byte[i] + s.bytes[i] < low) continue;
      const r = boxPixels(c, i);
      if (!r || x < r[0] - 2 || x > r[0] + r[2] + 2 || y < r[1] - 2 || y > r[1] + r[3] + 2) continue;
      const outside = x < r[0] || x > r[0] + r[2] || y < r[1] || y > r[1] + r[3];
      const area = r[2] * r[3] + (outside ? 1e9 : 0);
      if (area <= least) { least = area; best = i; }
    }
    return best < 0 ? null : { space: s, box: best };
  }
  function barUnder(c, x, y) {
    let best = null;
    for (const bar of c.report.bars) {
      const r = barPixels(c, bar);
      if (x >= r[0] - 2 && x <= r[0] + r[2] + 2 && y >= r[1] && y <= r[1] + r[3]) best = bar;
    }
    return best && { report: c.report, bar: best };
  }

  // Live bytes, free bytes and the largest hole at a time, in the lane that is shown or the fullest.
  // As in the library, only lanes at which a box starts need to be looked at.
  function momentOf(s, t) {
    const alive = [];
    let unplaced = 0;
    for (let i = 0; i < s.n; i++) {
      if (s.begin[i] > t) break; // boxes are in the order of their begins
      if (t >= s.end[i]) continue;
      if (!placed(s, i)) unplaced += s.bytes[i];
      else if (s.bytes[i] > 0) alive.push(i);
    }
    alive.sort((i, j) => s.byte[i] - s.byte[j]);
    const lanes = s.only >= 0 ? [s.only] : [...new Set(alive.map((i) => s.lane[i]))].slice(0, 64);
    let best = laneMoment(s, alive, lanes.length > 0 ? lanes[0] : 0);
    for (const lane of lanes.slice(1)) { const m = laneMoment(s, alive, lane); if (m.live > best.live) best = m; }
    best.live += unplaced;
    return best;
  }
  function laneMoment(s, alive, lane) {
    const upper = s.usable >= 0 ? s.usable : s.top;
    let floor = s.low, hole = 0, holeAt = s.low, free = 0, live = 0;
    const room = (to) => {
      const size = Math.min(to, upper) - floor;
      if (size <= 0) return;
      free += size;
      if (size > hole) { hole = size; holeAt = floor; }
    };
    for (const i of alive) {
      if (s.lane[i] > lane || lane >= s.lane[i] + s.lanes[i]) continue;
      const from = s.byte[i], to = from + s.bytes[i];
      if (from > floor) room(from);
      live += Math.max(to - Math.max(from, floor), 0);
      floor = Math.max(floor, to);
    }
    room(upper);
    return { live, free, hole, holeAt };
  }

  function showReadouts() {
    for (const s of spaces) {
      const t = state.cursor;
      if (t === null) { s.readout.textContent = ""; continue; }
      const m = momentOf(s, t);
      const parts = [timeText(Math.floor(t)), "live " + bothBytes(m.live)];
      if (s.usable > 0) parts.push(percent(m.live, s.usable) + " used");
      parts.push("largest hole " + bytesText(m.hole) + " at " + addressText(m.holeAt));
      if (m.free > 0) parts.push("fragmentation " + percent(m.free - m.hole, m.free));
      if (state.pointer && state.pointer.space === s) parts.push("address " + addressText(Math.floor(state.pointer.address)));
      s.readout.textContent = parts.join("  \u00b7  ");
    }
  }

  // ---- cards --------------------------------------------------------------------------------------

  function factsList(rows) {
    const list = element("dl", { class: "facts-list" });
    for (const [key, value] of rows) list.append(element("dt", {}, key), element("dd", {}, value));
    return list;
  }
  function boxCard(s, i) {
    const rows = [];
    if (formOf(s, i)) rows.push(["shape", formOf(s, i)]);
    rows.push(["size", bothBytes(s.bytes[i]) + (s.laneCount > 1 ? " per lane" : "")]);
    if (placed(s, i)) rows.push(["bytes", addressText(s.byte[i]) + " to " + addressText(s.byte[i] + s.bytes[i])]);
    else rows.push(["bytes", "no address"]);
    if (s.laneCount > 1) rows.push(["lanes", plain(s.lane[i]) + " to " + plain(s.lane[i] + s.lanes[i])]);
    rows.push(["alive", plain(s.begin[i]) + " to " + plain(s.end[i]) + (s.open[i] & 1 ? " and on" : "") + ", for " + plain(s.length[i])]);
    rows.push(["placed by", data.modes[s.mode[i]]]);
    if (s.slots[i] > 0) rows.push(["copy", plain(s.slot[i]) + " of " + plain(s.slots[i])]);
    rows.push(["waste", s.padding[i] > 0 ? bothBytes(s.padding[i]) + ", " + percent(s.padding[i], s.bytes[i]) : "none"]);
    if (s.line[i] > 0) rows.push(["line", plain(s.line[i])]);
    if (s.partner[i] >= 0) rows.push(["conflict with", shorten(nameOf(s, s.index.get(s.partner[i])), 80)]);
    if (comparing && s.state[i]) rows.push(["change", stateNames.filter(([bit]) => s.state[i] & bit).map(([, word]) => word).join(", ")]);
    const where = s.title + (comparing ? (s.part === 0 ? ", before" : ", after") : "");
    return [element("div", { class: "name" }, shorten(nameOf(s, i), 400)), element("div", { class: "muted" }, clean(where)), factsList(rows)];
  }
  function barCard(report, bar) {
    const rows = [["on", clean(report.rows[bar[0]])], ["runs", plain(bar[1]) + " to " + plain(bar[2]) + ", for " + plain(bar[2] - bar[1])]];
    if (bar[3] < bar[1]) rows.push(["waited", plain(bar[1] - bar[3]) + " " + axis.unit + (bar[7] ? " for " + clean(bar[7]) : "")]);
    if (bar[4]) rows.push(["critical", "on the critical path"]);
    if (bar[5] > 0) rows.push(["line", plain(bar[5])]);
    return [element("div", { class: "name" }, shorten(clean(bar[6]) || "(unnamed)", 400)), factsList(rows)];
  }
  const cardOf = (mark) => (mark.bar ? barCard(mark.report, mark.bar) : boxCard(mark.space, mark.box));

  function showCard(mark, x, y) {
    const card = byId("card");
    card.hidden = !mark;
    if (!mark) return;
    card.replaceChildren(...cardOf(mark));
    const w = card.offsetWidth, h = card.offsetHeight;
    card.style.left = Math.max(8, x + 16 + w > innerWidth ? x - w - 12 : x + 16) + "px";
    card.style.top = Math.max(8, y + 16 + h > innerHeight ? innerHeight - h - 8 : y + 16) + "px";
  }

  const lineOf = (mark) => (mark ? (mark.bar ? mark.bar[5] : mark.space.line[mark.box]) : 0);

  function pin(mark) {
    state.pinned = mark;
    state.others = [];
    byId("selected").hidden = !mark;
    if (mark) {
      const links = element("div", { class: "links" }, element("button", { onclick: () => focusOn(mark) }, "zoom to it"));
      if (lineOf(mark) > 0) links.append(element("button", { onclick: () => goToLine(lineOf(mark)) }, "line " + lineOf(mark)));
      if (!mark.bar && mark.space.partner[mark.box] >= 0) {
        const other = { space: mark.space, box: mark.space.index.get(mark.space.partner[mark.box]) };
        links.append(element("button", { onclick: () => pin(other) }, "its conflict"));
      }
      links.append(element("button", { onclick: () => pin(null) }, "unpin"));
      byId("selected-card").replaceChildren(...cardOf(mark), links);
    }
    setLine(lineOf(mark));
    refresh();
  }
  function focusOn(mark) {
    const begin = mark.bar ? mark.bar[1] : mark.space.begin[mark.box], end = mark.bar ? mark.bar[2] : mark.space.end[mark.box];
    const margin = (end - begin) * 0.6;
    if (!mark.bar && placed(mark.space, mark.box)) {
      const s = mark.space, room = Math.max(s.bytes[mark.box] * 1.5, 16);
      s.a0 = s.byte[mark.box] - room; s.a1 = s.byte[mark.box] + s.bytes[mark.box] + room;
    }
    setTimes(begin - margin, end + margin);
    show(mark);
  }
  // Makes the mark visible without a change of zoom where that is possible.
  function show(mark) {
    const begin = mark.bar ? mark.bar[1] : mark.space.begin[mark.box], end = mark.bar ? mark.bar[2] : mark.space.end[mark.box];
    if (end < state.t0 || begin > state.t1) { const half = (state.t1 - state.t0) / 2; setTimes((begin + end) / 2 - half, (begin + end) / 2 + half); }
    const chart = charts.find((c) => (mark.bar ? c.kind === "timeline" && c.report === mark.report : c.kind === "map" && c.space === mark.space));
    if (!mark.bar && !inLane(mark.space, mark.box)) setLane(mark.space, -1);
    if (chart) {
      const r = chart.canvas.getBoundingClientRect();
      if (r.bottom < 80 || r.top > innerHeight - 80) chart.canvas.scrollIntoView({ block: "center" });
    }
    refresh();
  }

  // ---- search -------------------------------------------------------------------------------------

  function search(query) {
    state.query = query.trim().toLowerCase();
    state.matches = []; state.match = -1;
    for (const s of spaces) {
      const hits = state.query === "" ? null : s.report.strings.map((text) => clean(text).toLowerCase().includes(state.query));
      s.hit = new Uint8Array(s.n);
      if (!hits) continue;
      for (let i = 0; i < s.n; i++) if (hits[s.name[i]]) { s.hit[i] = 1; state.matches.push({ space: s, box: i }); }
    }
    byId("found").textContent = state.query === "" ? "" : plain(state.matches.length) + " found";
    if (state.tab === "boxes") showPanel();
    refresh();
  }
  function nextMatch(step) {
    if (state.matches.length === 0) return;
    state.match = (state.match + step + state.matches.length) % state.matches.length;
    byId("found").textContent = plain(state.match + 1) + " of " + plain(state.matches.length);
    pin(state.matches[state.match]);
    show(state.pinned);
  }

  // ---- panels -------------------------------------------------------------------------------------

  function markButton(mark, right_, share) {
    const s = mark.space, swatch = element("i");
    swatch.style.background = boxFill(s, mark.box);
    const row = element("div", { class: "row" }, swatch, element("span", {}, shorten(nameOf(s, mark.box), 120)), element("span", {}, right_));
    const button = element("button", { onclick: () => { pin(mark); show(mark); } }, row);
    if (share !== undefined) {
      const bar = element("div", { class: "share" });
      bar.style.width = Math.max(share * 100, 0.5) + "%";
      button.append(bar);
    }
    return element("li", {}, button);
  }

  function peakPanel() {
    const out = [];
    for (const s of spaces) {
      out.push(element("h3", {}, clean(s.title) + (comparing ? (s.part === 0 ? ", before" : ", after") : "") + ": " + bothBytes(s.peak) + " at " + timeText(s.peakTime)));
      const list = element("ol", { class: "list peak" });
      for (const number of s.peakBoxes.slice(0, 200)) {
        const i = s.index.get(number);
        list.append(markButton({ space: s, box: i }, bytesText(s.bytes[i]) + "  " + percent(s.bytes[i], s.peak), s.bytes[i] / Math.max(s.peak, 1)));
      }
      out.push(list);
      if (s.peakBoxes.length > 200) out.push(element("p", { class: "muted" }, "and " + plain(s.peakBoxes.length - 200) + " smaller ones"));
      out.push(element("p", { class: "muted" }, "free then: " + bothBytes(s.peakFree) + ", largest hole " + bothBytes(s.peakHole)));
    }
    return out;
  }

  // Boxes that a name of a finding means: the name itself, or all of its stem.
  function boxesNamed(report, name) {
    if (!name) return [];
    const exact = [], loose = [], wanted = clean(name);
    for (const s of spaces) {
      if (s.report !== report) continue;
      for (let i = 0; i < s.n; i++) {
        const own = nameOf(s, i);
        if (own === wanted) exact.push({ space: s, box: i });
        else if (stem(own) === stem(wanted)) loose.push({ space: s, box: i });
      }
    }
    return exact.length ? exact : loose;
  }
  // Tiles that the sentence of a finding names in quotes, then what it is about.
  function goToFinding(report, finding) {
    if (finding.time !== undefined) state.cursor = finding.time;
    const names = new Set([...finding.message.matchAll(/'([^']+)'/g)].map((match) => clean(match[1])));
    const quoted = [...names].flatMap((name) => boxesNamed(report, name).filter((m) => nameOf(m.space, m.box) === name));
    const marks = quoted.concat(boxesNamed(report, finding.subject), boxesNamed(report, finding.other));
    const alive = finding.time === undefined ? null : marks.find((m) => m.space.begin[m.box] <= finding.time && finding.time < m.space.end[m.box]);
    const mark = alive || quoted[0] || marks.find((m) => m.space.partner[m.box] >= 0) || marks[0];
    if (mark) { pin(mark); show(mark); }
    state.others = quoted.filter((m) => m.box !== (mark && mark.box));
    if (finding.line > 0) setLine(finding.line, true);
    refresh();
  }
  function findingsPanel() {
    const list = element("ol", { class: "list findings" });
    for (const report of reports) for (const finding of report.findings) {
      const text = element("div", { class: "finding-text" }, element("span", { class: "tag " + finding.severity }, finding.severity),
        element("span", { class: "muted" }, finding.code + (finding.line > 0 ? ", line " + finding.line : "") + (finding.count > 1 ? ", " + plain(finding.count) + " times" : "")),
        element("div", {}, clean(finding.message)));
      for (const [line, message] of finding.notes) text.append(element("div", { class: "muted" }, (line > 0 ? "line " + line + ": " : "") + clean(message)));
      list.append(element("li", {}, element("button", { onclick: () => goToFinding(report, finding) }, text)));
    }
    if (!list.firstChild) return [element("p", { class: "muted" }, "no findings")];
    return [list];
  }

  function conflictsPanel() {
    const list = element("ol", { class: "list conflicts" });
    let shown = 0;
    for (const s of spaces) for (let i = 0; i < s.n && shown < 500; i++) {
      if (s.partner[i] < 0) continue;
      const j = s.index.get(s.partner[i]), o = overlap(s, i, j);
      shown++;
      const text = element("div", { class: "finding-text" }, element("span", { class: "tag error" }, "conflict"),
        element("span", {}, shorten(nameOf(s, i), 60) + " and " + shorten(nameOf(s, j), 60)),
        element("div", { class: "muted" }, "bytes " + addressText(o.low) + " to " + addressText(o.high) + ", " + axis.unit + " " + plain(o.begin) + " to " + plain(o.end)));
      list.append(element("li", {}, element("button", { onclick: () => { state.cursor = o.begin; pin({ space: s, box: i }); show(state.pinned); } }, text)));
    }
    return [list];
  }

  // The box of the other side with the same name, by its turn among those of that name.
  function counterpart(s, i) {
    const other = spaces.find((o) => o.title === s.title && o.part !== s.part), name = s.report.strings[s.name[i]];
    if (!other) return -1;
    let turn = 0;
    for (let k = 0; k < i; k++) if (s.report.strings[s.name[k]] === name) turn++;
    for (let k = 0; k < other.n; k++) if (other.report.strings[other.name[k]] === name && turn-- === 0) return k;
    return -1;
  }
  function changeText(s, i) {
    const now = bytesText(s.bytes[i]) + (placed(s, i) ? " at " + addressText(s.byte[i]) : "");
    const j = s.state[i] & (GONE | NEW) ? -1 : counterpart(s, i);
    if (j < 0) return now;
    const o = spaces.find((x) => x.title === s.title && x.part !== s.part);
    const parts = [];
    if (s.state[i] & MOVED) parts.push(addressText(o.byte[j]) + " \u2192 " + addressText(s.byte[i]) + (o.lane[j] !== s.lane[i] ? ", lane " + o.lane[j] + " \u2192 " + s.lane[i] : ""));
    if (s.state[i] & SIZED) parts.push(bytesText(o.bytes[j]) + " \u2192 " + bytesText(s.bytes[i]));
    if (s.state[i] & TIMED) parts.push(plain(o.begin[j]) + "\u2013" + plain(o.end[j]) + " \u2192 " + plain(s.begin[i]) + "\u2013" + plain(s.end[i]));
    return parts.join(", ");
  }

  function changesPanel() {
    const out = [], table = element("table", {}, element("tr", {}, element("th", {}, "peak"), element("th", { class: "n" }, "before"), element("th", { class: "n" }, "after"), element("th", { class: "n" }, "change")));
    for (const title of new Set(spaces.map((s) => s.title))) {
      const [a, b] = [0, 1].map((part) => spaces.find((s) => s.title === title && s.part === part));
      const before = a ? a.peak : 0, after = b ? b.peak : 0, d = after - before;
      table.append(element("tr", {}, element("td", {}, clean(title)), element("td", { class: "n" }, bytesText(before)), element("td", { class: "n" }, bytesText(after)),
        element("td", { class: "n" + (d > 0 ? " bad" : "") }, (d > 0 ? "+" : "") + bytesText(d))));
    }
    out.push(table);
    const list = element("ol", { class: "list changes" });
    let count = 0;
    for (const s of spaces) for (let i = 0; i < s.n; i++) {
      if (!s.state[i] || (s.part === 0 && !(s.state[i] & GONE))) continue; // a pair stands once: its second half
      if (++count > 500) continue;
      const words = stateNames.filter(([bit]) => s.state[i] & bit).map(([, word]) => element("span", { class: "tag " + word }, word));
      const text = element("div", { class: "finding-text" }, ...words, element("span", {}, shorten(nameOf(s, i), 80)),
        element("div", { class: "muted" }, clean(s.title) + ", " + changeText(s, i)));
      list.append(element("li", {}, element("button", { onclick: () => { pin({ space: s, box: i }); show(state.pinned); } }, text)));
    }
    out.push(element("h3", {}, plain(count) + " boxes changed"), list);
    return out;
  }

  function boxesPanel() {
    const marks = [];
    for (const s of spaces) for (let i = 0; i < s.n; i++) if (state.query === "" || s.hit[i]) marks.push({ space: s, box: i });
    marks.sort((a, b) => b.space.bytes[b.box] - a.space.bytes[a.box] || a.space.begin[a.box] - b.space.begin[b.box]);
    const list = element("ol", { class: "list boxes" });
    for (const mark of marks.slice(0, 300)) list.append(markButton(mark, bytesText(mark.space.bytes[mark.box]) + "  " + plain(mark.space.begin[mark.box]) + "\u2013" + plain(mark.space.end[mark.box])));
    return [element("p", { class: "muted" }, plain(marks.length) + " boxes, largest first" + (marks.length > 300 ? "; the first 300" : "")), list];
  }

  let sourceLines = [];
  function buildSource() {
    const out = [];
    sourceLines = [];
    for (const report of reports) {
      if (!report.source) continue;
      const faults = new Set(report.findings.filter((f) => f.severity === "error").map((f) => f.line));
      const pre = element("div", { class: "source" });
      report.source.split("\n").forEach((text, k) => {
        const row = element("div", { class: faults.has(k + 1) ? "fault" : "", onclick: () => clickLine(report, k + 1) },
          element("span", { class: "num" }, String(k + 1)), element("span", { class: "code" }, clean(text.replace(/\t/g, "    "))));
        sourceLines.push({ report, line: k + 1, row });
        pre.append(row);
      });
      out.push(element("h3", {}, clean(report.file)), pre);
    }
    byId("source").replaceChildren(...out);
    byId("source").hidden = out.length === 0;
  }
  // Scrolls the source alone, not the page around it.
  function scrollInside(row) {
    const pane = row.parentElement, top = row.offsetTop - pane.offsetTop;
    if (top < pane.scrollTop || top + row.offsetHeight > pane.scrollTop + pane.clientHeight) pane.scrollTop = top - pane.clientHeight / 2;
  }
  function markLines(scroll) {
    for (const entry of sourceLines) {
      const on = entry.line === state.line;
      entry.row.classList.toggle("mark", on);
      if (on && scroll) scrollInside(entry.row);
    }
  }
  function setLine(line, scroll) {
    state.line = line;
    markLines(scroll !== false);
  }
  function goToLine(line) { setLine(line, true); }
  // A line of the source: marks what was declared there and what runs there.
  function clickLine(report, line) {
    state.line = line;
    markLines(false);
    for (const s of spaces) {
      if (s.report !== report) continue;
      for (let i = 0; i < s.n; i++) if (s.line[i] === line) { pin({ space: s, box: i }); show(state.pinned); return; }
    }
    const bar = report.bars.find((b) => b[5] === line);
    if (bar) { pin({ report, bar }); show(state.pinned); } else refresh();
  }

  const total = (key) => spaces.reduce((sum, s) => sum + s[key], 0);
  const findingCount = reports.reduce((sum, r) => sum + r.findings.length, 0);
  const tabs = [
    comparing && { id: "changes", label: "changes", make: changesPanel },
    { id: "peak", label: "peak", make: peakPanel },
    findingCount > 0 && { id: "findings", label: "findings " + plain(findingCount), make: findingsPanel },
    total("conflicts") > 0 && { id: "conflicts", label: "conflicts " + plain(total("conflicts")), make: conflictsPanel },
    { id: "boxes", label: "boxes " + plain(total("n")), make: boxesPanel },
  ].filter(Boolean);

  function openTab(id) {
    state.tab = id;
    for (const button of byId("tabs").children) button.setAttribute("aria-selected", String(button.dataset.tab === id));
    showPanel();
  }
  function showPanel() {
    byId("panel").replaceChildren(...tabs.find((t) => t.id === state.tab).make());
  }

  // ---- building the page -----------------------------------------------------------------------------

  function fact(label, value, bad) {
    return element("span", bad ? { class: "bad" } : {}, label + " ", element("b", bad ? { class: "bad" } : {}, value));
  }
  function setLane(s, lane) {
    for (const other of sameName(s)) { other.only = lane; if (other.laneSelect) other.laneSelect.value = String(lane); }
    refresh();
  }
  function laneSelector(s) {
    const starts = [...new Set(s.lane)].sort((a, b) => a - b).slice(0, 200);
    const select = element("select", { "aria-label": "lane", onchange: () => setLane(s, Number(select.value)) }, element("option", { value: "-1" }, "all lanes"));
    for (const lane of starts) select.append(element("option", { value: String(lane) }, "lane " + plain(lane)));
    s.laneSelect = select;
    return select;
  }
  function addChart(kind, parent, height, draw, over, more) {
    const canvas = element("canvas", { role: "img", class: kind, "aria-label": kind + " of " + (more.space ? clean(more.space.title) : "engines") });
    canvas.style.height = height + "px";
    const chart = { kind, canvas, height, draw, over, base: document.createElement("canvas"), key: "", ...more };
    parent.append(canvas);
    charts.push(chart);
    listen(chart);
    return chart;
  }
  function buildSpace(s) {
    const facts = element("div", { class: "facts" }, fact("peak", bytesText(s.peak) + (s.usable > 0 ? " of " + bytesText(s.usable) : ""), s.usable >= 0 && s.peak > s.usable));
    if (s.usable > 0) facts.append(fact("used", percent(s.peak, s.usable)));
    facts.append(fact("top", bytesText(s.top), s.usable >= 0 && s.top > s.usable), fact("boxes", plain(s.n)));
    if (s.paddingSum > 0) facts.append(fact("padding", bytesText(s.paddingSum)));
    if (s.conflicts > 0) facts.append(fact("conflicts", plain(s.conflicts), true));
    if (s.sampled) facts.append(fact("lanes", "sampled"));
    if (s.laneCount > 1) facts.append(laneSelector(s));
    let unplaced = 0;
    for (let i = 0; i < s.n; i++) if (!placed(s, i)) unplaced++;
    if (unplaced > 0) facts.append(fact("without an address", plain(unplaced)));
    const title = clean(s.title) + (comparing ? (s.part === 0 ? "  before: " : "  after: ") + clean(s.report.title) : "");
    const section = element("section", { class: "space" }, element("div", { class: "head" }, element("h2", {}, shorten(title, 160)), facts));
    byId("charts").append(section);
    const tall = comparing || spaces.length > 2 ? 240 : spaces.length > 1 ? 330 : 420;
    addChart("map", section, tall, drawMap, overMap, { space: s, top: 4, plot: tall - 8 });
    addChart("live", section, 76, drawLive, overLive, { space: s });
    s.readout = element("div", { class: "readout" });
    section.append(s.readout);
  }
  function buildTimeline(report) {
    if (report.rows.length === 0) return;
    const which = comparing ? (report === reports[0] ? " before" : " after") : "";
    const section = element("section", { class: "space" }, element("div", { class: "head" }, element("h2", {}, "timeline" + which)));
    byId("charts").append(section);
    addChart("timeline", section, report.rows.length * ROW + 22, drawTimeline, overTimeline, { report, top: 2 });
    const key = (style, text) => { const i = element("i"); i.style.cssText = style; return element("span", {}, i, text); };
    const legend_ = element("div", { class: "legend" });
    if (report.bars.some((bar) => bar[4])) legend_.append(key("border-bottom:3px solid var(--bad)", "on the critical path"));
    if (report.bars.some((bar) => bar[3] < bar[1])) legend_.append(key("background:repeating-linear-gradient(45deg,var(--warn) 0 1px,transparent 1px 4px);height:5px", "waits"));
    section.append(legend_);
  }
  function buildLegend() {
    const key = (colour, text) => { const i = element("i"); i.style.background = colour; return element("span", {}, i, text); };
    const legend = element("div", { class: "legend" });
    if (comparing) {
      for (const [bit, word] of stateNames) legend.append(key(changeFill(bit), word));
      legend.append(key(changeFill(0), "the same"));
    } else if (total("conflicts") > 0) {
      legend.append(key("repeating-linear-gradient(45deg,var(--bad) 0 2px,transparent 2px 5px)", "two boxes share these bytes"));
    }
    byId("charts").prepend(legend);
    return legend;
  }

  // ---- input ------------------------------------------------------------------------------------------

  function listen(chart) {
    const canvas = chart.canvas;
    let drag = null;
    const point = (event) => { const r = canvas.getBoundingClientRect(); return [event.clientX - r.left, event.clientY - r.top]; };
    canvas.addEventListener("pointerdown", (event) => {
      const [x, y] = point(event);
      drag = { x, y, t0: state.t0, t1: state.t1, a0: chart.space ? chart.space.a0 : 0, a1: chart.space ? chart.space.a1 : 0, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = point(event);
      if (drag && event.buttons & 1 && (drag.moved || Math.hypot(x - drag.x, y - drag.y) > 4)) {
        drag.moved = true;
        canvas.classList.add("dragging");
        showCard(null);
        const d = (drag.x - x) / plotWidth(chart) * (drag.t1 - drag.t0);
        if (chart.kind === "map") for (const s of sameName(chart.space)) {
          const a = (y - drag.y) / chart.plot * (drag.a1 - drag.a0);
          s.a0 = drag.a0 + a; s.a1 = drag.a1 + a;
        }
        setTimes(drag.t0 + d, drag.t1 + d);
        return;
      }
      state.cursor = x >= left && x <= chart.width_ - right ? Math.max(state.t0, Math.min(T(chart, x), state.t1)) : null;
      state.pointer = chart.kind === "map" ? { space: chart.space, address: A(chart, y) } : null;
      state.hover = markUnder(chart, x, y);
      if (event.pointerType !== "touch") showCard(state.hover, event.clientX, event.clientY);
      refresh();
    });
    canvas.addEventListener("pointerup", (event) => {
      const [x, y] = point(event);
      canvas.classList.remove("dragging");
      if (drag && !drag.moved) {
        state.cursor = x >= left ? T(chart, x) : state.cursor;
        pin(markUnder(chart, x, y));
      }
      drag = null;
    });
    canvas.addEventListener("pointerleave", () => { state.hover = null; state.pointer = null; showCard(null); refresh(); });
    canvas.addEventListener("dblclick", fit);
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey) return;
      event.preventDefault();
      const [x, y] = point(event), amount = event.deltaY || event.deltaX, factor = Math.pow(1.0018, amount);
      if (event.shiftKey && chart.kind === "map") zoomAddress(sameName(chart.space), factor, A(chart, y));
      else zoomTime(factor, T(chart, x));
    }, { passive: false });
  }
  function markUnder(chart, x, y) {
    if (x < left || x > chart.width_ - right) return null;
    if (chart.kind === "map") return boxUnder(chart, x, y);
    return chart.kind === "timeline" ? barUnder(chart, x, y) : null;
  }

  // Times at which something begins or ends, each once.
  let moments = null;
  function allMoments() {
    if (moments) return moments;
    const all = [];
    for (const s of spaces) for (let i = 0; i < s.n; i++) all.push(s.begin[i], s.end[i]);
    for (const r of reports) for (const bar of r.bars) all.push(bar[1], bar[2]);
    moments = Float64Array.from(all).sort().filter((t, k, list) => k === 0 || t !== list[k - 1]);
    return moments;
  }
  function stepEvent(direction) {
    const list = allMoments();
    if (list.length === 0) return;
    let at = state.cursor === null ? (direction > 0 ? state.t0 - 1e-9 : state.t1 + 1e-9) : state.cursor;
    let low = 0, high = list.length;
    while (low < high) { const middle = (low + high) >> 1; if (list[middle] <= at) low = middle + 1; else high = middle; }
    const k = direction > 0 ? low : (low > 0 && list[low - 1] === at ? low - 2 : low - 1);
    if (k < 0 || k >= list.length) return;
    state.cursor = list[k];
    if (state.cursor < state.t0 || state.cursor > state.t1) { const half = (state.t1 - state.t0) / 2; setTimes(state.cursor - half, state.cursor + half); }
    refresh();
  }
  function toggle(id, key, after) {
    state[key] = !state[key];
    byId(id).setAttribute("aria-pressed", String(state[key]));
    after();
  }
  const toggleHex = () => toggle("radix", "hex", () => { showPanel(); if (state.pinned) pin(state.pinned); refresh(); });
  const toggleWhole = () => toggle("whole", "whole", () => { spaces.forEach(fitAddresses); refresh(); });
  function setTheme(dark) {
    document.documentElement.classList.toggle("dark", dark);
    readPalette();
    legend.replaceWith(legend = buildLegend());
    showPanel();
    refresh();
  }
  const toggleTheme = () => setTheme(!document.documentElement.classList.contains("dark"));
  const help = () => { const d = byId("help"); if (d.open) d.close(); else d.showModal(); };

  const keys = [
    ["w", "s", "zoom time in and out", () => zoomTime(0.7), () => zoomTime(1 / 0.7)],
    ["a", "d", "earlier, later", () => panTime(-0.2), () => panTime(0.2)],
    ["W", "S", "zoom addresses in and out", () => zoomAddress(spaces, 0.7), () => zoomAddress(spaces, 1 / 0.7)],
    ["ArrowUp", "ArrowDown", "higher, lower addresses", () => panAddress(spaces, 0.15), () => panAddress(spaces, -0.15)],
    ["ArrowLeft", "ArrowRight", "the event before, the next event", () => stepEvent(-1), () => stepEvent(1)],
    ["f", null, "fit everything", fit],
    ["Enter", null, "zoom to what is pinned", () => { if (state.pinned) focusOn(state.pinned); }],
    ["p", null, "go to the peak", () => { const s = spaces.reduce((a, b) => (b.peak > a.peak ? b : a), spaces[0]); if (s) { state.cursor = s.peakTime; setTimes(...aroundTime(s.peakTime)); openTab("peak"); } }],
    ["/", null, "search by name", () => byId("search").focus()],
    ["n", "N", "next and previous match", () => nextMatch(1), () => nextMatch(-1)],
    ["c", null, "up to the capacity, or to what is used", toggleWhole],
    ["x", null, "hexadecimal or decimal addresses", toggleHex],
    ["t", null, "light or dark", toggleTheme],
    ["Escape", null, "unpin, leave the search", () => { pin(null); byId("search").value = ""; search(""); }],
    ["?", null, "this list", help],
  ];
  const aroundTime = (t) => { const half = (state.t1 - state.t0) / 2; return t >= state.t0 && t <= state.t1 ? [state.t0, state.t1] : [t - half, t + half]; };
  const names = { ArrowUp: "\u2191", ArrowDown: "\u2193", ArrowLeft: "\u2190", ArrowRight: "\u2192", Escape: "Esc" };

  function listenKeys() {
    const actions = new Map();
    for (const [first, second, text, one, two] of keys) {
      actions.set(first, one);
      if (second) actions.set(second, two);
      const dt = element("dt", {}, element("kbd", {}, names[first] || first));
      if (second) dt.append(" ", element("kbd", {}, names[second] || second));
      byId("keys").append(dt, element("dd", {}, text));
    }
    addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const typing = event.target.matches("input, select, textarea");
      if (typing) {
        if (event.key === "Escape") { event.target.value = ""; search(""); event.target.blur(); }
        else if (event.key === "Enter" && event.target.id === "search") nextMatch(event.shiftKey ? -1 : 1);
        return;
      }
      if (event.key === "Enter" && event.target.matches("button")) return;
      if (byId("help").open && event.key !== "?") return;
      const action = actions.get(event.key);
      if (!action) return;
      event.preventDefault();
      action();
    });
  }

  // ---- start --------------------------------------------------------------------------------------------

  const dark = matchMedia("(prefers-color-scheme: dark)");
  document.documentElement.classList.toggle("dark", dark.matches);
  readPalette();
  byId("title").textContent = comparing ? clean(reports[0].title) + " \u2192 " + clean(reports[1].title) : clean(reports[0].title);
  byId("about").textContent = clean(reports[0].target) + (reports[0].about ? ": " + clean(reports[0].about) : "");
  for (const report of reports) for (const note of report.notes) byId("notes").append(element("li", {}, clean(note)));
  search("");
  spaces.forEach(fitAddresses);
  spaces.forEach(buildSpace);
  if (spaces.length === 0) byId("charts").append(element("p", { class: "muted" }, "nothing was allocated"));
  reports.forEach(buildTimeline);
  buildSource();
  let legend = buildLegend();
  for (const tab of tabs) {
    const button = element("button", { role: "tab", onclick: () => openTab(tab.id) }, tab.label);
    button.dataset.tab = tab.id;
    byId("tabs").append(button);
  }
  listenKeys();
  byId("search").addEventListener("input", (event) => search(event.target.value));
  for (const [id, action] of [["zoom-in", () => zoomTime(0.7)], ["zoom-out", () => zoomTime(1 / 0.7)], ["fit", fit], ["whole", toggleWhole],
    ["radix", toggleHex], ["theme", toggleTheme], ["help-open", help]]) byId(id).addEventListener("click", action);
  dark.addEventListener("change", (event) => setTheme(event.matches));
  addEventListener("resize", resize);
  addEventListener("beforeprint", resize);
  new ResizeObserver(resize).observe(byId("charts")); // also for print, and when a scroll bar comes
  openTab(comparing ? "changes" : findingCount > 0 ? "findings" : total("conflicts") > 0 ? "conflicts" : "peak");
  resize();

  // For scripts and tests: what is where on the canvases, in pixels of the page.
  window.spad = {
    state,
    spaces: spaces.map((s) => ({ name: s.title, boxes: s.n, part: s.part })),
    pixels(k) {
      const c = charts.find((chart) => chart.kind === "map" && chart.space === spaces[k]), out = [];
      for (let i = 0; i < c.space.n; i++) { const r = boxPixels(c, i); if (r) out.push({ number: c.space.number[i], name: nameOf(c.space, i), rect: r }); }
      const r = c.canvas.getBoundingClientRect();
      return { canvas: [r.left, r.top, r.width, r.height], plot: [left, c.top, plotWidth(c), c.plot], axis: [state.t0, state.t1, c.space.a0, c.space.a1], boxes: out };
    },
    bars() {
      const c = charts.find((chart) => chart.kind === "timeline");
      if (!c) return null;
      const r = c.canvas.getBoundingClientRect();
      return { canvas: [r.left, r.top], bars: c.report.bars.map((bar) => barPixels(c, bar)) };
    },
    moment: (k, t) => momentOf(spaces[k], t),
    drawn: performance.now(),
  };
})();
