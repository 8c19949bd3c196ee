// @ts-check
/* Tabs of webapp/components/tabs.py: clicks and arrow keys; the choice is a key of the selection. */
import { onSelect, select } from "../shell/viewer.js";
import * as dom from "./dom.js";

const TAB = '.tab-list [role="tab"]';

/** @param {HTMLElement} tab */
function show(tab) {
  const box = /** @type {HTMLElement} */ (tab.closest("[data-tabs]"));
  const value = tab.dataset.value;
  for (const each of dom.all('[role="tab"]', dom.part(".tab-list", box))) {
    each.setAttribute("aria-selected", String(each === tab));
    each.tabIndex = each === tab ? 0 : -1;
  }
  for (const panel of dom.part(".tab-panels", box).children)
    if (panel instanceof HTMLElement) panel.hidden = panel.dataset.value !== value;
  select({ [box.dataset.tabs || ""]: value });
  window.dispatchEvent(new Event("resize"));
}

document.addEventListener("click", (event) => {
  const tab = dom.closest(event, TAB);
  if (tab) show(tab);
});

/* A link within the page may name another tab than the one shown. */
onSelect((selection) => {
  for (const box of dom.all("[data-tabs]")) {
    const value = selection[box.dataset.tabs || ""];
    const tab = dom.all(TAB, box).find((each) => each.dataset.value === value);
    if (tab && tab.getAttribute("aria-selected") !== "true") show(tab);
  }
});

document.addEventListener("keydown", (event) => {
  const tab = dom.closest(event, TAB);
  if (!tab) return;
  const all = dom.siblings(tab);
  const next = {
    ArrowRight: dom.neighbour(tab, 1),
    ArrowLeft: dom.neighbour(tab, -1),
    Home: all[0],
    End: all[all.length - 1],
  }[event.key];
  if (!next) return;
  event.preventDefault();
  next.focus();
  show(next);
});
