/* Controls show the selection as it is, whoever changed it: selects, switches, segments and boxes with [data-param]
   (components/toolbar.py) follow every change. A box that is being typed in is left alone. */
(function () {
  "use strict";

  function followBox(box, value) {
    const input = box.querySelector("input");
    if (!input || input === document.activeElement || input.value === value || !input.id) return;
    window.dash_clientside.set_props(input.id, { value });
  }

  function follow(selection, patch) {
    for (const [param, control] of Array.from(document.querySelectorAll("#page [data-param]"), (each) => [
      each.dataset.param,
      each,
    ])) {
      if (!(param in (patch || {}))) continue;
      const value = selection[param] === undefined ? "" : selection[param];
      if (control.matches("select")) {
        if (Array.from(control.options).some((option) => option.value === value)) control.value = value;
        else if (value === "") control.selectedIndex = 0;
      } else if (control.classList.contains("segment")) {
        control.setAttribute("aria-checked", control.dataset.value === value ? "true" : "false");
      } else if (control.classList.contains("toggle")) {
        control.setAttribute("aria-checked", value === control.dataset.on ? "true" : "false");
      } else if (control.classList.contains("search") || control.classList.contains("number-box")) {
        followBox(control, value);
      }
    }
  }

  document.addEventListener("DOMContentLoaded", () => window.popvision.onSelect(follow));
})();
