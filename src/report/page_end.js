// SPDX-License-Identifier: Apache-2.0
}

// Much data: the title is seen before they are read. The element "html" has data-waiting as long as that takes.
if (Number(document.getElementById("columns").dataset.size) < 1 << 18) drawPage();
else {
  const root = document.documentElement, note = document.createElement("p");
  root.dataset.waiting = "1";
  root.classList.toggle("dark", matchMedia("(prefers-color-scheme: dark)").matches);
  document.getElementById("title").textContent = document.title;
  note.className = "muted";
  note.textContent = "reading the data";
  document.getElementById("charts").append(note);
  requestAnimationFrame(() => setTimeout(() => {
    note.remove();
    drawPage();
    delete root.dataset.waiting;
  }));
}
