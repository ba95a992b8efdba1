// SPDX-License-Identifier: Apache-2.0
//
// The page of a report: a range of time, and what happens in it. Ends are whole numbers; the range is half-open, as
// everything else: sums over ranges that follow each other add up.

Object.assign(state, { range: null, ranging: false, anchor: null });

function setRange(a, b) {
  const low = Math.max(Math.floor(Math.min(a, b)), axis.begin), high = Math.min(Math.ceil(Math.max(a, b)), axis.end);
  state.range = high > low ? [low, high] : null;
  byId("range-text").replaceChildren(...(state.range ? rangeLine() : []));
  const button = byId("tabs").querySelector("[data-tab=range]");
  button.hidden = !state.range;
  if (state.range) openTab("range");
  else if (state.tab === "range") openTab(tabs[0].id);
  refresh();
}
const clearRange = () => { state.anchor = null; setRange(0, 0); };
function toggleRanging() {
  state.ranging = !state.ranging;
  byId("ranging").setAttribute("aria-pressed", String(state.ranging));
}
// One end at the cursor; the other one stays, or is that of what is shown.
function rangeFrom(side) {
  if (state.cursor === null) return;
  const [a, b] = state.range || [state.t0, state.t1];
  if (side === 0) setRange(state.cursor, Math.max(b, state.cursor)); else setRange(Math.min(a, state.cursor), state.cursor);
}
// The cursor goes to the next event, and takes an end of the range with it.
function extendRange(direction) {
  if (state.range === null || state.anchor === null) state.anchor = state.cursor === null ? (direction > 0 ? state.t0 : state.t1) : state.cursor;
  const anchor = state.anchor;
  stepEvent(direction);
  if (state.cursor !== null) setRange(anchor, state.cursor);
  state.anchor = anchor;
}
function zoomToRange() {
  if (state.range) setTimes(...state.range);
}

// "dma 2" is the engine dma: bars that run at the same time stand on several rows.
const engineOf = (row) => row.replace(/ \d+$/, "");
// Operations count where they begin; time is that in the range.
function rangeSums(report, [a, b]) {
  const engines = new Map();
  for (const row of report.order) engines.set(engineOf(report.rows[row]), { operations: 0, busy: 0, reads: 0, writes: 0, reach: a });
  for (const bar of report.bars) { // in the order of their begins
    if (bar[1] >= b || bar[2] <= a) continue;
    const engine = engines.get(engineOf(report.rows[bar[0]]));
    if (bar[1] >= a) { engine.operations++; engine.reads += bar[8]; engine.writes += bar[9]; }
    const from = Math.max(bar[1], engine.reach), to = Math.min(bar[2], b);
    engine.busy += Math.max(to - from, 0);
    engine.reach = Math.max(engine.reach, to);
  }
  const all = { operations: 0, reads: 0, writes: 0 };
  for (const engine of engines.values()) for (const key of Object.keys(all)) all[key] += engine[key];
  return { ...all, engines };
}
function rangePeak(s, [a, b]) {
  let peak = liveAt(s, a), at = a;
  for (let k = firstStep(s, a); k < s.live.length && s.live[k] < b; k += 2) if (s.live[k + 1] > peak) { peak = s.live[k + 1]; at = s.live[k]; }
  return { peak, at };
}
// One line above the charts, for pages on which the lists are far below.
function rangeLine() {
  const parts = [spanText(...state.range)], sums = reports.map((report) => rangeSums(report, state.range));
  for (const s of comparing ? [] : spaces) parts.push(clean(s.title) + " peak " + bytesText(rangePeak(s, state.range).peak));
  if (!comparing && reports[0].bars.length > 0) parts.push(plain(sums[0].operations) + " operations, " + bytesText(sums[0].reads) + " read, " + bytesText(sums[0].writes) + " written");
  return [parts.join("  \u00b7  ") + " ", element("button", { class: "link", onclick: () => byId("panel").scrollIntoView({ block: "nearest" }) }, "all sums")];
}
function rangePanel() {
  const range = state.range;
  if (!range) return [element("p", { class: "muted" }, "no range is selected")];
  const out = [element("h3", {}, spanText(...range) + ", " + lengthText(range[1] - range[0]))];
  out.push(element("div", { class: "links" }, element("button", { title: "z", onclick: zoomToRange }, "zoom to it"), element("button", { title: "Esc", onclick: clearRange }, "clear")));
  for (const s of spaces) s.inRange = rangePeak(s, range);
  out.push(tableOf("range-peaks", ["live peak inside", "bytes", "at"], spaces.map((s) => [clean(s.title) + (comparing ? (s.part === 0 ? ", before" : ", after") : ""), bothBytes(s.inRange.peak), plain(s.inRange.at)])));
  for (const report of reports) {
    if (report.bars.length === 0) continue;
    const sums = rangeSums(report, range), length = range[1] - range[0];
    out.push(element("h3", {}, "operations" + (comparing ? (report === reports[0] ? ", before" : ", after") : "")));
    out.push(tableOf("range-sums", null, [["begin inside", plain(sums.operations)], ["bytes they read", bothBytes(sums.reads)], ["bytes they write", bothBytes(sums.writes)]]));
    out.push(tableOf("range-engines", ["engine", "busy", "", "ops", "read", "written"], [...sums.engines].map(([name, e]) => [clean(name), lengthText(e.busy), percent(e.busy, length), plain(e.operations), bytesText(e.reads), bytesText(e.writes)])));
    if (report.notes.includes("not all of the run is drawn")) out.push(element("p", { class: "muted" }, "not all of the run is drawn: what is not has no bytes here"));
  }
  return out;
}
function drawRange(c, g) {
  if (!state.range || c.timeless) return;
  const bottom = c.kind === "map" || c.kind === "slider" ? c.top + c.plot : c.height - AXIS, top = c.top || 0;
  clipPlot(c, g, top, bottom - top);
  const x0 = X(c, state.range[0]), x1 = X(c, state.range[1]);
  g.globalAlpha = 0.14; g.fillStyle = palette.accent; g.fillRect(x0, top, x1 - x0, bottom - top);
  g.globalAlpha = 1; g.strokeStyle = palette.accent; g.lineWidth = 1.5;
  for (const x of [x0, x1]) { g.beginPath(); g.moveTo(x, top); g.lineTo(x, bottom); g.stroke(); }
  g.restore();
}
