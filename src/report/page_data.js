// SPDX-License-Identifier: Apache-2.0
//
// The page of a report, first part: its data. Everything is drawn from the columns of numbers in
// the element "columns" and the strings in "data"; text of the user only ever becomes textContent or a string on a canvas.

const byId = (id) => document.getElementById(id);

// The bytes of an element: DEFLATE with codes of its own in every block, in base64 (deflate.c). Not every browser unpacks
// that for a page from disk before it is drawn, so the page does it.
function inflate(node) {
  const packed = atob(node.textContent), out = new Uint8Array(Number(node.dataset.size));
  let at = 0, bits = 0, have = 0, to = 0;
  const take = (count) => {
    while (have < count) { bits |= packed.charCodeAt(at++) << have; have += 8; }
    const value = bits & (1 << count) - 1;
    bits >>>= count; have -= count;
    return value;
  };
  const tableOf = (widths) => { // by the next bits: symbol and width
    const most = widths.reduce((a, b) => Math.max(a, b), 1), table = new Uint16Array(1 << most);
    for (let width = 1, next = 0; width <= most; width++, next <<= 1) for (let s = 0; s < widths.length; s++) if (widths[s] === width) {
      let turned = 0;
      for (let k = 0; k < width; k++) turned |= (next >> k & 1) << (width - 1 - k);
      for (let k = turned; k < table.length; k += 1 << width) table[k] = s << 4 | width;
      next++;
    }
    return table;
  };
  const symbolOf = (table) => {
    while (have < 15) { bits |= (at < packed.length ? packed.charCodeAt(at) : 0) << have; at++; have += 8; }
    const found = table[bits & table.length - 1];
    bits >>>= found & 15; have -= found & 15;
    return found >> 4;
  };
  for (let last = 0; !last;) {
    last = take(1);
    take(2);
    const symbols = take(5) + 257, distances = take(5) + 1, count = take(4) + 4, order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
    const head = new Array(19).fill(0), widths = [];
    for (let k = 0; k < count; k++) head[order[k]] = take(3);
    const heads = tableOf(head);
    while (widths.length < symbols + distances) {
      const s = symbolOf(heads), value = s < 16 ? s : s === 16 ? widths[widths.length - 1] : 0;
      for (let k = s < 16 ? 1 : s === 16 ? 3 + take(2) : s === 17 ? 3 + take(3) : 11 + take(7); k > 0; k--) widths.push(value);
    }
    const codes = tableOf(widths.slice(0, symbols)), back = tableOf(widths.slice(symbols));
    for (let symbol; (symbol = symbolOf(codes)) !== 256;) {
      if (symbol < 256) { out[to++] = symbol; continue; }
      const l = symbol - 257, extra = l < 8 ? 0 : (l >> 2) - 1;
      const length = symbol === 285 ? 258 : 3 + (l < 8 ? l : (4 + (l & 3) << extra) + take(extra));
      const d = symbolOf(back), more = d < 4 ? 0 : (d >> 1) - 1;
      const from = to - 1 - (d < 4 ? d : (2 + (d & 1) << more) + take(more));
      for (let k = 0; k < length; k++) out[to++] = out[from + k];
    }
  }
  return out;
}
const unpack = (node) => (node.dataset.size ? new TextDecoder().decode(inflate(node)) : node.textContent);

const data = JSON.parse(unpack(byId("data")));
const columnBytes = inflate(byId("columns"));
const reports = data.reports;
const comparing = reports.length === 2;
reports.forEach((report, k) => { // a long source is read when it is shown
  let text = null;
  if (report.far) Object.defineProperty(report, "source", { get: () => (text ??= unpack(byId("source" + k))) });
});

// ---- small things ---------------------------------------------------------------------

// Characters that do something instead of being seen.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]/gu;
const clean = (text) => (text || "").replace(HIDDEN, "\ufffd");
// Names often differ at their ends, so what does not fit is left out in the middle.
function shorten(text, most) {
  if (text.length <= most) return text;
  const letters = [...text], tail = Math.floor((most - 1) / 2);
  return letters.length <= most ? text : letters.slice(0, most - 1 - tail).join("") + "\u2026" + letters.slice(letters.length - tail).join("");
}

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

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
function bytesText(n) {
  let value = Math.abs(n), unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) { value /= 1024; unit++; }
  return (n < 0 ? "-" : "") + Math.round(value * 10) / 10 + "\u00a0" + UNITS[unit];
}

