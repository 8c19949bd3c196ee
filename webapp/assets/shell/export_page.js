"use strict";
// The link that saves a view as one HTML file takes along what is selected; with Shift, names are left out.
document.addEventListener(
  "click",
  (event) => {
    const link = event.target.closest && event.target.closest("a[data-export-page]");
    if (!link) return;
    const query = new URLSearchParams(location.search);
    if (event.shiftKey) {
      query.set("confidential", "1");
      event.preventDefault(); // Shift would open a window
    }
    link.href = link.pathname + (String(query) ? `?${query}` : "");
    if (event.shiftKey) location.assign(link.href);
  },
  true,
);

(function () {
  // The same from the command palette.
  const link = () => document.querySelector("a[data-export-page]");
  const save = (confidential) => {
    const query = new URLSearchParams(location.search);
    if (confidential) query.set("confidential", "1");
    location.assign(link().pathname + (String(query) ? `?${query}` : ""));
  };
  const add = (title, confidential) =>
    popvision.commands.add({ title, group: "Export", when: () => link() !== null, run: () => save(confidential) });
  add("Save this view as an HTML file", false);
  add("Save this view as an HTML file without names (confidential)", true);
})();
