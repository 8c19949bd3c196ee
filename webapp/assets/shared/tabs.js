/* Tabs of webapp/components/tabs.py: clicks and arrow keys; the choice goes into the selection. */
(function () {
  "use strict";

  function show(box, value, write) {
    const list = box.querySelector(".tab-list");
    for (const tab of list.querySelectorAll('[role="tab"]')) {
      const chosen = tab.dataset.value === value;
      tab.setAttribute("aria-selected", chosen ? "true" : "false");
      tab.tabIndex = chosen ? 0 : -1;
    }
    for (const panel of box.querySelector(".tab-panels").children) panel.hidden = panel.dataset.value !== value;
    if (write) window.popvision.select({ [box.dataset.tabs]: value });
    window.dispatchEvent(new Event("resize"));
  }

  document.addEventListener("click", (event) => {
    const tab = event.target.closest('.tab-list [role="tab"]');
    if (tab) show(tab.closest("[data-tabs]"), tab.dataset.value, true);
  });

  document.addEventListener("keydown", (event) => {
    const tab = event.target.closest && event.target.closest('.tab-list [role="tab"]');
    if (!tab) return;
    const all = Array.from(tab.parentElement.children);
    const at = all.indexOf(tab);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + all.length, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = all[to % all.length];
    next.focus();
    show(next.closest("[data-tabs]"), next.dataset.value, true);
  });
})();
