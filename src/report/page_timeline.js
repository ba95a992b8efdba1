// SPDX-License-Identifier: Apache-2.0
//
// The page of a report: the timeline. Operations are bars on the rows of their engines. Rows of one agent are together, and
// several of them are folded into one and opened again: each keeps a strip of the folded row, so that all bars are seen and
// answer.

const ROW = 24;

// Rows of the timeline, those of one agent together: "upper simt", "upper copy 2", or an engine alone.
const agentOf = (row) => { const words = row.split(" "); return words.length > 1 && !/^\d+$/.test(words[1]) ? words[0] : ""; };
function groupRows(report) {
  const groups = new Map();
  report.rows.forEach((row, k) => { const agent = agentOf(row); groups.set(agent, groups.get(agent) || { agent, rows: [], folded: false }).get(agent).rows.push(k); });
  report.groups = [...groups.values()];
  report.order = report.groups.flatMap((group) => group.rows); // rows from above
  placeRows(report);
}
const canFold = (group) => group.agent !== "" && group.rows.length > 1;
// Where the bars of each row are, below the top of the chart: [y, height].
function placeRows(report) {
  let y = 0;
  report.bands = [];
  for (const group of report.groups) {
    group.y = y;
    group.rows.forEach((row, k) => {
      const part = (ROW - 6) / group.rows.length;
      report.bands[row] = group.folded ? [y + 3 + k * part, part] : [y + k * ROW + 3, ROW - 6];
    });
    y += group.folded ? ROW : group.rows.length * ROW;
  }
  report.tall = y;
}
reports.forEach(groupRows);

const timelineHeight = (report) => report.tall + 2 + AXIS;
// A button over the label of each group that can be folded; the labels are drawn by the chart.
function buildFolds(c, head) {
  const groups = c.report.groups.filter(canFold);
  if (groups.length > 1) {
    c.foldAll = element("button", { class: "fold-all", onclick: () => setFolded(c, groups, groups.some((group) => !group.folded)) });
    head.append(c.foldAll);
  }
  c.folds = groups.map((group) => {
    const button = element("button", { class: "fold-rows", onclick: () => setFolded(c, [group], !group.folded) });
    c.canvas.parentElement.append(button);
    return { group, button };
  });
  showFolds(c);
}
function showFolds(c) {
  if (c.foldAll) c.foldAll.textContent = c.folds.some(({ group }) => !group.folded) ? "fold all agents" : "open all agents";
  for (const { group, button } of c.folds) {
    const text = (group.folded ? "open" : "fold") + " the " + plain(group.rows.length) + " rows of " + clean(group.agent);
    button.setAttribute("aria-expanded", String(!group.folded));
    button.setAttribute("aria-label", text);
    button.title = text;
    button.textContent = group.folded ? "\u25b8" : "\u25be";
    button.style.top = c.top + group.y + "px";
    button.style.width = left - 4 + "px";
  }
}
function setFolded(c, groups, folded) {
  for (const group of groups) group.folded = folded && canFold(group);
  placeRows(c.report);
  c.height = timelineHeight(c.report);
  c.canvas.style.height = c.height + "px";
  state.hover = null;
  showCard(null);
  resize();
  followLink();
}
const timelines = () => charts.filter((c) => c.kind === "timeline");
// All of them: folded where one is open.
function toggleFolds() {
  const open = timelines().some((c) => c.folds.some(({ group }) => !group.folded));
  for (const c of timelines()) setFolded(c, c.report.groups, open);
}
// In a link: the numbers of the groups that are folded.
const foldText = (report) => report.groups.map((group, k) => (group.folded ? String(k) : "")).filter((k) => k !== "").join(".");
function readFolds(report, text) {
  const c = timelines().find((chart) => chart.report === report), numbers = /^\d{1,6}(\.\d{1,6})*$/.test(text) ? text.split(".").map(Number) : [];
  if (!c || numbers.length === 0 || !numbers.every((k) => report.groups[k] && canFold(report.groups[k]))) return false;
  setFolded(c, numbers.map((k) => report.groups[k]), true);
  return true;
}