const bothBytes = (n) => (Math.abs(n) < 1024 ? plain(n) + " B" : plain(n) + " B (" + bytesText(n) + ")");
const percent = (part, whole) => (whole > 0 ? (100 * part / whole).toFixed(1) + "\u00a0%" : "");
// Units that count something, after the number; others, like "event", name a position and stand before it.
const isCounted = () => ["ns", "assumed ns", "cycles", "steps"].includes(axis.unit);
const timeText = (t) => (isCounted() ? plain(t) + " " + axis.unit : axis.unit + " " + plain(t));
// From one time to another, with the unit.
const spanText = (from, to) => (isCounted() ? plain(from) + " to " + plain(to) + " " + axis.unit : axis.unit + " " + plain(from) + " to " + plain(to));
const lengthText = (n) => (isCounted() ? plain(n) + " " + axis.unit : ["event", "statement", "row"].includes(axis.unit) ? plain(n) + " " + axis.unit + (n === 1 ? "" : "s") : plain(n));
const addressText = (n) => {
  if (!state.hex) return plain(n);
  return (n < 0 ? "-" : "") + "0x" + Math.abs(n).toString(16);
};

// ---- read ------------------------------------------------------------------------------

// A column is one number for all rows, or [where its bytes begin, divisor, 1 for differences]: seven bits a byte, the lowest
// first, of which the very first is the sign.
function readColumn(value, count) {
  const out = new Float64Array(count);
  if (typeof value === "number") return out.fill(value);
  let [at, divisor, differences] = value, before = 0;
  for (let i = 0; i < count; i++) {
    let byte = columnBytes[at++], n = (byte & 127) >> 1;
    const negative = byte & 1;
    for (let times = 64; byte > 127; times *= 128) { byte = columnBytes[at++]; n += (byte & 127) * times; }
    if (negative) n = -1 - n;
    before = differences ? before + n : n;
    out[i] = before * divisor;
  }
  return out;
}
// The columns of a table, by their names.
function readTable({ count, ...columns }) {
  return { count, ...Object.fromEntries(Object.entries(columns).map(([key, value]) => [key, readColumn(value, count)])) };
}

