// @ts-check
/* Saving a view as one HTML file: the link takes the selection along; with Shift the file holds no names. */
import { closest } from "../shared/dom.js";
import { commands } from "./commands.js";

const link = () => /** @type {HTMLAnchorElement | null} */ (document.querySelector("a[data-export-page]"));

/**
 * @param {HTMLAnchorElement} page
 * @param {boolean} confidential
 */
function hrefOf(page, confidential) {
  const query = new URLSearchParams(location.search);
  if (confidential) query.set("confidential", "1");
  return page.pathname + (String(query) ? `?${query}` : "");
}

document.addEventListener(
  "click",
  (event) => {
    const clicked = closest(event, "a[data-export-page]");
    if (!(clicked instanceof HTMLAnchorElement)) return;
    clicked.href = hrefOf(clicked, event.shiftKey);
    if (!event.shiftKey) return;
    event.preventDefault(); /* Shift would open a window */
    location.assign(clicked.href);
  },
  true,
);

/**
 * @param {string} title
 * @param {boolean} confidential
 */
function add(title, confidential) {
  const run = () => {
    const page = link();
    if (page) location.assign(hrefOf(page, confidential));
  };
  commands.add({ title, group: "Export", when: () => link() !== null, run });
}
add("Save this view as an HTML file", false);
add("Save this view as an HTML file without names (confidential)", true);
