// @ts-check
/* Sections that fold (webapp/components/section.py): the browser remembers their state by name, across all reports.
   What folds in a low window is open again in a higher one. */
import { mount, recall, remember } from "../shell/viewer.js";
import { part } from "./dom.js";

const low = window.matchMedia("(max-height: 560px)");

mount("details[data-fold]", (element) => {
  const section = /** @type {HTMLDetailsElement} */ (element);
  const key = "popvision.fold." + section.dataset.fold;
  if (recall(key) === "closed") section.open = false;
  /** @param {boolean} open */
  const rememberState = (open) => remember(key, open ? "open" : "closed");
  /* The toggle event comes late: a user who leaves the page at once would lose it. The click comes before it. */
  part("summary", section).addEventListener("click", () => rememberState(!section.open));
  section.addEventListener("toggle", () => rememberState(section.open));
  return undefined;
});

mount("details[data-low-fold]", (element) => {
  const figures = /** @type {HTMLDetailsElement} */ (element);
  const follow = () => (figures.open = !low.matches);
  follow();
  low.addEventListener("change", follow);
  return () => low.removeEventListener("change", follow);
});