const stem = (name) => { const at = name.search(/[[#]/); return at > 0 ? name.slice(0, at) : name; };

// Colours of one map, as in the library: the first stems have one each, in the order in which they come; a later one
// shares the one that its name gives. Hue, saturation and lightness: see the table of the library for their distances.
const COLOURS = [[200, 38, 77], [30, 75, 63], [260, 75, 84], [90, 75, 70], [340, 38, 77], [230, 75, 70], [160, 75, 70], [290, 38, 63], [310, 75, 89], [80, 38, 70], [20, 75, 56], [210, 75, 70]];
const encoder = new TextEncoder();
function chooseColours() {
  const known = new Map(), colourOf = (name) => {
    const key = stem(name || "(unnamed)");
    if (known.has(key)) return known.get(key);
    let hash = 2166136261;
    for (const byte of encoder.encode(key)) hash = Math.imul(hash ^ byte, 16777619);
    hash ^= hash >>> 15;
    const colour = known.size < COLOURS.length ? known.size : (hash >>> 0) % COLOURS.length;
    known.set(key, colour);
    return colour;
  };
  colourOf.known = known;
  return colourOf;
}

const GROUPED_FROM = 48; // tensors of one map

// From numbers of boxes to their places in the columns.
function indexOf(numbers) {
  const places = new Int32Array(numbers.reduce((a, b) => Math.max(a, b), -1) + 1).fill(-1);
  numbers.forEach((number, i) => { places[number] = i; });
  return { get: (number) => (places[number] >= 0 ? places[number] : undefined) };
}

// A space of the page: facts as they came, and a typed array per property of its boxes.
function readSpace(report, raw, part) {
  const { boxes, live, peakBoxes, name, lanes, padding, ...facts } = raw, { count: n, ...columns } = readTable(boxes);
  const space = { ...facts, report, part, n, title: name, laneCount: lanes, paddingSum: padding, only: -1, a0: 0, a1: 1, ...columns };
  const steps = readTable(live);
  space.peakBoxes = Array.from(readTable(peakBoxes).number);
  space.live = new Float64Array(2 * steps.count); // time, bytes, time, bytes, ...
  for (let k = 0; k < steps.count; k++) { space.live[2 * k] = steps.time[k]; space.live[2 * k + 1] = steps.bytes[k]; }
  space.end = new Float64Array(n);
  space.colour = new Uint8Array(n);
  space.index = indexOf(space.number);
  for (let i = 0; i < n; i++) space.end[i] = space.begin[i] + space.length[i];
  const colourOf = chooseColours();
  for (let i = 0; i < n && !space.grouped; i++) {
    space.colour[i] = colourOf(report.strings[space.name[i]]);
    space.grouped = colourOf.known.size > GROUPED_FROM; // no one tells so many colours apart: see families
  }
  return space;
}

// Bars of the timeline: [row, begin, end, ready, critical, line, name, waited for, bytes read, bytes written].
function readBars(report) {
  const c = readTable(report.bars), bars = [];
  for (let i = 0; i < c.count; i++) {
    bars.push([c.row[i], c.begin[i], c.begin[i] + c.length[i], c.begin[i] - c.wait[i], c.critical[i], c.line[i],
      report.strings[c.name[i]], report.strings[c.for[i]], c.reads[i], c.writes[i]]);
  }
  return bars;
}

const spaces = [];
reports.forEach((report, part) => {
  report.bars = readBars(report);
  report.colourOf = chooseColours();
  report.barColours = Uint8Array.from(report.bars, (bar) => report.colourOf(bar[6]));
  report.spaces.forEach((raw) => spaces.push(readSpace(report, raw, part)));
});
// The two sides of a space stand below each other.
if (comparing) spaces.sort((a, b) => {
  const order = (s) => reports[0].spaces.findIndex((r) => r.name === s.title);
  const x = order(a), y = order(b);
  return (x < 0 ? 1e9 : x) - (y < 0 ? 1e9 : y) || a.part - b.part;
});
const ownName = (s, i) => clean(s.report.strings[s.name[i]]) || "(unnamed)";
// ---- the program ------------------------------------------------------------------------

// What the kernel says about the lines of its source. lines: agent, source and uses of what is on each; tensors: the uses
// of each, by stem; sources: the lines of the program that it was made from.
function readProgram({ words, sources, statements, uses }) {
  const s = readTable(sources), t = readTable(statements), u = readTable(uses), lines = new Map(), tensors = new Map();
  const add = (map, key, made) => { if (!map.has(key)) map.set(key, made); return map.get(key); };
  for (let i = 0; i < t.count; i++) add(lines, t.line[i], { agent: clean(words[t.agent[i]]), source: t.source[i], uses: [] });
  for (let i = 0; i < u.count; i++) {
    const by = u.statement[i], use = { tensor: words[u.tensor[i]], reads: (u.kind[i] & 1) !== 0, writes: (u.kind[i] & 2) !== 0,
      by: words[t.name[by]], line: t.line[by], at: [u.line[i], u.column[i], u.width[i]] };
    lines.get(use.line).uses.push(use);
    add(tensors, stem(use.tensor), []).push(use);
  }
  return { lines, tensors, sources: Array.from(s.line, (line, i) => ({ line, file: words[s.file[i]], code: words[s.code[i]], caller: s.caller[i] })) };
}
reports.forEach((report, k) => {
  const { statements, words } = data.programs[k];
  let program = null;
  Object.defineProperty(report, "program", { get: () => (program ??= readProgram(data.programs[k])) }); // when it is asked for
  report.hasAgents = readTable(statements).agent.some((agent) => words[agent] !== "");
});
const agentOfLine = (report, line) => { const found = report.hasAgents && report.program.lines.get(line); return found ? found.agent : ""; };
const sourceText = (report, line) => { report.texts ??= (report.source || "").split("\n"); return report.texts[line - 1] || ""; };
// As it is written, where it has a place of its own in the source.
const useText = (report, { tensor, at: [line, column, width] }) => (width > 0 && sourceText(report, line).slice(column - 1, column - 1 + width)) || tensor;

// Tensors of one memory with the same name, declared on different lines: each carries the agent that declares it.
function ownersOf(s) {
  const lines = new Map(), owners = new Map();
  if (!s.report.hasAgents) return owners;
  for (let i = 0; i < s.n; i++) {
    const key = stem(ownName(s, i));
    if (s.line[i] > 0) lines.set(key, (lines.get(key) || new Set()).add(s.line[i]));
  }
  for (const set of lines.values()) if (set.size > 1) for (const line of set) {
    const agent = agentOfLine(s.report, line);
    if (agent !== "") owners.set(line, agent);
  }
  return owners;
}
for (const s of spaces) s.owners = ownersOf(s);
const nameOf = (s, i) => (s.owners.has(s.line[i]) ? s.owners.get(s.line[i]) + " " : "") + ownName(s, i);
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
  t0: axis.begin, t1: axis.end, cursor: null, pointer: null, at: null, hex: false, whole: false, query: "", matches: [], match: -1,
  hover: null, pinned: null, others: [], line: 0, place: null, tab: "peak",
};
const charts = []; // { kind, space or report, canvas, height, draw (once per view), over (each frame) }
