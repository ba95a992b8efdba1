// SPDX-License-Identifier: Apache-2.0
//
// The page of a report, last part: puts the page together and listens.

// ---- building the page -----------------------------------------------------------------------------

function fact(label, value, bad) {
  return element("span", bad ? { class: "bad" } : {}, label + " ", element("b", bad ? { class: "bad" } : {}, value));
}
const gauge = (part) => {
  const fill = element("i");
  fill.style.width = Math.min(part, 1) * 100 + "%";
  return element("span", { class: "gauge" + (part > 1 ? " over" : "") }, fill);
};
// What the peak consists of, tensor by tensor: the tiles of one are added up.
function fillParts(s) {
  const groups = new Map();
  for (const number of s.peakBoxes) {
    const i = s.index.get(number), key = groupOf(s, i), group = groups.get(key) || { key, colour: s.colour[i], bytes: 0, count: 0 };
    group.bytes += s.bytes[i]; group.count++;
    groups.set(key, group);
  }
  const all = [...groups.values()].sort((a, b) => b.bytes - a.bytes), bar = element("div", { class: "bar", role: "img", "aria-label": "what the peak consists of" }), names = element("div", { class: "legend" });
  for (const group of all) {
    const piece = element("i", { title: group.key + ": " + bothBytes(group.bytes) });
    piece.style.cssText = "flex-grow:" + group.bytes + ";background:" + fillOf(group.colour, false);
    bar.append(piece);
  }
  for (const group of all.slice(0, 10).filter((g) => g.bytes > 0)) {
    const swatch = element("i"), text = shorten(group.key, 32) + (group.count > 1 ? " \u00d7" + plain(group.count) : "");
    swatch.style.background = fillOf(group.colour, false);
    names.append(element("button", { title: group.key + ": search for it", onclick: () => { const wanted = group.key.replace(/\u2026$/, ""); byId("search").value = wanted; search(wanted); } },
      swatch, element("b", {}, text), " " + bytesText(group.bytes)));
  }
  if (all.length > 10) names.append(element("span", {}, "and " + plain(all.length - 10) + " more"));
  s.parts.replaceChildren(bar, names, ...(s.families ? [familyTree(s)] : familiesOf(s, Math.min(all.length, 10))));
}
// All tensors of a memory with their colours, also those that are not alive at the peak: made when they are asked for.
function familiesOf(s, listed) {
  const groups = new Map();
  for (let i = 0; i < s.n; i++) {
    const name = s.report.strings[s.name[i]] || "(unnamed)", key = stem(name), group = groups.get(key) || { key: clean(key), colour: s.colour[i], bytes: 0, count: 0 };
    group.bytes = Math.max(group.bytes, s.bytes[i]); group.count++;
    groups.set(key, group);
  }
  if (groups.size <= listed) return [];
  const all = [...groups.values()].sort((a, b) => b.bytes - a.bytes), input = element("input", { type: "search", placeholder: "find a tensor", "aria-label": "find a tensor in the legend" });
  const entries = element("div", { class: "entries" }), most = 120;
  const fill = () => {
    const wanted = input.value.trim().toLowerCase(), found = all.filter((group) => group.key.toLowerCase().includes(wanted));
    entries.replaceChildren(...found.slice(0, most).map((group) => {
      const swatch = element("i");
      swatch.style.background = fillOf(group.colour, false);
      return element("button", { title: group.key + ": search for it", onclick: () => { byId("search").value = group.key; search(group.key); } },
        swatch, element("b", {}, shorten(group.key, 40)), (group.count > 1 ? " \u00d7" + plain(group.count) : "") + " " + bytesText(group.bytes));
    }), element("span", {}, found.length > most ? "and " + plain(found.length - most) + " more" : found.length === 0 ? "no tensor has this name" : ""));
  };
  input.addEventListener("input", fill);
  const details = element("details", { class: "families", ontoggle: () => { if (details.open) fill(); } }, element("summary", {}, "all " + plain(groups.size) + " tensors"), input, entries);
  return [details];
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
  const chart = { kind, canvas, height, draw, base: document.createElement("canvas"), key: "", ...more };
  chart.over = (c, g) => { over(c, g); drawRange(c, g); };
  parent.append(canvas);
  charts.push(chart);
  listen(chart);
  return chart;
}
function fillFacts(s) {
  const facts = s.facts;
  facts.replaceChildren(fact("used", bytesText(s.used) + (s.usable > 0 ? " of " + bytesText(s.usable) : ""), s.usable >= 0 && s.used > s.usable));
  if (s.usable > 0) facts.append(element("span", {}, gauge(s.used / s.usable), element("b", {}, percent(s.used, s.usable))));
  facts.append(fact("live peak", bytesText(s.peak), s.usable >= 0 && s.peak > s.usable), fact("boxes", plain(s.n)));
  if (s.paddingSum > 0) facts.append(fact("padding", bytesText(s.paddingSum)));
  if (s.conflicts > 0) facts.append(fact("conflicts", plain(s.conflicts), true));
  if (s.sampled) facts.append(fact("lanes", "sampled"));
  if (s.laneCount > 1) facts.append(laneSelector(s));
  let unplaced = 0;
  for (let i = 0; i < s.n; i++) if (!placed(s, i)) unplaced++;
  if (unplaced > 0) facts.append(fact("without an address", plain(unplaced)));
}
function buildSpace(s) {
  s.facts = element("div", { class: "facts" });
  fillFacts(s);
  const title = clean(s.title) + (comparing ? (s.part === 0 ? "  before: " : "  after: ") + clean(s.report.title) : "");
  const section = element("section", { class: "space" }, element("div", { class: "head" }, element("h2", {}, shorten(title, 160)), s.facts));
  byId("charts").append(section);
  if (!comparing && s.peakBoxes.length > 0) {
    s.parts = element("div", { class: "parts" });
    section.append(s.parts);
    fillParts(s);
  }
  s.section = section;
  addMini(s, section);
  const tall = comparing || spaces.length > 2 ? 240 : spaces.length > 1 ? 330 : 420;
  addChart("map", section, tall, drawMap, overMap, { space: s, top: 4, plot: tall - 8, views: ["map"] });
  addChart("live", section, 96 + AXIS, drawLive, overLive, { space: s, views: ["map"] });
  buildViews(s, section);
  s.readout = element("div", { class: "readout" });
  section.append(s.readout);
}
// What bounds the kernel: how much of the time each engine, path and memory works, and what that rests on.
function buildRoofs(report, section) {
  if (!report.roofs) return;
  const table = element("table", { class: "roofs" }, element("caption", {}, clean(report.bound)));
  for (const [name, basis, part] of report.roofs) {
    table.append(element("tr", {}, element("th", {}, clean(name)), element("td", {}, gauge(part / 1000)), element("td", {}, percent(part, 1000)),
      element("td", {}, element("span", { class: "tag " + (basis === "measured" || basis === "published" ? "good" : "warning") }, clean(basis)))));
  }
  section.append(table);
}
function buildTimeline(report) {
  if (report.rows.length === 0) return;
  const which = comparing ? (report === reports[0] ? " before" : " after") : "";
  const section = element("section", { class: "space" }, element("div", { class: "head" }, element("h2", {}, "timeline" + which), ...(report.badge ? [element("span", { class: "tag warning" }, clean(report.badge))] : []), ...(report.costs ? [element("span", { class: "tag advice", title: "what the times rest on" }, "costs: " + clean(report.costs))] : [])));
  byId("charts").append(section);
  const rows = element("div", { class: "rows" });
  section.append(rows);
  buildFolds(addChart("timeline", rows, timelineHeight(report), drawTimeline, overTimeline, { report, top: 2, extra: () => foldText(report) }), section.firstChild);
  const key = (style, text) => { const i = element("i"); i.style.cssText = style; return element("span", {}, i, text); };
  const legend_ = element("div", { class: "legend" }), sums = new Map();
  for (const bar of report.bars) sums.set(bar[6], (sums.get(bar[6]) || 0) + bar[2] - bar[1]);
  if (report.bars.some((bar) => bar[4])) legend_.append(key("border-bottom:3px solid var(--bad)", "on the critical path"));
  if (report.bars.some((bar) => bar[3] < bar[1])) legend_.append(key("background:repeating-linear-gradient(45deg,var(--warn) 0 1px,transparent 1px 4px);height:8px", "waits"));
  for (const [name, sum] of [...sums].sort((a, b) => b[1] - a[1]).slice(0, 10)) {
    const entry = key("background:" + fillOf(report.colourOf(name), false), shorten(clean(name) || "(unnamed)", 32));
    entry.title = clean(name);
    legend_.append(entry);
  }
  section.append(legend_);
  buildRoofs(report, section);
  report.section = section;
}
// One glance: is it right, does it fit, how full is each memory.
function buildVerdict() {
  if (comparing) return;
  const add = (kind, text, tab) => byId("verdict").append(element("button", { class: "tag " + kind, onclick: () => { if (tab) openTab(tab); } }, text));
  const count = (severity) => reports[0].findings.filter((f) => f.severity === severity).length, several = (n, word) => plain(n) + " " + word + (n === 1 ? "" : "s");
  const over = spaces.filter((s) => s.usable >= 0 && s.used > s.usable);
  for (const s of over) add("error", "does not fit: " + clean(s.title) + " needs " + bytesText(s.used) + " of " + bytesText(s.usable), "unfit");
  if (count("error") > 0) add("error", several(count("error"), "error"), "findings");
  if (count("compiler") > 0) add("compiler", several(count("compiler"), "compiler fault"), "findings");
  if (total("conflicts") > 0) add("error", plain(total("conflicts")) + " boxes in conflict", "conflicts");
  if (over.length === 0 && count("error") + count("compiler") === 0 && total("conflicts") === 0 && spaces.length > 0) add("good", spaces.some((s) => s.usable >= 0) ? "fits, no conflicts" : "no conflicts", "peak");
  if (reports[0].badge) add("warning", clean(reports[0].badge));
  if (count("warning") > 0) add("warning", several(count("warning"), "warning"), "findings");
  if (count("advice") > 0) add("advice", plain(count("advice")) + " advice", "findings");
}
function buildOverview() {
  if (comparing || spaces.length < 2) return;
  const row = element("nav", { class: "overview", "aria-label": "memories" });
  const add = (section, ...what) => row.append(element("button", { onclick: () => section.scrollIntoView({ block: "start" }) }, ...what));
  for (const s of spaces) add(s.section, element("b", {}, shorten(clean(s.title), 24)), s.filled = element("span"));
  if (reports[0].section) add(reports[0].section, element("b", {}, "timeline"), isCounted() ? " " + timeText(axis.end) : "");
  fillOverview();
  byId("charts").prepend(row);
}
function fillOverview() {
  for (const s of spaces) if (s.filled) s.filled.replaceChildren(...(s.usable > 0 ? [gauge(s.used / s.usable), percent(s.used, s.usable)] : [" " + bytesText(s.used)]));
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
    drag = { x, y, range: event.shiftKey || state.ranging ? T(chart, x) : null, wipe: onHandle(chart, x), t0: state.t0, t1: state.t1, a0: chart.space ? chart.space.a0 : 0, a1: chart.space ? chart.space.a1 : 0, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = point(event);
    if (drag && event.buttons & 1 && (drag.moved || Math.hypot(x - drag.x, y - drag.y) > 4)) {
      drag.moved = true;
      canvas.classList.add("dragging");
      state.hover = null; state.at = null;
      showCard(null);
      if (chart.timeless) return;
      if (drag.wipe) { dragWipe(chart, x); return; }
      if (drag.range !== null) { setRange(drag.range, T(chart, x)); return; }
      const d = (drag.x - x) / plotWidth(chart) * (drag.t1 - drag.t0);
      if (chart.kind === "map" || chart.kind === "slider") for (const s of sameName(chart.space)) {
        const a = (y - drag.y) / chart.plot * (drag.a1 - drag.a0);
        s.a0 = drag.a0 + a; s.a1 = drag.a1 + a;
      }
      setTimes(drag.t0 + d, drag.t1 + d);
      return;
    }
    state.cursor = chart.timeless ? state.cursor : x >= left && x <= chart.width_ - right ? Math.max(state.t0, Math.min(T(chart, x), state.t1)) : null;
    state.pointer = chart.kind === "map" || chart.kind === "slider" ? { space: chart.space, address: A(chart, y) } : null;
    state.hover = markUnder(chart, x, y);
    state.at = event.pointerType === "touch" ? null : { chart, x, y, clientX: event.clientX, clientY: event.clientY };
    if (state.at) showCard(state.hover, event.clientX, event.clientY);
    refresh();
  });
  canvas.addEventListener("pointerup", (event) => {
    const [x, y] = point(event);
    canvas.classList.remove("dragging");
    if (drag && !drag.moved) {
      state.cursor = x >= left && !chart.timeless ? T(chart, x) : state.cursor;
      pin(markUnder(chart, x, y));
    }
    drag = null;
  });
  canvas.addEventListener("pointerleave", lookAway);
  canvas.addEventListener("dblclick", fit);
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey) return;
    event.preventDefault();
    const [x, y] = point(event), amount = event.deltaY || event.deltaX, factor = Math.pow(1.0018, amount);
    if (event.shiftKey && (chart.kind === "map" || chart.kind === "slider")) zoomAddress(sameName(chart.space), factor, A(chart, y));
    else zoomTime(factor, T(chart, x));
  }, { passive: false });
}
// The side panel is as wide as the reader wants it, within the window.
function setSide(width) {
  const side = Math.round(Math.max(240, Math.min(width, innerWidth * 0.7)));
  document.documentElement.style.setProperty("--side", side + "px");
  byId("divider").setAttribute("aria-valuenow", String(side));
}
function listenDivider() {
  const divider = byId("divider"), width = () => document.querySelector("aside").offsetWidth;
  let drag = null;
  divider.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, width: width() }; divider.setPointerCapture(event.pointerId); event.preventDefault(); });
  divider.addEventListener("pointermove", (event) => { if (drag) setSide(drag.width + drag.x - event.clientX); });
  divider.addEventListener("pointerup", () => { drag = null; });
  divider.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: 40, ArrowRight: -40 }[event.key];
    if (!step) return;
    event.preventDefault(); event.stopPropagation();
    setSide(width() + step);
  });
}
function markUnder(chart, x, y) {
  if (chart.timeless || chart.kind === "slider") return chart.under(chart, x, y);
  if (x < left || x > chart.width_ - right) return null;
  if (chart.kind === "map") return boxUnder(chart, x, y);
  if (chart.under) return chart.under(chart, x, y);
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
const toggleHex = () => toggle("radix", "hex", () => { showPanel(); if (state.pinned) pin(state.pinned); resize(); });
const toggleWhole = () => toggle("whole", "whole", () => { spaces.forEach(fitAddresses); refresh(); });
function setTheme(dark) {
  document.documentElement.classList.toggle("dark", dark);
  readPalette();
  legend.replaceWith(legend = buildLegend());
  spaces.filter((s) => s.parts).forEach(fillParts);
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
  ["Shift+ArrowLeft", "Shift+ArrowRight", "a range from event to event", () => extendRange(-1), () => extendRange(1)],
  ["[", "]", "a range from the cursor on, up to the cursor", () => rangeFrom(0), () => rangeFrom(1)],
  ["z", null, "zoom to the range", zoomToRange],
  ["r", null, "drag selects a range, or pans", toggleRanging],
  ["v", "V", "next view, previous view", () => stepView(1), () => stepView(-1)],
  ["f", null, "fit everything", fit],
  ["Enter", null, "zoom to what is pinned", () => { if (state.pinned) focusOn(state.pinned); }],
  ["p", null, "go to the peak", () => { const s = spaces.reduce((a, b) => (b.peak > a.peak ? b : a), spaces[0]); if (s) { state.cursor = s.peakTime; setTimes(...aroundTime(s.peakTime)); openTab("peak"); } }],
  ["/", null, "search by name", () => byId("search").focus()],
  ["g", null, "fold or open the rows of all agents", toggleFolds],
  ["n", "N", "next and previous match", () => nextMatch(1), () => nextMatch(-1)],
  ["c", null, "up to the capacity, or to what is used", toggleWhole],
  ["x", null, "hexadecimal or decimal addresses", toggleHex],
  ["t", null, "light or dark", toggleTheme],
  ["Escape", null, "unpin, clear the range, leave the search", () => { pin(null); clearRange(); byId("search").value = ""; search(""); }],
  ["?", null, "this list", help],
];
const aroundTime = (t) => { const half = (state.t1 - state.t0) / 2; return t >= state.t0 && t <= state.t1 ? [state.t0, state.t1] : [t - half, t + half]; };
const names = { "Shift+ArrowLeft": "Shift \u2190", "Shift+ArrowRight": "Shift \u2192", ArrowUp: "\u2191", ArrowDown: "\u2193", ArrowLeft: "\u2190", ArrowRight: "\u2192", Escape: "Esc" };

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
    const action = (event.shiftKey && actions.get("Shift+" + event.key)) || actions.get(event.key);
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
// What the tables of "does not fit" have is not repeated here.
for (const report of reports) report.notes.forEach((note, k) => { if (overfull.length === 0 || !report.inTables[k]) byId("notes").append(element("li", {}, clean(note))); });
search("");
spaces.forEach(fitAddresses);
buildMemories();
buildComparison();
spaces.forEach(buildSpace);
if (spaces.length === 0) byId("charts").append(element("p", { class: "muted" }, "nothing was allocated"));
reports.forEach(buildTimeline);
buildSource();
buildVerdict();
buildOverview();
let legend = buildLegend();
buildSwitch();
for (const tab of tabs) {
  const button = element("button", { role: "tab", onclick: () => openTab(tab.id) }, tab.label);
  button.dataset.tab = tab.id;
  byId("tabs").append(button);
}
byId("with-back").addEventListener("click", () => showChange(null));
listenKeys();
listenDivider();
byId("search").addEventListener("input", (event) => search(event.target.value));
for (const [id, action] of [["zoom-in", () => zoomTime(0.7)], ["zoom-out", () => zoomTime(1 / 0.7)], ["fit", fit], ["whole", toggleWhole],
  ["radix", toggleHex], ["theme", toggleTheme], ["help-open", help]]) byId(id).addEventListener("click", action);
dark.addEventListener("change", (event) => setTheme(event.matches));
addEventListener("resize", resize);
addEventListener("scroll", () => { if (state.at) lookAway(); }, { passive: true });
addEventListener("beforeprint", resize);
new ResizeObserver(resize).observe(byId("charts")); // also for print, and when a scroll bar comes
applyLink();
if (!(state.line > 0)) showFirstFault(); // after what the address says, and the heights that it leads to
addEventListener("hashchange", applyLink);

// For scripts and tests: what is where on the canvases, in pixels of the page.
window.spad = {
  state,
  spaces: spaces.map((s) => ({ name: s.title, boxes: s.n, part: s.part })),
  view(k) {
    const c = charts.find((chart) => chart.kind === "map" && chart.space === spaces[k]), r = c.canvas.getBoundingClientRect();
    return { chart: c, canvas: [r.left, r.top, r.width, r.height], plot: [left, c.top, plotWidth(c), c.plot], axis: [state.t0, state.t1, c.space.a0, c.space.a1] };
  },
  pixels(k) {
    const { chart: c, ...view } = this.view(k), out = [];
    for (let i = 0; i < c.space.n; i++) { const r = boxPixels(c, i); if (r) out.push({ number: c.space.number[i], name: ownName(c.space, i), label: nameOf(c.space, i), fill: boxFill(c.space, i), rect: r }); }
    return { ...view, boxes: out };
  },
  bars() {
    const c = charts.find((chart) => chart.kind === "timeline");
    if (!c) return null;
    const r = c.canvas.getBoundingClientRect();
    return { canvas: [r.left, r.top], height: r.height, bars: c.report.bars.map((bar) => barPixels(c, bar)), ready: c.report.bars.map((bar) => X(c, bar[3])) };
  },
  under(x, y) { // of the timeline: the name of what is at a point of the page
    const c = charts.find((chart) => chart.kind === "timeline"), r = c.canvas.getBoundingClientRect(), mark = markUnder(c, x - r.left, y - r.top);
    return mark && (mark.waits ? "waiting: " : "") + mark.bar[6];
  },
  moment: (k, t) => momentOf(spaces[k], t),
  stack(k, t) { // of memory k, or of all (-1), at a time: [category, bytes], and where its chart has it
    const c = charts.find((chart) => chart.kind === "stacked" && (k < 0 ? chart.all : chart.space === spaces[k])), moment = stackMoment(c, t), { base, y } = stackScale(c);
    const r = c.canvas.getBoundingClientRect();
    let floor = 0;
    return { canvas: [r.left, r.top], x: X(c, t), base, sum: moment.sum, limit: stackLimit(c), bands: moment.list.map((category, j) => { floor += moment.values[j]; return { name: category.label, bytes: moment.values[j], fill: categoryFill(category), top: y(floor), bottom: y(floor - moment.values[j]) }; }) };
  },
  treemap(k) {
    const c = charts.find((chart) => chart.kind === "treemap" && chart.space === spaces[k]), r = c.canvas.getBoundingClientRect();
    return { canvas: [r.left, r.top, c.width_, c.height], ...wasteOf(spaces[k]), leaves: c.leaves };
  },
  wipe() {
    const c = charts.find((chart) => chart.kind === "slider"), r = c.canvas.getBoundingClientRect();
    return { canvas: [r.left, r.top], x: wipeX(c), plot: [left, c.top, plotWidth(c), c.plot], sides: c.pair.map((s, part) => { const out = []; for (let i = 0; s && i < s.n; i++) { const p = boxPixels(sideOf(c, part), i); if (p) out.push({ name: ownName(s, i), fill: boxFill(s, i), rect: p }); } return out; }) };
  },
  link: linkText,
  detail: () => charts.filter((c) => !c.canvas.hidden).map((c) => ({ kind: c.kind, merged: c.merged, large: c.large, layers: c.layers, points: c.points })),
  window: (k) => { const c = charts.find((chart) => chart.kind === "mini" && chart.space === spaces[k]), r = c.canvas.getBoundingClientRect(), w = miniWindow(c); return { x0: r.left + left + w.x0, x1: r.left + left + w.x1, y0: r.top + w.y0, y1: r.top + w.y1 }; },
  drawn: performance.now(),
};