function barPixels(c, bar) {
  const [y, h] = c.report.bands[bar[0]];
  return [X(c, bar[1]), c.top + y, Math.max(X(c, bar[2]) - X(c, bar[1]), 0.7), h];
}
const foot = (h) => Math.min(2.5, h / 3); // of what is critical
function drawBar(c, g, bar, colour) {
  const [x, y, w, h] = barPixels(c, bar);
  g.fillStyle = fillOf(colour, false); g.fillRect(x, y, w, h);
  if (w > 3 && h > 5) { g.strokeStyle = palette.dark ? "#ffffff30" : "#00000030"; g.lineWidth = 1; g.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1); }
  if (bar[4]) { g.fillStyle = palette.bad; g.fillRect(x, y + h - foot(h), w, foot(h)); }
  if (w > 18 && h > 11) { g.fillStyle = palette.text; g.fillText(labelFor(g, clean(bar[6]), w - 6), Math.max(x, left) + 4, y + h / 2 + 4); }
}
// Several operations of a queue may wait at once, and waits that touch are one hatch.
function drawWaits(c, g) {
  const rows = c.report.rows.length, reach = new Float64Array(rows).fill(-Infinity), from = new Float64Array(rows), to = new Float64Array(rows).fill(-Infinity);
  g.fillStyle = palette.wait;
  const draw = (row) => { if (to[row] > from[row]) { const [y, h] = c.report.bands[row], high = Math.min(8, h); g.fillRect(from[row], c.top + y + (h - high) / 2, to[row] - from[row], high); } };
  for (const bar of c.report.bars) {
    const row = bar[0], x0 = X(c, Math.max(bar[3], reach[row])), x1 = X(c, bar[1]);
    if (x1 > x0 && x1 >= left && x0 <= c.width_ - right) {
      if (x0 > to[row] + 0.5) { draw(row); from[row] = x0; }
      to[row] = x1;
    }
    reach[row] = Math.max(reach[row], bar[1]);
  }
  for (let row = 0; row < rows; row++) draw(row);
}
// Agents often differ in their last letter, and rows of one agent in their engines: the end stays.
function rowLabel(g, row, room) {
  const agent = agentOf(row).length;
  for (let from = 0; from <= agent; from++) {
    const text = from === 0 ? row : from < agent ? "\u2026" + row.slice(from) : row.slice(agent + 1);
    if (widthOf(g, text) <= room) return text;
  }
  return labelFor(g, row, room);
}
function drawTimeline(c, g) {
  const report = c.report, height = report.tall;
  g.fillStyle = palette.plot; g.fillRect(left, c.top, plotWidth(c), height);
  g.font = FONT; g.textAlign = "right"; g.fillStyle = palette.muted;
  report.groups.forEach((group, k) => {
    const room = left - 12 - (canFold(group) ? 12 : 0), rows = group.folded ? [clean(group.agent)] : group.rows.map((row) => clean(report.rows[row]));
    rows.forEach((row, j) => g.fillText(rowLabel(g, row, j === 0 ? room : left - 12), left - 8, c.top + group.y + j * ROW + 16));
    if (k === 0) return;
    g.strokeStyle = palette.line; g.lineWidth = 1;
    g.beginPath(); g.moveTo(8, c.top + group.y + 0.5); g.lineTo(c.width_ - right, c.top + group.y + 0.5); g.stroke();
  });
  clipPlot(c, g, c.top, height);
  g.textAlign = "left";
  drawWaits(c, g);
  const small = [], many = report.bars.length > FEW;
  report.bars.forEach((bar, k) => {
    if (bar[2] < state.t0 || bar[1] > state.t1) return;
    if (many && (bar[2] - bar[1]) / (state.t1 - state.t0) * plotWidth(c) < 1) small.push(k);
    else drawBar(c, g, bar, report.barColours[k]);
  });
  c.merged = small.length;
  if (small.length > 0) mergeBars(c, g, small);
  g.restore();
  g.strokeStyle = palette.line; g.lineWidth = 1; g.strokeRect(left + 0.5, c.top + 0.5, plotWidth(c) - 1, height - 1);
  drawTimeAxis(c, g, c.top + height);
}
function overTimeline(c, g) {
  const height = c.report.tall;
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
