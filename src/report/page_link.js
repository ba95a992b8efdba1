// SPDX-License-Identifier: Apache-2.0
//
// The page of a report: the part of its address after '#' says what is shown, and opens the same view again. It follows
// the view without entries in the history; what a link has wrong is left out, with a note.
//
//   view, by     which view                     t          times that are shown: 10..20
//   a0, a1 ...   addresses of memory 0, 1       lane0 ...  the lane of memory 0
//   sel          what is pinned: 0.12 is box 12 of memory 0, op0.7 operation 7 of the first report
//   range        a range of time                cursor     a time
//   q, tab       search, list                   whole, hex 1: switched on
//   wipe         where the slider is, in thousandths
//   fold0 ...    agents of report 0 whose rows are folded: 0.2
//   with         the plan with change 0, 1 ... of those that help

const LINK_WAIT = 300; // milliseconds without a change

const NUMBER_TEXT = "-?\\d+(?:\\.\\d+)?";
const timeNumber = (t) => String(Math.round(t * 1000) / 1000);
const spanNumber = (a, b) => timeNumber(a) + ".." + timeNumber(b);
function readSpan(text, low, high) {
  const found = new RegExp("^(" + NUMBER_TEXT + ")\\.\\.(" + NUMBER_TEXT + ")$").exec(text), span = found && [Number(found[1]), Number(found[2])];
  return span && span[0] < span[1] && span[0] >= low && span[1] <= high ? span : null;
}
const fittedAddresses = (s) => { const probe = { title: s.title }; fitAddresses(probe); return [probe.a0, probe.a1]; };

function markText(mark) {
  if (!mark) return "";
  if (mark.bar) return "op" + reports.indexOf(mark.report) + "." + mark.report.bars.indexOf(mark.bar);
  return mark.space ? spaces.indexOf(mark.space) + "." + mark.space.number[mark.box] : "";
}
function readMark(text) {
  const found = /^(op)?(\d{1,9})\.(\d{1,12})$/.exec(text), owner = found && (found[1] ? reports : spaces)[Number(found[2])], number = found && Number(found[3]);
  if (!owner) return null;
  if (found[1]) return owner.bars[number] ? { report: owner, bar: owner.bars[number] } : null;
  const box = owner.index.get(number);
  return owner.number[box] === number ? { space: owner, box } : null;
}

// What is shown, as pairs; nothing for what is as at the start.
function linkPairs() {
  const out = [], add = (key, value, usual) => { if (value !== usual && value !== "") out.push([key, value]); };
  add("view", state.view, "map");
  if (state.view === "stacked") add("by", state.by, "tensor");
  if (state.view === "slider") add("wipe", String(Math.round(state.wipe * 1000)), "500");
  add("whole", state.whole ? "1" : "", "");
  add("hex", state.hex ? "1" : "", "");
  if (state.t0 !== axis.begin || state.t1 !== axis.end) add("t", spanNumber(state.t0, state.t1), "");
  spaces.forEach((s, k) => {
    add("a" + k, spanNumber(s.a0, s.a1), spanNumber(...fittedAddresses(s)));
    add("lane" + k, String(s.only), "-1");
  });
  reports.forEach((report, k) => add("fold" + k, foldText(report), ""));
  add("with", shownChange === null ? "" : String(shownChange), "");
  add("sel", markText(state.pinned), "");
  if (state.range) add("range", spanNumber(...state.range), "");
  if (state.cursor !== null && state.at === null) add("cursor", timeNumber(state.cursor), "");
  add("q", state.query, "");
  add("tab", state.tab, firstTab());
  return out;
}
const linkText = () => { const text = linkPairs().map(([key, value]) => key + "=" + encodeURIComponent(value)).join("&"); return text === "" ? "" : "#" + text; };

let linkTimer = 0, followed = false;
function followLink() {
  if (!followed) return;
  clearTimeout(linkTimer);
  linkTimer = setTimeout(() => {
    const text = linkText();
    if (text === location.hash) return;
    try { history.replaceState(null, "", text || location.pathname + location.search); } catch { followed = false; } // a page in a page may not
  }, LINK_WAIT);
}

