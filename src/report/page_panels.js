// SPDX-License-Identifier: Apache-2.0
//
// The page of a report, third part: questions about a point or a moment, and everything that
// is not a chart.

// ---- ask --------------------------------------------------------------------------------------

// The smallest box under a point; two pixels of grace for tiny ones.
function boxUnder(c, x, y) {
  const s = c.space, t0 = T(c, x - 2), t1 = T(c, x + 2), low = A(c, y + 2), high = A(c, y - 2);
  let best = -1, least = Infinity;
  eachAlive(s, t0, t1, (i) => {
    if (s.byte[i] > high || s.byte[i] + s.bytes[i] < low) return;
    const r = boxPixels(c, i);
    if (!r || x < r[0] - 2 || x > r[0] + r[2] + 2 || y < r[1] - 2 || y > r[1] + r[3] + 2) return;
    const outside = x < r[0] || x > r[0] + r[2] || y < r[1] || y > r[1] + r[3];
    const area = r[2] * r[3] + (outside ? 1e9 : 0);
    if (area <= least) { least = area; best = i; }
  });
  return best < 0 ? null : { space: s, box: best };
}
function barUnder(c, x, y) {
  let best = null, wait = null;
  const t0 = T(c, x - 2), t1 = T(c, x + 2);
  for (const bar of c.report.bars) {
    if (bar[2] < t0 || bar[3] > t1) continue;
    const r = barPixels(c, bar);
    if (y < r[1] || y > r[1] + r[3]) continue;
    if (x >= r[0] - 2 && x <= r[0] + r[2] + 2) best = bar;
    if (!wait && x < r[0] && x >= X(c, bar[3])) wait = bar; // the first to run: its wait is what the hatch ends with
  }
  return best ? { report: c.report, bar: best } : wait && { report: c.report, bar: wait, waits: true };
}

