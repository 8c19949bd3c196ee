"use strict";
// Theme button and sorting by a click on a heading: all that an exported page does.
const button = document.getElementById("theme");
if (button) {
  button.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
}
const keyOf = (cell) => (cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value));
const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
for (const heading of document.querySelectorAll("th button")) {
  heading.addEventListener("click", () => {
    const th = heading.parentElement;
    const down = th.getAttribute("aria-sort") !== "descending";
    for (const each of th.parentElement.children) each.removeAttribute("aria-sort");
    th.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = th.closest("table").tBodies[0];
    const rows = [...body.rows].map((row) => [keyOf(row.cells[th.cellIndex]), row]);
    rows.sort((a, b) => (down ? compare(b[0], a[0]) : compare(a[0], b[0])));
    body.append(...rows.map((each) => each[1]));
  });
}