// Readers of the parts: each returns false for what this page does not have.
const linkReaders = {
  view: (text) => views.some((view) => view.id === text) && (setView(text), true),
  by: (text) => [...byId("by").options].some((option) => option.value === text) && (setView(state.view, text), true),
  wipe: (text) => /^\d{1,4}$/.test(text) && Number(text) <= 1000 && comparing && (setWipe(Number(text) / 1000), true),
  whole: (text) => text === "1" && (state.whole || toggleWhole(), true),
  hex: (text) => text === "1" && (state.hex || toggleHex(), true),
  t: (text) => { const span = readSpan(text, axis.begin, axis.end); return span !== null && (setTimes(...span), true); },
  sel: (text) => { const mark = readMark(text); return mark !== null && (pin(mark), true); },
  range: (text) => { const span = readSpan(text, axis.begin, axis.end); return span !== null && (setRange(...span), true); },
  cursor: (text) => new RegExp("^" + NUMBER_TEXT + "$").test(text) && Number(text) >= axis.begin && Number(text) <= axis.end && (state.cursor = Number(text), true),
  q: (text) => text !== "" && text.length <= 4096 && (byId("search").value = text, search(text), true),
  with: (text) => /^\d{1,4}$/.test(text) && changeReports.has(Number(text)) && (showChange(Number(text)), true),
  tab: (text) => tabs.some((tab) => tab.id === text && (text !== "range" || state.range)) && (openTab(text), true),
};
function readPair(key, text) {
  const found = /^(a|lane|fold)(\d{1,4})$/.exec(key), fold = found && found[1] === "fold", s = found && (fold ? reports : spaces)[Number(found[2])];
  if (!found) return Object.hasOwn(linkReaders, key) && linkReaders[key](text);
  if (!s) return false;
  if (fold) return readFolds(s, text);
  if (found[1] === "lane") return /^\d{1,9}$/.test(text) && Number(text) < s.laneCount && (setLane(s, Number(text)), true);
  const span = readSpan(text, -Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  if (span) [s.a0, s.a1] = span;
  return span !== null;
}
function resetView() {
  showChange(null);
  for (const c of timelines()) if (foldText(c.report) !== "") setFolded(c, c.report.groups, false);
  pin(null);
  state.cursor = null; state.hover = null;
  byId("search").value = ""; search("");
  if (state.hex) toggleHex();
  if (state.whole) toggleWhole();
  for (const s of spaces) if (s.only !== -1) setLane(s, -1);
  if (comparing) setWipe(0.5);
  clearRange();
  setView("map", "tensor");
  fit();
  openTab(firstTab());
}
// Shows what the address says. Parts are read in one order, since some need others.
function applyLink() {
  const raw = location.hash.slice(1), order = ["with", "view", "by", "wipe", "whole", "hex", "t", "range", "q"], bad = [];
  resetView();
  const pairs = raw === "" ? [] : raw.split("&").map((part) => { const at = part.indexOf("="); return [at < 0 ? part : part.slice(0, at), at < 0 ? null : part.slice(at + 1), part]; });
  const rank = ([key]) => { const at = order.indexOf(key); return at < 0 ? order.length : at; };
  for (const [key, text, part] of pairs.sort((a, b) => rank(a) - rank(b))) {
    let value = null;
    try { value = text === null ? null : decodeURIComponent(text); } catch { /* stays null */ }
    if (value === null || !readPair(key, value)) bad.push(part);
  }
  showLinkNote(bad);
  followed = true;
  refresh();
}
function showLinkNote(bad) {
  let note = byId("link-note");
  if (note) note.remove();
  if (bad.length === 0) return;
  const text = "left out of the link, since this page does not have it: " + shorten(bad.map((part) => clean(part)).join(", "), 160);
  note = element("p", { id: "link-note", role: "status" }, text, " ", element("button", { class: "link", onclick: () => note.remove() }, "close"));
  byId("charts").prepend(note);
}
