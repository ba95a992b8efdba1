// SPDX-License-Identifier: Apache-2.0
// The navigation begins where the page is that it is beside.
addEventListener("DOMContentLoaded", () => {
  const all = document.querySelector(".sidebar-scroll"), page = document.querySelector(".sidebar-tree .current-page");
  if (all && page) all.scrollTop += page.getBoundingClientRect().top - all.getBoundingClientRect().top - all.clientHeight / 3;
});