// Live bytes, free bytes and the largest hole at a time, in the lane that is shown or the fullest.
// As in the library, only lanes at which a box starts need to be examined.
function momentOf(s, t) {
  const alive = [];
  let unplaced = 0;
  eachAlive(s, t, t, (i) => {
    if (t >= s.end[i]) return;
    if (!placed(s, i)) unplaced += s.bytes[i];
    else if (s.bytes[i] > 0) alive.push(i);
  });
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
const baseName = (path) => clean(path).replace(/^.*\//, ""), placeText = (file, line) => baseName(file) + ":" + line;
const lineText = (report, line, named) => (named && report.file ? placeText(report.file, line) : String(line));
// The program that a kernel was made from: the user's own line comes first, then the calls that led to it.
function originRows(report, line) {
  const { lines, sources } = report.program, rows = [];
  for (let at = lines.has(line) ? lines.get(line).source : -1, deep = 0; at >= 0 && deep < 16; at = sources[at].caller, deep++) {
    rows.push([deep ? "called at" : "line", placeText(sources[at].file, sources[at].line)]);
    if (sources[at].code) rows.push(["", shorten(clean(sources[at].code), 200)]);
  }
  return rows;
}
function usersText(report, uses) {
  const texts = [...new Set(uses.map(({ by, line }) => clean(by) + " (" + ((originRows(report, line)[0] || [])[1] || "line " + line) + ")"))];
  return texts.slice(0, 4).join(", ") + (texts.length > 4 ? ", and " + plain(texts.length - 4) + " more" : "");
}
function userRows(report, name) {
  const uses = report.program.tensors.get(stem(name)) || [], rows = [];
  for (const [way, words] of [["writes", "written by"], ["reads", "read by"]]) {
    const users = uses.filter((use) => use[way]);
    if (users.length > 0) rows.push([words, usersText(report, users)]);
  }
  return rows;
}
function lineRows(report, line) {
  if (!(line > 0)) return [];
  const origin = originRows(report, line), code = sourceText(report, line).trim(), isToldThere = origin.some(([key]) => key === "");
  const own = [[origin.length > 0 ? "from" : "line", lineText(report, line, origin.length > 0)], ...(code && !isToldThere ? [["", shorten(clean(code), 200)]] : [])];
  return [...origin, ...own];
}
function boxCard(s, i) {
  const rows = [];
  if (formOf(s, i)) rows.push(["shape", formOf(s, i)]);
  rows.push(["size", bothBytes(s.bytes[i]) + (s.laneCount > 1 ? " per lane" : "")]);
  if (placed(s, i)) rows.push(["bytes", addressText(s.byte[i]) + " to " + addressText(s.byte[i] + s.bytes[i])]);
  else rows.push(["bytes", "no address"]);
  if (s.laneCount > 1) rows.push(["lanes", plain(s.lane[i]) + " to " + plain(s.lane[i] + s.lanes[i])]);
  rows.push(["live", spanText(s.begin[i], s.end[i]) + (s.open[i] & 1 ? " and on" : "") + ", for " + lengthText(s.length[i])]);
  rows.push(...userRows(s.report, ownName(s, i)));
  rows.push(["placed by", data.modes[s.mode[i]]]);
  if (s.slots[i] > 0) rows.push(["copy", plain(s.slot[i]) + " of " + plain(s.slots[i])]);
  rows.push(["waste", s.padding[i] > 0 ? bothBytes(s.padding[i]) + ", " + percent(s.padding[i], s.bytes[i]) : "none"]);
  rows.push(...lineRows(data.reports[s.part], s.line[i]));
  if (s.input[i] >= 0) rows.push(["in place of", shorten(nameOf(s, s.index.get(s.input[i])), 80)]);
  if (s.partner[i] >= 0) rows.push(["conflict with", shorten(nameOf(s, s.index.get(s.partner[i])), 80)]);
  if (comparing && s.state[i]) rows.push(["change", stateNames.filter(([bit]) => s.state[i] & bit).map(([, word]) => word).join(", ")]);
  const where = s.title + (comparing ? (s.part === 0 ? ", before" : ", after") : "");
  return [element("div", { class: "name" }, shorten(nameOf(s, i), 400)), element("div", { class: "muted" }, clean(where)), factsList(rows)];
}
function barCard(report, bar, waits) {
  const rows = [["on", clean(report.rows[bar[0]])]], own = report.program.lines.get(bar[5]);
  rows.push(["runs", spanText(bar[1], bar[2]) + ", for " + lengthText(bar[2] - bar[1])]);
  if (bar[3] < bar[1]) rows.splice(waits ? 1 : 2, 0, ["waited", lengthText(bar[1] - bar[3]) + ", " + spanText(bar[3], bar[1]) + (bar[7] ? ", for " + clean(bar[7]) : "")]);
  if (bar[4]) rows.push(["critical", "on the critical path"]);
  for (const way of ["reads", "writes"]) {
    const texts = new Set((own ? own.uses : []).filter((use) => use[way]).map((use) => useText(report, use)));
    if (texts.size > 0) rows.push([way, shorten(clean([...texts].join(", ")), 120)]);
  }
  rows.push(...lineRows(report, bar[5]));
  const name = shorten(clean(bar[6]) || "(unnamed)", 400);
  return [element("div", { class: "name" }, (waits ? "waiting: " : "") + name), factsList(rows)];
}
const cardOf = (mark) => (mark.card ? mark.card() : mark.bar ? barCard(mark.report, mark.bar, mark.waits) : boxCard(mark.space, mark.box));

const sameMark = (a, b) => a === b || (a && b && a.bar === b.bar && a.space === b.space && a.box === b.box && a.waits === b.waits && a.key === b.key);
// What is under a pointer that rests, after the view below it has changed.
function lookAgain() {
  const at = state.at;
  if (!at || at.dragged) return;
  const hover = markUnder(at.chart, at.x, at.y);
  if (sameMark(hover, state.hover)) return;
  state.hover = hover;
  showCard(hover, at.clientX, at.clientY);
}
function lookAway() {
  state.hover = null; state.pointer = null; state.at = null;
  showCard(null);
  refresh();
}
function showCard(mark, x, y) {
  const card = byId("card");
  card.hidden = !mark || Boolean(state.pinned && sameMark(mark, state.pinned)); // what is pinned has its card in the panel
  if (card.hidden) return;
  card.replaceChildren(...cardOf(mark));
  const w = card.offsetWidth, h = card.offsetHeight;
  card.style.left = Math.max(8, x + 16 + w > innerWidth ? x - w - 12 : x + 16) + "px";
  card.style.top = Math.max(8, y + 16 + h > innerHeight ? innerHeight - h - 8 : y + 16) + "px";
}

const lineOf = (mark) => (mark && !mark.card ? (mark.bar ? mark.bar[5] : mark.space.line[mark.box]) : 0);

function pin(mark) {
  state.pinned = mark;
  if (mark && state.hover && sameMark(mark, state.hover)) showCard(null);
  state.others = [];
  byId("selected").hidden = !mark;
  if (mark) {
    const links = element("div", { class: "links" });
    if (!mark.card) links.append(element("button", { onclick: () => focusOn(mark) }, "zoom to it"));
    if (mark.search) links.append(element("button", { onclick: () => { byId("search").value = mark.search; search(mark.search); setView("map"); } }, "show it in the map"));
    if (lineOf(mark) > 0) {
      const place = placeOf(mark.report || mark.space.report, lineOf(mark));
      links.append(element("button", { onclick: () => goToLine(lineOf(mark)) }, place ? placeText(...place) : "line " + lineOf(mark)));
    }
    if (mark.space && mark.space.partner[mark.box] >= 0) {
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
  if (mark.card) return;
  const begin = mark.bar ? mark.bar[1] : mark.space.begin[mark.box], end = mark.bar ? mark.bar[2] : mark.space.end[mark.box];
  const margin = (end - begin) * 0.6;
  if (!mark.bar && placed(mark.space, mark.box)) {
    const s = mark.space, room = Math.max(s.bytes[mark.box] * 1.5, 16);
    for (const o of sameName(s)) { o.a0 = s.byte[mark.box] - room; o.a1 = s.byte[mark.box] + s.bytes[mark.box] + room; }
  }
  setTimes(begin - margin, end + margin);
  show(mark);
}
// Makes the mark visible without a change of zoom where that is possible.
function show(mark) {
  const begin = mark.bar ? mark.bar[1] : mark.space.begin[mark.box], end = mark.bar ? mark.bar[2] : mark.space.end[mark.box];
  if (end < state.t0 || begin > state.t1) { const half = (state.t1 - state.t0) / 2; setTimes((begin + end) / 2 - half, (begin + end) / 2 + half); }
  if (!mark.bar && state.view !== "map" && state.view !== "slider") setView("map");
  const chart = charts.find((c) => !c.canvas.hidden && (mark.bar ? c.kind === "timeline" && c.report === mark.report : c.kind === "map" ? c.space === mark.space : c.kind === "slider" && c.pair.includes(mark.space)));
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
    s.hit = new Uint8Array(s.n);
    if (state.query === "") continue;
    s.report.lower ??= s.report.strings.map((text) => clean(text).toLowerCase());
    const hits = s.report.lower.map((text) => text.includes(state.query));
    for (let i = 0; i < s.n; i++) if (hits[s.name[i]] || (s.owners.has(s.line[i]) && nameOf(s, i).toLowerCase().includes(state.query))) { s.hit[i] = 1; state.matches.push({ space: s, box: i }); }
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

// A name that gives way in its middle: the end stays.
function nameSpan(name) {
  const cut = name.length > 16 ? name.length - 10 : name.length;
  return element("span", { class: "ends" }, element("span", {}, name.slice(0, cut)), element("span", {}, name.slice(cut)));
}
function markButton(mark, right_, share) {
  const s = mark.space, swatch = element("i"), name = nameOf(s, mark.box);
  swatch.style.background = boxFill(s, mark.box);
  const row = element("div", { class: "row" }, swatch, nameSpan(shorten(name, 120)), element("span", {}, right_));
  const button = element("button", { title: name, onclick: () => { pin(mark); show(mark); } }, row);
  if (share !== undefined) {
    const bar = element("div", { class: "share" });
    bar.style.width = Math.max(share * 100, 0.5) + "%";
    button.append(bar);
  }
  return element("li", {}, button);
}

const columns = (...names) => element("div", { class: "columns" }, ...names.map((name) => element("span", {}, name)));
// The first entries of a list, and a button for the next ones, so that none is out of reach.
function longList(kind, items, make, first) {
  const list = element("ol", { class: "list " + kind }), button = element("button", { class: "more", onclick: () => more() });
  let shown = 0;
  const more = () => {
    for (const item of items.slice(shown, shown + first)) list.append(make(item));
    shown = Math.min(shown + first, items.length);
    button.hidden = shown === items.length;
    button.textContent = "show " + plain(Math.min(first, items.length - shown)) + " more of " + plain(items.length);
  };
  more();
  return [list, button];
}
function peakPanel() {
  const out = [];
  for (const s of spaces) {
    out.push(element("h3", {}, clean(s.title) + (comparing ? (s.part === 0 ? ", before" : ", after") : "") + ": " + bothBytes(s.peak) + " at " + timeText(s.peakTime)));
    out.push(columns("name, largest first", "size, share of the peak"), ...longList("peak", s.peakBoxes, (number) => {
      const i = s.index.get(number);
      return markButton({ space: s, box: i }, bytesText(s.bytes[i]) + "  " + percent(s.bytes[i], s.peak), s.bytes[i] / Math.max(s.peak, 1));
    }, 200));
    out.push(element("p", { class: "muted" }, "free then: " + bothBytes(s.peakFree) + ", largest hole " + bothBytes(s.peakHole)));
  }
  return out;
}

// What does not fit: how much is missing, who is alive then, and what would help.
const overfull = comparing ? [] : spaces.filter((s) => s.usable >= 0 && s.used > s.usable);
function tableOf(kind, heads, rows) {
  const cell = (tag, value, k) => element(tag, k > 0 ? { class: "n" } : {}, value), table = element("table", { class: kind });
  if (heads) table.append(element("tr", {}, ...heads.map((head, k) => cell("th", head, k))));
  for (const row of rows) table.append(element("tr", {}, ...row.map((value, k) => cell("td", value, k))));
  return table;
}
// The plan with one change in place of the plan; null: the plan itself.
let shownChange = null;
const named = []; // per change: there are boxes of its name
const changeReports = new Map((data.with || []).map(([number, report]) => [number, report]));
// A memory in which nothing is left.
function emptied(s) {
  const none = (table) => Object.fromEntries(Object.keys(table).map((key) => [key, 0])), raw = reports[0].spaces.find((r) => r.name === s.title);
  return { ...raw, top: raw.low, used: 0, peak: 0, peakTime: axis.begin, peakFree: Math.max(raw.usable, 0), peakHole: Math.max(raw.usable, 0), padding: 0, conflicts: 0, boxes: none(raw.boxes), live: none(raw.live), peakBoxes: none(raw.peakBoxes) };
}
function showChange(number) {
  if (number === shownChange) return;
  shownChange = number;
  for (const s of spaces) {
    const turn = (s.painted || 0) + 1; // each is drawn again
    s.own ??= { ...s, families: null, grouped: false, ...s }; // as it was read
    const report = number === null ? null : changeReports.get(number), raw = report && report.spaces.find((r) => r.name === s.title);
    const { a0, a1, only, ...shown } = report ? readSpace(Object.assign(Object.create(s.own.report), { strings: report.strings }), raw || emptied(s), 0) : s.own;
    if (report) { s.families = null; Object.assign(s, shown, { owners: new Map(), full: s.own.full }); prepareSpace(s); } else Object.assign(s, shown);
    s.painted = turn + 1;
    fillFacts(s);
    if (s.parts) fillParts(s);
  }
  fillOverview();
  moments = null; bySize = null; state.hover = null; state.at = null;
  byId("with").hidden = number === null;
  if (number !== null) byId("with-text").textContent = clean(reports[0].changes[number][1]).replace(/^fits (if|with) /, "the plan $1 ");
  pin(null);
  search(byId("search").value);
  showPanel();
  refresh();
}
function unfitPanel() {
  const out = [], changes = reports[0].changes || [];
  for (const s of overfull.map((shown) => shown.own || shown)) {
    out.push(element("h3", {}, clean(s.title) + " does not fit"), tableOf("unfit", null, [["needed", bothBytes(s.used)], ["available", bothBytes(s.usable)],
      ["missing", bothBytes(s.used - s.usable)], ["live at the peak, " + timeText(s.peakTime), bothBytes(s.peak)]]));
  }
  if (reports[0].worksAt) out.push(element("p", { class: "muted" }, "smallest capacity known to work: " + bothBytes(reports[0].worksAt)));
  const heads = [changes.some(([name]) => /^(['-]|$)/.test(name || "")) ? "what helps" : "one change that helps", "saves", ...(changeReports.size > 0 ? ["plan with it"] : [])];
  if (changes.length > 0) out.push(tableOf("remedies", heads, changes.map(changeRow)));
  return out.concat(...overfull.map(peakSet));
}
function changeRow([name, text, leaves], k) {
  const find = () => { showChange(null); const mark = boxesNamed(reports[0], name)[0]; if (mark) { pin(mark); show(mark); } }, on = shownChange === k;
  named[k] ??= boxesNamed(reports[0], name).length > 0;
  const row = [named[k] ? element("button", { class: "link", title: "show it in the map", onclick: find }, clean(text)) : clean(text), leaves > 0 ? bytesText(leaves) : ""];
  if (changeReports.size === 0) return row;
  const button = () => element("button", { class: "with", "aria-pressed": String(on), title: on ? "back to the plan without it" : "show the plan with this change", onclick: () => showChange(on ? null : k) }, on ? "shown" : "show");
  return [...row, changeReports.has(k) ? button() : ""];
}
// Who is alive at the peak, with running sums; a click goes back to the plan itself.
function peakSet(shown) {
  const s = shown.own || shown, go = (i) => { const mark = { space: shown, box: i }; showChange(null); pin(mark); show(mark); };
  let sum = 0;
  const table = tableOf("peak-set", ["live at the peak", "size", "sum"], s.peakBoxes.slice(0, 40).map((number) => {
    const i = s.index.get(number);
    sum += s.bytes[i];
    return [element("button", { class: "link", title: "show it in the map", onclick: () => go(i) }, shorten(nameOf(s, i), 60)), bytesText(s.bytes[i]), bytesText(sum)];
  }));
  return s.peakBoxes.length > 40 ? [table, element("p", { class: "muted" }, "and " + plain(s.peakBoxes.length - 40) + " smaller ones")] : [table];
}

// Boxes that a name of a finding means: the name itself, or all of its stem.
function boxesNamed(report, name) {
  if (!name) return [];
  const exact = [], loose = [], wanted = clean(name);
  for (const s of spaces) {
    if (s.report !== report) continue;
    for (let i = 0; i < s.n; i++) {
      const own = ownName(s, i);
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
  const quoted = [...names].flatMap((name) => boxesNamed(report, name).filter((m) => ownName(m.space, m.box) === name));
  const marks = quoted.concat(boxesNamed(report, finding.subject), boxesNamed(report, finding.other));
  const alive = finding.time === undefined ? null : marks.find((m) => m.space.begin[m.box] <= finding.time && finding.time < m.space.end[m.box]);
  const mark = alive || quoted[0] || marks.find((m) => m.space.partner[m.box] >= 0) || marks[0];
  if (mark) { pin(mark); show(mark); }
  state.others = quoted.filter((m) => m.box !== (mark && mark.box));
  if (finding.line > 0) setLine(finding.line, true, finding.at);
  refresh();
}
// Where it is: the line of the user's program first, that of the input after everything else.
function findingText(report, finding) {
  const { at, line, count } = finding, times = count > 1 ? ", " + plain(count) + " times" : "";
  const text = element("div", { class: "finding-text" }, element("span", { class: "tag " + finding.severity }, finding.severity));
  if (at) {
    text.append(element("b", { title: clean(at[0]) }, placeText(at[0], at[1])), element("span", { class: "muted" }, finding.code + times));
    if (at[2].trim() !== "") text.append(element("code", {}, clean(at[2].trim())));
  } else text.append(element("span", { class: "muted" }, finding.code + (line > 0 ? ", line " + line : "") + times));
  text.append(element("div", {}, clean(finding.message)));
  const muted = (words) => text.append(element("div", { class: "muted" }, words));
  for (const [number, message, place] of finding.notes) muted((place ? placeText(place[0], place[1]) + ": " : number > 0 ? "line " + number + ": " : "") + clean(message));
  if (at) muted([at[4] && "in " + clean(at[4]), at[3] && "called at " + clean(at[3]), line > 0 && "from " + lineText(report, line, true)].filter(Boolean).join(", "));
  return text;
}
function findingsPanel() {
  const list = element("ol", { class: "list findings" });
  for (const report of reports) for (const finding of report.findings)
    list.append(element("li", {}, element("button", { onclick: () => goToFinding(report, finding) }, findingText(report, finding))));
  if (!list.firstChild) return [element("p", { class: "muted" }, "no findings")];
  return [list];
}

function conflictEntry({ space: s, box: i }) {
  const j = s.index.get(s.partner[i]), o = overlap(s, i, j);
  const text = element("div", { class: "finding-text" }, element("span", { class: "tag error" }, "conflict"),
    element("span", {}, shorten(nameOf(s, i), 60) + " and " + shorten(nameOf(s, j), 60)),
    element("div", { class: "muted" }, "bytes " + addressText(o.low) + " to " + addressText(o.high) + ", " + spanText(o.begin, o.end)));
  return element("li", {}, element("button", { onclick: () => { state.cursor = o.begin; pin({ space: s, box: i }); show(state.pinned); } }, text));
}
function conflictsPanel() {
  const marks = [];
  for (const s of spaces) for (let i = 0; i < s.n; i++) if (s.partner[i] >= 0) marks.push({ space: s, box: i });
  return [columns("two boxes that share bytes"), ...longList("conflicts", marks, conflictEntry, 500)];
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
  const out = [], table = element("table", {}, element("tr", {}, element("th", {}, "live peak"), element("th", { class: "n" }, "before"), element("th", { class: "n" }, "after"), element("th", { class: "n" }, "change")));
  for (const title of new Set(spaces.map((s) => s.title))) {
    const [a, b] = [0, 1].map((part) => spaces.find((s) => s.title === title && s.part === part));
    const before = a ? a.peak : 0, after = b ? b.peak : 0, d = after - before;
    table.append(element("tr", {}, element("td", {}, clean(title)), element("td", { class: "n" }, bytesText(before)), element("td", { class: "n" }, bytesText(after)),
      element("td", { class: "n" + (d > 0 ? " bad" : "") }, (d > 0 ? "+" : "") + bytesText(d))));
  }
  out.push(table);
  const marks = [];
  for (const s of spaces) for (let i = 0; i < s.n; i++) { // a pair stands once: its second half
    if (s.state[i] && (s.part === 1 || s.state[i] & GONE)) marks.push({ space: s, box: i });
  }
  out.push(element("h3", {}, plain(marks.length) + " boxes changed"), ...longList("changes", marks, (mark) => {
    const { space: s, box: i } = mark, words = stateNames.filter(([bit]) => s.state[i] & bit).map(([, word]) => element("span", { class: "tag " + word }, word));
    const text = element("div", { class: "finding-text" }, ...words, element("span", {}, shorten(nameOf(s, i), 80)),
      element("div", { class: "muted" }, clean(s.title) + ", " + changeText(s, i)));
    return element("li", {}, element("button", { onclick: () => { pin(mark); show(state.pinned); } }, text));
  }, 500));
  return out;
}

let bySize = null; // all boxes, sorted once
function boxesPanel() {
  if (!bySize) {
    bySize = [];
    for (const s of spaces) for (let i = 0; i < s.n; i++) bySize.push({ space: s, box: i });
    bySize.sort((a, b) => b.space.bytes[b.box] - a.space.bytes[a.box] || a.space.begin[a.box] - b.space.begin[b.box]);
  }
  const marks = state.query === "" ? bySize : bySize.filter((mark) => mark.space.hit[mark.box]);
  return [element("p", { class: "muted" }, plain(marks.length) + " boxes"), columns("name, largest first", "size, live (" + axis.unit + ")"),
    ...longList("boxes", marks, (mark) => markButton(mark, bytesText(mark.space.bytes[mark.box]) + "  " + plain(mark.space.begin[mark.box]) + "\u2013" + plain(mark.space.end[mark.box])), 300)];
}

// Every reason to wait, on every engine, with the time it took in all.
function waitReasons(report) {
  const reasons = new Map();
  for (const bar of report.bars) {
    if (bar[3] >= bar[1]) continue;
    const key = bar[0] + "\n" + bar[7], wait = bar[1] - bar[3];
    const reason = reasons.get(key) || { row: bar[0], what: bar[7], sum: 0, count: 0, longest: bar };
    reason.sum += wait; reason.count++;
    if (wait > reason.longest[1] - reason.longest[3]) reason.longest = bar;
    reasons.set(key, reason);
  }
  return [...reasons.values()].sort((a, b) => b.sum - a.sum);
}
const waiting_ = reports.some((r) => r.bars.some((bar) => bar[3] < bar[1]));
function waitsPanel() {
  const out = [];
  for (const report of reports) {
    const reasons = waitReasons(report);
    out.push(element("h3", {}, "what was waited for" + (comparing ? (report === reports[0] ? ", before" : ", after") : "")), columns("where, for what", "in all"));
    out.push(...longList("waits", reasons, (reason) => {
      const mark = { report, bar: reason.longest }, share = element("div", { class: "share wait" });
      share.style.width = Math.max(reason.sum / reasons[0].sum * 100, 0.5) + "%";
      return element("li", {}, element("button", { onclick: () => { pin(mark); show(mark); } },
        element("div", { class: "row two" }, element("span", {}, element("b", {}, clean(report.rows[reason.row])), " for " + (clean(reason.what) || "its turn")),
          element("span", {}, lengthText(reason.sum) + (reason.count > 1 ? ", " + plain(reason.count) + "\u00d7" : ""))), share));
    }, 200));
  }
  return out;
}

// The line of the user's program, [file, line], that an operation of a line of the input comes from, if its file is shown.
function placeOf(report, line) {
  const { lines, sources } = report.program;
  for (let at = lines.has(line) ? lines.get(line).source : -1, deep = 0; at >= 0 && deep < 16; at = sources[at].caller, deep++) {
    if (report.files.some(([name]) => name === sources[at].file)) return [sources[at].file, sources[at].line];
  }
  return null;
}
const samePlace = (entry, place) => Boolean(place) && entry.file === place[0] && entry.line === place[1];

let sourceLines = [];
function sourcePane(report, title, text, file, isError, click) {
  const pre = element("div", { class: "source" });
  text.split("\n").forEach((code, k) => {
    const row = element("div", { class: isError(k + 1) ? "error-line" : "", onclick: () => click(k + 1) },
      element("span", { class: "num" }, String(k + 1)), element("span", { class: "code" }, clean(code.replace(/\t/g, "    "))));
    sourceLines.push({ report, file, line: k + 1, row });
    pre.append(row);
  });
  return [element("h3", { title: clean(title) }, baseName(title)), pre];
}
// The files of the user's program, and then the input: where it was compiled from them, when it is asked for.
function buildSource() {
  const out = [];
  sourceLines = [];
  for (const report of reports) {
    const errors = report.findings.filter((f) => f.severity === "error");
    const files = report.files.filter(([name, text]) => report === reports[0] || !reports[0].files.some((other) => other[0] === name && other[1] === text));
    for (const [name, text] of files) out.push(...sourcePane(report, name, text, name, (k) => errors.some((f) => f.at && f.at[0] === name && f.at[1] === k), (k) => clickPlace(report, [name, k])));
    if ((report.far || (report.files.length > 0 && report.source)) && !report.opened) {
      const open = () => { report.opened = true; buildSource(); markLines(true); if (state.line === 0) showFirstFault(); };
      out.push(element("button", { onclick: open, title: clean(report.file) }, "show " + baseName(report.file)));
      continue;
    }
    if (!report.source || (report !== reports[0] && report.source === reports[0].source)) continue;
    const errorLines = new Set(errors.map((f) => f.line));
    out.push(...sourcePane(report, report.file, report.source, "", (k) => errorLines.has(k), (k) => clickLine(report, k)));
  }
  byId("source").replaceChildren(...out);
  byId("source").hidden = out.length === 0;
}
// Scrolls the source alone, not the page around it.
function scrollInside(row) {
  const pane = row.parentElement, top = row.offsetTop - pane.offsetTop;
  if (top < pane.scrollTop || top + row.offsetHeight > pane.scrollTop + pane.clientHeight) pane.scrollTop = top - pane.clientHeight / 3;
}
function markLines(scroll) {
  for (const entry of sourceLines) {
    const on = entry.file ? samePlace(entry, state.place || (state.line > 0 && placeOf(entry.report, state.line))) : entry.line === state.line;
    entry.row.classList.toggle("mark", on);
    if (on && scroll) scrollInside(entry.row);
  }
}
// A page with findings opens at the line of the first one that has a line.
function showFirstFault() {
  for (const report of reports) {
    const finding = report.findings.find((f) => f.line > 0), own = sourceLines.filter((e) => finding && e.report === report);
    const shown = own.filter((e) => (e.file ? samePlace(e, finding.at) : e.line === finding.line));
    for (const entry of shown) scrollInside(entry.row);
    if (shown.length > 0) return;
  }
}
// place: in the user's program; null: that of the operation there.
function setLine(line, scroll, place) {
  state.line = line;
  state.place = place || null;
  markLines(scroll !== false);
}
function goToLine(line) { setLine(line, true); }
// What was declared on a line of the input, or runs there.
function markOfLine(report, line) {
  for (const s of spaces) {
    if (s.report !== report) continue;
    for (let i = 0; i < s.n; i++) if (s.line[i] === line) return { space: s, box: i };
  }
  const bar = report.bars.find((b) => b[5] === line);
  return bar ? { report, bar } : null;
}
// A line of the source: marks what was declared there and what runs there.
function clickLine(report, line) {
  setLine(line, false);
  const mark = markOfLine(report, line);
  if (mark) { pin(mark); show(state.pinned); } else refresh();
}
// A line of the user's program: the same for the first operation that comes from it.
function clickPlace(report, place) {
  const lines = [...report.program.lines.keys()].filter((line) => samePlace({ file: place[0], line: place[1] }, placeOf(report, line)));
  const line = lines.find((l) => markOfLine(report, l)) || lines[0] || 0;
  if (line > 0) clickLine(report, line);
  setLine(line, false, place);
}

const total = (key) => spaces.reduce((sum, s) => sum + s[key], 0);
const findingCount = reports.reduce((sum, r) => sum + r.findings.length, 0);
const tabs = [
  comparing && { id: "changes", label: "changes", make: changesPanel },
  overfull.length > 0 && { id: "unfit", label: "does not fit", make: unfitPanel },
  { id: "peak", label: "peak", make: peakPanel },
  findingCount > 0 && { id: "findings", label: "findings " + plain(findingCount), make: findingsPanel },
  total("conflicts") > 0 && { id: "conflicts", label: "conflicts " + plain(total("conflicts")), make: conflictsPanel },
  waiting_ && { id: "waits", label: "waits", make: waitsPanel },
  { id: "boxes", label: "boxes " + plain(total("n")), make: boxesPanel },
  { id: "range", label: "range", make: rangePanel },
].filter(Boolean);

const firstTab = () => (comparing ? "changes" : overfull.length > 0 ? "unfit" : findingCount > 0 ? "findings" : total("conflicts") > 0 ? "conflicts" : "peak");
function openTab(id) {
  state.tab = id;
  for (const button of byId("tabs").children) button.setAttribute("aria-selected", String(button.dataset.tab === id));
  showPanel();
}
function showPanel() {
  byId("panel").replaceChildren(...tabs.find((t) => t.id === state.tab).make());
}
