// SPDX-License-Identifier: Apache-2.0
//
// The page of a report is one script, a function: page_begin.js opens it, page_end.js closes and calls it. Names in it are its own.
// Parts in their order:
//
//   page_data.js     small things, columns -> spaces with typed arrays, what is shown
//   page_scale.js    what makes many boxes readable: levels of detail, families, the whole
//   page_draw.js     colours, axes, maps, live bytes
//   page_timeline.js operations on their engines, rows of agents
//   page_panels.js   what is under the pointer or alive, cards, search, lists, source
//   page_views.js    live bytes by category, treemap of the height
//   page_range.js    a range of time and its sums
//   page_link.js     the address of what is shown
//   page_compare.js  two plans in one map
//   page_start.js    building the page, pointer, wheel and keys
"use strict";
function drawPage() {
