// SPDX-License-Identifier: Apache-2.0
// The navigation begins where the page is that it is beside; at once, where the theme would move it slowly.
addEventListener("load", () => {
  const all = document.querySelector(".sidebar-scroll"), page = document.querySelector(".sidebar-tree .current-page");
  if (!all || !page) return;
  const distance = page.getBoundingClientRect().top - all.getBoundingClientRect().top;
  all.scrollBy({ top: distance - all.clientHeight / 3, behavior: "instant" });
});
