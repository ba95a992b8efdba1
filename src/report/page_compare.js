// SPDX-License-Identifier: Apache-2.0
//
// The page of a report: two plans in one map. Left of the slider is the plan before, right of it the one after, on the
// same axes; below, the live bytes of both.

state.wipe = 0.5; // part of the width that shows the plan before

const wipeX = (c) => left + state.wipe * plotWidth(c);
const sideOf = (c, part) => ({ ...c, space: c.pair[part] });
function setWipe(part) {
  state.wipe = Math.max(0, Math.min(part, 1));
  for (const input of document.querySelectorAll("input.wipe")) input.value = String(Math.round(state.wipe * 1000));
  refresh();
}
function drawHalf(c, g, part) {
  if (c.pair[part]) drawMap(sideOf(c, part), g);
  else { const known = sideOf(c, 1 - part); drawGround(known, g); drawAddressAxis(known, g); }
}
function drawSlider(c, g) {
  drawHalf(c, g, 0);
  c.after ??= document.createElement("canvas");
  c.after.width = c.base.width; c.after.height = c.base.height;
  const b = c.after.getContext("2d");
  b.setTransform(c.ratio, 0, 0, c.ratio, 0, 0);
  drawHalf(c, b, 1);
}
// Where the pinned box, or the one below the pointer, is on the other side.
function outlineOther(c, g, mark) {
  if (!mark || !mark.space || !c.pair.includes(mark.space) || mark.space.state[mark.box] & (GONE | NEW)) return;
  const part = c.pair.indexOf(mark.space), other = c.pair[1 - part], j = other ? counterpart(mark.space, mark.box) : -1;
  if (j < 0) return;
  g.setLineDash([5, 4]);
  outline(sideOf(c, 1 - part), g, { space: other, box: j }, palette.text, 2);
  g.setLineDash([]);
}
function overSlider(c, g) {
  const x = Math.round(wipeX(c) * c.ratio);
  g.setTransform(1, 0, 0, 1, 0, 0);
  if (x < c.after.width) { g.clearRect(x, 0, c.after.width - x, c.after.height); g.drawImage(c.after, x, 0, c.after.width - x, c.after.height, x, 0, c.after.width - x, c.after.height); }
  g.setTransform(c.ratio, 0, 0, c.ratio, 0, 0);
  clipPlot(c, g, c.top, c.plot);
  nameAfter(c, g);
  for (const [mark, colour] of [[state.hover, palette.text], [state.pinned, palette.accent]]) {
    for (const part of [0, 1]) if (c.pair[part]) outline(sideOf(c, part), g, mark, colour, 2.5);
    outlineOther(c, g, mark);
  }
  drawCursor(c, g, c.top, c.top + c.plot);
  g.restore();
  drawHandle(c, g);
}
// Boxes that begin left of the slider have their names where the plan after begins.
function nameAfter(c, g) {
  const s = c.pair[1], side = sideOf(c, 1), x = wipeX(c);
  if (!s || s.n > 4000) return;
  g.font = FONT; g.textAlign = "left"; g.fillStyle = palette.text;
  for (let i = 0; i < s.n; i++) {
    const r = boxPixels(side, i);
    if (!r || r[0] + 6 >= x || r[3] < 11 || (state.query !== "" && !s.hit[i])) continue;
    const label = labelOfBox(g, s, i, Math.min(r[0] + r[2], c.width_ - right) - x - 20);
    if (label) g.fillText(label, x + 16, r[1] + r[3] / 2 + 4);
  }
}
function drawHandle(c, g) {
  const x = wipeX(c), y = c.top + c.plot / 2;
  g.strokeStyle = palette.text; g.lineWidth = 2;
  g.beginPath(); g.moveTo(x, c.top); g.lineTo(x, c.top + c.plot); g.stroke();
  g.fillStyle = palette.back;
  g.beginPath(); g.arc(x, y, 11, 0, 2 * Math.PI); g.fill(); g.stroke();
  g.fillStyle = palette.text;
  for (const way of [-1, 1]) { g.beginPath(); g.moveTo(x + way * 7, y); g.lineTo(x + way * 3, y - 4); g.lineTo(x + way * 3, y + 4); g.closePath(); g.fill(); }
  g.font = FONT;
  for (const [way, text] of [[-1, "before"], [1, "after"]]) {
    const width = widthOf(g, text) + 8, from = way < 0 ? x - 6 - width : x + 6;
    if (from < left || from + width > c.width_ - right) continue;
    g.globalAlpha = 0.85; g.fillStyle = palette.back; g.fillRect(from, c.top + 4, width, 16);
    g.globalAlpha = 1; g.fillStyle = palette.text; g.textAlign = "left"; g.fillText(text, from + 4, c.top + 16);
  }
}
const sliderUnder = (c, x, y) => { const side = c.pair[x < wipeX(c) ? 0 : 1]; return side && x >= left && x <= c.width_ - right ? boxUnder({ ...c, space: side }, x, y) : null; };
const onHandle = (c, x) => c.kind === "slider" && Math.abs(x - wipeX(c)) <= 12;
const dragWipe = (c, x) => setWipe((x - left) / plotWidth(c));

