// @ts-check
/* Tabs of webapp/components/tabs.py: clicks and arrow keys; the choice is a key of the selection. */
(() => {
  "use strict";
  const TAB = '.tab-list [role="tab"]';

  /** @param {HTMLElement} tab */
  function show(tab) {
    const box = /** @type {HTMLElement} */ (tab.closest("[data-tabs]"));
    const value = tab.dataset.value;
    for (const each of popvision.all('[role="tab"]', popvision.part(".tab-list", box))) {
      each.setAttribute("aria-selected", String(each === tab));
      each.tabIndex = each === tab ? 0 : -1;
    }
    for (const panel of popvision.part(".tab-panels", box).children)
      if (panel instanceof HTMLElement) panel.hidden = panel.dataset.value !== value;
    popvision.select({ [box.dataset.tabs || ""]: value });
    window.dispatchEvent(new Event("resize"));
  }

  document.addEventListener("click", (event) => {
    const tab = popvision.closest(event, TAB);
    if (tab) show(tab);
  });

  /* A link within the page may name another tab than the one shown. */
  popvision.onSelect((selection) => {
    for (const box of popvision.all("[data-tabs]")) {
      const value = selection[box.dataset.tabs || ""];
      const tab = popvision.all(TAB, box).find((each) => each.dataset.value === value);
      if (tab && tab.getAttribute("aria-selected") !== "true") show(tab);
    }
  });

  document.addEventListener("keydown", (event) => {
    const tab = popvision.closest(event, TAB);
    if (!tab) return;
    const all = popvision.siblings(tab);
    const next = {
      ArrowRight: popvision.neighbour(tab, 1),
      ArrowLeft: popvision.neighbour(tab, -1),
      Home: all[0],
      End: all[all.length - 1],
    }[event.key];
    if (!next) return;
    event.preventDefault();
    next.focus();
    show(next);
  });
})();