// Both live curves: dashed before, filled after.
function drawBoth(c, g) {
  const base = c.height - AXIS, peak = Math.max(...c.pair.filter(Boolean).map((s) => s.peak), 1), limit = liveLimit(c.space), most = Math.max(peak, limit.drawn ? limit.bytes : 0);
  const y = (v) => base - v / most * (base - 18);
  g.fillStyle = palette.plot; g.fillRect(left, 0, plotWidth(c), base);
  clipPlot(c, g, 0, base + 1);
  for (const part of [1, 0]) {
    const s = c.pair[part];
    if (!s) continue;
    let level = 0;
    g.beginPath(); g.moveTo(left, base);
    for (let k = 0; k < s.live.length; k += 2) { const x = X(c, s.live[k]); g.lineTo(x, y(level)); level = s.live[k + 1]; g.lineTo(x, y(level)); }
    g.lineTo(X(c, axis.end), y(level)); g.lineTo(X(c, axis.end), base);
    g.globalAlpha = 0.2; g.fillStyle = palette.accent;
    if (part === 1) g.fill();
    g.globalAlpha = 1; g.strokeStyle = part === 1 ? palette.accent : palette.text; g.lineWidth = 1.4; g.setLineDash(part === 1 ? [] : [5, 3]); g.stroke(); g.setLineDash([]);
  }
  if (limit.bytes >= 0) drawLiveLimit(c, g, limit, limit.drawn ? y(limit.bytes) : -1, []);
  g.restore();
  g.textAlign = "right"; g.fillStyle = palette.muted; g.font = FONT;
  const step = niceStep(most, 3, true);
  for (let v = step; v <= most; v += step) if (y(v) < base - 16) g.fillText(tickText(v, step), left - 8, y(v) + 4);
  g.fillText("live", left - 8, base - 2);
  drawTimeAxis(c, g, base);
}

function buildComparison() {
  if (!comparing) return;
  for (const title of new Set(spaces.map((s) => s.title))) {
    const pair = [0, 1].map((part) => spaces.find((s) => s.title === title && s.part === part)), some = pair[0] || pair[1];
    const facts = element("div", { class: "facts" });
    pair.forEach((s, part) => facts.append(fact(part === 0 ? "before: used" : "after: used", s ? bytesText(s.used) : "nothing", s && s.usable >= 0 && s.used > s.usable), fact("live peak", s ? bytesText(s.peak) : "nothing")));
    const section = element("section", { class: "space", "data-view": "slider" }, element("div", { class: "head" }, element("h2", {}, shorten(clean(title), 80)), facts));
    const input = element("input", { class: "wipe", type: "range", min: "0", max: "1000", value: "500", "aria-label": "how much of the plan before is shown", oninput: () => setWipe(Number(input.value) / 1000) });
    byId("charts").append(section);
    const tall = spaces.length > 2 ? 330 : 420;
    addChart("slider", section, tall, drawSlider, overSlider, { space: some, pair, top: 4, plot: tall - 8, views: ["slider"], under: sliderUnder });
    section.append(input);
    addChart("both", section, 96 + AXIS, drawBoth, (c, g) => drawCursor(c, g, 0, c.height - AXIS), { space: some, pair, views: ["slider"] });
    section.append(element("div", { class: "legend" }, element("span", {}, "dashed: live bytes before"), element("span", {}, "filled: after")));
  }
}
